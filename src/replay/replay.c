/* replay.c - reads the events once or twice, plans each, and hands it to its thread. */
#include "dftracerd/replay.h"

#include "filter.h"
#include "input.h"
#include "lanes.h"
#include "plan.h"
#include "prepare.h"
#include "report.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

struct replay {
    const struct replay_options *options;
    struct input *input;
    struct files files;
    struct plan plan;
    struct root root;
    struct report report;
    struct lanes lanes;
    bool surveys;  /* the first of two times: files only */
    bool prepared; /* it was done */
    uint64_t accepted;
    size_t unprepared;
    struct {
        uint64_t key;
        uint32_t name;
        const struct call *call;
    } cached[256]; /* of names, by their hash */
};

static struct lanes *interrupted; /* for the handler */

static void on_signal(int number)
{
    (void)number;
    if (interrupted)
        interrupted->stopped = true;
}

void replay_defaults(struct replay_options *o)
{
    *o = (struct replay_options){.speed = 1, .timing = true};
    o->filters = (struct replay_filters){
        .start_us = -1, .end_us = -1, .min_size = -1, .max_size = -1, .sample_rate = 1};
}

/* ---- one event ---- */

static uint32_t name_of(struct replay *r, struct text name, const struct call **ret_call)
{
    uint64_t key = text_hash(name) | 1;
    unsigned at = (unsigned)(key >> 8) % 256;
    if (r->cached[at].key != key) {
        r->cached[at].key = key;
        pthread_mutex_lock(&r->report.lock);
        r->cached[at].name = report_name(&r->report, name);
        pthread_mutex_unlock(&r->report.lock);
        r->cached[at].call = call_find(name);
    }
    *ret_call = r->cached[at].call;
    return r->cached[at].name;
}

static int count_event(struct replay *r, const struct event *e)
{
    struct report *p = &r->report;
    int64_t category = intern_add(
        p->categories, intern_count(p->categories) < REPORT_NAMES_MAX - 1 ? e->cat : TEXT(""));
    if (category < 0)
        return -ENOMEM;
    p->category_counts[category]++;
    p->total++;
    if (!(e->has & HAS_TS))
        return 0;
    if (!p->any || e->ts_ns < p->first_ns)
        p->first_ns = e->ts_ns;
    if (!p->any || e->ts_ns > p->last_ns)
        p->last_ns = e->ts_ns;
    p->any = true;
    return 0;
}

/* The size that the filters mean: -1 where there is none. */
static int64_t size_of(const struct event *e, const struct call *c)
{
    bool moves = c && (c->kind == CALL_READ || c->kind == CALL_WRITE);
    int64_t items = e->has & HAS_RET ? e->ret : e->has & HAS_COUNT ? e->count : -1, bytes;
    if (c && c->traits & CALL_STREAM && moves && items >= 0 && e->has & HAS_SIZE)
        return __builtin_mul_overflow(items, e->size, &bytes) ? INT64_MAX : bytes;
    if (e->has & HAS_SIZE)
        return e->size;
    return moves ? items : -1;
}

/* Whether the event lies within another one of its thread. */
static bool is_inner(struct lane *lane, const struct event *e)
{
    int64_t end;
    if (__builtin_add_overflow(e->ts_ns, e->dur_ns > 0 ? e->dur_ns : 0, &end))
        end = INT64_MAX;
    if (end <= lane->outer_end_ns)
        return true;
    lane->outer_end_ns = end;
    return false;
}

/* In dry runs and sleep mode every event of these counts as executed without anything being done. */
static void count_only(struct replay *r, const struct operation *op)
{
    struct performed done = {.bytes = op->bytes};
    lanes_report(&r->report, op, &done, 0, -1);
}

static int start_operation(struct replay *r, const struct operation *planned)
{
    if (r->surveys || r->options->dry_run) {
        if (!r->surveys)
            count_only(r, planned);
        handle_release(planned->handle);
        return 0;
    }
    if (!r->prepared && planned->path && planned->path->file) {
        int rc = prepare_file(&r->root, &r->files, planned->path->file);
        if (rc == 0 && planned->path2 && planned->path2->file)
            rc = prepare_file(&r->root, &r->files, planned->path2->file);
        r->unprepared += rc < 0;
    }
    struct operation *op = malloc(sizeof *op);
    if (!op) {
        handle_release(planned->handle);
        return -ENOMEM;
    }
    *op = *planned;
    return lanes_push(&r->lanes, op);
}

static int replay_sleep(struct replay *r, const struct event *e, struct operation *op, bool inner)
{
    op->sleeps = !inner && !r->options->no_sleep && e->dur_ns > 0;
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
    if (!call_category(e->cat)) { /* its time passes, because the calls after it have theirs */
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
        report_skip(&r->report, op->name, reason);
    return 0;
}

static int replay_event(struct replay *r, const struct event *e)
{
    const struct replay_options *o = r->options;
    const struct call *c;
    if (!e->name.len || e->is_metadata) /* its names are known */
        return 0;
    uint32_t name = name_of(r, e->name, &c);
    struct lane *lane = lanes_find(&r->lanes, e->host, e->pid, e->tid);
    if (!lane || (!r->surveys && count_event(r, e) < 0))
        return -ENOMEM;
    if (o->filters.max_events && r->accepted >= o->filters.max_events)
        return 0;
    bool inner = is_inner(lane, e);
    if (!filter_passes(&o->filters, e, size_of(e, c)) || (o->outermost && inner)) {
        r->report.filtered += !r->surveys;
        return 0;
    }
    if (r->accepted++ == 0)
        r->lanes.first_ns = e->ts_ns;
    struct operation op = {.lane = lane, .name = name, .ts_ns = e->ts_ns, .dur_ns = e->dur_ns};
    return o->sleep_mode ? replay_sleep(r, e, &op, inner) : replay_call(r, e, c, &op);
}

/* ---- all events ---- */

/* INPUT_AGAIN: the first time is over. */
static int replay_events(struct replay *r, struct err *err)
{
    struct event e;
    int rc;
    r->accepted = 0;
    while ((rc = input_next(r->input, &e, err)) == 1) {
        rc = replay_event(r, &e);
        if (rc < 0 || r->lanes.stopped)
            break;
    }
    return rc == 1 ? 0 : rc;
}

static int survey(struct replay *r, struct err *err)
{
    r->surveys = true;
    int rc = replay_events(r, err);
    r->surveys = false;
    if (rc < 0)
        return rc;
    if (rc != INPUT_AGAIN && (rc = input_rewind(r->input)) < 0)
        return err_set(err, rc, "the input does not have its events two times");
    if ((rc = prepare_all(&r->root, &r->files, &r->unprepared, err)) < 0)
        return rc;
    r->prepared = true;
    r->files.bytes_max = UINT64_MAX;
    plan_again(&r->plan);
    lanes_again(&r->lanes);
    return 0;
}

static int run(struct replay *r, int fd, struct err *err)
{
    bool works = !r->options->dry_run && !r->options->sleep_mode;
    bool twice = r->options->twice || lseek(fd, 0, SEEK_CUR) == 0;
    int rc = 0;
    if (works && twice)
        rc = survey(r, err);
    else if (works)
        root_free_bytes(&r->root, &r->files.bytes_max);
    int64_t begin = clock_mono_ns();
    if (rc == 0)
        rc = replay_events(r, err);
    if (rc == INPUT_AGAIN)
        rc = r->options->twice ? replay_events(r, err) : 0;
    plan_again(&r->plan);
    if (rc < 0)
        r->lanes.stopped = true;
    lanes_finish(&r->lanes);
    r->report.took_ns = clock_mono_ns() - begin;
    r->report.invalid = input_invalid(r->input);
    r->report.files = files_count(&r->files);
    r->report.processes = intern_count(r->lanes.processes);
    r->report.threads = intern_count(r->lanes.keys);
    if (r->report.threads > REPLAY_LANES_MAX)
        r->report.threads_shared = r->report.threads - REPLAY_LANES_MAX;
    return rc;
}

static void catch_signals(struct replay *r)
{
    struct sigaction a = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    struct rlimit limit;
    interrupted = &r->lanes;
    sigaction(SIGINT, &a, NULL);
    sigaction(SIGTERM, &a, NULL);
    sigaction(SIGHUP, &a, NULL);
    sigaction(SIGXFSZ, &ignore, NULL);
    sigaction(SIGPIPE, &ignore, NULL);
    if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
        limit.rlim_cur = limit.rlim_max;
        setrlimit(RLIMIT_NOFILE, &limit);
    }
}

static int open_all(struct replay *r, int fd, struct err *err)
{
    const struct replay_options *o = r->options;
    int rc = input_open(fd, &r->input);
    rc = rc < 0 ? rc : files_init(&r->files, o);
    rc = rc < 0 ? rc : plan_init(&r->plan, &r->files);
    rc = rc < 0 ? rc : report_init(&r->report);
    rc = rc < 0 ? rc : lanes_init(&r->lanes, o, &r->root, &r->report);
    if (rc == 0 && o->output_trace && !o->dry_run && !o->sleep_mode)
        rc = trace_out_open(o->output_trace, &r->lanes.trace, err);
    if (rc == 0 && !o->dry_run && !o->sleep_mode)
        rc = root_open(&r->root, o, err);
    return rc;
}

static int status_of(const struct replay *r)
{
    if (r->report.failed)
        return 2;
    return r->report.executed || r->report.gaps ? 0 : 1;
}

static size_t close_all(struct replay *r)
{
    size_t left = 0;
    if (r->root.path && !r->options->keep)
        left = root_clean(&r->root, &r->files);
    root_close(&r->root);
    lanes_done(&r->lanes);
    report_done(&r->report);
    plan_done(&r->plan);
    files_done(&r->files);
    input_close(r->input);
    return left;
}

int replay_run(const struct replay_options *o, int fd, struct buf *out, struct err *err)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r)
        return err_set(err, -ENOMEM, "out of memory"), 1;
    r->options = o;
    r->root.fd = -1;
    for (unsigned i = 0; i < REPLAY_MAPS_MAX; i++)
        r->root.maps[i] = -1;
    int rc = open_all(r, fd, err), status = 1;
    if (rc == 0) {
        catch_signals(r);
        rc = run(r, fd, err);
        interrupted = NULL;
        if (rc == 0) {
            status = r->lanes.stopped ? 1 : status_of(r);
            report_print(&r->report, o, r->root.path, out);
            if (!o->json && r->unprepared)
                buf_printf(out, "\nFiles that could not be prepared: %zu (%s)\n", r->unprepared,
                           err->text);
        }
    }
    int written = trace_out_close(r->lanes.trace, rc == 0, err);
    if (rc < 0 && err)
        err_set(err, rc, "%s", rc == -ENOMEM ? "out of memory" : err_text(rc));
    size_t left = close_all(r);
    if (left && !o->json)
        buf_printf(out, "\nFiles of the replay that could not be removed: %zu\n", left);
    free(r);
    return rc < 0 || written < 0 ? 1 : status;
}
