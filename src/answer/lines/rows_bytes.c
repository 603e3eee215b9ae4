/* rows_bytes.c - encodes the texts of the rows of a place for another process: number of rows, keys
 * with the unit of times, lengths; and text. */
#include "answer/lines/rows.h"

#include <errno.h>

static size_t row_start(const struct rows_item *it, uint32_t row)
{
    return row ? it->end[row - 1] : 0;
}

/* Exchanges the buffers if the text can be sent as it is; copies it otherwise. */
static void move_text(struct rows_item *it, uint32_t n, size_t bytes, struct buf *out)
{
    const struct item *item = &it->item;

    if (out->len == 0 && !item->order) {
        struct buf own = *out;
        *out = it->text;
        out->len = bytes;
        it->text = own;
        return;
    }
    buf_reserve(out, bytes);
    if (!item->order)
        buf_append(out, it->text.data, bytes);
    for (uint32_t k = 0; item->order && k < n; k++) {
        uint32_t row = item->order[k];
        buf_append(out, it->text.data + row_start(it, row), it->end[row] - row_start(it, row));
    }
}

int rows_encode(void *plan, void *rows, struct buf *text, struct buf *facts)
{
    const struct rows_plan *p = plan;
    struct rows_item *it = rows;
    const struct item *item = &it->item;
    uint32_t n = item->count < p->max_returned ? item->count : (uint32_t)p->max_returned;

    rec_put_u(facts, n);
    if (p->order.by_key)
        item_encode_keys(item, n, facts);
    size_t bytes = 0;
    for (uint32_t k = 0; k < n; k++) {
        uint32_t row = item_index(item, k);
        size_t length = it->end[row] - row_start(it, row);
        rec_put_u(facts, length);
        bytes += length;
    }
    move_text(it, n, bytes, text);
    return facts->error ? facts->error : text->error;
}

/* whole: the buffer of `text`, which becomes owned by the item; NULL: the text is copied. */
static int set_text(struct rows_item *it, struct text text, struct buf *whole)
{
    int rc = charge_up_to(&it->text_charge, text.len);

    if (rc < 0)
        return rc;
    if (whole) {
        it->text = *whole;
        *whole = (struct buf){0};
        return 0;
    }
    buf_text(&it->text, text);
    return it->text.error;
}

int rows_decode(const struct rows_plan *p, struct rec *facts, struct text text, struct buf *whole,
                struct rows_item *it)
{
    uint64_t n = rec_count(facts, 1);
    size_t end = 0;
    int rc = n == 0 || n > UINT32_MAX / 2 ? ERR_CORRUPT : rows_grow(p, it, (uint32_t)n);

    if (rc < 0)
        return rc;
    if (p->order.by_key)
        item_decode_keys(&it->item, n, facts);
    for (uint64_t i = 0; i < n; i++)
        it->end[i] = end += rec_u(facts);
    it->item.count = (uint32_t)n;
    return facts->bad || text.len != end ? ERR_CORRUPT : set_text(it, text, whole);
}
