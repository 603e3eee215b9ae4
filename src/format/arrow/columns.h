/* columns.h - columns of a table on their way into batches of Arrow. Private to arrow_*.c
 * of rows.
 *
 * Path: types.c finds the unit of times and the texts of columns (from keys and sums, or in a
 *      first reading of all rows), then fill.c puts block after block of rows into columns,
 *      with the bits of single values from values.c; rows.c calls them, and writes
 *      batch by batch.
 */
#ifndef DFTRACERD_FORMAT_ARROW_COLUMNS_H
#define DFTRACERD_FORMAT_ARROW_COLUMNS_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

#include <stdlib.h>
#include <string.h>

enum { ARROW_BATCH = 65536, ARROW_RECENT = 256 }; /* rows of a batch */

/* A column that is a key: the bits of each rank of the present part, once it was met. */
enum { NOT_MET, MET, MET_NULL };
struct arrow_ranks {
    uint64_t *bits;
    uint8_t *met;
    uint32_t count, cap;
    bool nulls;          /* some are null */
    bool all;            /* all are met */
    uint64_t dictionary; /* see struct vector; UINT64_MAX: none yet */
};

struct arrow_staged {
    bool key;                 /* but batch_type */
    bool sure;                /* its texts, or that its times have no fraction, are known */
    struct arrow_ranks ranks; /* of a key */
    struct intern *texts;
    uint32_t recent[ARROW_RECENT]; /* by address of a text: its code, most likely */
    void *values;                  /* of a batch */
    uint64_t *valid;
    size_t nulls;
};

struct arrow_rows {
    struct table *table;
    const struct table_column *told;
    size_t count;
    struct charge charge, text_charge;
    struct arrow_staged *columns;
    bool *left_out; /* by column: not needed as values */
    struct arrow_column *types;
    struct arrow *arrow;
    struct buf scratch;
    struct vector vector; /* of the present column */
    struct vector_memory memory;
    int64_t numbers[TABLE_BLOCK]; /* of a vector whose column is no number */
    bool nano;                    /* times are in ns, else in us */
    unsigned parts;               /* whose keys are all in the table; 0: only some are */
    bool begun;
    /* next dictionary, next column of the batch, rows of the batch */
    size_t dictionary, part, rows;
};

/* ---- values.c: one value --------------------------------------------------------------- */

bool value_is_none(const struct value *v);      /* null, or no number */
bool value_has_fraction(const struct value *v); /* a time: of a microsecond */
/* A value that is no text is its JSON. Borrowed until the next call. */
struct text arrow_text(struct arrow_rows *r, const struct value *v);
/* Of a text in the dictionary of its column; negative: -ENOMEM. */
int64_t arrow_code(struct arrow_staged *c, struct text t);
/* What a batch has of a value. 1: null, and *ret is 0. */
int arrow_bits(struct arrow_rows *r, size_t column, const struct value *v, uint64_t *ret);
/* Nothing was met of its dictionary yet, unless it is the present one. */
int arrow_ranks_begin(struct arrow_rows *r, size_t column, const struct vector *codes);
void arrow_ranks_forget(struct arrow_rows *r);

/* ---- types.c --------------------------------------------------------------------------- */

/* r->types, r->nano and the texts of all columns. The cursor is at its start again then. */
int arrow_types_find(struct arrow_rows *r, const struct query *q, struct err *err);

/* ---- fill.c ---------------------------------------------------------------------------- */

/* Appends the present block to the r->rows rows of the columns. */
int arrow_fill_block(struct arrow_rows *r, const struct table_block *b, struct err *err);

#endif
