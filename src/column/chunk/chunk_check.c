/* chunk_check.c - checks every part of an encoded chunk. */
#include "column/chunk/column_view.h"

#include <string.h>

static bool sum_is(const struct chunk_view *v, const struct section *s, uint32_t sum)
{
    return s->len == 0 || chunk_sum(v->data + s->offset, s->len) == sum;
}

static int check_sums(const struct chunk_view *v)
{
    bool ok =
        view_section_ok(v, &v->head.density) && sum_is(v, &v->head.density, v->head.density_sum);

    for (unsigned i = 0; ok && i < v->head.columns; i++) {
        struct column_dir d;
        memcpy(&d, v->data + sizeof(struct chunk_head) + i * sizeof(d), sizeof(d));
        struct section body = column_body(&d);
        ok = sum_is(v, &body, d.sum) && sum_is(v, &d.filter, d.filter_sum);
    }
    for (unsigned i = 0; ok && i < v->head.bitmaps; i++)
        ok = sum_is(v, &v->bitmaps[i].dir.section, v->bitmaps[i].dir.sum);
    return ok ? 0 : ERR_CORRUPT;
}

static int check_values(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n)
{
    union {
        int64_t i[PACK_BLOCK];
        double d[PACK_BLOCK];
        uint32_t code[PACK_BLOCK];
    } out;

    if (c->entries > 0)
        return column_read_codes(v, c, first, n, out.code);
    return c->type == COLUMN_DOUBLE ? column_read_f64(v, c, first, n, out.d)
                                    : column_read_i64(v, c, first, n, out.i);
}

int chunk_view_check(struct chunk_view *v)
{
    struct column c;
    struct column_entry e;
    int rc = check_sums(v);

    rc = rc < 0 ? rc : density_check(v);
    for (uint32_t i = 0; rc == 0 && i < v->head.columns; i++) {
        chunk_column(v, i, &c);
        for (uint32_t first = 0; rc == 0 && first < c.rows; first += PACK_BLOCK)
            rc = check_values(v, &c, first, pack_block_rows(first, c.rows));
        for (uint32_t k = 0; rc == 0 && k < c.entries; k++)
            rc = column_entry(v, &c, k, &e);
    }
    return rc;
}
