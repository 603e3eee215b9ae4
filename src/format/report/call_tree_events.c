/* call_tree_events.c - event by event: rows with the one around, or a trace for Perfetto. */
#include "format/report/call_tree.h"

#include <stdlib.h>

enum { AT_ONCE = 512 };

static void put_member(struct buf *out, const char *key, const struct value *v)
{
    buf_puts(out, key);
    value_json(out, v);
}

static void put_uint(struct buf *out, const char *key, uint64_t u, bool null)
{
    struct value v = {.type = null ? VALUE_NULL : VALUE_UINT, .u = u};

    put_member(out, key, &v);
}

static void put_time(struct buf *out, const char *key, __int128 ns)
{
    struct value v = {.type = VALUE_TIME, .wide = ns};

    put_member(out, key, &v);
}

static void put_event_id(const struct call_tree_event *e, const char *key, struct buf *out)
{
    struct value v = {.type = e->has_event_id ? VALUE_INT : VALUE_NULL, .i = (int64_t)e->event_id};

    put_member(out, key, &v);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* The members that all events of a thread have. */
static void new_thread(struct format_call_tree *f, uint32_t thread)
{
    struct call_tree_thread t;

    call_tree_thread(f->tree, thread, &t);
    f->thread = thread + 1;
    buf_clear(&f->thread_json);
    put_member(&f->thread_json, ",\"host\":", &t.host);
    put_member(&f->thread_json, ",\"pid\":", &t.pid);
    put_member(&f->thread_json, ",\"tid\":", &t.tid);
}

/* Paths that are told are kept; deeper ones need not be. */
static int add_frame(struct format_call_tree *f, const struct call_tree_event *e)
{
    if (e->depth >= CALL_TREE_PATH_LEVELS)
        return 0;
    int rc = call_tree_cut_path(f, e->depth);
    if (rc < 0)
        return rc;
    call_tree_frame(&e->name, &f->path);
    return call_tree_end_frame(f, e->depth);
}

static void put_row(struct format_call_tree *f, const struct call_tree_event *e, struct buf *out)
{
    bool short_enough = e->depth < CALL_TREE_PATH_LEVELS;
    struct value path = {.type = short_enough ? VALUE_TEXT : VALUE_NULL,
                         .text = {f->path.data, f->path.len}};

    put_uint(out, "{\"id\":", e->id, false);
    put_uint(out, ",\"parent\":", e->parent, e->parent == 0);
    put_uint(out, ",\"depth\":", e->depth, false);
    put_member(out, ",\"name\":", &e->name);
    put_member(out, ",\"cat\":", &e->cat);
    buf_append(out, f->thread_json.data, f->thread_json.len);
    put_time(out, ",\"ts\":", e->ts_ns);
    put_time(out, ",\"dur\":", e->dur_ns);
    put_event_id(e, ",\"event_id\":", out);
    put_member(out, ",\"path\":", &path);
    buf_puts(out, "}\n");
}

static int write_row(struct format_call_tree *f, const struct call_tree_event *e, struct buf *out)
{
    if (f->thread != e->thread + 1)
        new_thread(f, e->thread);
    int rc = add_frame(f, e);
    if (rc < 0 || f->seen++ < f->o.offset)
        return rc;
    put_row(f, e, out);
    f->rows++;
    return f->thread_json.error;
}

static void write_summary(struct format_call_tree *f, struct buf *out)
{
    struct jw j;

    jw_init(&j, out, false);
    jw_begin(&j, '{');
    jw_key(&j, "summary");
    jw_begin(&j, '{');
    jw_put_uint(&j, "rows", f->rows);
    call_tree_summary(f, &j);
    jw_put_uint(&j, "elapsed_ms", (uint64_t)((clock_mono_ns() - f->o.started_ns) / 1000000));
    jw_end(&j, '}');
    jw_end(&j, '}');
    jw_finish(&j);
}

/* ---- Perfetto -------------------------------------------------------------------------------- */

static int64_t int_of(const struct value *v)
{
    return v->type == VALUE_INT ? v->i : 0;
}

static bool is_tid(int64_t tid)
{
    return tid > 0 && tid < INT32_MAX / 2;
}

/* Processes, and a number behind all threads. */
static int look_at_threads(struct format_call_tree *f)
{
    struct call_tree_totals totals;
    struct call_tree_thread t;

    call_tree_totals(f->tree, &totals);
    f->threads = (uint32_t)totals.threads;
    f->next_tid = 1;
    for (uint32_t i = 0; i < f->threads; i++) {
        call_tree_thread(f->tree, i, &t);
        int64_t process = perfetto_process_of(f->perfetto, int_of(&t.pid), perfetto_text(&t.host));
        if (process < 0)
            return (int)process;
        if (is_tid(int_of(&t.tid)) && int_of(&t.tid) >= f->next_tid)
            f->next_tid = int_of(&t.tid) + 1;
    }
    return perfetto_name_processes(f->perfetto);
}

static void see_start(void *arg, int64_t ts_ns)
{
    perfetto_note_time(arg, ts_ns);
}

static int begin_perfetto(struct format_call_tree *f, struct buf *out)
{
    f->perfetto = calloc(1, sizeof(*f->perfetto));
    if (!f->perfetto)
        return -ENOMEM;
    perfetto_init(f->perfetto, f->o.budget);
    int rc = look_at_threads(f);
    rc = rc < 0 ? rc : call_tree_starts(f->tree, see_start, f->perfetto);
    if (rc < 0)
        return rc;
    perfetto_set_times(f->perfetto, PERFETTO_FITTING);
    perfetto_begin(f->perfetto, out);
    return 0;
}

/* A further lane of the thread at hand is named where it is met. */
static int name_lane(struct format_call_tree *f, const struct perfetto_lane *l, struct buf *out)
{
    int rc = vec_extend(&f->told, l->number + (size_t)1);
    if (rc < 0)
        return rc;
    struct perfetto_lane lane = *l;
    if (l->number || !is_tid(l->tid))
        lane.told = f->next_tid++;
    f->told.at[l->number] = lane.told;
    perfetto_put_lane(f->perfetto, &lane, &f->scratch, out);
    return f->scratch.error;
}

static void put_slice(const struct call_tree_event *e, __int128 ts, __int128 dur, int64_t pid,
                      int64_t tid, struct buf *out)
{
    struct value name = {.type = VALUE_TEXT, .text = perfetto_text(&e->name)},
                 cat = {.type = VALUE_TEXT, .text = perfetto_text(&e->cat)},
                 told_pid = {.type = VALUE_INT, .i = pid}, told_tid = {.type = VALUE_INT, .i = tid};

    put_member(out, ",\n{\"name\":", &name);
    put_member(out, ",\"cat\":", &cat);
    put_time(out, ",\"ph\":\"X\",\"ts\":", ts);
    put_time(out, ",\"dur\":", dur);
    put_member(out, ",\"pid\":", &told_pid);
    put_member(out, ",\"tid\":", &told_tid);
    put_uint(out, ",\"args\":{\"id\":", e->id, false);
    if (e->parent)
        put_uint(out, ",\"parent_id\":", e->parent, false);
    put_uint(out, ",\"depth\":", e->depth, false);
    if (e->has_event_id)
        put_event_id(e, ",\"event_id\":", out);
    buf_puts(out, "}}");
}

static int write_slice(struct format_call_tree *f, const struct call_tree_event *e, struct buf *out)
{
    struct call_tree_thread t;
    __int128 from = e->ts_ns, to = from + e->dur_ns;
    uint32_t lane, known;

    perfetto_slice(f->perfetto, &from, &to);
    if (f->thread != e->thread + 1) {
        f->thread = e->thread + 1;
        perfetto_thread_done(&f->lanes);
    }
    call_tree_thread(f->tree, e->thread, &t);
    int64_t process = perfetto_process_of(f->perfetto, int_of(&t.pid), perfetto_text(&t.host));
    known = f->lanes.count;
    int rc = process < 0 ? (int)process : perfetto_find_lane(&f->lanes, from, to, &lane);
    if (rc == 0 && f->lanes.count > known) {
        struct perfetto_lane l = {(uint32_t)process, int_of(&t.tid), int_of(&t.tid), lane};
        rc = name_lane(f, &l, out);
    }
    if (rc == 0)
        put_slice(e, from, to - from, f->perfetto->processes.at[process].told, f->told.at[lane],
                  out);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int call_tree_events_begin(struct format_call_tree *f, struct buf *out)
{
    return f->o.format == FORMAT_PERFETTO ? begin_perfetto(f, out) : 0;
}

static int end_events(struct format_call_tree *f, struct buf *out)
{
    if (f->o.format == FORMAT_NDJSON && f->o.summary)
        write_summary(f, out);
    if (f->o.format == FORMAT_PERFETTO)
        perfetto_end(f->perfetto, out);
    return ERR_END;
}

int call_tree_events_next(struct format_call_tree *f, struct buf *out)
{
    struct call_tree_event e;
    int rc = 0;

    for (unsigned i = 0; i < AT_ONCE && rc == 0 && !out->error; i++) {
        if (f->o.format == FORMAT_NDJSON && f->rows == f->o.limit)
            return end_events(f, out);
        rc = call_tree_next_event(f->tree, &e);
        if (rc == 0)
            rc = f->o.format == FORMAT_NDJSON ? write_row(f, &e, out) : write_slice(f, &e, out);
    }
    return rc == ERR_END ? end_events(f, out) : rc;
}
