/* aggregate.c - rows of /aggregate as a trace that Perfetto imports without errors.
 *
 * Counters have numbers only, because Perfetto accepts nothing else; the other events have what the
 * old commands wrote.
 */
#include "format/perfetto/aggregate.h"

#include <stdlib.h>
#include <string.h>

static const struct value *start_of(const struct perfetto *p, const struct value *values)
{
    bool counter = p->events == AGGREGATE_COUNTER || p->events == AGGREGATE_DFTRACER;

    return perfetto_cell(p, values, counter ? C_BUCKET : C_TS);
}

/* ---- the first pass -------------------------------------------------------------------------- */

static int read_row(struct perfetto *p, const struct value *values, uint64_t row)
{
    const struct value *ts = perfetto_cell(p, values, C_TS), *te = perfetto_cell(p, values, C_TE);
    struct text host = perfetto_text(perfetto_cell(p, values, C_HHASH));
    int64_t process = perfetto_process_of(p, perfetto_int(perfetto_cell(p, values, C_PID)), host);

    if (process >= 0 && p->known[C_ROOT] >= 0 &&
        perfetto_cell(p, values, C_ROOT)->type == VALUE_INT) {
        int64_t root = perfetto_process_of(p, perfetto_cell(p, values, C_ROOT)->i, host);
        if (root < 0)
            return (int)root;
        p->processes.at[root].root = true;
    }
    if (process < 0)
        return (int)process;
    const struct value *start = start_of(p, values);
    if (start->type == VALUE_TIME)
        perfetto_note_time(p, start->wide);
    if (start->type == VALUE_TIME && p->events == AGGREGATE_ASYNC)
        perfetto_note_time(p, te->wide);
    if (p->events != AGGREGATE_REGULAR || ts->type != VALUE_TIME)
        return 0;
    return vec_push(&p->items, {.from = ts->wide,
                                .to = te->wide,
                                .row = row,
                                .tid = perfetto_int(perfetto_cell(p, values, C_TID)),
                                .process = (uint32_t)process});
}

static int read_rows(struct perfetto *p, struct aggregate *a, struct err *err)
{
    bool left_out[p->count + 1];
    const struct value *values;
    uint64_t row = 0;
    size_t n;
    int rc;

    memset(left_out, true, sizeof(left_out));
    for (unsigned k = 0; k < C_KNOWN; k++)
        if (p->known[k] >= 0)
            left_out[p->known[k]] = k != C_PID && k != C_HHASH && k != C_TID && k != C_TS &&
                                    k != C_TE && k != C_ROOT && k != C_BUCKET;
    aggregate_table(a)->left_out = left_out;
    while ((rc = aggregate_next(a, 1024, err, &values, &n)) == 0) {
        for (size_t i = 0; i < n && rc == 0; i++, values += p->count)
            rc = read_row(p, values, row++);
        if (rc < 0)
            return rc;
    }
    aggregate_table(a)->left_out = NULL;
    aggregate_table(a)->ops->rewind(aggregate_table(a));
    return rc == ERR_END ? 0 : rc;
}

int perfetto_new(struct aggregate *a, struct query *q, struct budget *budget,
                 enum aggregate_events events, enum perfetto_times times, struct err *err,
                 struct perfetto **ret)
{
    struct perfetto *p = calloc(1, sizeof(*p));

    if (!p)
        return -ENOMEM;
    p->events = events;
    perfetto_init(p, budget);
    p->columns = aggregate_table(a)->columns;
    p->count = aggregate_table(a)->count;
    int rc = perfetto_check_columns(p);
    rc = rc < 0 ? rc : read_rows(p, a, err);
    rc = rc < 0 ? rc : perfetto_name_processes(p);
    if (rc == 0)
        perfetto_set_times(p, times);
    rc = rc < 0 ? rc : perfetto_make_lanes(p);
    if (rc == 0)
        perfetto_name_hosts(p, q);
    rc = rc < 0 ? rc : aggregate_boundaries(a, &p->boundaries, &p->boundary_count);
    if (rc < 0) {
        perfetto_free(p);
        return rc;
    }
    p->row = 0;
    *ret = p;
    return 0;
}

void perfetto_free(struct perfetto *p)
{
    if (!p)
        return;
    perfetto_done(p);
    free(p);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* The comma ends the line before: each event is on a line of its own, as in a trace. */
static void next_event(struct perfetto *p, struct buf *out)
{
    bool *nonempty = &p->jw.nonempty[p->jw.depth];
    buf_puts(out, *nonempty ? ",\n" : "\n");
    *nonempty = false;
    p->jw.out = out;
}

static void begin_metadata(struct perfetto *p, struct buf *out, const char *what, const char *cat,
                           int64_t pid, int64_t tid)
{
    next_event(p, out);
    jw_begin(&p->jw, '{');
    jw_put_text(&p->jw, "name", text_of(what));
    if (cat)
        jw_put_text(&p->jw, "cat", text_of(cat));
    jw_put_text(&p->jw, "ph", TEXT("M"));
    if (pid > 0) {
        jw_put_int(&p->jw, "pid", pid);
        jw_put_int(&p->jw, "tid", tid);
    }
    jw_key(&p->jw, "args");
    jw_begin(&p->jw, '{');
}

static void end_metadata(struct perfetto *p)
{
    jw_end(&p->jw, '}');
    jw_end(&p->jw, '}');
}

static void put_process(struct perfetto *p, const struct perfetto_process *process,
                        struct buf *name, struct buf *out)
{
    struct text host = process->host_name.len ? process->host_name : process->host;

    buf_clear(name);
    if (process->has_rank)
        buf_printf(name, "rank %lld ", (long long)process->rank);
    if (host.len)
        buf_printf(name, "%.*s:", (int)(host.len < 200 ? host.len : 200), host.ptr);
    buf_printf(name, "%lld", (long long)process->pid);
    begin_metadata(p, out, "process_name", NULL, process->written_pid, process->written_pid);
    jw_put_text(&p->jw, "name", (struct text){name->data, name->len});
    end_metadata(p);
    if (process->has_rank) {
        begin_metadata(p, out, "process_sort_index", NULL, process->written_pid,
                       process->written_pid);
        jw_put_int(&p->jw, "sort_index", process->rank);
        end_metadata(p);
    }
    if (!process->root)
        return;
    begin_metadata(p, out, "root_process", "dftracer", process->written_pid, process->written_pid);
    jw_put_text(&p->jw, "is_root", TEXT("true"));
    end_metadata(p);
}

void perfetto_put_lane(struct perfetto *p, const struct perfetto_lane *l, struct buf *name,
                       struct buf *out)
{
    buf_clear(name);
    buf_printf(name, l->number ? "%lld (%u)" : "%lld", (long long)l->tid, l->number + 1);
    begin_metadata(p, out, "thread_name", NULL, p->processes.at[l->process].written_pid,
                   l->written_tid);
    jw_put_text(&p->jw, "name", (struct text){name->data, name->len});
    end_metadata(p);
}

/* Writes, as the old commands do, the values that each column of boundary events may have, and
 * when. */
static void put_boundaries(struct perfetto *p)
{
    const struct aggregate_boundary *all = p->boundaries;
    size_t n = p->boundary_count;
    __int128 from = n ? all[0].from_ns : 0, to = n ? all[0].to_ns : 0;

    for (size_t i = 1; i < n; i++) {
        from = all[i].from_ns < from ? all[i].from_ns : from;
        to = all[i].to_ns > to ? all[i].to_ns : to;
    }
    jw_put_time(&p->jw, "trace_duration", to - from);
    jw_key(&p->jw, "boundary_ranges");
    jw_begin(&p->jw, '{');
    for (size_t i = 0; i < n; i++) {
        bool first = i == 0 || strcmp(all[i].output, all[i - 1].output) != 0;
        if (first && i)
            jw_end(&p->jw, '}');
        if (first) {
            jw_key(&p->jw, all[i].output);
            jw_begin(&p->jw, '{');
        }
        const struct aggregate_boundary *b = &all[i];
        jw_key_text(&p->jw, b->value);
        jw_begin(&p->jw, '{');
        jw_put_time(&p->jw, "ts", b->from_ns - p->origin_ns);
        jw_put_time(&p->jw, "te", b->to_ns - p->origin_ns);
        jw_end(&p->jw, '}');
    }
    jw_end(&p->jw, '}');
    jw_end(&p->jw, '}');
}

void perfetto_begin(struct perfetto *p, struct buf *out)
{
    struct buf name = {0};

    jw_init(&p->jw, out, false);
    jw_begin(&p->jw, '{');
    jw_key(&p->jw, "traceEvents");
    jw_begin(&p->jw, '[');
    if (p->relative || p->boundary_count)
        begin_metadata(p, out, "trace_metadata", "metadata", 0, 0);
    if (p->relative) { /* the time that is written as 0 */
        jw_put_time(&p->jw, "first_ts", p->origin_ns);
    }
    if (p->boundary_count)
        put_boundaries(p);
    if (p->relative || p->boundary_count)
        end_metadata(p);
    for (uint32_t i = 0; i < p->processes.count; i++)
        put_process(p, &p->processes.at[i], &name, out);
    for (uint32_t i = 0; i < p->lanes.count; i++)
        perfetto_put_lane(p, &p->lanes.at[i], &name, out);
    put_done(out, &name);
}

void perfetto_end(struct perfetto *p, struct buf *out)
{
    p->jw.out = out;
    buf_putc(out, '\n');
    jw_end(&p->jw, ']');
    jw_end(&p->jw, '}');
    jw_finish(&p->jw);
}

void perfetto_head(struct perfetto *p, struct buf *out, struct text name, struct text cat)
{
    next_event(p, out);
    jw_begin(&p->jw, '{');
    jw_put_text(&p->jw, "name", name);
    jw_put_text(&p->jw, "cat", cat);
}

void perfetto_place(struct perfetto *p, const char *ph, __int128 ts, int64_t pid, int64_t tid)
{
    jw_put_text(&p->jw, "ph", text_of(ph));
    jw_put_time(&p->jw, "ts", ts);
    jw_put_int(&p->jw, "pid", pid);
    jw_put_int(&p->jw, "tid", tid);
}

static void put_head(struct perfetto *p, const struct value *values, struct buf *out,
                     const char *ph, __int128 ts, int64_t pid, int64_t tid)
{
    perfetto_head(p, out, perfetto_text(perfetto_cell(p, values, C_NAME)),
                  perfetto_text(perfetto_cell(p, values, C_CAT)));
    perfetto_place(p, ph, ts, pid, tid);
}

static void put_args(struct perfetto *p, const struct value *values, bool flat)
{
    jw_key(&p->jw, "args");
    jw_begin(&p->jw, '{');
    if (flat)
        perfetto_flat_args(p, values);
    else
        perfetto_nested_args(p, values);
    jw_end(&p->jw, '}');
    jw_end(&p->jw, '}');
}

void perfetto_row(struct perfetto *p, const struct value *values, struct buf *out)
{
    const struct value *at = start_of(p, values);
    int64_t process = perfetto_process_of(p, perfetto_int(perfetto_cell(p, values, C_PID)),
                                          perfetto_text(perfetto_cell(p, values, C_HHASH)));
    struct buf id = {0};

    if (at->type != VALUE_TIME || process < 0) /* without a time there is nothing to show */
        return;
    int64_t pid = p->processes.at[process].written_pid,
            tid = perfetto_int(perfetto_cell(p, values, C_TID));
    tid = tid >= 0 && tid <= INT32_MAX ? tid : 0;
    perfetto_put_id(p, values, p->events == AGGREGATE_ASYNC, &id);
    if (p->events == AGGREGATE_REGULAR) {
        const struct perfetto_item *item = &p->items.at[p->row++];
        put_head(p, values, out, "X", item->from, pid, p->lanes.at[item->lane].written_tid);
        jw_put_time(&p->jw, "dur", item->to - item->from);
        put_args(p, values, false);
    } else if (p->events == AGGREGATE_ASYNC) {
        __int128 from = perfetto_ts(p, perfetto_cell(p, values, C_TS)->wide),
                 to = perfetto_ts(p, perfetto_cell(p, values, C_TE)->wide);
        to = to < from ? from : to; /* after a negative duration */
        put_head(p, values, out, "b", from, pid, tid);
        jw_put_text(&p->jw, "id", (struct text){id.data, id.len});
        put_args(p, values, false);
        put_head(p, values, out, "e", to, pid, tid);
        jw_put_text(&p->jw, "id", (struct text){id.data, id.len});
        jw_end(&p->jw, '}');
    } else {
        put_head(p, values, out, "C", perfetto_ts(p, at->wide), pid, tid);
        jw_put_text(&p->jw, "id", (struct text){id.data, id.len});
        put_args(p, values, p->events == AGGREGATE_COUNTER);
    }
    put_done(out, &id);
}
