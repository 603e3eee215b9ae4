/* rows.h - flat rows of one place, as values or as text.
 *
 * Used by:   rows.c, rows_values.c, rows_text.c, rows_grow.c.
 * Path:      rows.c opens a cursor whose items are blocks -> rows_values.c or
 *            rows_text.c fills a block -> rows.c returns its rows.
 * Threads:   a block belongs to one thread; several are filled at once, by one plan.
 * Memory:    what a block holds is charged to the query's budget.
 */
#ifndef DFTRACERD_ANSWER_LINES_ROWS_H
#define DFTRACERD_ANSWER_LINES_ROWS_H

#include "engine/cursor/cursor.h"
#include "dftracerd/rows.h"

struct rows_plan {
    struct query *query;
    struct item_order order;
    const struct source **columns;
    size_t width;
    uint64_t max;                     /* max. rows of a place, in file order */
    uint64_t max_by_key;              /* max. rows of a place, by key */
    const struct rows_writer *writer; /* NULL: values */
};

/* Rows of one place. */
struct block {
    struct item item;
    struct value *values; /* `width` for each row; NULL: text */
    struct arena texts;
    struct buf text; /* made by the writer */
    struct charge text_charge;
    size_t *end; /* by row: the end of its text */
};

/* Both fill the block with the selected rows of a place. -ENOMEM, ERR_MEMORY_LIMIT, and errors of
 * scan_chunk. */
int rows_fill_values(const struct rows_plan *p, struct scan_worker *w, size_t position,
                     struct block *b);
int rows_fill_text(const struct rows_plan *p, struct scan_worker *w, size_t position,
                   struct block *b);
/* rows_bytes.c: for rows with a writer. Encoded rows are in the order of their keys. */
int rows_encode(const struct rows_plan *p, struct block *b, struct buf *text, struct buf *facts);
int rows_decode(const struct rows_plan *p, struct rec *facts, struct text text, struct buf *whole,
                struct block *b);
/* Grows *array to `need` rows of `each` bytes, and their keys. */
int rows_grow(const struct rows_plan *p, struct item *item, uint32_t need, void **array,
              size_t each);

#endif
