/* view_stream.h - objects of all places in the order of the answer: as they stand, or merged by
 * time.
 *
 * By time: a first scan finds, for each place, its earliest time; places are then made in that
 * order, a place no sooner than an object of it may be next, and merged by a heap. So memory is
 * that of the places which overlap in time.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_STREAM_H
#define DFTRACERD_ANSWER_LINES_VIEW_STREAM_H

#include "answer/lines/view_ahead.h"

/* What every item begins with: the selected objects of one place. */
struct item {
    size_t position; /* in scan_places */
    const struct index_file *file;
    uint32_t count, cap, at; /* at: the next one to take */
    bool nano;               /* unit of ts */
    int64_t *ts;             /* by row; ITEM_NO_TS = none. NULL unless ordered by time */
    uint32_t *order;         /* k-th by time; NULL: as they stand */
    struct charge charge;    /* the maker's */
};
#define ITEM_NO_TS INT64_MIN
static inline uint32_t item_index(const struct item *i, uint32_t k)
{
    return i->order ? i->order[k] : k;
}

/* Adds the times of the batch's selected objects to item->ts (room for item->count + b->count is
 * there). */
void item_add_ts(struct item *item, struct scan_batch *b, const struct source *ts);
/* Fills item->order where the objects are not in order of time. */
int item_sort(struct item *item);

struct stream_options {
    bool order_ts;
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
