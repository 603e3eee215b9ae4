/* rows_bytes.c - encodes the texts of the rows of a place for another process: count, unit of
 * times, keys, lengths; and text. */
#include "answer/lines/rows.h"

#include <errno.h>

static size_t start_of(const struct block *b, uint32_t row)
{
    return row ? b->end[row - 1] : 0;
}

static void give_text(struct block *b, uint32_t n, size_t bytes, struct buf *out)
{
    const struct item *item = &b->item;

    if (out->len == 0 && !item->order) {
        struct buf own = *out;
        *out = b->text;
        out->len = bytes;
        b->text = own;
        return;
    }
    buf_reserve(out, bytes);
    if (!item->order)
        buf_append(out, b->text.data, bytes);
    for (uint32_t k = 0; item->order && k < n; k++) {
        uint32_t row = item->order[k];
        buf_append(out, b->text.data + start_of(b, row), b->end[row] - start_of(b, row));
    }
}

int rows_encode(const struct rows_plan *p, struct block *b, struct buf *text, struct buf *facts)
{
    const struct item *item = &b->item;
    uint32_t n = item->count < p->max_by_key ? item->count : (uint32_t)p->max_by_key;

    rec_put_u(facts, n);
    if (p->order.by_key)
        item_put_keys(item, n, facts);
    size_t bytes = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = item_index(item, k);
        size_t length = b->end[row] - start_of(b, row);
        rec_put_u(facts, length);
        bytes += length;
    }
    give_text(b, n, bytes, text);
    return facts->error ? facts->error : text->error;
}

static int take_text(struct block *b, struct text text, struct buf *whole)
{
    int rc = charge_up_to(&b->text_charge, text.len);

    if (rc < 0)
        return rc;
    if (whole) {
        b->text = *whole;
        *whole = (struct buf){0};
        return 0;
    }
    buf_text(&b->text, text);
    return b->text.error;
}

int rows_decode(const struct rows_plan *p, struct rec *facts, struct text text, struct buf *whole,
                struct block *b)
{
    uint64_t n = rec_count(facts, 1);
    size_t end = 0;
    int rc = n == 0 || n > UINT32_MAX / 2
                 ? ERR_CORRUPT
                 : rows_grow(p, &b->item, (uint32_t)n, (void **)&b->end, sizeof(*b->end));

    if (rc < 0)
        return rc;
    if (p->order.by_key)
        item_take_keys(&b->item, n, facts);
    for (uint64_t i = 0; i < n; i++)
        b->end[i] = end += rec_u(facts);
    b->item.count = (uint32_t)n;
    return facts->bad || text.len != end ? ERR_CORRUPT : take_text(b, text, whole);
}
