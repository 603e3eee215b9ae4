/* order.h - the groups of an answer in the order of their keys, and the ranks of these.
 *
 * Used by:   aggregate.c, prefixes.c, columns.c, rows.c.
 * Path:      struct aggregate_found -> aggregate_order (order.c).
 * Threads:   several inside. Memory: charged to the budget until aggregate_order_done.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_ORDER_H
#define DFTRACERD_ANSWER_AGGREGATE_ORDER_H

#include "answer/aggregate/found.h"

/* The different keys of a set's groups, in the order of their values: a key is as good as its rank.
 */
struct key_ranks {
    unsigned width;
    uint32_t groups;                /* those from here on were made later, and have no ranks */
    uint32_t count[GROUP_KEYS_MAX]; /* by number of the key: how many there are */
    uint64_t *keys[GROUP_KEYS_MAX]; /* by rank */
    unsigned shift[GROUP_KEYS_MAX], bits[GROUP_KEYS_MAX]; /* of a rank within the word */
    uint32_t *ranks; /* by group, by number of the key; NULL: all fit into the word */
};
/* All groups by class, then keys. */
struct aggregate_order {
    struct row_id *rows;
    size_t count, charged;
    struct key_ranks set[SETS];
};
/* For aggregate_order_done, whatever it returns. */
int aggregate_order(struct query *q, const struct aggregate_found *f, struct aggregate_order *ret);
void aggregate_order_done(struct aggregate_order *o, struct budget *budget);

#endif
