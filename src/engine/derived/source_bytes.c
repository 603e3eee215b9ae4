/* source_bytes.c - the column bytes in one chunk: as it is stored, without the calls that covered.h
 * leaves out. */
#include "engine/derived/bind.h"
#include "engine/derived/covered.h"

#include <errno.h>
#include <string.h>

/* The whole chunk, of integers. */
static int bind_rows(struct scan_worker *w, struct bound *b, const struct column *c,
                     const uint64_t *covered)
{
    uint32_t n = w->chunk.rows, words = (n + 63) / 64;
    /* Kernels read 64 rows at a time. */
    int64_t *values = grow_to(&b->rows_memory, (n + 64) * sizeof(*values));
    uint64_t *valid = grow_to(&b->rows_valid, words * sizeof(*valid));
    int rc = values && valid ? column_read_i64(w->chunk.view, c, 0, n, values) : -ENOMEM;

    if (rc < 0)
        return rc;
    memset(values + n, 0, 64 * sizeof(*values));
    memset(valid, 0xFF, words * sizeof(*valid));
    if (c->nulls > 0)
        rc = column_read_valid(w->chunk.view, c, 0, n, valid);
    for (uint32_t i = 0; rc == 0 && i < words; i++) {
        for (uint64_t left = valid[i] & covered[i]; left != 0; left &= left - 1)
            values[i * 64 + (uint32_t)__builtin_ctzll(left)] = 0;
        valid[i] &= ~covered[i];
    }
    b->form = FORM_ROWS;
    b->shape = SHAPE_INT;
    b->min = c->min < 0 ? c->min : 0;
    b->max = c->max;
    return rc;
}

int bind_bytes(struct scan_worker *w, struct bound *b, struct bound *stored)
{
    const uint64_t *covered;

    if (stored->shape == SHAPE_NULL)
        return bind_null(b);
    int rc = covered_rows(w, &covered);
    if (rc < 0)
        return rc;
    if (!covered)
        return bind_column(w, b, &stored->column);
    return stored->shape == SHAPE_INT ? bind_rows(w, b, &stored->column, covered)
                                      : bind_without(w, b, stored, NULL, covered);
}
