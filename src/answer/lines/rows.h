/* rows.h - flat rows of one place, as values or as text.
 *
 * Used by:   rows.c, rows_fill.c, rows_bytes.c.
 * Path:      rows.c opens a cursor -> rows_fill.c fills an item for each place -> rows.c returns
 *            its rows.
 * Threads:   an item belongs to one thread; several are filled at once, with the same plan.
 * Memory:    charged to the budget of the query.
 *
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
    uint64_t max_read;                /* maximum number of rows of a place that are needed */
    uint64_t max_returned;            /* the same after sorting by key */
    const struct rows_writer *writer; /* NULL: values */
};

/* Rows of one place. */
struct rows_item {
    struct item item;
    struct value *values; /* without a writer: plan.width for each row */
    struct arena texts;   /* of values */
    struct buf text;      /* made by the writer */
    struct charge text_charge;
    size_t *end; /* with a writer, by row: the end of its text */
};

/* rows_fill.c. rows_fill adds the selected rows of the item's place. Returns 0, -ENOMEM,
 * ERR_MEMORY_LIMIT, or an error of scan_chunk. rows_grow allocates memory for `need` rows. */
int rows_fill(const struct rows_plan *p, struct scan_worker *w, struct rows_item *r);
int rows_grow(const struct rows_plan *p, struct rows_item *r, uint32_t need);
/* rows_bytes.c: encode and decode of struct item_maker, for rows with a writer; rows_decode fills a
 * new item. Encoded rows are in the order of their keys. */
int rows_encode(void *plan, void *item, struct buf *text, struct buf *facts);
int rows_decode(const struct rows_plan *p, struct rec *facts, struct text text, struct buf *whole,
                struct rows_item *r);

#endif
