/* row_writer.h - rows as JSON, NDJSON or CSV, from vectors. Private to the format module.
 *
 * A value that occurs in many rows is formatted once and copied; numbers are formatted straight
 * from their vectors.
 *
 * Threads:   row_names are constant once complete; each thread has a row_writer of its own.
 * Memory:    16 bytes for each code that is kept, and the texts, charged to the budget.
 */
#ifndef DFTRACERD_FORMAT_WRITER_ROW_WRITER_H
#define DFTRACERD_FORMAT_WRITER_ROW_WRITER_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

/* The texts between the values of a row. */
struct row_names {
    enum format format;
    bool pretty;
    size_t count;
    struct buf before; /* `,"a":`, `,"b":` ...; CSV: commas */
    size_t *before_end;
    bool *optional; /* JSON omits the column if it is null */
    struct buf header;
};
/* Begins; then each column of the table is added. */
int row_names_init(struct row_names *n, enum format format, bool pretty, size_t count);
void row_names_add(struct row_names *n, size_t column, const char *name, bool optional);
/* Call it after the last column. Returns 0 or -ENOMEM. */
int row_names_end(struct row_names *n);
void row_names_done(struct row_names *n);

struct row_writer;
/* Keeps at most `codes_max` values. `names` are borrowed. */
int row_writer_new(const struct row_names *names, size_t codes_max, struct budget *budget,
                   struct row_writer **ret);
/* Writes rows. A row ends with a newline, in JSON with a comma, even the last one. ret_end: the end
 * of each row in `out`, or NULL. */
int row_writer_write(struct row_writer *w, const struct row_block *b, struct buf *out,
                     size_t *ret_end);
void row_writer_free(struct row_writer *w);

#endif
