/* session_event.c - handles one event. */
#include "replay/session.h"

#include "replay/input/filter.h"
#include "replay/plan/order.h"
#include "replay/plan/prepare.h"

#include <stdlib.h>

/* Finds the cache entry of a name, or makes one. */
static int cache_name(struct replay *r, struct text name, unsigned *ret_at)
{
    uint64_t key = text_hash(name) | 1;
    unsigned at = (unsigned)(key >> 8) % 256;
    *ret_at = at;
    if (r->cached[at].key == key)
        return 0;
    int64_t id = report_name(&r->report, name);
    if (id < 0)
        return (int)id;
    r->cached[at].key = key;
    r->cached[at].id = (uint32_t)id;
    r->cached[at].text = r->report.by_name[id].text;
    r->cached[at].call = call_find(name);
    return 0;
}

static int count_event(struct report *p, const struct event *e)
{
    int rc = report_category(p, e->cat);
    p->total++;
    if (rc < 0 || !(e->has & HAS_TS))
        return rc;
    if (!p->any || e->ts_ns < p->first_ns)
        p->first_ns = e->ts_ns;
    if (!p->any || e->ts_ns > p->last_ns)
        p->last_ns = e->ts_ns;
    p->any = true;
    return 0;
}

/* Returns the size for the filters: -1 if there is none. */
static int64_t filter_size(const struct event *e, const struct call *c)
{
    bool moves = c && (c->kind == CALL_READ || c->kind == CALL_WRITE);
    int64_t items = e->has & HAS_RET ? e->ret : e->has & HAS_COUNT ? e->count : -1, bytes;
    if (c && c->traits & CALL_STREAM && moves && items >= 0 && e->has & HAS_SIZE)
        return __builtin_mul_overflow(items, e->size, &bytes) ? INT64_MAX : bytes;
    if (e->has & HAS_SIZE)
        return e->size;
    return moves ? items : -1;
}

/* Returns whether the event lies within an earlier one of its thread that `contains` others, as in
 * /call-tree: a call without duration does not lie in one that ends when it begins. */
static bool is_nested(struct lane *lane, const struct event *e, bool contains)
{
    int64_t end;
    if (__builtin_add_overflow(e->ts_ns, e->dur_ns > 0 ? e->dur_ns : 0, &end))
        end = INT64_MAX;
    bool outer_is_instant = lane->outer_ns == lane->outer_end_ns;
    if (end <= lane->outer_end_ns && (e->ts_ns < lane->outer_end_ns || outer_is_instant))
        return true;
    if (contains) {
        lane->outer_ns = e->ts_ns;
        lane->outer_end_ns = end;
    }
    return false;
}

/* In dry runs and sleep mode, each such event counts as executed although nothing is performed. */
static void count_only(struct replay *r, const struct operation *op)
{
    struct performed done = {.bytes = op->bytes};
    runners_report(&r->report, op, &done, 0, -1);
}

/* Without a first reading of the input, files are prepared when an event needs them. */
static void prepare_unsurveyed(struct replay *r, const struct operation *op)
{
    const struct path *paths[] = {op->path, op->path2};
    for (int i = 0; i < 2; i++) {
        struct file *f = paths[i] ? paths[i]->file : NULL;
        int rc = f && !f->surveyed ? prepare_file(&r->root, &r->files, f) : 0;
        if (rc < 0 && !f->unprepared) {
            f->unprepared = true;
            report_unprepared(&r->report, rc);
        }
    }
}

static int start_operation(struct replay *r, struct operation *op)
{
    if (r->surveys || r->options->dry_run) {
        if (r->surveys)
            order_survey(op);
        else
            count_only(r, op);
        handle_release(op->handle);
        return 0;
    }
    prepare_unsurveyed(r, op);
    order_plan(&r->files, op);
    if (r->options->processes)
        return children_push(&r->children, op);
    struct operation *copy = malloc(sizeof *copy);
    if (!copy) {
        operation_drop(op);
        return -ENOMEM;
    }
    *copy = *op;
    return runners_push(&r->runners, copy);
}

static int replay_sleep(struct replay *r, const struct event *e, struct operation *op, bool nested)
{
    op->sleeps = !nested && !r->options->no_sleep && e->dur_ns > 0;
    if (r->options->no_sleep && !r->options->timing) {
        count_only(r, op);
        return 0;
    }
    return start_operation(r, op);
}

static int replay_call(struct replay *r, const struct event *e, const struct call *c,
                       struct operation *op)
{
    const char *reason = NULL;
    /* Its duration passes, because later calls have their own times. */
    if (!call_is_category(e->cat)) {
        r->report.gaps += !r->surveys;
        return 0;
    }
    op->is_stdio = text_eq_nocase(e->cat, TEXT("STDIO"));
    if (e->is_counter)
        reason = "a counter or aggregated record is no call";
    else if (!c)
        reason = "the replay does not know this call";
    else {
        int rc = plan_event(&r->plan, e, c, op->lane->process, op, &reason);
        if (rc < 0)
            return rc;
    }
    if (!reason)
        return start_operation(r, op);
    if (!r->surveys)
        report_skip(&r->report, op->name_id, reason, op->path ? op->path->name : NULL, 1);
    return 0;
}

int session_event(struct replay *r, const struct event *e)
{
    const struct replay_options *o = r->options;
    unsigned at;
    if (!e->name.len || e->is_metadata) /* its names have been recorded */
        return 0;
    struct lane *lane = lanes_find(&r->lanes, e->host, e->pid, e->tid);
    if (!lane || cache_name(r, e->name, &at) < 0 || (!r->surveys && count_event(&r->report, e) < 0))
        return -ENOMEM;
    const struct call *c = r->cached[at].call;
    if (o->filters.max_events && r->accepted >= o->filters.max_events) {
        r->report.beyond += !r->surveys;
        return 0;
    }
    /* Counters and aggregated records are no calls, but in sleep mode their durations pass. */
    bool nested = is_nested(lane, e, !e->is_counter || o->sleep_mode);
    if (!filter_passes(&o->filters, e, filter_size(e, c)) || (o->outermost && nested)) {
        r->report.filtered += !r->surveys;
        return 0;
    }
    r->accepted++;
    if (!r->timed && e->has & HAS_TS) { /* those without a time begin at once */
        r->shared->first_ns = e->ts_ns;
        r->timed = true;
    }
    struct operation op = {.lane = lane,
                           .name = r->cached[at].text,
                           .name_id = r->cached[at].id,
                           .ts_ns = e->ts_ns,
                           .dur_ns = e->dur_ns};
    return o->sleep_mode ? replay_sleep(r, e, &op, nested) : replay_call(r, e, c, &op);
}
