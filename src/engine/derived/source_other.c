/* source_other.c - rare cases: paths that a chunk keeps in "@other", a bare name that is both a
 * top-level field and an argument in one chunk, and a column of which some rows are left out.
 */
#include "engine/derived/batch.h"
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/keys.h"
#include "engine/derived/members.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- "@other" -------------------------------------------------------------------------------- */

/* The value of a member, false when there is none (or null). */
static bool find_member(struct members *m, struct text path, struct column_entry *ret)
{
    struct text name, value;

    while (members_next(m, &name, &value))
        if (text_eq(name, path))
            return members_entry(m, value, ret);
    return false;
}

/* Texts that had escapes are kept with the bound until it is bound anew. */
int bind_other(struct scan_worker *w, struct bound *b, const struct column *other, struct text path)
{
    uint32_t *remap = grow_to(&b->remap_memory, ((size_t)other->entries + 1) * sizeof(*remap));
    struct column_entry e,
        *entries = grow_to(&b->entry_memory, ((size_t)other->entries + 1) * sizeof(*entries));
    uint32_t found = 0;
    bool texts_only = true;

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
        texts_only = texts_only && (!has || entries[found].type == TRACE_TEXT);
        found += has;
    }
    remap[other->entries] = found;
    for (uint32_t i = 0; i < other->entries; i++)
        remap[i] = remap[i] == UINT32_MAX ? found : remap[i];
    b->form = found ? FORM_MAPPED : FORM_NULL;
    b->shape = !found ? SHAPE_NULL : texts_only ? SHAPE_TEXT : SHAPE_MIXED;
    b->column = *other;
    b->entry = entries;
    b->entries = found;
    b->remap = remap;
    return 0;
}

/* ---- parts put together ---------------------------------------------------------------------- */

/* Distinct keys of the chunk, in order of appearance. */
struct distinct {
    uint64_t *slots;
    uint32_t *codes;
    uint64_t *keys;
    size_t cap, count;
};

static uint32_t distinct_code(struct distinct *d, uint64_t key)
{
    size_t at = (key * 0x9E3779B97F4A7C15u >> 20) & (d->cap - 1);

    while (d->slots[at] && d->slots[at] != key)
        at = (at + 1) & (d->cap - 1);
    if (!d->slots[at]) {
        d->slots[at] = key;
        d->codes[at] = (uint32_t)d->count;
        d->keys[d->count++] = key;
    }
    return d->codes[at];
}

static int distinct_init(struct distinct *d, uint32_t rows)
{
    for (d->cap = 64; d->cap < (size_t)rows * 2; d->cap *= 2)
        ;
    d->slots = calloc(d->cap, sizeof(*d->slots));
    d->codes = malloc(d->cap * sizeof(*d->codes));
    d->keys = malloc(d->cap * sizeof(*d->keys));
    return d->slots && d->codes && d->keys ? 0 : -ENOMEM;
}

static void distinct_done(struct distinct *d)
{
    free(d->slots);
    free(d->codes);
    free(d->keys);
}

static void entry_of_key(struct scan_worker *w, uint64_t key, struct column_entry *ret)
{
    struct value v;

    query_key_value(w->query, key, &v);
    *ret = (struct column_entry){.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = v.text};
    if (key_tag(key) == KEY_TEXT)
        ret->text_id = (uint32_t)key_payload(key);
    if (v.type == VALUE_INT || v.type == VALUE_BOOL) {
        ret->type = v.type == VALUE_INT ? TRACE_INT : TRACE_BOOL;
        ret->i = v.i;
    } else if (v.type == VALUE_DOUBLE) {
        ret->type = TRACE_DOUBLE;
        ret->d = v.d;
    } else if (v.type == VALUE_JSON) {
        ret->type = v.text.ptr[0] == '[' || v.text.ptr[0] == '{' ? TRACE_JSON : TRACE_BIG;
    }
}

/* The value of the first part, else of the second (may be NULL); null where a bit of `without` (may
 * be NULL) is set. */
static int code_rows(struct scan_worker *w, struct bound *const part[2], const uint64_t *without,
                     struct distinct *d, uint32_t *codes)
{
    struct scan_batch batch;

    for (uint32_t at = 0; at < w->chunk.rows; at += SCAN_BATCH) {
        batch_at(w, at, &batch);
        const uint64_t *first = bound_keys(&batch, part[0]);
        const uint64_t *second = part[1] ? bound_keys(&batch, part[1]) : first;
        for (uint32_t i = 0; i < batch.rows; i++) {
            uint64_t key = first[i] != QUERY_KEY_NULL ? first[i] : second[i];
            if (without && without[(at + i) / 64] >> (at + i) % 64 & 1)
                key = QUERY_KEY_NULL;
            codes[at + i] = key != QUERY_KEY_NULL ? distinct_code(d, key) : UINT32_MAX;
        }
    }
    return w->error;
}

int bind_without(struct scan_worker *w, struct bound *b, struct bound *first, struct bound *second,
                 const uint64_t *without)
{
    struct bound *const part[] = {first, second};
    struct distinct d = {0};
    uint32_t n = w->chunk.rows, *codes = grow_to(&b->rows_memory, (n + 64) * sizeof(*codes));
    int rc = codes ? distinct_init(&d, n) : -ENOMEM;

    if (rc == 0)
        rc = code_rows(w, part, without, &d, codes);
    b->entry = rc == 0 ? grow_to(&b->entry_memory, (d.count + 1) * sizeof(*b->entry)) : NULL;
    if (rc == 0 && !b->entry)
        rc = -ENOMEM;
    for (size_t i = 0; rc == 0 && i < d.count; i++)
        entry_of_key(w, d.keys[i], &b->entry[i]);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        codes[i] = codes[i] == UINT32_MAX ? (uint32_t)d.count : codes[i];
    b->form = d.count ? FORM_CODED : FORM_NULL;
    b->shape = d.count ? SHAPE_MIXED : SHAPE_NULL;
    b->entries = (uint32_t)d.count;
    distinct_done(&d);
    return rc;
}
