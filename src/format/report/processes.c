/* processes.c - writes /processes piece by piece: a document, rows, or an indented table. */
#include "dftracerd/format.h"
#include "dftracerd/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 64 << 10, INDENT_MAX = 64, COMMAND_MAX = 120 };

static const char *const text_columns[] = {"process", "host",    "rank",    "parent by",
                                           "events",  "bytes",   "io time", "min_ts",
                                           "max_te",  "threads", "end",     "command"};
enum { TEXT_COLUMNS = sizeof(text_columns) / sizeof(*text_columns) };

struct format_processes {
    const struct process_list *list;
    enum format format;
    struct document document;   /* JSON */
    struct format_table *table; /* the other formats; rows from `at` to `end` */
    size_t at, end;
    struct buf scratch;
};

int format_processes_new(const struct process_list *l, const struct format_processes_options *o,
                         struct format_processes **ret)
{
    struct format_processes *f = calloc(1, sizeof(*f));
    int rc = 0;

    if (!f)
        return -ENOMEM;
    f->list = l;
    f->format = o->format;
    f->at = o->offset < l->rows.count ? (size_t)o->offset : l->rows.count;
    f->end = o->limit < l->rows.count - f->at ? f->at + (size_t)o->limit : l->rows.count;
    if (f->format == FORMAT_JSON)
        document_begin(&f->document, &processes_type, l, o->pretty);
    else if (f->format == FORMAT_TEXT)
        rc = format_table_new(f->format, text_columns, TEXT_COLUMNS, &f->table);
    else
        rc = format_table_of(f->format, &process_line_type, &f->table);
    if (rc < 0) {
        format_processes_free(f);
        return rc;
    }
    *ret = f;
    return 0;
}

void format_processes_free(struct format_processes *f)
{
    if (!f)
        return;
    format_table_free(f->table);
    buf_done(&f->scratch);
    free(f);
}

/* ---- text ------------------------------------------------------------------------------------ */

/* Returns the beginning of a long command, in whole characters, copied to `to`: a column with
 * hundreds of arguments is not readable. */
static struct value short_command(const struct value *command, char *to)
{
    const char *at = command->text.ptr;
    size_t len = COMMAND_MAX;

    if (command->type != VALUE_TEXT || command->text.len <= len)
        return *command;
    while (len > 0 && ((unsigned char)at[len] & 0xc0) == 0x80)
        len--;
    memcpy(to, at, len);
    memcpy(to + len, "...", 3);
    return (struct value){.type = VALUE_TEXT, .text = {to, len + 3}};
}

static void put_text(struct format_processes *f, const struct process_info *p, struct buf *out)
{
    const char *end = p->finished.type == VALUE_NULL ? NULL
                      : p->finished.i                ? "finished"
                                                     : "unfinished";
    char pid[32], command[COMMAND_MAX + 3];

    buf_clear(&f->scratch);
    for (uint32_t i = 0; i < p->depth && i < INDENT_MAX; i++)
        buf_puts(&f->scratch, "  ");
    buf_append(&f->scratch, pid, num_format_i64(p->pid, pid));
    const struct value row[TEXT_COLUMNS] = {
        {.type = VALUE_TEXT, .text = {f->scratch.data, f->scratch.len}},
        p->host,
        p->rank,
        member_string(p->parent_by),
        {.type = VALUE_UINT, .u = p->events},
        p->bytes,
        p->io_time,
        p->first,
        p->last,
        {.type = VALUE_UINT, .u = p->threads},
        member_string(end),
        short_command(&p->command, command)};
    if (f->scratch.error)
        out->error = f->scratch.error;
    else
        format_table_row(f->table, row, out);
}

int format_processes_next(struct format_processes *f, struct buf *out)
{
    size_t start = out->len;

    if (f->format == FORMAT_JSON)
        return document_next(&f->document, out);
    while (f->at < f->end && out->len - start < PIECE && !out->error) {
        const struct process_info *p = &f->list->rows.at[f->at++];
        if (f->format == FORMAT_TEXT)
            put_text(f, p, out);
        else
            format_table_object(f->table, &process_line_type, p, out);
    }
    if (f->at < f->end || out->error)
        return out->error;
    format_table_end(f->table, out);
    return out->error ? out->error : ERR_END;
}
