/* table.h - rows of an answer as columns: blocks of vectors.
 *
 * Answers fill vectors (answer/aggregate, answer/lines); format/writer writes rows from them.
 * Objects with fixed members are in member.h.
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
    const uint64_t *valid; /* for i and d: a bit a row, lowest first, 0: null; NULL: none is null */
    const uint32_t *codes; /* CODE: by row; below code_count */
    const struct value *values; /* VALUE: by selected row, each `stride` after the one before */
    size_t stride;
    /* CODE: keys by code, and a function that sets the value of a key, whose text is borrowed as
     * the block is. Codes mean the same as long as `dictionary` is the same number. */
    const uint64_t *keys;
    uint32_t code_count;
    uint64_t dictionary;
    int (*value)(void *arg, uint64_t key, struct value *ret);
    void *arg;
};
struct row_block {
    const struct vector *vectors; /* one for each column of the table */
    const uint16_t *select;       /* its rows, ascending; NULL: row k is number k */
    uint32_t count;               /* selected rows */
    uint64_t rows_to_come;        /* an estimate, including this block; for the size of caches */
    size_t max_text;              /* longer text is ERR_MEMORY_LIMIT */
};

/* Sets *ret to the value of row i; for CODE with v->value, whose error it returns. Not for
 * VALUE. */
int vector_value(const struct vector *v, size_t i, struct value *ret);

/* ---- tables: rows that are read once, block by block ----------------------------------------- */

struct table_column {
    const char *name;
    /* for formats with types, independent of the values: TEXT, TIME, DOUBLE, UINT (not negative) */
    enum value_type type;
    enum column_unit unit;
    bool key;
    bool optional;              /* only some rows have it: JSON omits it if it is null */
    const char *const *choices; /* TEXT: NULL-terminated, the value is one of these; or NULL */
};
enum { TABLE_BLOCK = 512 };
struct table_block {
    size_t count;  /* rows, at most TABLE_BLOCK */
    uint64_t part; /* codes keep their meaning in all blocks of a part */
};
/* Memory for the values of a vector. It belongs to the reader. */
struct vector_memory {
    int64_t *i; /* TABLE_BLOCK numbers */
    uint32_t codes[TABLE_BLOCK];
    uint64_t valid[TABLE_BLOCK / 64];
};
/* Flags: a column of whole numbers or times has values other than null, fractions of a microsecond,
 * negative values. */
enum { COLUMN_NUMBER = 1, COLUMN_FRACTION = 2, COLUMN_NEGATIVE = 4 };

struct table {
    const struct table_ops *ops;
    const struct table_column *columns;
    size_t count;
    /* Set by the reader: values() may return null for column i if left_out[i]. NULL: none. */
    const bool *left_out;
};
struct table_ops {
    /* Reads the next block. Returns 0, ERR_END, or an error of the scan. */
    int (*next)(struct table *t, struct err *err, struct table_block *ret);
    /* Sets *ret to a column of the block. Returns false if it is not available as a vector, only
     * from values(); the content of `m` is then undefined. */
    bool (*vector)(struct table *t, size_t column, struct vector_memory *m, struct vector *ret);
    /* Sets *ret to all columns of the block as values, row by row. */
    int (*values)(struct table *t, struct err *err, const struct value **ret);
    /* Returns a lower bound of the number of rows to come. */
    uint64_t (*rows_min)(const struct table *t);

    /* The rest is for formats that need types and dictionaries before the first row. */

    /* Returns the number of parts whose keys are all in the table; 0: it is not known. */
    unsigned (*whole_parts)(const struct table *t);
    /* Sets *ret to the codes of such a part, or of the current block. */
    void (*codes)(const struct table *t, uint64_t part, size_t column, struct vector *ret);
    /* Sets ret[i] to the COLUMN_ flags of column i, and known[i] to false if they can only be found
     * by reading. */
    int (*survey)(const struct table *t, bool *known, unsigned *ret);
    /* Starts again with the first row. */
    void (*rewind)(struct table *t);
};

#endif
