/* table.h - rows of an answer as columns: blocks of vectors.
 *
 * Answers fill vectors (answer/aggregate, answer/lines); format/writer writes rows from them. What
 * an object with fixed members contains is member.h's.
 *
 * Threads:   a block belongs to the thread that filled it.
 * Memory:    all borrowed from the answer until it fills the next block.
 */
#ifndef DFTRACERD_TABLE_H
#define DFTRACERD_TABLE_H

#include "dftracerd/query.h"

enum vector_kind {
    VECTOR_INT,
    VECTOR_UINT, /* uint64_t */
    VECTOR_US,   /* whole microseconds */
    VECTOR_NS,   /* nanoseconds, written as decimal microseconds */
    VECTOR_DOUBLE,
    VECTOR_CODE, /* a number in a dictionary */
    VECTOR_VALUE
};
struct vector {
    enum vector_kind kind;
    const int64_t *i;      /* INT, UINT, US, NS: by row of the block */
    const double *d;       /* DOUBLE: likewise */
    const uint64_t *valid; /* of these: a bit a row, lowest first, 0 = null; NULL: none is null */
    const uint32_t *codes; /* CODE: by row; below code_count */
    const struct value *values; /* VALUE: by selected row, each `stride` behind the one before */
    size_t stride;
    /* CODE: keys by code, and the value of a key, whose text is borrowed like the block. Codes
     * mean the same as long as `dictionary` is the same number. */
    const uint64_t *keys;
    uint32_t code_count;
    uint64_t dictionary;
    int (*value)(void *arg, uint64_t key, struct value *ret);
    void *arg;
};
struct row_block {
    const struct vector *vectors; /* as many as the table has columns */
    const uint16_t *select;       /* its rows, ascending; NULL: row k is number k */
    uint32_t count;               /* selected rows */
    uint64_t rows_to_come;        /* an estimate, with this block: how much is worth keeping */
    size_t most;                  /* text beyond this length is ERR_MEMORY_LIMIT */
};

#endif
