/* row_writer.h - rows as JSON, NDJSON or CSV, from vectors. Private to the format module.
 *
 * A value that many rows have is written once and copied; numbers are written straight from their
 * vectors.
 *
 * Threads:   row_names are constant once they are made; each thread has a row_writer of its own.
 * Memory:    16 bytes for each code that is kept, and the texts, charged to the budget.
 */
#ifndef DFTRACERD_FORMAT_WRITER_ROW_WRITER_H
#define DFTRACERD_FORMAT_WRITER_ROW_WRITER_H

#include "dftracerd/format.h"
#include "dftracerd/table.h"

/* What precedes the values of a row. */
struct row_names {
    enum format format;
    bool pretty;
    size_t count;
    struct buf before; /* `,"a":`, `,"b":` ...; CSV: commas */
    size_t *before_end;
    bool *optional; /* JSON leaves it out where it is null */
    struct buf header;
};
/* A column of a table, before it is added. */
int row_names_init(struct row_names *n, enum format format, bool pretty, size_t count);
void row_names_add(struct row_names *n, size_t column, const char *name, bool optional);
/* After the last one. -ENOMEM. */
int row_names_end(struct row_names *n);
void row_names_done(struct row_names *n);

struct row_writer;
/* Keeps at most `codes_most` values. names borrowed. */
int row_writer_new(const struct row_names *names, size_t codes_most, struct budget *budget,
                   struct row_writer **ret);
/* A row ends with a newline; in JSON with a comma, also the last one. ret_end: where each ends in
 * `out`, or NULL. */
int row_writer_write(struct row_writer *w, const struct row_block *b, struct buf *out,
                     size_t *ret_end);
void row_writer_free(struct row_writer *w);

#endif
