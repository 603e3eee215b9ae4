/* order.h - groups in the order of their keys, and the ranks of the keys.
 *
 * Used by:   answers.
 * Path:      struct groups -> groups_order -> rows in order; groups_by_count for few sets.
 * Threads:   several inside. Memory: charged to the budget until group_order_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_ORDER_H
#define DFTRACERD_ENGINE_GROUP_ORDER_H

#include "engine/group/groups.h"

/* The distinct keys of a set's groups, by column, in the order of their values. */
struct key_ranks {
    unsigned width;
    uint32_t groups;                                      /* number of groups */
    uint32_t count[GROUP_KEYS_MAX];                       /* of distinct keys */
    uint64_t *keys[GROUP_KEYS_MAX];                       /* by rank */
    unsigned shift[GROUP_KEYS_MAX], bits[GROUP_KEYS_MAX]; /* of a rank within the word */
    uint32_t *ranks; /* by group, then column; NULL: all ranks of a group fit into the word */
};
/* All groups, sorted by set, then keys. */
struct group_order {
    struct row_id *rows;
    size_t count, charged;
    struct key_ranks set[GROUP_SETS_MAX];
};
/* Sorts the groups of the sets [first, end). *ret needs group_order_done, on errors, too. Returns
 * 0, ERR_MEMORY_LIMIT, -ENOMEM or an error of the budget. */
int groups_order(const struct groups *f, unsigned first, unsigned end, struct group_order *ret);
void group_order_done(struct group_order *o, struct budget *budget);

/* Returns the numbers of the first `top` groups of a set (0: of all), as a *new* array: those with
 * the most rows first (if by_count), then in the order of keys. */
int groups_by_count(const struct groups *f, unsigned set, bool by_count, uint64_t top,
                    uint32_t **ret, size_t *ret_count);

#endif
