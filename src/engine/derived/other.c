/* other.c - columns whose values a chunk keeps in "@other", because they are rare. */
#include "engine/derived/bind.h"
#include "engine/derived/members.h"

#include <errno.h>

enum { ENTRIES, REMAP }; /* in binding.own */

/* Finds the value of a member. Returns false if there is none, or it is null. */
static bool find_member(struct members *m, struct text path, struct column_entry *ret)
{
    struct text name, value;

    while (members_next(m, &name, &value))
        if (text_eq(name, path))
            return members_entry(m, value, ret);
    return false;
}

/* Decoded texts are in the arena of the bound source until it is bound to the next chunk. */
int bind_other(struct scan_worker *w, struct binding *b, const struct column *other,
               struct text path)
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
        bool has = e.type == TRACE_TEXT && find_member(&j, path, &entries[found]);
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
