/* worker.h - a worker of the scan: what it has, how it adds a value, and the files that add rows
 * of some kind.
 *
 * Used by:   scan.c, counters.c, split.c, slots.c.
 * Path:      scan.c calls the others for the rows that are theirs; all add values by worker.c.
 * Threads:   a worker belongs to one thread. Memory: freed by scan.c when the worker ends.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_WORKER_H
#define DFTRACERD_ANSWER_AGGREGATE_WORKER_H

#include "answer/aggregate/found.h"
#include "answer/stats/clamp.h"
#include "engine/scan/scan.h"

struct aggregate_worker {
    struct aggregate_found *found;
    const struct aggregate_plan *plan;
    VEC(struct fine_entry) entries;         /* of the present chunk, in the order of first touch */
    uint64_t rows;                          /* since the last fold */
    bool only_events;                       /* the file has no counters */
    struct pass_filter *filter;             /* with plan->pass */
    struct aggregate_slots *slots;          /* NULL: the plan wants more than sums */
    uint32_t group[SCAN_BATCH];             /* of the selected rows */
    uint16_t rows_of[SETS + 1][SCAN_BATCH]; /* rows of the batch by set */
};
struct fine *worker_fine(struct aggregate_worker *w, unsigned set, unsigned measure,
                         uint32_t group);
/* One value of one measure. */
int value_add(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
              int64_t value, bool nano);
int value_add_f64(struct aggregate_worker *w, unsigned set, unsigned measure, uint32_t group,
                  double value);

/* ---- counters.c, split.c, slots.c ------------------------------------------------------------ */

/* Sorts the rows of a batch that are no events by their class: numbers into rows_of, how many into
 * ret. */
void counters_sort(struct aggregate_worker *w, struct scan_batch *b, const uint16_t *rows,
                   uint32_t count, uint32_t ret[SETS]);
/* dur, size and fields of counters whose groups are w->group. */
int counters_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set);
/* Rows that meet several buckets are shared out; all others go the common way. */
int split_add(struct aggregate_worker *w, struct scan_batch *b, unsigned set);
/* slots.c: the quick way of batches of which only integers are summed up. *ret: *new*, or
 * NULL. */
int slots_new(const struct aggregate_plan *p, struct aggregate_slots **ret);
void slots_free(const struct aggregate_plan *p, struct aggregate_slots *s);
void slots_chunk(struct aggregate_worker *w, struct scan_chunk *c);
/* Whether slots_add can do all that is to be done with the batch; the set's map knows the chunk. */
bool slots_want(const struct aggregate_worker *w, const struct scan_batch *b);
int slots_add(struct aggregate_worker *w, struct scan_batch *b);
/* To be called before `found` is looked at. */
int slots_end(struct aggregate_worker *w);

#endif
