/* view_stream.h - objects of all places in the order of the answer: as they stand, or merged by a
 * key, which is their time or their rank by a column.
 *
 * By key: the first key of each place is found by a scan (times) or known (ranks, view_top.h);
 * places are then made in that order, a place no sooner than an object of it may be next, and
 * merged by a heap. So memory is that of the places which overlap.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_STREAM_H
#define DFTRACERD_ANSWER_LINES_VIEW_STREAM_H

#include "answer/lines/view_ahead.h"
#include "answer/lines/view_top.h"

/* What every item begins with: the selected objects of one place. */
struct item {
    size_t position; /* in scan_places */
    const struct index_file *file;
    uint32_t count, cap, at; /* at: the next one to take */
    bool nano;               /* unit of times */
    int64_t *keys;           /* by row: ts (ITEM_NO_TS = none) or rank. NULL: as they stand */
    uint32_t *order;         /* k-th by key; NULL: as they stand */
    struct charge charge;    /* the maker's */
};
#define ITEM_NO_TS INT64_MIN
static inline uint32_t item_index(const struct item *i, uint32_t k)
{
    return i->order ? i->order[k] : k;
}

/* By what objects are ordered. */
struct item_order {
    bool by_key;
    const struct source *ts;
    const struct top *top; /* NULL: by ts */
};
/* Adds the keys of the batch's selected objects to item->keys (room for item->count + b->count is
 * there). */
void item_add_keys(struct item *item, struct scan_batch *b, const struct item_order *o);
/* Fills item->order where the objects are not in order of their keys. */
int item_sort(struct item *item);

struct stream_options {
    bool order_ts;
    /* by rank; the offset is the top's. NULL: all objects */
    struct top *top;
    uint64_t limit, offset;
    /* maker's arg; true: leave the item out. May be NULL; in file order only */
    bool (*refuse)(void *arg, const struct item *item);
};
struct stream;
/* Makers' items begin with a struct item. */
int stream_new(const struct ahead_maker *maker, const struct stream_options *o, struct err *err,
               struct stream **ret);
/* The item that has the next object, and how many objects in a row may be taken from it (> 0).
 * ERR_END. */
int stream_next(struct stream *s, struct err *err, struct item **ret, uint32_t *ret_run);
/* Takes n objects of the item of the last stream_next, which may be gone then. */
void stream_take(struct stream *s, uint32_t n);
/* How much of limit and offset is left. */
void stream_left(const struct stream *s, uint64_t *ret_limit, uint64_t *ret_offset);
/* Nobody will ask for a while: drops what was made ahead, and in file order also the item at hand,
 * to be made again; `keep`: not that one. */
void stream_rest(struct stream *s, bool keep);
void stream_free(struct stream *s);
/* Number of selected objects of each place, first ts (ITEM_NO_KEY where one has none): *new*
 * arrays, `ret_first` may be NULL. */
#define ITEM_NO_KEY (-((__int128)1 << 100))

#endif
