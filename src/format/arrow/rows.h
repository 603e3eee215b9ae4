/* rows.h - rows of a table as typed columns of Arrow. Private to the format module. */
#ifndef DFTRACERD_FORMAT_ARROW_ROWS_H
#define DFTRACERD_FORMAT_ARROW_ROWS_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

struct arrow_rows;
/* Finds the unit of times and the dictionaries, which precede the rows in a file, and reads all
 * rows once if the table does not have them otherwise. The cursor is at its start again afterwards.
 * t and budget are borrowed. Returns 0, -ENOMEM, ERR_MEMORY_LIMIT, or an error of the cursor. */
int arrow_rows_new(struct table *t, const struct query *q, struct budget *budget, bool file,
                   struct err *err, struct arrow_rows **ret);
size_t arrow_rows_width(const struct arrow_rows *r); /* bytes of a row in batches, without bits */
/* Writes the next piece: at most one column of a batch. Returns 0, ERR_END, or an error. */
int arrow_rows_next(struct arrow_rows *r, struct err *err, struct buf *out);
void arrow_rows_free(struct arrow_rows *r);

#endif
