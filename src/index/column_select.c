/* column_select.c - which rows have a value in a range or a set, and the values of a few rows, without decoding the column. */
#include "dftracerd/kernel.h"
#include "column_view.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows that pass ------------------------------------------------------------------------------------------ */

struct wanted {
    int64_t lo, hi;
    const uint32_t *table;           /* of codes; NULL: the range */
    uint32_t codes;
};

static int select_values(struct column_view *c, const struct wanted *w, uint64_t *out)
{
    if (w->table != NULL)
        return pack_select_codes(&c->values, w->table, w->codes, out);
    return pack_select_i64(&c->values, w->lo, w->hi, out);
}

/* Values stand without gaps: what is found of them is dealt out to the rows that have one. */
static int select_sparse(struct chunk_view *v, struct column_view *c, const struct wanted *w, uint64_t *out)
{
    uint32_t words = (v->head.rows + 63) / 64, values = v->head.rows - c->dir.nulls;
    const struct bitmap_view *b;
    int rc = view_bitmap(v, c, &b);

    if (rc < 0)
        return rc;
    uint64_t *found = malloc(((size_t)values / 64 + 2) * sizeof(*found));
    if (found == NULL)
        return -ENOMEM;
    found[values / 64] = found[values / 64 + 1] = 0;
    rc = select_values(c, w, found);
    if (rc == 0)
        kernels()->deposit(found, 0, b->words, words, out);
    free(found);
    return rc;
}

static int select_rows(struct chunk_view *v, const struct column *col, const struct wanted *w, uint64_t *out)
{
    struct column_view *c = view_of(col);
    int rc = view_values(v, c);

    if (rc < 0)
        return rc;
    return c->dir.nulls == 0 ? select_values(c, w, out) : select_sparse(v, c, w, out);
}

int column_select_i64(struct chunk_view *v, const struct column *c, int64_t lo, int64_t hi, uint64_t *out)
{
    const struct wanted w = {.lo = lo, .hi = hi};

    if (c->type != COLUMN_INT && c->type != COLUMN_TIME && c->type != COLUMN_BOOL)
        return -EINVAL;
    return select_rows(v, c, &w, out);
}

int column_select_codes(struct chunk_view *v, const struct column *c, const uint32_t *table, uint64_t *out)
{
    const struct wanted w = {.table = table, .codes = c->entries};

    return c->entries == 0 ? -EINVAL : select_rows(v, c, &w, out);
}

/* ---- a few rows ------------------------------------------------------------------------------------------------- */

/* The wanted rows of one block of 1,024: their numbers in the block, and the places of their values. Rows without one stand
 * behind the others, with the value 0. */
struct few {
    uint32_t n, with_value, places[PACK_BLOCK];
    uint16_t rows[PACK_BLOCK];
    int64_t values[PACK_BLOCK];
};

/* All rows of a column without nulls. */
static const uint64_t every_row[PACK_BLOCK / 64] = {[0 ... PACK_BLOCK / 64 - 1] = UINT64_MAX};

static void find_rows(const struct bitmap_view *b, uint32_t first, uint32_t words, const uint64_t *wanted, struct few *f)
{
    uint32_t rank = b ? b->ranks[first / PACK_BLOCK] : first;
    const uint64_t *valid = b ? b->words + first / 64 : every_row;

    f->n = f->with_value = kernels()->places(wanted, valid, words, rank, f->rows, f->places);
    for (uint32_t i = 0; i < words; i++) {
        for (uint64_t left = wanted[i] & ~valid[i]; left; left &= left - 1) {
            f->rows[f->n] = (uint16_t)(i * 64 + (uint32_t)__builtin_ctzll(left));
            f->values[f->n++] = 0;
        }
    }
}

/* Fills f for rows [first, first + n), which are within one block. */
static int pick_rows(struct chunk_view *v, const struct column *col, uint32_t first, uint32_t n, const uint64_t *wanted,
                     struct few *f)
{
    struct column_view *c = view_of(col);
    const struct bitmap_view *b = NULL;
    int rc = view_values(v, c);

    assert(first % PACK_BLOCK == 0 && n <= PACK_BLOCK && first <= col->rows && n <= col->rows - first);
    if (rc == 0 && c->dir.nulls > 0)
        rc = view_bitmap(v, c, &b);
    if (rc < 0)
        return rc;
    find_rows(b, first, (n + 63) / 64, wanted, f);
    return f->with_value > 0 ? pack_pick_i64(&c->values, f->places, f->with_value, f->values) : 0;
}

static uint32_t part_rows(uint32_t done, uint32_t n) { return n - done < PACK_BLOCK ? n - done : PACK_BLOCK; }

int column_pick_i64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n, const uint64_t *wanted,
                    int64_t *out)
{
    struct few f;
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        rc = pick_rows(v, c, first + done, part_rows(done, n), wanted + done / 64, &f);
        for (uint32_t i = 0; rc == 0 && i < f.n; i++)
            out[done + f.rows[i]] = f.values[i];
    }
    return rc;
}

int column_pick_f64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n, const uint64_t *wanted,
                    double *out)
{
    uint8_t scale = view_of(c)->dir.scale;
    struct few f;
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        rc = pick_rows(v, c, first + done, part_rows(done, n), wanted + done / 64, &f);
        for (uint32_t i = 0; rc == 0 && i < f.n; i++)
            out[done + f.rows[i]] = i < f.with_value ? column_double(c->type, scale, f.values[i]) : 0;
    }
    return rc;
}

int column_pick_codes(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n, const uint64_t *wanted,
                      uint32_t *out)
{
    struct few f;
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        rc = pick_rows(v, c, first + done, part_rows(done, n), wanted + done / 64, &f);
        for (uint32_t i = 0; rc == 0 && i < f.n; i++) {
            if ((uint64_t)f.values[i] >= c->entries)
                return ERR_CORRUPT;
            out[done + f.rows[i]] = (uint32_t)f.values[i];
        }
    }
    return rc;
}
