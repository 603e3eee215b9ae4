/* columns.h - a block of rows as vectors of numbers and of ranks of keys.
 *
 * Used by:   aggregate.c.
 * Path:      order.h -> block_gather copies the records of a block -> column_fill -> the vectors of
 *            dftracerd/table.h. Columns that are not available as vectors: row_values.h.
 * Threads:   one. Memory: one block of records, freed by its owner.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_COLUMNS_H
#define DFTRACERD_ANSWER_AGGREGATE_COLUMNS_H

#include "engine/group/order.h"
#include "answer/aggregate/row_values.h"

#include <stdlib.h>

/* Flags of several struct int_moments: not 0 if one of them has sums beyond 64 bits, values in
 * ns, values in other units. */
struct moment_flags {
    uint32_t large, nano, micro;
};
/* Rows of one set, and a copy of their records. These are far apart in memory, in the order in
 * which groups were found; all of a block are loaded at once, so that the waits overlap.
 * Zero-initialise; the owner frees `records`. */
struct column_block {
    const struct row_id *rows;
    const struct groups_of_set *set;
    size_t count, stride;
    uint64_t varying_bits; /* bits of row_id.word that are not the same in all rows */
    char *records;
    size_t record_cap;          /* bytes of memory for each record */
    const struct row_id *ahead; /* rows of the next block that are not prefetched yet */
    size_t ahead_count;
    bool has_flags; /* `flags` and `nulls` are those of measure flags_of */
    unsigned flags_of;
    struct moment_flags flags;
    size_t nulls; /* rows without a value */
};
/* Reads rows of one set, at most TABLE_BLOCK. Returns 0 or -ENOMEM. */
int block_gather(const struct groups *f, struct column_block *b, const struct row_id *rows,
                 size_t n);
/* Prefetches records of the next block while this one is written: at most `max`. */
void block_prefetch(const struct groups *f, struct column_block *b, size_t max);
/* Sets *v to a column; the caller sets the dictionary of a key. Returns false if the column is only
 * available from aggregate_values; *m and *v are then undefined. */
bool column_fill(const struct row_reader *t, const struct group_order *o, struct column_block *b,
                 const struct output_column *what, struct vector_memory *m, struct vector *v);
/* table_ops.survey of the rows; all: they are all groups, in any order. */
int columns_survey(const struct row_reader *t, const struct row_id *rows, size_t n, bool all,
                   bool *known, unsigned *ret);

#endif
