/* columns.h - a block of rows as columns of plain numbers and ranks.
 *
 * Used by:   aggregate.c.
 * Path:      order.h -> block_gather copies the records of a block -> column_fill -> the vectors of
 *            dftracerd/table.h. Other columns: row_values.h.
 * Threads:   one. Memory: one block of records, freed by its owner.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_COLUMNS_H
#define DFTRACERD_ANSWER_AGGREGATE_COLUMNS_H

#include "engine/group/order.h"
#include "answer/aggregate/row_values.h"

#include <stdlib.h>

/* Rows of one set, and a copy of their records: these lie in the order in which groups were met, so
 * all that a block needs is waited for at once. Zero-initialise; `records` is freed by the owner.
 */
struct column_block {
    const struct row_id *rows;
    const struct groups_of_set *set;
    size_t count, stride;
    uint32_t last;   /* the greatest number of a group */
    uint64_t differ; /* bits of words that are not the same in all rows */
    char *records;
    size_t stride_cap;
    const struct row_id *next; /* rows of the next block that are not prefetched yet */
    size_t ahead;
    /* at the cells of the measure `of`: what they have in common, and how many are null */
    bool looked;
    unsigned of;
    struct alike {
        uint32_t large, nano, micro;
    } alike; /* beyond 64 bits; values by their units */
    size_t nulls;
};
/* n: at most TABLE_BLOCK. -ENOMEM. */
int block_gather(const struct groups *f, struct column_block *b, const struct row_id *rows,
                 size_t n);
/* Prefetches some records of the next block while this one is written. */
void block_look_ahead(const struct groups *f, struct column_block *b, size_t most);
/* False: the column is for aggregate_values, *m and *v are undefined. A key has no v->keys yet. */
bool column_fill(const struct row_reader *t, const struct group_order *o, struct column_block *b,
                 const struct output_column *what, struct vector_memory *m, struct vector *v);
/* COLUMN_* of the rows, by column. all: the rows are all groups, in some order. known: false where
 * only the values would show it. */
int columns_survey(const struct row_reader *t, const struct row_id *rows, size_t n, bool all,
                   bool *known, unsigned *ret);

#endif
