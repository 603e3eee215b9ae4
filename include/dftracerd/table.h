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

/* The value of row i; CODE: with v->value, whose error it returns. Not for VALUE. */
int vector_value(const struct vector *v, size_t i, struct value *ret);

/* ---- a table: rows that are read once, block by block ---------------------------------------- */

struct table_column {
    const char *name;
    /* for formats with types, whatever its values: TEXT, TIME, DOUBLE, UINT (not negative) */
    enum value_type type;
    enum column_unit unit;
    bool key;
    bool optional;              /* of some rows only: JSON leaves it out where it is null */
    const char *const *choices; /* TEXT: it is one of these, up to NULL; or NULL */
};
enum { TABLE_BLOCK = 512 };
struct table_block {
    size_t count;  /* rows, at most TABLE_BLOCK */
    uint64_t part; /* codes mean the same in all blocks of a part */
};
/* Where a vector is filled; the reader's. */
struct vector_memory {
    int64_t *i; /* TABLE_BLOCK numbers */
    uint32_t codes[TABLE_BLOCK];
    uint64_t valid[TABLE_BLOCK / 64];
};
/* What a column of whole numbers and times has: any value but null, a part of a microsecond ... */
enum { COLUMN_NUMBER = 1, COLUMN_FRACTION = 2, COLUMN_NEGATIVE = 4 };

struct table {
    const struct table_ops *ops;
    const struct table_column *columns;
    size_t count;
    /* By column: values() need not have it, and has null there. The reader sets it; NULL: none. */
    const bool *left_out;
};
struct table_ops {
    /* The next block. ERR_END; an error of the scan. */
    int (*next)(struct table *t, struct err *err, struct table_block *ret);
    /* A column of the block. False: it is no vector, `m` is anything, and values() has it. */
    bool (*vector)(struct table *t, size_t column, struct vector_memory *m, struct vector *ret);
    /* All columns of the block as values, row by row. */
    int (*values)(struct table *t, struct err *err, const struct value **ret);
    uint64_t (*rows_least)(const struct table *t); /* rows to come, or fewer than that */
    /* For formats that need types and dictionaries before the first row: the parts of which all
     * keys are in the table, 0: not known; the codes of such a part, or of the block at hand;
     * COLUMN_ flags by column, known: false where only reading it would say; and from the first
     * row on again. */
    unsigned (*whole_parts)(const struct table *t);
    void (*codes)(const struct table *t, uint64_t part, size_t column, struct vector *ret);
    int (*survey)(const struct table *t, bool *known, unsigned *ret);
    void (*rewind)(struct table *t);
};

#endif
