/* rows_grow.c - memory of a block of rows. */
#include "answer/lines/rows.h"

#include <errno.h>
#include <stdlib.h>

int rows_grow(const struct rows_plan *p, struct item *item, uint32_t need, void **array,
              size_t each)
{
    uint32_t cap = item->cap ? item->cap : top_rows_at_first(p->order.top, 64);

    if (need <= item->cap)
        return 0;
    while (cap < need)
        cap *= 2;
    size_t bytes = (cap - item->cap) * (each + (p->order.by_key ? sizeof(*item->keys) : 0));
    int rc = charge_add(&item->charge, bytes);
    if (rc < 0)
        return rc;
    void *grown = realloc(*array, cap * each);
    *array = grown ? grown : *array;
    int64_t *keys = p->order.by_key ? realloc(item->keys, cap * sizeof(*keys)) : NULL;
    item->keys = keys ? keys : item->keys;
    if (!grown || (p->order.by_key && !keys))
        return -ENOMEM;
    item->cap = cap;
    return 0;
}
