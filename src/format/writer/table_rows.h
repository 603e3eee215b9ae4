/* table_rows.h - rows of a table as JSON, NDJSON or CSV. Private to the format module. */
#ifndef DFTRACERD_FORMAT_WRITER_TABLE_ROWS_H
#define DFTRACERD_FORMAT_WRITER_TABLE_ROWS_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

struct table_rows;
/* Memory: as in row_writer.h, and one block of each column; charged to the budget. */
int table_rows_new(struct table *t, enum format format, bool pretty, struct budget *budget,
                   struct table_rows **ret);
/* Writes the rows of the next block, in JSON with commas between all rows. CSV writes the names of
 * the columns before the first row, or before the end. *ret_rows: their number. Returns 0, ERR_END,
 * or an error of the table or of memory. */
int table_rows_next(struct table_rows *r, struct err *err, struct buf *out, size_t *ret_rows);
void table_rows_free(struct table_rows *r);

#endif
