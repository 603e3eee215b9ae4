/* view.c - the events of /view as a trace that Perfetto imports without errors.
 *
 * The process and lane of each event must be known before the first is written, so the columns are
 * read first: processes, threads and times. Then the lines are read, which have the arguments of
 * the events.
 */
#include "dftracerd/rows.h"
#include "dftracerd/view.h"
#include "format/perfetto/aggregate.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { V_HOST, V_PID, V_TID, V_TS, V_DUR, V_RANK, V_CLASS, V_COLUMNS };
enum {
    STEP = 64 << 10, /* bytes of lines that are read at a time */
    PADDING = 64     /* bytes that the scanner reads beyond the end */
};

struct perfetto_view {
    struct perfetto p; /* items: slices and instants, in row order */
    struct query *query;
    VEC(struct perfetto_item) counters;
    VEC(uint8_t) kinds;           /* of each object */
    size_t counter, item, object; /* the next ones to write */
    struct intern *hosts;
    struct view *view;
    struct trace_scanner *scanner;
    struct buf lines;
    bool begun;
};
enum kind { KIND_NONE, KIND_SLICE, KIND_INSTANT, KIND_COUNTER };

/* ---- processes and lanes --------------------------------------------------------------------- */

static int read_row(struct perfetto_view *v, const struct value *row)
{
    bool event = row[V_CLASS].i == TRACE_EVENT, timed = row[V_TS].type == VALUE_TIME,
         lasts = row[V_DUR].type == VALUE_TIME;
    enum kind kind = !timed ? KIND_NONE : !event ? KIND_COUNTER : lasts ? KIND_SLICE : KIND_INSTANT;
    uint32_t known = v->p.processes.count;
    int rc = vec_reserve(&v->kinds, 1);
    int64_t host = rc < 0 ? rc : intern_add(v->hosts, perfetto_text(&row[V_HOST]));

    if (host < 0)
        return (int)host;
    int64_t process = perfetto_process_of(&v->p, perfetto_int(&row[V_PID]),
                                          intern_text(v->hosts, (uint32_t)host));
    if (process < 0)
        return (int)process;
    if (process >= known && row[V_RANK].type == VALUE_INT) {
        v->p.processes.at[process].has_rank = true;
        v->p.processes.at[process].rank = row[V_RANK].i;
    }
    if (timed) {
        __int128 from = row[V_TS].wide, to = from + (lasts ? row[V_DUR].wide : 0);
        const struct perfetto_item item = {.row = v->kinds.count,
                                           .from = from,
                                           .to = to < from ? from : to,
                                           .tid = perfetto_int(&row[V_TID]),
                                           .process = (uint32_t)process};
        perfetto_note_time(&v->p, from);
        rc = kind == KIND_COUNTER ? vec_push(&v->counters, item) : vec_push(&v->p.items, item);
    }
    v->kinds.at[v->kinds.count++] = (uint8_t)kind;
    return rc;
}

static int read_rows(struct perfetto_view *v, const struct view_options *o, struct err *err)
{
    static const char *const columns[V_COLUMNS] = {"host", "pid",  "tid",   "ts",
                                                   "dur",  "rank", "@class"};
    struct rows_options options = {.columns = columns,
                                   .column_count = V_COLUMNS,
                                   .order_ts = o->order_ts,
                                   .limit = o->limit,
                                   .offset = o->offset,
                                   .order_by = o->order_by,
                                   .descending = o->descending};
    const struct value *values;
    struct rows *rows;
    size_t n;
    int rc = rows_open(v->query, &options, err, &rows);

    if (rc < 0)
        return rc;
    while ((rc = rows_next(rows, err, &values, &n)) == 0) {
        rc = budget_check(v->p.budget);
        for (size_t i = 0; i < n && rc == 0; i++)
            rc = read_row(v, values + i * V_COLUMNS);
        if (rc < 0)
            break;
    }
    rows_close(rows);
    return rc == ERR_END ? 0 : rc;
}

int perfetto_view_new(struct query *q, const struct view_options *options,
                      enum perfetto_times times, struct budget *budget, struct err *err,
                      struct perfetto_view **ret)
{
    struct perfetto_view *v = calloc(1, sizeof(*v));
    struct view_options o = *options;

    if (!v)
        return err_set_code(err, -ENOMEM);
    o.no_metadata = true;
    v->query = q;
    perfetto_init(&v->p, budget);
    v->counters.budget = v->kinds.budget = budget;
    v->hosts = intern_new();
    int rc = v->hosts ? trace_scanner_new(NULL, &v->scanner) : -ENOMEM;
    rc = rc < 0 ? rc : read_rows(v, &o, err);
    rc = rc < 0 ? rc : perfetto_name_processes(&v->p);
    if (rc == 0)
        perfetto_set_times(&v->p, times);
    rc = rc < 0 ? rc : perfetto_make_lanes(&v->p);
    rc = rc < 0 ? rc : view_open(q, &o, err, &v->view);
    if (rc < 0) {
        perfetto_view_free(v);
        return err_set_code(err, rc);
    }
    *ret = v;
    return 0;
}

void perfetto_view_free(struct perfetto_view *v)
{
    if (!v)
        return;
    view_close(v->view);
    trace_scanner_free(v->scanner);
    intern_free(v->hosts);
    buf_done(&v->lines);
    perfetto_done(&v->p);
    vec_done(&v->counters);
    vec_done(&v->kinds);
    free(v);
}

void perfetto_view_rest(struct perfetto_view *v)
{
    view_pause(v->view);
}

/* ---- writing --------------------------------------------------------------------------------- */

static struct text text_value(const struct trace_event *e, uint16_t field)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (e->values[i].field == field && e->values[i].type == TRACE_TEXT)
            return (struct text){e->values[i].ptr, e->values[i].len};
    return TEXT("");
}

static bool is_number(const struct trace_value *t)
{
    return t->type == TRACE_INT || t->type == TRACE_DOUBLE || t->type == TRACE_BIG;
}

/* True for fields that the head of the event contains. */
static bool is_in_head(uint16_t field)
{
    return field == TRACE_FIELD_NAME || field == TRACE_FIELD_CAT || field == TRACE_FIELD_PID ||
           field == TRACE_FIELD_TID || field == TRACE_FIELD_TS || field == TRACE_FIELD_DUR ||
           field == TRACE_FIELD_PH;
}

static bool is_argument(struct perfetto_view *v, const struct trace_event *e, struct text key)
{
    for (uint32_t i = 0; i < e->count; i++) {
        if (e->values[i].field == TRACE_FIELD_OTHER)
            continue;
        struct text path = trace_field_path(v->scanner, e->values[i].field);
        if (path.len == key.len + 5 && text_starts(path, TEXT("args.")) && text_ends(path, key))
            return true;
    }
    return false;
}

/* Fields that are no arguments are written as event.x, which no argument is named. */
static void put_other_key(struct perfetto_view *v, const struct trace_event *e, struct text path)
{
    struct buf key = {0};
    unsigned prefixes = 0;

    do {
        buf_clear(&key);
        prefixes++;
        for (unsigned i = 0; i < prefixes; i++)
            buf_puts(&key, "event.");
        buf_text(&key, path);
    } while (!key.error && is_argument(v, e, (struct text){key.data, key.len}));
    jw_key_text(&v->p.jw, (struct text){key.data, key.len});
    put_done(v->p.jw.out, &key);
}

static void put_key(struct perfetto_view *v, const struct trace_event *e, uint16_t field,
                    unsigned *other)
{
    char number[24];

    if (field == TRACE_FIELD_OTHER) {
        put_other_key(v, e, (struct text){number, num_format_u64(++*other, number)});
        return;
    }
    struct text path = trace_field_path(v->scanner, field);
    if (text_starts(path, TEXT("args.")))
        jw_key_text(&v->p.jw, (struct text){path.ptr + 5, path.len - 5});
    else
        put_other_key(v, e, path);
}

/* Returns the code unit of an escape \\uXXXX, or -1. */
static int code_unit(const char *at, const char *end)
{
    char digits[5] = {0};
    char *stop;

    if (end - at < 6 || at[0] != '\\' || at[1] != 'u')
        return -1;
    memcpy(digits, at + 2, 4);
    int unit = (int)strtol(digits, &stop, 16);
    return stop == digits + 4 ? unit : -1;
}

/* Writes JSON unchanged except for escaped surrogates: a pair becomes its character, a lone one
 * U+FFFD. */
static void put_json(struct jw *j, struct text t)
{
    const char *at = t.ptr, *end = t.ptr + t.len;
    struct buf out = {0};

    while (at < end) {
        int high = code_unit(at, end), low = high < 0 ? -1 : code_unit(at + 6, end);
        size_t step = at[0] == '\\' && end - at > 1 ? 2 : 1;
        if (high < 0xD800 || high > 0xDFFF) {
            buf_append(&out, at, step);
        } else if (high < 0xDC00 && low >= 0xDC00 && low <= 0xDFFF) {
            int code = 0x10000 + ((high - 0xD800) << 10) + (low - 0xDC00);
            for (int shift = 18; shift >= 0; shift -= 6)
                buf_putc(&out, (char)((shift == 18 ? 0xF0 : 0x80) | (code >> shift & 0x3F)));
            step = 12;
        } else {
            buf_puts(&out, "\xef\xbf\xbd");
            step = 6;
        }
        at += step;
    }
    jw_value(j, &(struct value){.type = VALUE_JSON, .text = {out.data, out.len}});
    put_done(j->out, &out);
}

static void put_args(struct perfetto_view *v, const struct trace_event *e, bool numbers)
{
    struct jw *j = &v->p.jw;
    unsigned other = 0;

    jw_key(j, "args");
    jw_begin(j, '{');
    for (uint32_t i = 0; i < e->count; i++) {
        const struct trace_value *t = &e->values[i];
        if (is_in_head(t->field) || (numbers && (!is_number(t) || t->field == TRACE_FIELD_ID)))
            continue;
        put_key(v, e, t->field, &other);
        struct text text = {t->ptr, t->len};
        if (t->type == TRACE_INT)
            jw_int(j, t->i);
        else if (t->type == TRACE_DOUBLE)
            jw_double(j, t->d);
        else if (t->type == TRACE_BOOL)
            jw_bool(j, t->i);
        else if (t->field == TRACE_FIELD_OTHER || t->type == TRACE_TEXT || !text_is_utf8(text))
            jw_text(j, text);
        else
            put_json(j, text);
    }
    jw_end(j, '}');
}

/* Counters of one name are distinguished by category, thread and file. */
static void put_id(struct perfetto_view *v, const struct trace_event *e, int64_t tid)
{
    struct text cat = text_value(e, TRACE_FIELD_CAT), fhash = text_value(e, TRACE_FIELD_FHASH);
    struct buf id = {0};

    buf_text(&id, cat);
    buf_printf(&id, ":%lld", (long long)tid);
    if (fhash.len) {
        buf_putc(&id, ':');
        buf_text(&id, fhash);
    }
    jw_put_text(&v->p.jw, "id", (struct text){id.data, id.len});
    put_done(v->p.jw.out, &id);
}

static bool has_numbers(const struct trace_event *e)
{
    for (uint32_t i = 0; i < e->count; i++)
        if (is_number(&e->values[i]) && !is_in_head(e->values[i].field) &&
            e->values[i].field != TRACE_FIELD_ID)
            return true;
    return false;
}

static void put_event(struct perfetto_view *v, const struct trace_event *e, enum kind kind,
                      struct buf *out)
{
    struct perfetto *p = &v->p;
    struct jw *j = &p->jw;
    bool of_process = kind == KIND_COUNTER, counter = of_process && has_numbers(e);
    const struct perfetto_item *item =
        of_process ? &v->counters.at[v->counter++] : &p->items.at[v->item++];
    int64_t pid = p->processes.at[item->process].written_pid;

    perfetto_head(p, out, text_value(e, TRACE_FIELD_NAME), text_value(e, TRACE_FIELD_CAT));
    perfetto_place(p,
                   counter              ? "C"
                   : kind == KIND_SLICE ? "X"
                                        : "i",
                   of_process ? perfetto_ts(p, item->from) : item->from, pid,
                   of_process ? pid : p->lanes.at[item->lane].written_tid);
    if (kind == KIND_SLICE) {
        jw_put_time(j, "dur", item->to - item->from);
    } else if (counter) {
        put_id(v, e, item->tid);
    } else {
        jw_put_str(j, "s", of_process ? "p" : "t");
    }
    put_args(v, e, counter);
    jw_end(j, '}');
}

/* The first pass has counted the lines: each object has its item already. */
static int put_lines(struct perfetto_view *v, struct buf *out)
{
    struct trace_event e;
    int rc;

    memset(v->lines.data + v->lines.len, 0, PADDING);
    trace_scan_begin(v->scanner, v->lines.data, v->lines.len, TRACE_US);
    while ((rc = trace_scan_next(v->scanner, &e)) > 0) {
        if (v->object == v->kinds.count)
            return ERR_CORRUPT;
        enum kind kind = v->kinds.at[v->object++];
        if (kind != KIND_NONE)
            put_event(v, &e, kind, out);
    }
    return rc;
}

int perfetto_view_next(struct perfetto_view *v, struct err *err, struct buf *out)
{
    if (!v->begun) {
        v->begun = true;
        perfetto_begin(&v->p, out);
        return out->error;
    }
    buf_clear(&v->lines);
    int rc = view_next(v->view, STEP, &v->lines, err);
    if (rc == 0 && !buf_reserve(&v->lines, PADDING))
        rc = -ENOMEM;
    rc = rc < 0 ? rc : put_lines(v, out);
    if (rc != ERR_END)
        return rc < 0 ? err_set_code(err, rc) : out->error;
    if (v->object != v->kinds.count)
        return err_set(err, ERR_CORRUPT, "the lines of a trace file do not match the index");
    perfetto_end(&v->p, out);
    return out->error ? out->error : ERR_END;
}
