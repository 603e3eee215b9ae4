/* processes.c - the answer of /processes: a tree as JSON and as text, rows as NDJSON and
 * CSV. */
#include "dftracerd/format.h"
#include "dftracerd/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "format/writer/value_text.h"

enum { PIECE = 64 << 10, INDENT_MOST = 64, COMMAND_MOST = 120 };

static const char *const columns[] = {"host",   "pid",     "parent_pid", "parent_by", "depth",
                                      "rank",   "command", "exec",       "cwd",       "min_ts",
                                      "max_te", "events",  "threads",    "bytes",     "io_time",
                                      "files",  "file",    "finished"};
enum { COLUMNS = sizeof(columns) / sizeof(*columns) };
static const char *const text_columns[] = {"process", "host",    "rank",    "parent by",
                                           "events",  "bytes",   "io time", "min_ts",
                                           "max_te",  "threads", "end",     "command"};
enum { TEXT_COLUMNS = sizeof(text_columns) / sizeof(*text_columns) };

struct format_processes {
    const struct process_list *list;
    struct format_processes_options o;
    struct format_table *table; /* NULL: JSON */
    struct buf scratch;
    size_t at, end;
    int64_t last; /* JSON: depth of the process that is open; -1 none */
    bool began;
};

int format_processes_new(const struct process_list *l, const struct format_processes_options *o,
                         struct format_processes **ret)
{
    struct format_processes *f = calloc(1, sizeof(*f));
    bool text = o->format == FORMAT_TEXT;
    int rc = 0;

    if (!f)
        return -ENOMEM;
    f->list = l;
    f->o = *o;
    f->last = -1;
    f->at = o->offset < l->rows.count ? (size_t)o->offset : l->rows.count;
    f->end = o->limit < l->rows.count - f->at ? f->at + (size_t)o->limit : l->rows.count;
    if (o->format != FORMAT_JSON)
        rc = format_table_new(o->format, text ? text_columns : columns,
                              text ? TEXT_COLUMNS : COLUMNS, &f->table);
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

/* ---- values ---------------------------------------------------------------------------------- */

static struct value count_value(uint64_t u)
{
    return (struct value){.type = VALUE_UINT, .u = u};
}

static struct value text_value(const char *s)
{
    return (struct value){.type = s ? VALUE_TEXT : VALUE_NULL, .text = s ? text_of(s) : TEXT("")};
}

static void row_of(const struct process_info *p, struct value *row)
{
    const struct value values[COLUMNS] = {
        p->host,
        {.type = VALUE_INT, .i = p->pid},
        {.type = p->parent_by ? VALUE_INT : VALUE_NULL, .i = p->parent_pid},
        text_value(p->parent_by),
        count_value(p->depth),
        p->rank,
        p->command,
        p->exec,
        p->cwd,
        p->first,
        p->last,
        count_value(p->events),
        count_value(p->threads),
        p->bytes,
        p->io_time,
        count_value(p->files),
        text_value(p->file),
        p->finished};

    memcpy(row, values, sizeof(values));
}

/* ---- text ------------------------------------------------------------------------------------ */

static const char *end_of(const struct value *finished)
{
    return finished->type == VALUE_NULL ? NULL : finished->i ? "finished" : "unfinished";
}

/* The beginning of a long command, in whole characters: a column of some hundred arguments is one
 * that nobody can read. */
static struct value short_command(const struct value *command, char *room)
{
    const char *at = command->text.ptr;
    size_t len = COMMAND_MOST;

    if (command->type != VALUE_TEXT || command->text.len <= len)
        return *command;
    while (len > 0 && ((unsigned char)at[len] & 0xc0) == 0x80)
        len--;
    memcpy(room, at, len);
    memcpy(room + len, "...", 3);
    return (struct value){.type = VALUE_TEXT, .text = {room, len + 3}};
}

static void put_text(struct format_processes *f, const struct process_info *p, struct buf *out)
{
    char pid[32], command[COMMAND_MOST + 3];

    buf_clear(&f->scratch);
    for (uint32_t i = 0; i < p->depth && i < INDENT_MOST; i++)
        buf_puts(&f->scratch, "  ");
    buf_append(&f->scratch, pid, num_format_i64(p->pid, pid));
    const struct value row[TEXT_COLUMNS] = {
        {.type = VALUE_TEXT, .text = {f->scratch.data, f->scratch.len}},
        p->host,
        p->rank,
        text_value(p->parent_by),
        count_value(p->events),
        p->bytes,
        p->io_time,
        p->first,
        p->last,
        count_value(p->threads),
        text_value(end_of(&p->finished)),
        short_command(&p->command, command)};
    if (f->scratch.error)
        out->error = f->scratch.error;
    else
        format_table_row(f->table, row, out);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void put_line(const struct format_processes *f, int64_t depth, struct buf *out)
{
    int64_t most = 2 + (depth < INDENT_MOST ? depth : INDENT_MOST);

    if (!f->o.pretty)
        return;
    buf_putc(out, '\n');
    for (int64_t i = 0; i < most; i++)
        buf_puts(out, "  ");
}

static void close_processes(struct format_processes *f, int64_t down_to, struct buf *out)
{
    for (; f->last >= down_to; f->last--)
        buf_puts(out, "]}");
}

static void put_json(struct format_processes *f, const struct process_info *p, struct buf *out)
{
    struct value row[COLUMNS];

    if (f->last >= (int64_t)p->depth) {
        close_processes(f, p->depth, out);
        buf_putc(out, ',');
    }
    put_line(f, p->depth, out);
    row_of(p, row);
    for (size_t i = 0; i < COLUMNS; i++) {
        buf_putc(out, i ? ',' : '{');
        jw_escape(out, text_of(columns[i]));
        buf_putc(out, ':');
        value_json(out, &row[i]);
    }
    buf_puts(out, ",\"children\":[");
    f->last = p->depth;
}

static void put_head(struct format_processes *f, struct buf *out)
{
    const struct process_list *l = f->list;
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"files", l->counters.files},
                  {"damaged_files", l->counters.damaged_files},
                  {"events", l->events},
                  {"without_process", l->without_process},
                  {"processes", l->rows.count}};
    struct jw j;

    jw_init(&j, out, f->o.pretty);
    jw_begin(&j, '{');
    jw_put_uint(&j, "generation", l->counters.generation);
    jw_put_bool(&j, "complete", l->complete);
    for (size_t i = 0; i < sizeof(counts) / sizeof(*counts); i++)
        jw_put_uint(&j, counts[i].key, counts[i].value);
    jw_key(&j, "tree");
    buf_putc(out, '[');
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_process(struct format_processes *f, const struct process_info *p, struct buf *out)
{
    struct value row[COLUMNS];

    if (f->o.format == FORMAT_JSON) {
        put_json(f, p, out);
    } else if (f->o.format == FORMAT_TEXT) {
        put_text(f, p, out);
    } else {
        row_of(p, row);
        format_table_row(f->table, row, out);
    }
}

static void put_tail(struct format_processes *f, struct buf *out)
{
    if (f->table) {
        format_table_end(f->table, out);
        return;
    }
    close_processes(f, 0, out);
    buf_puts(out, f->o.pretty ? "]\n}\n" : "]}\n");
}

int format_processes_next(struct format_processes *f, struct buf *out)
{
    size_t start = out->len;

    if (!f->began && !f->table)
        put_head(f, out);
    f->began = true;
    while (f->at < f->end && out->len - start < PIECE && !out->error)
        put_process(f, &f->list->rows.at[f->at++], out);
    if (out->error)
        return out->error;
    if (f->at < f->end)
        return 0;
    put_tail(f, out);
    return out->error ? out->error : ERR_END;
}
