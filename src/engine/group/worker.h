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
    struct slots **slots;              /* by set; NULL: without */
    unsigned counter; /* the accumulator whose slots count the batch's rows; UINT_MAX: none */
    uint32_t group[SCAN_BATCH]; /* of the selected rows */
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
/* For group_hooks.batch where no set has keys: accumulators add to group 0, not to w->group. */
int groups_add_all(struct group_worker *w, struct scan_batch *b);

/* Integers and their groups. */
struct group_values {
    const uint32_t *group;
    const int64_t *v; /* readable up to n rounded up to 64 */
    uint32_t n;
    bool nano, small; /* small: all are from 0 on and below GROUP_SMALL */
};
#define GROUP_SMALL (1ll << 26) /* a batch of their squares is 2^63 at most */

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

/* ---- slots.c: integers summed up in a table that stays in the cache -------------------------- */

/* *ret: *new*, or NULL where the set has no number that goes this way. */
int slots_new(const struct group_set *set, struct slots **ret);
void slots_free(const struct group_set *set, struct slots *s);
/* Not where moments of four orders are wanted, or there are more groups than slots. */
bool slots_want(const struct group_worker *w, unsigned set, unsigned acc);
/* The accumulator whose slots count the rows of the batch, too; UINT_MAX: there is none. */
unsigned slots_counter(const struct group_worker *w, const struct scan_batch *b, unsigned set);
/* Adds the values to the slots of their groups. */
int slots_add(struct group_worker *w, unsigned set, unsigned acc, const struct group_values *of);
/* To be called before `found` is looked at. */
int slots_end(struct group_worker *w, unsigned set);

#endif
