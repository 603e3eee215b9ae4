/* row_cells.h - rows of /aggregate as NDJSON or CSV, from columns. Private to the format module.
 *
 * A key is written as text once and copied for each row that has it, as long as it is among the
 * last that were met; numbers are written straight from their columns. Memory: 64 bytes for each
 * key that is kept, 16,384 a column at most, and a block of each column, charged to the budget.
 */
#ifndef DFTRACERD_FORMAT_WRITER_ROW_CELLS_H
#define DFTRACERD_FORMAT_WRITER_ROW_CELLS_H

#include "dftracerd/aggregate.h"
#include "dftracerd/format.h"

struct row_cells;
int row_cells_new(struct aggregate *a, enum format format, struct budget *budget,
                  struct row_cells **ret);
/* The rows of the next block; CSV: before the first of them, or the end, the names of the columns.
 * *ret_rows: how many. ERR_END. */
int row_cells_next(struct row_cells *c, struct err *err, struct buf *out, size_t *ret_rows);
void row_cells_free(struct row_cells *c);

#endif
