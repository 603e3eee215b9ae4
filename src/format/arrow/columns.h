/* columns.h - columns of a table while they are converted to Arrow batches. Private to this folder.
 *
 * types.c finds the unit of times and the texts of columns (from keys and sums, or by reading all
 * rows once), then fill.c copies block after block of rows into columns, with the bits of single
 * values from values.c; rows.c calls them, and writes batch by batch.
 */
#ifndef DFTRACERD_FORMAT_ARROW_COLUMNS_H
#define DFTRACERD_FORMAT_ARROW_COLUMNS_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

#include <stdlib.h>
#include <string.h>

enum {
    ARROW_BATCH = 65536, /* rows of a batch */
    ARROW_RECENT = 256
};

/* The keys of a column in the current dictionary, by their codes. */
enum { KEY_NEW, KEY_KNOWN, KEY_NULL };
struct arrow_keys {
    uint64_t *bits; /* what a batch stores for the key, unless it is KEY_NEW; 0 if it is KEY_NULL */
    uint8_t *states;
    uint32_t count, cap;
    bool nulls;          /* some keys are null */
    bool all;            /* no key is KEY_NEW */
    uint64_t dictionary; /* see struct vector; UINT64_MAX: none yet */
};

struct arrow_staged {
    bool key;               /* but batch_type, which is no key here */
    bool complete;          /* its texts are complete, or its times are known to have no fraction */
    struct arrow_keys keys; /* if it is a key */
    struct intern *texts;   /* its dictionary, if it is a text */
    uint32_t recent[ARROW_RECENT]; /* by the address of a text: its probable code */
    void *values;                  /* of the current batch */
    uint64_t *valid;
    size_t nulls;
};

struct arrow_rows {
    struct table *table;
    const struct table_column *specs;
    size_t count;
    struct charge charge, text_charge;
    struct arrow_staged *columns;
    bool *left_out; /* by column: not read as values */
    struct arrow_column *types;
    struct arrow *arrow;
    struct buf scratch;
    struct vector vector; /* of the current column */
    struct vector_memory memory;
    int64_t numbers[TABLE_BLOCK]; /* values of a vector whose column is no number */
    bool nano;                    /* times are in ns, else in us */
    unsigned parts; /* parts whose keys are all in the table; 0: only some of them are */
    bool begun;
    size_t next_dictionary, next_column; /* what is written next */
    size_t rows;                         /* rows of the batch so far */
};

/* ---- values.c: one value --------------------------------------------------------------- */

bool value_is_null(const struct value *v); /* also for NaN and infinity */
/* Returns whether it is a time, or a number of microseconds, that is no whole number of these. */
bool value_has_fraction(const struct value *v);
/* Returns the text of a value, or its JSON if it is no text. Borrowed until the next call. */
struct text arrow_text(struct arrow_rows *r, const struct value *v);
/* Returns the position of a text in the dictionary of its column, or -ENOMEM. */
int64_t arrow_code(struct arrow_staged *c, struct text t);
/* Converts a value to the bits that a batch stores. Returns 0, 1 if it is null (*ret is 0), or an
 * error. */
int arrow_bits(struct arrow_rows *r, size_t column, const struct value *v, uint64_t *ret);
/* Begins a dictionary, whose keys are all new, unless it is the current one. */
int arrow_keys_begin(struct arrow_rows *r, size_t column, const struct vector *codes);
void arrow_keys_forget(struct arrow_rows *r);

/* ---- types.c --------------------------------------------------------------------------- */

/* Fills in r->types, r->nano and the texts of all columns. The cursor is at its start again
 * afterwards. */
int arrow_types_find(struct arrow_rows *r, const struct query *q, struct err *err);

/* ---- fill.c ---------------------------------------------------------------------------- */

/* Appends the current block to the r->rows rows of the columns. */
int arrow_fill_block(struct arrow_rows *r, const struct table_block *b, struct err *err);

#endif
