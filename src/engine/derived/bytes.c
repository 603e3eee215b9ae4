/* bytes.c - the column bytes: the stored one, without the calls that covered.h excludes. */
#include "engine/derived/bind.h"
#include "engine/derived/covered.h"

#include <errno.h>
#include <string.h>

static int bind_uncovered(struct scan_worker *w, struct binding *b, const struct column *c,
                          const uint64_t *covered)
{
    uint32_t n = w->chunk.rows, words = (n + 63) / 64;
    uint64_t *valid;
    int64_t *values = whole_alloc(w, b, &valid);
    int rc = values ? column_read_i64(w->chunk.view, c, 0, n, values) : -ENOMEM;

    if (rc < 0)
        return rc;
    memset(valid, 0xFF, words * sizeof(*valid));
    if (c->nulls > 0)
        rc = column_read_valid(w->chunk.view, c, 0, n, valid);
    for (uint32_t i = 0; rc == 0 && i < words; i++) {
        for (uint64_t left = valid[i] & covered[i]; left != 0; left &= left - 1)
            values[i * 64 + (uint32_t)__builtin_ctzll(left)] = 0;
        valid[i] &= ~covered[i];
    }
    return rc < 0 ? rc : bind_whole(b, c->min < 0 ? c->min : 0, c->max);
}

static int bind_bytes(struct scan_worker *w, struct binding *b)
{
    struct binding *all = bind_part(w, b, 0);
    const uint64_t *covered;

    if (all->shape == SHAPE_NULL)
        return 0;
    int rc = covered_rows(w, &covered);
    if (rc < 0)
        return rc;
    if (!covered)
        return bind_stored(w, b, all->stored);
    return all->shape == SHAPE_INT ? bind_uncovered(w, b, all->stored, covered)
                                   : bind_merged(w, b, all, NULL, covered);
}

const struct column_kind derived_bytes = {.parts = {"=bytes"}, .bind = bind_bytes};
