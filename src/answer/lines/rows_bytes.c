/* rows_bytes.c - the texts of the rows of a place as bytes, for another process: count, unit of
 * times, keys, lengths, text. */
#include "answer/lines/rows.h"

#include <errno.h>

static size_t start_of(const struct block *b, uint32_t row)
{
    return row ? b->end[row - 1] : 0;
}

static void put_keys(const struct item *item, uint32_t n, struct buf *out)
{
    rec_put_u(out, item->nano);
    for (uint32_t k = 0; k < n; k++)
        buf_append(out, &item->keys[item_index(item, k)], sizeof(*item->keys));
}

static size_t put_lengths(const struct block *b, uint32_t n, struct buf *out)
{
    size_t bytes = 0;

    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = item_index(&b->item, k);
        size_t length = b->end[row] - start_of(b, row);
        rec_put_u(out, length);
        bytes += length;
    }
    return bytes;
}

int rows_encode(const struct rows_plan *p, const struct block *b, struct buf *out)
{
    const struct item *item = &b->item;
    uint32_t n = item->count < p->most_by_key ? item->count : (uint32_t)p->most_by_key;

    rec_put_u(out, n);
    if (p->order.by_key)
        put_keys(item, n, out);
    size_t bytes = put_lengths(b, n, out);
    rec_put_u(out, bytes);
    if (!item->order)
        buf_append(out, b->text.data, bytes);
    for (uint32_t k = 0; item->order && k < n; k++) {
        uint32_t row = item->order[k];
        buf_append(out, b->text.data + start_of(b, row), b->end[row] - start_of(b, row));
    }
    return out->error;
}

static void take_keys(struct item *item, uint64_t n, struct rec *in)
{
    item->nano = rec_u(in);
    rec_array(in, item->keys, n * sizeof(*item->keys));
}

int rows_decode(const struct rows_plan *p, struct text bytes, struct block *b)
{
    struct rec in = rec_of(bytes);
    uint64_t n = rec_count(&in, 1);
    size_t end = 0;
    int rc = n == 0 || n > UINT32_MAX / 2 ? ERR_CORRUPT
                                          : rows_grow(p, &b->item, (uint32_t)n, (void **)&b->end,
                                                      sizeof(*b->end));

    if (rc < 0)
        return rc;
    if (p->order.by_key)
        take_keys(&b->item, n, &in);
    for (uint64_t i = 0; i < n; i++)
        b->end[i] = end += rec_u(&in);
    b->item.count = (uint32_t)n;
    struct text text = rec_text(&in);
    rc = in.bad || text.len != end ? ERR_CORRUPT : charge_up_to(&b->text_charge, text.len);
    if (rc == 0)
        buf_text(&b->text, text);
    return rc < 0 ? rc : b->text.error;
}
