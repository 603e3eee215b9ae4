/* aggregate_rows.h - rows of /aggregate as JSON, NDJSON or CSV. Private to the format module. */
#ifndef DFTRACERD_FORMAT_REPORT_AGGREGATE_ROWS_H
#define DFTRACERD_FORMAT_REPORT_AGGREGATE_ROWS_H

#include "dftracerd/aggregate.h"
#include "dftracerd/format.h"

struct aggregate_rows;
/* Memory: see format/writer/row_writer.h, and a block of each column; charged to the budget. */
int aggregate_rows_new(struct aggregate *a, enum format format, bool pretty, struct budget *budget,
                       struct aggregate_rows **ret);
/* The rows of the next block; CSV: before the first of them, or the end, the names of the columns.
 * JSON: with commas between all rows. *ret_rows: how many. ERR_END. */
int aggregate_rows_next(struct aggregate_rows *r, struct err *err, struct buf *out,
                        size_t *ret_rows);
void aggregate_rows_free(struct aggregate_rows *r);

#endif
