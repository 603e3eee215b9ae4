/* item.c - keys of objects. */
#include "engine/cursor/item.h"

#include <errno.h>
#include <stdlib.h>

void item_add_times(struct item *item, struct scan_batch *b, const struct source *source)
{
    const uint64_t *valid;
    const int64_t *ts = batch_i64(b, source, &valid, &item->nano);
    int64_t *to = item->keys + item->count;

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        to[j] = batch_is_valid(valid, row) ? ts[row] : ITEM_NO_TS;
    }
}

void item_add_keys(struct item *item, struct scan_batch *b, const struct item_order *o)
{
    item->nano = true;
    if (o->top)
        top_ranks(o->top, b, item->keys + item->count);
    else
        item_add_times(item, b, o->ts);
}

void item_encode_keys(const struct item *item, uint32_t n, struct buf *out)
{
    rec_put_u(out, item->nano);
    for (uint32_t k = 0; k < n; k++)
        buf_append(out, &item->keys[item_index(item, k)], sizeof(*item->keys));
}

void item_decode_keys(struct item *item, uint64_t n, struct rec *in)
{
    item->nano = rec_u(in);
    rec_array(in, item->keys, n * sizeof(*item->keys));
}

static int compare_keys(const void *a, const void *b, void *arg)
{
    const int64_t *keys = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (keys[x] != keys[y])
        return keys[x] < keys[y] ? -1 : 1;
    return (x > y) - (x < y);
}

int item_sort(struct item *item)
{
    bool sorted = true;

    for (uint32_t i = 1; i < item->count && sorted; i++)
        sorted = item->keys[i - 1] <= item->keys[i];
    if (sorted)
        return 0;
    item->order = malloc(item->count * sizeof(*item->order));
    if (!item->order)
        return -ENOMEM;
    for (uint32_t i = 0; i < item->count; i++)
        item->order[i] = i;
    qsort_r(item->order, item->count, sizeof(*item->order), compare_keys, item->keys);
    return 0;
}
