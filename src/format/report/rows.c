/* rows.c - rows of /view as JSON, NDJSON or CSV; the workers that find them write their text. */
#include "dftracerd/rows.h"
#include "format/writer/row_writer.h"

#include <errno.h>
#include <stdlib.h>

enum { CODES_MAX = 1 << 16 }; /* of a chunk's columns together: 1 MiB */

struct format_rows {
    struct rows_writer writer;
    struct row_names names;
    bool begun; /* rows were written */
};

static int begin_chunk(void *arg, struct budget *budget, void **ret)
{
    const struct format_rows *f = arg;
    struct row_writer *w = NULL;
    int rc = row_writer_new(&f->names, CODES_MAX, budget, &w);

    *ret = w;
    return rc;
}

static int write_rows(void *state, const struct row_block *b, struct buf *out, size_t *ret_end)
{
    return row_writer_write(state, b, out, ret_end);
}

static void chunk_done(void *state)
{
    row_writer_free(state);
}

int format_rows_new(enum format format, const char *const *columns, size_t count,
                    struct format_rows **ret)
{
    if (count == 0 || (format != FORMAT_JSON && format != FORMAT_NDJSON && format != FORMAT_CSV))
        return ERR_FORMAT;
    struct format_rows *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->writer = (struct rows_writer){f, begin_chunk, write_rows, chunk_done};
    int rc = row_names_init(&f->names, format, false, count);
    for (size_t i = 0; i < count && rc == 0; i++)
        row_names_add(&f->names, i, columns[i], false);
    rc = rc < 0 ? rc : row_names_end(&f->names);
    if (rc < 0)
        format_rows_free(f);
    else
        *ret = f;
    return rc;
}

void format_rows_free(struct format_rows *f)
{
    if (!f)
        return;
    row_names_done(&f->names);
    free(f);
}

const struct rows_writer *format_rows_writer(const struct format_rows *f)
{
    return &f->writer;
}

static void begin_rows(struct format_rows *f, struct buf *out)
{
    if (f->begun)
        return;
    f->begun = true;
    if (f->names.format == FORMAT_JSON)
        buf_puts(out, "{\"rows\":[");
    else if (f->names.format == FORMAT_CSV)
        buf_append(out, f->names.header.data, f->names.header.len);
}

int format_rows_next(struct format_rows *f, struct rows *rows, struct err *err, struct buf *out,
                     size_t *ret_count)
{
    size_t start = out->len;
    bool first = !f->begun, json = f->names.format == FORMAT_JSON;

    begin_rows(f, out);
    if (!first && json)
        buf_putc(out, ',');
    int rc = rows_next_text(rows, err, out, ret_count);
    if (rc == 0 && json)
        out->len--; /* the comma after the last row */
    if (rc != 0) {
        out->len = start;
        f->begun = !first;
    }
    return rc;
}

void format_rows_end(struct format_rows *f, struct buf *out)
{
    begin_rows(f, out);
    if (f->names.format == FORMAT_JSON)
        buf_puts(out, "]}\n");
}
