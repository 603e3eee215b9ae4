/* other.c - columns whose values a chunk keeps in "@other", because they are rare. */
#include "engine/derived/bind.h"
#include "engine/derived/members.h"

#include <errno.h>

enum { ENTRIES, REMAP }; /* in binding.own */

/* Finds the value of a member, or of the second one. Returns false if both are missing or null. */
static bool find_member(struct members *m, struct text path, struct text second,
                        struct column_entry *ret)
{
    struct column_entry first;
    struct text name, value;
    bool found = false;

    while (members_next(m, &name, &value)) {
        if (text_eq(name, path) && members_entry(m, value, &first)) {
            *ret = first;
            return true;
        }
        if (second.len > 0 && text_eq(name, second))
            found = members_entry(m, value, ret);
    }
    return found;
}

/* Decoded texts are in the arena of the bound source until it is bound to the next chunk. */
int bind_other(struct scan_worker *w, struct binding *b, const struct column *other,
               struct text path, struct text second)
{
    uint32_t *remap =
        scratch_reserve(&b->own[REMAP], ((size_t)other->entries + 1) * sizeof(*remap));
    struct column_entry e,
        *entries =
            scratch_reserve(&b->own[ENTRIES], ((size_t)other->entries + 1) * sizeof(*entries));
    uint32_t found = 0;

    arena_done(&b->arena);
    if (!remap || !entries)
        return -ENOMEM;
    for (uint32_t i = 0; i < other->entries; i++) {
        int rc = column_entry(w->chunk.view, other, i, &e);
        if (rc < 0)
            return rc;
        struct members j = {e.text.ptr, e.text.ptr + e.text.len, &b->arena};
        bool has = e.type == TRACE_TEXT && find_member(&j, path, second, &entries[found]);
        if (b->arena.error)
            return b->arena.error;
        remap[i] = has ? found : UINT32_MAX;
        found += has;
    }
    remap[other->entries] = UINT32_MAX;
    for (uint32_t i = 0; i <= other->entries; i++)
        remap[i] = remap[i] == UINT32_MAX ? found : remap[i];
    return bind_renamed(b, other, shape_of_entries(entries, found), entries, found, remap);
}
