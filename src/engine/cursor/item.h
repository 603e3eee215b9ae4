/* item.h - the selected objects of one place, and the order in which a cursor returns them.
 *
 * Used by:   cursor.h, and the makers of items (lines, flat rows), whose structs begin with a
 *            struct item.
 * Threads:   an item belongs to one thread at a time.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_ITEM_H
#define DFTRACERD_ENGINE_CURSOR_ITEM_H

#include "engine/cursor/top.h"

struct item {
    size_t position; /* in scan_places */
    const struct index_file *file;
    uint32_t count, cap, at; /* at: the next object to return */
    bool nano;               /* times are in ns, else in us */
    int64_t *keys;           /* by object: ts (or ITEM_NO_TS) or rank; NULL: file order */
    uint32_t *order;         /* objects in the order of their keys; NULL: they are in order */
    struct charge charge;    /* for the maker's use */
};
#define ITEM_NO_TS INT64_MIN
/* The key of an object without ts, which comes first. */
#define ITEM_NO_KEY (-((__int128)1 << 100))
/* After all keys. */
#define ITEM_KEY_MAX ((__int128)1 << 120)

/* Returns the number of the k-th object in the order of keys. */
static inline uint32_t item_index(const struct item *i, uint32_t k)
{
    return i->order ? i->order[k] : k;
}

/* Returns the key of a time: ns. */
static inline __int128 item_key_of_ts(int64_t ts, bool nano)
{
    return ts == ITEM_NO_TS ? ITEM_NO_KEY : nano ? ts : (__int128)ts * 1000;
}

/* Returns the key of the k-th object in the order of keys. */
static inline __int128 item_key(const struct item *i, uint32_t k)
{
    return item_key_of_ts(i->keys[item_index(i, k)], i->nano);
}

/* What the keys of objects are. */
struct item_order {
    bool by_key; /* false: file order */
    const struct source *ts;
    const struct top *top; /* ranks by a column; NULL: times */
};
/* Appends the keys of the batch's selected objects to item->keys, which has space for item->count +
 * b->count keys. */
void item_add_keys(struct item *item, struct scan_batch *b, const struct item_order *o);
/* Appends times, whatever the order. */
void item_add_times(struct item *item, struct scan_batch *b, const struct source *ts);
/* Encodes the unit and the first n keys in their order. */
void item_encode_keys(const struct item *item, uint32_t n, struct buf *out);
/* Decodes them into item->keys, which has space for n. */
void item_decode_keys(struct item *item, uint64_t n, struct rec *in);
/* Creates item->order unless the objects are in the order of their keys. Returns 0 or -ENOMEM. */
int item_sort(struct item *item);

#endif
