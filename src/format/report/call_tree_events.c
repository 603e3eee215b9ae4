/* call_tree_events.c - writes event by event: rows with the enclosing event, or a trace for
 * Perfetto. */
#include "format/report/call_tree.h"

#include <stdlib.h>

enum { EVENTS_AT_ONCE = 512 };

static void put_member(struct buf *out, const char *key, const struct value *v)
{
    buf_puts(out, key);
    value_json(out, v);
}

static void put_uint(struct buf *out, const char *key, uint64_t u)
{
    put_member(out, key, &(struct value){.type = VALUE_UINT, .u = u});
}

static void put_int(struct buf *out, const char *key, int64_t i)
{
    put_member(out, key, &(struct value){.type = VALUE_INT, .i = i});
}

static void put_time(struct buf *out, const char *key, __int128 ns)
{
    put_member(out, key, &(struct value){.type = VALUE_TIME, .wide = ns});
}

/* ---- rows ------------------------------------------------------------------------------------ */

static int write_row(struct format_call_tree *f, struct buf *out)
{
    struct call_tree_line *l = &f->line;
    const struct call_tree_event *e = &l->event;

    if (f->thread != e->thread + 1)
        call_tree_thread(f->tree, e->thread, &l->thread);
    f->thread = e->thread + 1;
    l->has_path = e->depth < CALL_TREE_PATH_LEVELS; /* longer paths are not written */
    int rc = l->has_path ? call_tree_cut_path(f, e->depth) : 0;
    if (rc == 0 && l->has_path) {
        call_tree_write_name(&e->name, &f->path);
        rc = call_tree_end_frame(f, e->depth);
    }
    if (rc < 0 || f->seen++ < f->o.offset)
        return rc;
    l->has_parent = e->parent != 0;
    l->path = (struct text){f->path.data, f->path.len};
    format_line(&call_tree_event_type, l, out);
    f->lines.rows++;
    return 0;
}

/* ---- Perfetto -------------------------------------------------------------------------------- */

/* Finds the processes, and a number greater than all tids. */
static int survey_threads(struct format_call_tree *f)
{
    struct call_tree_thread t;

    f->threads = (uint32_t)f->lines.totals.threads;
    f->next_tid = 1;
    for (uint32_t i = 0; i < f->threads; i++) {
        call_tree_thread(f->tree, i, &t);
        int64_t process =
            perfetto_process_of(f->perfetto, perfetto_int(&t.pid), perfetto_text(&t.host));
        if (process < 0)
            return (int)process;
        if (perfetto_is_id(perfetto_int(&t.tid)) && perfetto_int(&t.tid) >= f->next_tid)
            f->next_tid = perfetto_int(&t.tid) + 1;
    }
    return perfetto_name_processes(f->perfetto);
}

static void note_start(void *arg, int64_t ts_ns)
{
    perfetto_note_time(arg, ts_ns);
}

static int begin_perfetto(struct format_call_tree *f, struct buf *out)
{
    f->perfetto = calloc(1, sizeof(*f->perfetto));
    if (!f->perfetto)
        return -ENOMEM;
    perfetto_init(f->perfetto, f->o.budget);
    int rc = survey_threads(f);
    rc = rc < 0 ? rc : call_tree_starts(f->tree, note_start, f->perfetto);
    if (rc < 0)
        return rc;
    perfetto_set_times(f->perfetto, PERFETTO_FITTING);
    perfetto_begin(f->perfetto, out);
    return 0;
}

/* A further lane of the current thread is named when it first occurs. */
static int name_lane(struct format_call_tree *f, const struct perfetto_lane *l, struct buf *out)
{
    int rc = vec_extend(&f->lane_tids, l->number + (size_t)1);
    if (rc < 0)
        return rc;
    struct perfetto_lane lane = *l;
    if (l->number || !perfetto_is_id(l->tid))
        lane.written_tid = f->next_tid++;
    f->lane_tids.at[l->number] = lane.written_tid;
    perfetto_put_lane(f->perfetto, &lane, &f->scratch, out);
    return f->scratch.error;
}

static void put_slice(const struct call_tree_event *e, __int128 ts, __int128 dur, int64_t pid,
                      int64_t tid, struct buf *out)
{
    struct value name = {.type = VALUE_TEXT, .text = perfetto_text(&e->name)},
                 cat = {.type = VALUE_TEXT, .text = perfetto_text(&e->cat)};

    put_member(out, ",\n{\"name\":", &name);
    put_member(out, ",\"cat\":", &cat);
    put_time(out, ",\"ph\":\"X\",\"ts\":", ts);
    put_time(out, ",\"dur\":", dur);
    put_int(out, ",\"pid\":", pid);
    put_int(out, ",\"tid\":", tid);
    put_uint(out, ",\"args\":{\"id\":", e->id);
    if (e->parent)
        put_uint(out, ",\"parent_id\":", e->parent);
    put_uint(out, ",\"depth\":", e->depth);
    if (e->has_event_id)
        put_int(out, ",\"event_id\":", e->event_id);
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
    int64_t process =
        perfetto_process_of(f->perfetto, perfetto_int(&t.pid), perfetto_text(&t.host));
    known = f->lanes.count;
    int rc = process < 0 ? (int)process : perfetto_find_lane(&f->lanes, from, to, &lane);
    if (rc == 0 && f->lanes.count > known) {
        struct perfetto_lane l = {(uint32_t)process, perfetto_int(&t.tid), perfetto_int(&t.tid),
                                  lane};
        rc = name_lane(f, &l, out);
    }
    if (rc == 0)
        put_slice(e, from, to - from, f->perfetto->processes.at[process].written_pid,
                  f->lane_tids.at[lane], out);
    return rc;
}

static int end_events(struct format_call_tree *f, struct buf *out)
{
    if (f->o.format == FORMAT_PERFETTO)
        perfetto_end(f->perfetto, out);
    else if (f->o.summary) {
        call_tree_totals(f->tree, &f->lines.totals);
        f->lines.elapsed_ms = (uint64_t)((clock_mono_ns() - f->o.started_ns) / 1000000);
        return format_object(&call_tree_summary_type, f, false, out);
    }
    return ERR_END;
}

int call_tree_events_next(struct format_call_tree *f, struct buf *out)
{
    bool rows = f->o.format == FORMAT_NDJSON;
    int rc = rows || f->begun ? 0 : begin_perfetto(f, out);

    f->begun = true;
    for (unsigned i = 0; i < EVENTS_AT_ONCE && rc == 0 && !out->error; i++) {
        if (rows && f->lines.rows == f->o.limit)
            return end_events(f, out);
        rc = call_tree_next_event(f->tree, &f->line.event);
        if (rc == 0)
            rc = rows ? write_row(f, out) : write_slice(f, &f->line.event, out);
    }
    return rc == ERR_END ? end_events(f, out) : rc;
}
