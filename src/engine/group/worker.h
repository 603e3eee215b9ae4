/* worker.h - a worker of groups_scan: for accumulators, and for answers with rows of their own.
 *
 * Used by:   the files of engine/group; group_hooks and group_set.add of answers.
 * Path:      scan.c finds the groups of a batch's rows -> accumulators or group_set.add
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
    uint64_t rows, all_rows;           /* since the last fold; in total */
    VEC(struct doubles_entry) entries; /* of the current chunk, in the order of first use */
    struct dense_sums **dense_sums;    /* by set; NULL: the set has none */
    unsigned row_counter; /* the accumulator whose slots count the batch's rows; UINT_MAX: none */
    uint32_t group[SCAN_BATCH]; /* of the selected rows */
    /* number.c: the selected rows of the batch that have a value, their groups and values, for one
     * column at a time */
    uint16_t value_row[SCAN_BATCH];
    uint32_t value_group[SCAN_BATCH];
    union {
        int64_t value_i64[SCAN_BATCH];
        double value_f64[SCAN_BATCH];
    };
};

/* ---- scan.c ---------------------------------------------------------------------------------- */

/* Sets w->group to the groups of the selected rows, and makes their records. */
int groups_find(struct group_worker *w, struct scan_batch *b, unsigned set);
/* The same for a batch of few rows of the chunk: see group_map_few. */
int groups_find_few(struct group_worker *w, struct scan_batch *b, unsigned set);
/* Finds the groups of the rows and adds them to the set. */
int groups_add(struct group_worker *w, struct scan_batch *b, unsigned set);
/* Adds the rows, whose groups are in w->group, to the accumulators from `first` on. */
int groups_accumulate(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned first);
/* Returns the only group of a set without keys, or a negative error. */
int64_t groups_single_group(struct group_worker *w, unsigned set);
/* For group_hooks.batch if no set has keys: accumulators add to group 0 and ignore w->group. */
int groups_add_all(struct group_worker *w, struct scan_batch *b);

/* Integers, and their groups. */
struct group_values {
    const uint32_t *group;
    const int64_t *v; /* readable up to n rounded up to 64 */
    uint32_t n;
    bool nano, small; /* small: 0 <= v < GROUP_SMALL for all */
};
#define GROUP_SMALL (1ll << 26) /* the squares of a batch of these are at most 2^63 in sum */

/* ---- number.c -------------------------------------------------------------------------------- */

/* Adds one value. */
int number_add(struct group_worker *w, unsigned set, unsigned acc, uint32_t group, int64_t value,
               bool nano);
int number_add_f64(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   double value);
/* Adds n values of one group. */
int number_add_all(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   const int64_t *values, uint32_t n, bool nano);
/* Returns the entry of the group in the current chunk, or NULL without memory. */
struct doubles_entry *number_doubles(struct group_worker *w, unsigned set, unsigned acc,
                                     uint32_t group);

/* ---- dense_sums.c: integers are summed up in a table that stays in the cache ----------------- */

/* *ret: *new*, or NULL if no accumulator of the set uses slots. */
int dense_sums_new(const struct group_set *set, struct dense_sums **ret);
void dense_sums_free(const struct group_set *set, struct dense_sums *s);
/* Returns false for moments of four orders, and if there are more groups than slots. */
bool dense_sums_usable(const struct group_worker *w, unsigned set, unsigned acc);
/* Returns the accumulator whose slots count the rows of the batch, too, or UINT_MAX. */
unsigned dense_sums_row_counter(const struct group_worker *w, const struct scan_batch *b,
                                unsigned set);
/* Adds the values to the slots of their groups. */
int dense_sums_add(struct group_worker *w, unsigned set, unsigned acc,
                   const struct group_values *of);
/* Moves all sums to the records. To be called before `found` is read. */
int dense_sums_end(struct group_worker *w, unsigned set);

#endif
