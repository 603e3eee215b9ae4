/* runner.c - requests that run inside the process, without a server. */
#include "http/exchange/readiness.h"
#include "http/exchange/steps.h"
#include "http/request/read.h"
#include "http/request/router.h"
#include "http/server/context.h"

#include "dftracerd/rewrite.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define STEP_BYTES (256u << 10)
#define CHECK_MS 100 /* interval at which the index is checked even without a notification */

struct http_runner {
    struct http_options options; /* limits filled in */
    struct http_context context;
    struct pool *pool;
    struct disk_budget spools;
    struct budget_share memory;
    pthread_mutex_t lock; /* guards `changes` */
    pthread_cond_t changed;
    uint64_t changes; /* changes of the index, and cancelled calls */
};

struct http_call {
    struct http_runner *runner;
    struct request rq;
    char *target;            /* in the arena of rq */
    struct snapshot *pinned; /* given by the caller; borrowed */
};

/* ---- the runner ------------------------------------------------------------------------------ */

static int runner_init(struct http_runner *r, const struct http_options *o)
{
    unsigned workers = o->workers ? o->workers : cpu_count();
    r->options = *o;
    context_fill_limits(&r->options.limits, workers);
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->changed);
    r->spools.limit = r->options.limits.spool_bytes;
    r->memory.limit = r->options.limits.total_memory;
    int rc = pool_new(workers, "query", &r->pool);
    r->context = context_of(&r->options, r->pool);
    r->context.spools = &r->spools;
    return rc < 0 ? rc : r->context.env.covered ? 0 : -ENOMEM;
}

int http_runner_new(const struct http_options *options, struct err *err, struct http_runner **ret)
{
    struct http_runner *r = calloc(1, sizeof *r);
    int rc = r ? runner_init(r, options) : -ENOMEM;
    if (rc == 0)
        return *ret = r, 0;
    http_runner_free(r);
    return err_set(err, rc, "cannot start query workers: %s", err_text(rc));
}

void http_runner_free(struct http_runner *r)
{
    if (!r)
        return;
    pool_free(r->pool);
    covered_cache_free(r->context.env.covered);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

void http_runner_index_changed(struct http_runner *r)
{
    pthread_mutex_lock(&r->lock);
    r->changes++;
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

static uint64_t count_changes(struct http_runner *r)
{
    pthread_mutex_lock(&r->lock);
    uint64_t changes = r->changes;
    pthread_mutex_unlock(&r->lock);
    return changes;
}

/* Waits for a change after `seen`, or for CHECK_MS. */
static void wait_for_change(struct http_runner *r, uint64_t seen)
{
    int64_t until = clock_mono_ns() + CHECK_MS * 1000000ll;
    int rc = 0;
    pthread_mutex_lock(&r->lock);
    while (r->changes == seen && rc == 0)
        rc = clock_cond_wait(&r->changed, &r->lock, until);
    pthread_mutex_unlock(&r->lock);
}

/* ---- a call ---------------------------------------------------------------------------------- */

static int move_error(struct request *rq, int rc, struct err *err)
{
    err_set_code(&rq->err, rc); /* if there is no text yet */
    *err = rq->err;
    rq->err = (struct err){0};
    return rc;
}

/* Endpoints that report on the server need a server. */
static int find_endpoint(struct http_call *c)
{
    struct request *rq = &c->rq;
    char why[200];
    struct text path = {c->target, strcspn(c->target, "?")};
    rq->endpoint = router_find(rq->http->endpoints, path);
    if (rq->endpoint && (rq->endpoint->immediate || rq->endpoint->apart))
        return err_set(&rq->err, ERR_NOT_FOUND, "%s requires a daemon", rq->endpoint->path);
    if (rq->endpoint)
        return 0;
    char *name = arena_strdup(&rq->arena, path);
    router_missing(name ? name : "", why, sizeof why);
    return err_set(&rq->err, ERR_NOT_FOUND, "%s", why);
}

static int call_init(struct http_call *c, const struct http_call_options *o)
{
    struct request *rq = &c->rq;
    const struct http_limits *limits = &c->runner->options.limits;
    rq->http = &c->runner->context;
    rq->status = 200;
    rq->post = true; /* accept parameters of both methods */
    rq->started_ns = clock_mono_ns();
    rq->budget.memory_limit = o->memory ? o->memory : limits->query_memory;
    rq->budget.deadline_ns = o->deadline_ns;
    rq->budget.share = &c->runner->memory;
    c->pinned = o->snapshot;
    rq->remote = o->remote;
    c->target = arena_strdup(&rq->arena, text_of(o->target));
    int rc = c->target ? find_endpoint(c) : -ENOMEM;
    const char *search = rc == 0 ? strchr(c->target, '?') : NULL;
    rc = rc < 0 ? rc : request_begin(rq, search ? search + 1 : NULL);
    return rc < 0 ? rc : request_finish(rq, NULL);
}

int http_call_new(struct http_runner *r, const struct http_call_options *options, struct err *err,
                  struct http_call **ret)
{
    struct http_call *c = calloc(1, sizeof *c);
    if (!c)
        return err_set(err, -ENOMEM, "out of memory");
    c->runner = r;
    int rc = call_init(c, options);
    if (rc == 0)
        return *ret = c, 0;
    move_error(&c->rq, rc, err);
    http_call_free(c);
    return rc;
}

void http_call_free(struct http_call *c)
{
    if (!c)
        return;
    steps_close(&c->rq);
    budget_release(&c->rq.budget, atomic_load(&c->rq.budget.memory_used));
    err_done(&c->rq.err);
    arena_done(&c->rq.arena);
    free(c);
}

void http_call_cancel(struct http_call *c, int code)
{
    budget_cancel(&c->rq.budget, code);
    http_runner_index_changed(c->runner);
}

/* ---- running a call -------------------------------------------------------------------------- */

static bool has_to_wait(const struct request *rq)
{
    const char *wait = request_text(rq, "wait");
    return wait && strcmp(wait, "no") != 0;
}

static int check_indexing(struct request *rq)
{
    int stopped = index_store_error(rq->http->options->index);
    char why[READINESS_TEXT];
    if (stopped == 0)
        return budget_check(&rq->budget);
    readiness_stopped(stopped, why, sizeof why);
    return err_set(&rq->err, stopped, "%s", why);
}

/* Pins the newest snapshot, once the files that the request selects are indexed in it. */
static int pin_ready(struct http_call *c)
{
    struct request *rq = &c->rq;
    int rc = 0;
    while (rc == 0) {
        uint64_t seen = count_changes(c->runner);
        rq->snapshot = index_snapshot(rq->http->options->index);
        if (!rq->snapshot)
            return -ENOMEM;
        if (!has_to_wait(rq) || readiness_check_request(rq))
            return 0;
        snapshot_release(rq->snapshot);
        rq->snapshot = NULL;
        wait_for_change(c->runner, seen);
        rc = check_indexing(rq);
    }
    return rc;
}

static int pin_snapshot(struct http_call *c)
{
    if (!c->pinned)
        return pin_ready(c);
    c->rq.snapshot = snapshot_ref(c->pinned);
    return 0;
}

static int run_steps(struct request *rq, http_piece *piece, void *arg)
{
    struct buf out = {0};
    int rc = budget_check(&rq->budget);
    rc = rc < 0 ? rc : steps_open(rq);
    while (rc >= 0) {
        rc = steps_run(rq, STEP_BYTES, &out);
        rq->ending = rc == NEXT_WAIT;
        bool whole = rc >= 0 || rc == ERR_END;
        int given = whole && out.len && piece ? piece(arg, (struct text){out.data, out.len}) : 0;
        rc = given < 0 ? given : rc;
        buf_clear(&out);
    }
    buf_done(&out);
    return rc == ERR_END ? 0 : rc;
}

int http_call_run(struct http_call *c, http_piece *piece, void *arg, struct err *err)
{
    int rc = pin_snapshot(c);
    rc = rc < 0 ? rc : run_steps(&c->rq, piece, arg);
    return rc < 0 ? move_error(&c->rq, rc, err) : 0;
}

int http_call_open(struct http_call *c, struct err *err)
{
    int rc = pin_snapshot(c);
    rc = rc < 0 ? rc : steps_open(&c->rq);
    return rc < 0 ? move_error(&c->rq, rc, err) : 0;
}
