/* order.h - groups in the order of their keys, and the ranks of these.
 *
 * Used by:   answers.
 * Path:      struct groups -> groups_order -> rows in order; groups_by_count for few sets.
 * Threads:   several inside. Memory: charged to the budget until group_order_done.
 */
#ifndef DFTRACERD_ENGINE_GROUP_ORDER_H
#define DFTRACERD_ENGINE_GROUP_ORDER_H

#include "engine/group/groups.h"

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
/* All groups by set, then keys. */
struct group_order {
    struct row_id *rows;
    size_t count, charged;
    struct key_ranks set[GROUP_SETS_MAX];
};
/* Of the sets [first, end). For group_order_done, whatever it returns. ERR_MEMORY_LIMIT, -ENOMEM,
 * why the query is to stop. */
int groups_order(const struct groups *f, unsigned first, unsigned end, struct group_order *ret);
void group_order_done(struct group_order *o, struct budget *budget);

/* Numbers of the groups of a set, those with the most rows first (if by_count), then by keys: the
 * first `top` (0: all). *new* array. */
int groups_by_count(const struct groups *f, unsigned set, bool by_count, uint64_t top,
                    uint32_t **ret, size_t *ret_count);

#endif
