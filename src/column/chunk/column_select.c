/* column_select.c - selects rows with a value in a range or a set, and reads the values of a few
 * rows, without decoding the column. */
#include "dftracerd/kernel.h"
#include "column/chunk/column_view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows that pass -------------------------------------------------------------------------- */

struct value_set {
    int64_t lo, hi;
    const uint32_t *table; /* bitmap over codes; NULL: lo and hi are used */
    uint32_t code_count;
};

static int select_values(struct column_view *c, const struct value_set *w, uint64_t *out)
{
    if (w->table != NULL)
        return pack_select_codes(&c->values, w->table, w->code_count, out);
    return pack_select_i64(&c->values, w->lo, w->hi, out);
}

/* Values are stored without gaps, so the resulting bits are moved to the rows that have a value. */
static int select_sparse(struct chunk_view *v, struct column_view *c, const struct value_set *w,
                         uint64_t *out)
{
    uint32_t words = (v->head.rows + 63) / 64, values = v->head.rows - c->dir.nulls;
    const struct bitmap_view *b;
    int rc = view_bitmap(v, c, &b);

    if (rc < 0)
        return rc;
    uint64_t *found = malloc(((size_t)values / 64 + 2) * sizeof(*found));
    if (found == NULL)
        return -ENOMEM;
    found[values / 64] = found[values / 64 + 1] = 0; /* deposit reads one word too far */
    rc = select_values(c, w, found);
    if (rc == 0)
        kernels()->deposit(found, 0, b->words, words, out);
    free(found);
    return rc;
}

static int select_rows(struct chunk_view *v, const struct column *col, const struct value_set *w,
                       uint64_t *out)
{
    struct column_view *c = view_of(col);
    int rc = view_values(v, c);

    if (rc < 0)
        return rc;
    return c->dir.nulls == 0 ? select_values(c, w, out) : select_sparse(v, c, w, out);
}

int column_select_i64(struct chunk_view *v, const struct column *c, int64_t lo, int64_t hi,
                      uint64_t *out)
{
    const struct value_set w = {.lo = lo, .hi = hi};

    if (c->type != COLUMN_INT && c->type != COLUMN_TIME && c->type != COLUMN_BOOL)
        return -EINVAL;
    return select_rows(v, c, &w, out);
}

int column_select_codes(struct chunk_view *v, const struct column *c, const uint32_t *table,
                        uint64_t *out)
{
    const struct value_set w = {.table = table, .code_count = c->entries};

    return c->entries == 0 ? -EINVAL : select_rows(v, c, &w, out);
}

/* ---- values that pass ------------------------------------------------------------------------ */

int column_copy_selected_i64(struct chunk_view *v, const struct column *col, const uint64_t *rows,
                             int64_t lo, int64_t hi, int64_t *out, uint32_t *ret_count)
{
    struct column_view *c = view_of(col);
    uint32_t words = (v->head.rows + 63) / 64;
    const struct bitmap_view *b;
    int rc = col->type == COLUMN_INT || col->type == COLUMN_TIME ? view_values(v, c) : -EINVAL;

    if (rc == 0 && c->dir.nulls == 0)
        return pack_copy_selected_i64(&c->values, rows, lo, hi, out, ret_count);
    if (rc == 0)
        rc = view_bitmap(v, c, &b);
    if (rc < 0)
        return rc;
    uint64_t *selected_values = malloc(((size_t)words + 1) * sizeof(*selected_values));
    if (selected_values == NULL)
        return -ENOMEM;
    kernels()->extract(rows, b->words, words, selected_values);
    rc = pack_copy_selected_i64(&c->values, selected_values, lo, hi, out, ret_count);
    free(selected_values);
    return rc;
}

/* ---- a few rows ------------------------------------------------------------------------------ */

/* Reads at most PACK_BLOCK rows anywhere in the chunk. Null rows have the value 0.
 * value_positions: positions among the non-null values, which are stored without gaps. */
static int pick_rows(struct chunk_view *v, const struct column *col, const uint32_t *rows,
                     uint32_t n, int64_t *out)
{
    struct column_view *c = view_of(col);
    const struct bitmap_view *b;
    uint32_t value_positions[PACK_BLOCK];
    int64_t values[PACK_BLOCK];
    uint16_t row_index[PACK_BLOCK];
    int rc = view_values(v, c);

    assert(n <= PACK_BLOCK && rows[n - 1] < col->rows);
    if (rc == 0 && c->dir.nulls == 0)
        return pack_pick_i64(&c->values, rows, n, out);
    if (rc == 0)
        rc = view_bitmap(v, c, &b);
    if (rc < 0)
        return rc;
    uint32_t found = kernels()->places(rows, n, b->words, b->ranks, row_index, value_positions);
    if (found == n)
        return pack_pick_i64(&c->values, value_positions, n, out);
    memset(out, 0, n * sizeof(*out));
    if (found > 0)
        rc = pack_pick_i64(&c->values, value_positions, found, values);
    for (uint32_t i = 0; rc == 0 && i < found; i++)
        out[row_index[i]] = values[i];
    return rc;
}

int column_pick_i64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    int64_t *out)
{
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK)
        rc = pick_rows(v, c, rows + done, pack_block_rows(done, n), out + done);
    return rc;
}

int column_pick_f64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    double *out)
{
    uint8_t scale = view_of(c)->dir.scale;
    int64_t values[PACK_BLOCK];
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        rc = pick_rows(v, c, rows + done, pack_block_rows(done, n), values);
        for (uint32_t i = 0; rc == 0 && i < pack_block_rows(done, n); i++)
            out[done + i] = column_double(c->type, scale, values[i]);
    }
    return rc;
}

int column_pick_codes(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint32_t *out)
{
    int64_t values[PACK_BLOCK];
    uint64_t max = 0;
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        rc = pick_rows(v, c, rows + done, pack_block_rows(done, n), values);
        for (uint32_t i = 0; rc == 0 && i < pack_block_rows(done, n); i++) {
            max = (uint64_t)values[i] > max ? (uint64_t)values[i] : max;
            out[done + i] = (uint32_t)values[i];
        }
    }
    return rc == 0 && n > 0 && max >= c->entries ? ERR_CORRUPT : rc;
}

int column_pick_valid(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint64_t *out)
{
    const struct bitmap_view *b;
    int rc = c->nulls ? view_bitmap(v, view_of(c), &b) : 0;

    memset(out, 0, ((size_t)n + 63) / 64 * sizeof(*out));
    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        uint64_t valid = c->nulls ? b->words[rows[i] / 64] >> rows[i] % 64 & 1 : 1;
        out[i / 64] |= valid << i % 64;
    }
    return rc;
}
