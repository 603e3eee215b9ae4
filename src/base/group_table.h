/* group_table.h - a hash table of tuples of 64-bit keys: each tuple is a group, and groups have the
 * numbers from 0 on in the order in which they were added.
 *
 * Used by:   engine (columns that keep some values, within, bytes, group), answers.
 * Memory:    charged to the budget that group_table_init borrows; released by group_table_done.
 * Threads:   one at a time; group_table_find, group_table_find_all and group_table_keys any number
 *            while nothing is added.
 */
#ifndef DFTRACERD_BASE_GROUP_TABLE_H
#define DFTRACERD_BASE_GROUP_TABLE_H

#include "dftracerd/base.h"

/* Whether the budget is checked before item i of a pass that writes here and there among n. For
 * each of the first ones the kernel may have to clear a page of 2 MB, which takes as long as
 * thousands of the others. */
enum { PASS_FIRST = 1 << 12, PASS_LOOKED = 1 << 14 };
static inline bool pass_looks(size_t i, size_t n)
{
    return (i < PASS_FIRST && i < n / PASS_LOOKED) || i % PASS_LOOKED == 0;
}

struct group_table {
    unsigned width;      /* keys a group */
    uint32_t count, cap; /* groups, room in `keys` */
    uint64_t limit;      /* more groups: ERR_ROW_LIMIT */
    uint64_t *keys;      /* width each */
    uint64_t *slots;     /* a power of two of them: group + 1 and above it the hash, 0 = free */
    uint32_t slot_mask;
    /* groups that have slots; the others get theirs from the next group_table_add */
    uint32_t placed;
    bool borrowed; /* `keys` is memory of the caller's */
    struct budget *budget;
    size_t charged;
};
/* width 0 is one group without keys. limit 0 = 10 M. */
void group_table_init(struct group_table *t, unsigned width, uint64_t limit, struct budget *budget);
void group_table_done(struct group_table *t);
/* Number of the group with these keys, made if there is none. ERR_ROW_LIMIT, ERR_MEMORY_LIMIT,
 * -ENOMEM. */
int64_t group_table_add(struct group_table *t, const uint64_t *keys);
/* As group_table_add of each of n tuples, one after the other in `keys`; waits less for memory. */
int group_table_add_all(struct group_table *t, const uint64_t *keys, uint32_t n, uint32_t *ret);
/* -ENOENT; all are placed */
int64_t group_table_find(const struct group_table *t, const uint64_t *keys);
/* Merging by several threads: all groups are given slots, of each of n tuples the group is found
 * (GROUP_NONE where there is none; any number of threads at a time), and those that are new are
 * given numbers and room, but no slots: their keys are written by the caller. */
#define GROUP_NONE UINT32_MAX
int group_table_place(struct group_table *t);
void group_table_find_all(const struct group_table *t, const uint64_t *keys, uint32_t n,
                          uint32_t *ret);
int group_table_append(struct group_table *t, uint32_t more);
/* So many groups are expected: their place is made in one go, if the budget has it. */
void group_table_expect(struct group_table *t, uint64_t count);
/* These are the groups of an empty table, which takes no others and gives them no slots: the caller
 * keeps the memory as long as the table. ERR_ROW_LIMIT. */
int group_table_borrow(struct group_table *t, uint64_t *keys, uint32_t count);
/* Other tuples of `width` keys for all groups, which have no slots then: rekey() makes `to` from
 * `from` (the same place, where the width stays). ERR_MEMORY_LIMIT, -ENOMEM. */
int group_table_rekey(struct group_table *t, unsigned width,
                      void (*rekey)(void *arg, const uint64_t *from, uint64_t *to), void *arg);
static inline const uint64_t *group_table_keys(const struct group_table *t, uint32_t group)
{
    return t->keys + (size_t)group * t->width;
}

/* Loads of many places one after the other wait together, before each is used alone. (A prefetch is
 * no load: processors drop it where the page is not in the TLB, which is where it would help most.)
 */
static inline void memory_look(const void *at)
{
    (void)*(const volatile char *)at;
}

#endif
