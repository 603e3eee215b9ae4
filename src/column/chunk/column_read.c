/* column_read.c - reads the values of rows. Columns without nulls are decoded directly to the
 * caller's array; for columns with nulls, the values are decoded once for the view, then copied
 * to their rows. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "column/chunk/column_view.h"
#include "dftracerd/kernel.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

int view_values(struct chunk_view *v, struct column_view *c)
{
    if (c->opened)
        return 0;
    int rc = view_check_column(v, c);
    if (rc < 0)
        return rc;
    rc = pack_open(&c->values, v->data + c->dir.values.offset, c->dir.values.len,
                   v->head.rows - c->dir.nulls);
    c->opened = rc == 0;
    return rc;
}

/* ---- nulls ----------------------------------------------------------------------------------- */

static int load_bitmap(struct chunk_view *v, struct bitmap_view *b)
{
    size_t words = ((size_t)v->head.rows + 63) / 64;
    const struct section *section = &b->dir.section;
    struct pack_stream s;

    if (!view_sum_ok(v, VIEW_PART_BITMAPS + (uint64_t)(b - v->bitmaps), section, b->dir.sum))
        return ERR_CORRUPT;
    int rc = pack_open(&s, v->data + section->offset, section->len, (uint32_t)words);
    if (rc < 0)
        return rc;
    b->words = calloc(words + 1, sizeof(*b->words));
    b->ranks = calloc(words + 1, sizeof(*b->ranks));
    rc =
        b->words && b->ranks ? pack_read_i64(&s, 0, (uint32_t)words, (int64_t *)b->words) : -ENOMEM;
    pack_close(&s);
    if (rc == 0) {
        unsigned rest = v->head.rows % 64;
        rc = rest != 0 && b->words[words - 1] >> rest != 0 ? ERR_CORRUPT : 0;
    }
    if (rc == 0)
        kernels()->ranks(b->words, (uint32_t)words, b->ranks);
    return rc;
}

int view_bitmap(struct chunk_view *v, const struct column_view *c, const struct bitmap_view **ret)
{
    struct bitmap_view *b = &v->bitmaps[c->dir.bitmap];
    uint32_t words = (v->head.rows + 63) / 64;
    int rc = b->words ? 0 : load_bitmap(v, b);

    if (rc < 0) {
        free(b->words);
        free(b->ranks);
        b->words = NULL;
        b->ranks = NULL;
        return rc;
    }
    *ret = b;
    return b->ranks[words] == v->head.rows - c->dir.nulls ? 0 : ERR_CORRUPT;
}

int column_read_valid(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                      uint64_t *out)
{
    const struct bitmap_view *b;
    size_t words = ((size_t)n + 63) / 64;

    assert(first % PACK_BLOCK == 0 && first <= c->rows && n <= c->rows - first);
    if (c->nulls == 0) {
        memset(out, 0xff, words * 8);
    } else {
        int rc = view_bitmap(v, view_of(c), &b);
        if (rc < 0)
            return rc;
        memcpy(out, b->words + first / 64, words * 8);
    }
    if (n % 64 != 0)
        out[words - 1] &= ((uint64_t)1 << n % 64) - 1;
    return 0;
}

/* ---- values without gaps --------------------------------------------------------------------- */

/* Callers use codes as array indexes, so each must be less than the number of entries. */
static int check_codes(const uint32_t *codes, uint32_t n, uint32_t entries)
{
    return n > 0 && kernels()->max(codes, n) >= entries ? ERR_CORRUPT : 0;
}

/* Decodes all non-null values of the column to c->whole: codes as uint32_t, others as int64_t. */
static int load_whole(struct chunk_view *v, struct column_view *c)
{
    uint32_t count = v->head.rows - c->dir.nulls;
    bool codes = c->dir.entries > 0;
    size_t each = codes ? sizeof(uint32_t) : sizeof(int64_t);

    if (c->whole != NULL)
        return 0;
    c->whole = malloc(((size_t)count + 4) * each);
    if (c->whole == NULL)
        return -ENOMEM;
    memset((char *)c->whole + count * each, 0, 4 * each);
    int rc = codes ? pack_read_u32(&c->values, 0, count, c->whole)
                   : pack_read_i64(&c->values, 0, count, c->whole);
    if (rc == 0 && codes)
        rc = check_codes(c->whole, count, c->dir.entries);
    if (rc < 0) {
        free(c->whole);
        c->whole = NULL;
    }
    return rc;
}

/* ---- integers -------------------------------------------------------------------------------- */

/* Reads stored numbers: ints, scaled doubles, bits of doubles. */
static int read_stored(struct chunk_view *v, const struct column *col, uint32_t first, uint32_t n,
                       int64_t *out)
{
    struct column_view *c = view_of(col);
    const struct bitmap_view *b;
    int rc;

    assert(first % PACK_BLOCK == 0 && first <= col->rows && n <= col->rows - first);
    rc = view_values(v, c);
    if (rc == 0 && c->dir.nulls == 0)
        return pack_read_i64(&c->values, first, n, out);
    if (rc == 0)
        rc = view_bitmap(v, c, &b);
    if (rc == 0)
        rc = load_whole(v, c);
    if (rc == 0)
        pack_kernels()->expand64((const int64_t *)c->whole + b->ranks[first / 64],
                                 b->words + first / 64, n, out);
    return rc;
}

int column_read_i64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    int64_t *out)
{
    if (c->type != COLUMN_INT && c->type != COLUMN_TIME && c->type != COLUMN_BOOL)
        return -EINVAL;
    return read_stored(v, c, first, n, out);
}

/* ---- doubles --------------------------------------------------------------------------------- */

const double column_pow10[COLUMN_SCALES_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};

double column_double(enum column_type type, uint8_t scale, int64_t stored)
{
    double raw;

    memcpy(&raw, &stored, sizeof(raw));
    if (type == COLUMN_DOUBLE && scale == COLUMN_SCALE_RAW)
        return raw;
    return type == COLUMN_DOUBLE && scale > 0 ? (double)stored / column_pow10[scale]
                                              : (double)stored;
}

int column_read_f64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    double *out)
{
    uint8_t scale = view_of(c)->dir.scale;
    int rc;

    if (c->type == COLUMN_TEXT || c->type == COLUMN_MIXED)
        return -EINVAL;
    rc = read_stored(v, c, first, n, (int64_t *)(void *)out);
    if (rc < 0 || (c->type == COLUMN_DOUBLE && scale == COLUMN_SCALE_RAW))
        return rc;
    double by = column_pow10[c->type == COLUMN_DOUBLE ? scale : 0];
    for (uint32_t i = 0; i < n; i++) {
        int64_t x;
        memcpy(&x, &out[i], sizeof(x));
        out[i] = (double)x;
    }
    for (uint32_t i = 0; by != 1 && i < n; i++)
        out[i] /= by;
    return 0;
}

/* ---- codes ----------------------------------------------------------------------------------- */

int column_read_distances(struct chunk_view *v, const struct column *col, uint32_t first,
                          uint32_t n, uint32_t *out)
{
    struct column_view *c = view_of(col);
    uint64_t span = (uint64_t)col->max - (uint64_t)col->min;
    uint32_t min = (uint32_t)(uint64_t)col->min;
    int rc;

    assert(first % PACK_BLOCK == 0 && n + first <= col->rows - col->nulls);
    if (col->type != COLUMN_INT || span >= UINT32_MAX)
        return -EINVAL;
    rc = view_values(v, c);
    if (rc == 0)
        rc = pack_read_u32(&c->values, first, n, out);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        out[i] -= min;
    return rc ? rc : check_codes(out, n, (uint32_t)span + 1);
}

/* Nulls are clustered (metadata among events). Words of 64 rows without nulls, which are frequent,
 * are copied at once. */
static void expand_codes(const uint32_t *in, const uint64_t *valid, uint32_t n, uint32_t *out)
{
    for (uint32_t i = 0; i < n; i += 64) {
        uint64_t word = valid[i / 64];
        uint32_t many = n - i < 64 ? n - i : 64;
        if (word == UINT64_MAX && many == 64) {
            memcpy(out + i, in, 64 * sizeof(*out));
            in += 64;
            continue;
        }
        for (uint32_t k = 0; k < many; k++, word >>= 1) {
            uint32_t bit = (uint32_t)word & 1;
            out[i + k] = *in & -bit;
            in += bit;
        }
    }
}

int column_read_codes(struct chunk_view *v, const struct column *col, uint32_t first, uint32_t n,
                      uint32_t *out)
{
    struct column_view *c = view_of(col);
    const struct bitmap_view *b;
    int rc;

    assert(first % PACK_BLOCK == 0 && first <= col->rows && n <= col->rows - first);
    if (col->entries == 0)
        return -EINVAL;
    rc = view_values(v, c);
    if (rc == 0 && c->dir.nulls == 0) {
        rc = pack_read_u32(&c->values, first, n, out);
        return rc ? rc : check_codes(out, n, col->entries);
    }
    if (rc == 0)
        rc = view_bitmap(v, c, &b);
    if (rc == 0)
        rc = load_whole(v, c);
    if (rc == 0)
        expand_codes((const uint32_t *)c->whole + b->ranks[first / 64], b->words + first / 64, n,
                     out);
    return rc;
}
