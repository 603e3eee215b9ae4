/* replay.c - reads the events once or twice, replays them, and writes the report.
 *
 * The main thread reads events in order of time, and plans each: which descriptor, file, offset and
 * number of bytes. A regular file, or the input of `dftracerctl replay`, is read twice: first to
 * find the files that must exist, with their sizes. Then these are prepared, the clock starts, and
 * each planned operation is queued for the thread that performs the calls of its (host, pid, tid).
 * Queues are bounded: the main thread is at most REPLAY_AHEAD_MAX operations ahead.
 */
#include "dftracerd/replay.h"

#include "replay/plan/prepare.h"
#include "replay/session.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static struct shared *interrupted; /* for the signal handler */

static void on_signal(int number)
{
    (void)number;
    if (interrupted)
        interrupted->stopped = true;
}

void replay_options_init(struct replay_options *o)
{
    *o = (struct replay_options){.speed = 1, .timing = true};
    o->filters = (struct replay_filters){
        .start_us = -1, .end_us = -1, .min_size = -1, .max_size = -1, .sample_rate = 1};
}

/* ---- events ---------------------------------------------------------------------------------- */

/* Replays the stored events that begin at the previous time. */
static int replay_ties(struct replay *r)
{
    const struct event *e;
    int rc = 0;
    while (rc == 0 && (e = ties_take(&r->ties)))
        rc = session_event(r, e);
    return rc;
}

/* Replays all events. Returns INPUT_AGAIN after the first time. */
static int replay_events(struct replay *r, struct err *err)
{
    struct event e;
    int rc;
    r->accepted = 0;
    r->timed = false;
    /* Only these options depend on the nesting of calls. */
    bool nested = r->options->outermost || r->options->sleep_mode;
    while ((rc = input_next(r->input, &e, err)) == 1) {
        bool tied = nested && !e.is_metadata; /* names have no time */
        rc = tied && ties_are_full(&r->ties, &e) ? replay_ties(r) : 0;
        if (rc >= 0)
            rc = tied ? ties_add(&r->ties, &e) : session_event(r, &e);
        if (rc < 0 || r->shared->stopped)
            break;
    }
    int last = rc < 0 || r->shared->stopped ? 0 : replay_ties(r);
    return last < 0 ? last : rc;
}

static int survey_events(struct replay *r, struct err *err)
{
    r->surveys = true;
    int rc = replay_events(r, err);
    if (rc < 0 || r->shared->stopped)
        return rc;
    if (rc != INPUT_AGAIN && (rc = input_rewind(r->input)) < 0)
        return err_set(err, rc, "the input does not have its events two times");
    if ((rc = prepare_all(&r->root, &r->files, &r->report, err)) < 0)
        return rc;
    r->files.bytes_max = UINT64_MAX;
    plan_reset(&r->plan);
    lanes_reset(&r->lanes);
    r->surveys = false;
    return 0;
}

static int prepare_files(struct replay *r, int fd, struct err *err)
{
    const struct replay_options *o = r->options;
    bool works = !o->dry_run && !o->sleep_mode;
    int rc = 0;
    if (works && (o->twice || lseek(fd, 0, SEEK_CUR) == 0))
        rc = survey_events(r, err);
    else if (works)
        root_free_bytes(&r->root, &r->files.bytes_max);
    if (rc == 0 && o->processes && !o->dry_run)
        rc = children_start(&r->children, lanes_processes(&r->lanes), err);
    return rc;
}

static int replay_input(struct replay *r, int fd, struct err *err)
{
    struct report *p = &r->report;
    int rc = prepare_files(r, fd, err);
    int64_t begin = clock_mono_ns();
    if (rc == 0 && !r->shared->stopped)
        rc = replay_events(r, err);
    if (rc == INPUT_AGAIN) /* nothing is performed, so one reading is enough */
        rc = 0;
    if (rc < 0)
        r->shared->stopped = true;
    if (!r->options->processes)
        runners_finish(&r->runners);
    else if (!r->options->dry_run)
        r->died = children_finish(&r->children, err) < 0;
    r->finished = true;
    plan_reset(&r->plan); /* releases handles that the trace has not closed */
    p->took_ns = clock_mono_ns() - begin;
    p->invalid = input_invalid(r->input);
    p->files = files_named(&r->files);
    p->processes = lanes_processes(&r->lanes);
    p->threads = lanes_count(&r->lanes);
    p->threads_shared = r->lanes.sharing;
    p->children = r->children.count;
    return rc;
}

static void catch_signals(struct replay *r)
{
    struct sigaction a = {.sa_handler = on_signal}, ignore = {.sa_handler = SIG_IGN};
    struct rlimit limit;
    interrupted = r->shared;
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

/* Releases a handle in the process that performs its operations. */
static void release_handle(void *arg, struct handle *h)
{
    struct replay *r = arg;
    if (!r->options->processes || r->surveys || r->options->dry_run)
        handle_release(h);
    else if (!r->finished) /* after that, its process has closed it */
        children_release(&r->children, h);
}

static void before_wait(void *arg)
{
    struct replay *r = arg;
    if (r->options->processes && !r->surveys)
        children_flush(&r->children);
}

static int open_all(struct replay *r, int fd, struct err *err)
{
    const struct replay_options *o = r->options;
    bool works = !o->dry_run && !o->sleep_mode;
    r->shared = shared_new();
    int rc = r->shared ? input_open(fd, &r->input) : -ENOMEM;
    rc = rc < 0 ? rc : files_init(&r->files, o, r->shared);
    rc = rc < 0 ? rc : plan_init(&r->plan, &r->files, r->shared);
    rc = rc < 0 ? rc : report_init(&r->report, r->shared);
    rc = rc < 0 ? rc : lanes_init(&r->lanes, r->shared, o->processes);
    rc = rc < 0 ? rc : runners_init(&r->runners, o, r->shared, &r->root, &r->report);
    rc = rc < 0 ? rc : children_init(&r->children, o, r->shared, &r->root, &r->report);
    if (rc < 0)
        return err_set_code(err, rc);
    r->plan.release = release_handle;
    r->plan.release_arg = r;
    input_set_wait(r->input, before_wait, r, &r->shared->stopped);
    if (works && o->output_trace)
        rc = trace_out_open(o->output_trace, &r->trace, err);
    r->runners.trace = r->children.trace = r->trace;
    if (rc == 0 && works)
        rc = root_open(&r->root, o, r->shared, err);
    return rc;
}

int replay_run(const struct replay_options *o, int fd, struct buf *out, struct err *err)
{
    struct replay *r = calloc(1, sizeof *r);
    if (!r) {
        err_set(err, -ENOMEM, "out of memory");
        return 1;
    }
    r->options = o;
    int rc = open_all(r, fd, err), status = 1;
    if (rc == 0) {
        catch_signals(r);
        rc = replay_input(r, fd, err);
        bool failed = r->died || r->shared->stopped || !r->report.executed;
        status = r->report.failed && !r->died && !r->shared->stopped ? 2 : failed;
    }
    if (rc < 0)
        err_set_code(err, rc);
    if (trace_out_close(r->trace, rc == 0, err) < 0 || rc < 0)
        status = 1;
    if (r->root.path && !o->keep) {
        r->report.left = root_clean(&r->root, &r->files);
        r->report.root_removed = r->root.made && !r->report.left;
    }
    if (rc == 0)
        report_print(&r->report, o, r->root.path, out);
    if (out->error < 0) {
        err_set_code(err, out->error);
        status = 1;
    }
    interrupted = NULL;
    root_close(&r->root);
    children_done(&r->children);
    runners_done(&r->runners);
    lanes_done(&r->lanes);
    report_done(&r->report);
    plan_done(&r->plan);
    files_done(&r->files);
    input_close(r->input);
    ties_done(&r->ties);
    shared_free(r->shared);
    free(r);
    return status;
}
