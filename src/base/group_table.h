/* group_table.h - a hash table of tuples of 64-bit keys: each tuple is a group, and groups are
 * numbered from 0 in the order in which they were added.
 *
 * Used by:   column (tuples of densities), engine (columns that keep some values, within, bytes,
 *            group), answers.
 * Memory:    charged to the budget that group_table_init borrows; released by group_table_done.
 * Threads:   one at a time; group_table_find, group_table_find_all and group_table_keys any number
 *            while nothing is added.
 */
#ifndef DFTRACERD_BASE_GROUP_TABLE_H
#define DFTRACERD_BASE_GROUP_TABLE_H

#include "dftracerd/base.h"

/* Returns true if the budget is to be checked before item i of a pass that writes n items in random
 * order. For each of the first items the kernel may have to clear a page of 2 MB, which takes as
 * long as thousands of the others. */
enum { PASS_FIRST_ITEMS = 1 << 12, PASS_CHECK_ITEMS = 1 << 14 };
static inline bool budget_check_is_due(size_t i, size_t n)
{
    return (i < PASS_FIRST_ITEMS && i < n / PASS_CHECK_ITEMS) || i % PASS_CHECK_ITEMS == 0;
}

struct group_table {
    unsigned width;      /* keys a group */
    uint32_t count, cap; /* groups; capacity of `keys` in groups */
    uint64_t limit;      /* maximum number of groups, at most 2^31 */
    uint64_t *keys;      /* `width` for each group */
    uint64_t *slots;     /* the hash in the upper half, group + 1 in the lower; 0 = free */
    uint32_t slot_mask;  /* number of slots, a power of two, - 1 */
    /* number of groups that have slots; the next group_table_add adds the slots of the others */
    uint32_t placed;
    bool borrowed;         /* `keys` is memory of the caller */
    struct budget *budget; /* NULL: none; borrowed until group_table_done */
    size_t charged;        /* bytes */
};
/* width 0: one group without keys. limit 0: 10 M groups. */
void group_table_init(struct group_table *t, unsigned width, uint64_t limit, struct budget *budget);
void group_table_done(struct group_table *t);
/* Returns the number of the group with these keys, which is added if there is none; or
 * ERR_ROW_LIMIT, ERR_MEMORY_LIMIT or -ENOMEM. */
int64_t group_table_add(struct group_table *t, const uint64_t *keys);
/* Calls group_table_add for n tuples, which follow each other in `keys`. Faster, because cache
 * misses overlap. */
int group_table_add_all(struct group_table *t, const uint64_t *keys, uint32_t n, uint32_t *ret);
/* Returns a number or -ENOENT. All groups must have slots. */
int64_t group_table_find(const struct group_table *t, const uint64_t *keys);
/* For merging by several threads. group_table_place gives slots to all groups. group_table_find_all
 * finds the groups of n tuples (GROUP_NONE: there is none); any number of threads may call it at a
 * time. group_table_append adds groups without slots, whose keys the caller sets. */
#define GROUP_NONE UINT32_MAX
int group_table_place(struct group_table *t);
void group_table_find_all(const struct group_table *t, const uint64_t *keys, uint32_t n,
                          uint32_t *ret);
int group_table_append(struct group_table *t, uint32_t more);
/* Allocates memory for `count` groups at once, if the budget allows it. */
void group_table_expect(struct group_table *t, uint64_t count);
/* Sets the groups of an empty table to memory that is borrowed until group_table_done. They have no
 * slots, and no others can be added. Returns 0 or ERR_ROW_LIMIT. */
int group_table_borrow(struct group_table *t, uint64_t *keys, uint32_t count);
/* Replaces the keys of all groups by tuples of `width` keys: rekey() sets `to` from `from`, which
 * are the same memory if the width stays. The groups then have no slots. Returns 0,
 * ERR_MEMORY_LIMIT or -ENOMEM. */
int group_table_rekey(struct group_table *t, unsigned width,
                      void (*rekey)(void *arg, const uint64_t *from, uint64_t *to), void *arg);
static inline const uint64_t *group_table_keys(const struct group_table *t, uint32_t group)
{
    return t->keys + (size_t)group * t->width;
}

/* Loads a byte, so that its cache line is present when it is used. The cache misses of several
 * calls overlap. (A prefetch instruction would be dropped by processors if the page is not in the
 * TLB, where it would help most.) */
static inline void memory_touch(const void *at)
{
    (void)*(const volatile char *)at;
}

#endif
