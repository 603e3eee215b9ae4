/* worker.h - a worker of groups_scan: for accumulators, and for answers with rows of their own.
 *
 * Used by:   the files of engine/group; group_hooks and group_set.add of answers.
 * Path:      scan.c finds the groups of a batch's rows -> accumulators or group_set.add.
 * Threads:   a worker belongs to one thread. Memory: freed by scan.c when the worker ends.
 */
#ifndef DFTRACERD_ENGINE_GROUP_WORKER_H
#define DFTRACERD_ENGINE_GROUP_WORKER_H

#include "engine/group/groups.h"
#include "engine/scan/scan.h"

struct group_worker {
    struct groups *found;
    const struct grouping *grouping;
    void *own;                         /* of group_hooks */
    uint64_t rows, all_rows;           /* since the last fold; in all */
    VEC(struct doubles_entry) entries; /* of the present chunk, in the order of first touch */
    struct slots **slots;              /* by set; NULL: more than sums is wanted */
    uint32_t group[SCAN_BATCH];        /* of the selected rows */
    /* number.c: selected rows of the batch that have a value, and their groups, for one column
     * after the other */
    uint16_t some_row[SCAN_BATCH];
    uint32_t some_group[SCAN_BATCH];
    union {
        int64_t some[SCAN_BATCH];
        double some_f64[SCAN_BATCH];
    };
};

/* ---- scan.c ---------------------------------------------------------------------------------- */

/* Fills w->group: the groups of the rows, which have records then. */
int groups_find(struct group_worker *w, struct scan_batch *b, unsigned set);
/* The same for a batch of few rows of the chunk: see group_map_few. */
int groups_find_few(struct group_worker *w, struct scan_batch *b, unsigned set);
/* Finds the groups of the rows and adds them to the set. */
int groups_add(struct group_worker *w, struct scan_batch *b, unsigned set);
/* Gives the rows, whose groups are w->group, to accumulators from `first` on. */
int groups_accumulate(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned first);
/* The group of a set without keys. */
int64_t groups_only(struct group_worker *w, unsigned set);

/* ---- number.c -------------------------------------------------------------------------------- */

/* One value of one number. */
int number_add(struct group_worker *w, unsigned set, unsigned acc, uint32_t group, int64_t value,
               bool nano);
int number_add_f64(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   double value);
/* n values of one group. */
int number_add_all(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   const int64_t *values, uint32_t n, bool nano);
/* Doubles of the group in the present chunk; NULL: -ENOMEM. */
struct doubles_entry *number_doubles(struct group_worker *w, unsigned set, unsigned acc,
                                     uint32_t group);

/* ---- slots.c: the quick way of batches of which only integers are summed up ------------------ */

/* *ret: *new*, or NULL. */
int slots_new(const struct group_set *set, struct slots **ret);
void slots_free(const struct group_set *set, struct slots *s);
void slots_chunk(struct group_worker *w, unsigned set, struct scan_chunk *c);
/* Whether slots_add can do all that is to be done with the batch; the set's map knows the chunk. */
bool slots_want(const struct group_worker *w, const struct scan_batch *b, unsigned set);
int slots_add(struct group_worker *w, struct scan_batch *b, unsigned set);
/* To be called before `found` is looked at. */
int slots_end(struct group_worker *w, unsigned set);

#endif
