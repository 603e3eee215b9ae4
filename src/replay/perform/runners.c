/* runners.c - queues and threads, and waiting until an operation is due. */
#include "replay/perform/runners.h"

#include "replay/plan/order.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>

enum {
    STACK_BYTES = 256 << 10, /* of a thread */
    START_NS = 2000000       /* see runners.start_ns */
};

struct runner {
    struct runners *all;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct operation *first, **last;
    bool ended, started;
};

int runners_init(struct runners *r, const struct replay_options *o, struct shared *s,
                 struct root *root, struct report *report)
{
    *r = (struct runners){.options = o,
                          .shared = s,
                          .root = root,
                          .report = report,
                          .ahead_max = REPLAY_AHEAD_MAX,
                          .start_ns = START_NS,
                          .runners = calloc(LANES_RUNNERS_MAX, sizeof *r->runners)};
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->changed);
    return r->runners ? 0 : -ENOMEM;
}

void runners_done(struct runners *r)
{
    if (!r->options)
        return;
    free(r->runners);
    pthread_cond_destroy(&r->changed);
    pthread_mutex_destroy(&r->lock);
}

/* ---- the threads ----------------------------------------------------------------------------- */

static int64_t scaled_ns(const struct replay_options *o, int64_t ns)
{
    double scaled = (double)ns / o->speed;
    if (scaled > 4e18)
        return 4000000000000000000;
    return o->speed == 1 ? ns : (int64_t)scaled;
}

void runners_report(struct report *r, const struct operation *op, const struct performed *done,
                    int64_t taken_ns, int64_t late_ns)
{
    /* The trace does not show that it succeeded. */
    bool may_fail = !(op->has & HAS_RET) || op->ret < 0;
    struct outcome o = {.name = op->name_id,
                        .taken_ns = taken_ns,
                        .traced_ns = op->dur_ns > 0 ? op->dur_ns : 0,
                        .late_ns = late_ns,
                        .bytes = done->bytes,
                        .bytes_traced = op->bytes,
                        .error = done->error,
                        .file = op->path ? op->path->name : NULL,
                        .failed = done->error && !may_fail};
    report_count(r, &o);
}

/* Waits until the operation is due. Returns how late it is, -1 without a clock. */
static int64_t wait_until_due(const struct runners *r, const struct operation *op)
{
    const struct shared *s = r->shared;
    int64_t first = s->first_ns, since = 0, due;
    if (!r->options->timing)
        return -1;
    if (op->ts_ns > first && __builtin_sub_overflow(op->ts_ns, first, &since))
        since = INT64_MAX;
    if (__builtin_add_overflow(s->origin_ns, scaled_ns(r->options, since), &due))
        due = INT64_MAX;
    shared_sleep_until(s, due);
    int64_t late = clock_mono_ns() - due;
    return late > 0 ? late : 0;
}

static void run_operation(struct runners *r, struct performer *p, struct operation *op)
{
    int64_t late = wait_until_due(r, op);
    if (r->shared->stopped) {
        operation_drop(op);
        report_skip(r->report, op->name_id, "the replay was interrupted",
                    op->path ? op->path->name : NULL, 1);
        return;
    }
    order_wait(r->shared, op);
    int64_t real = clock_real_ns(), begin = clock_mono_ns();
    struct performed done = {0};
    if (op->call)
        perform(p, op, &done);
    else if (op->sleeps)
        shared_sleep_until(r->shared, begin + scaled_ns(r->options, op->dur_ns));
    int64_t taken = clock_mono_ns() - begin;
    order_ended(op);
    runners_report(r->report, op, &done, taken, late);
    if (r->trace && op->call)
        trace_out_put(r->trace, op, &done, real, taken);
}

static void count_finished(struct runners *r)
{
    size_t left = atomic_fetch_sub(&r->queued, 1) - 1;
    if (left != r->ahead_max / 2 && left != 0)
        return;
    pthread_mutex_lock(&r->lock);
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
}

/* Removes all operations from the queue, and waits for the first; NULL if there will be no more. */
static struct operation *runner_dequeue(struct runner *r)
{
    pthread_mutex_lock(&r->lock);
    while (!r->first && !r->ended)
        pthread_cond_wait(&r->filled, &r->lock);
    struct operation *op = r->first;
    r->first = NULL;
    r->last = &r->first;
    pthread_mutex_unlock(&r->lock);
    return op;
}

static void *runner_main(void *arg)
{
    struct runner *r = arg;
    struct runners *all = r->all;
    struct performer p = {.root = all->root, .stopped = &all->shared->stopped};
    prctl(PR_SET_TIMERSLACK, 1UL);
    shared_wait_for_start(all->shared);
    for (struct operation *op; (op = runner_dequeue(r));) {
        while (op) {
            struct operation *next = op->next;
            run_operation(all, &p, op);
            free(op);
            count_finished(all);
            op = next;
        }
    }
    performer_done(&p);
    return NULL;
}

/* ---- the thread that feeds them -------------------------------------------------------------- */

static int runner_start(struct runners *all, struct runner *r)
{
    pthread_attr_t a;
    sigset_t before;
    r->all = all;
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->filled);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, STACK_BYTES);
    signals_block(&before);
    int rc = pthread_create(&r->thread, &a, runner_main, r);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&a);
    r->started = rc == 0;
    all->count += rc == 0;
    return -rc;
}

/* Finds the thread of the operation's lane. If it cannot be started, the lane gets an existing
 * one. */
static int runner_of(struct runners *all, const struct operation *op, struct runner **ret)
{
    struct runner *r = &all->runners[op->lane->runner];
    int rc = r->started ? 0 : runner_start(all, r);
    if (rc < 0 && all->count) {
        for (r = all->runners; !r->started;)
            r++;
        op->lane->runner = (uint32_t)(r - all->runners);
        rc = 0;
    }
    *ret = r;
    return rc;
}

static void wait_for_space(struct runners *r)
{
    if (r->queued < r->ahead_max)
        return;
    shared_start(r->shared, r->start_ns);
    pthread_mutex_lock(&r->lock);
    while (r->queued > r->ahead_max / 2)
        pthread_cond_wait(&r->changed, &r->lock);
    pthread_mutex_unlock(&r->lock);
}

int runners_push(struct runners *all, struct operation *op)
{
    struct runner *r;
    int rc = runner_of(all, op, &r);
    if (rc < 0) {
        operation_drop(op);
        free(op);
        return rc;
    }
    if (!all->options->timing)
        shared_start(all->shared, 0);
    wait_for_space(all);
    atomic_fetch_add(&all->queued, 1);
    op->next = NULL;
    pthread_mutex_lock(&r->lock);
    *r->last = op;
    r->last = &op->next;
    if (r->first == op)
        pthread_cond_signal(&r->filled);
    pthread_mutex_unlock(&r->lock);
    return 0;
}

void runners_finish(struct runners *all)
{
    shared_start(all->shared, all->start_ns);
    for (unsigned i = 0; i < LANES_RUNNERS_MAX; i++) {
        struct runner *r = &all->runners[i];
        if (!r->started)
            continue;
        pthread_mutex_lock(&r->lock);
        r->ended = true;
        pthread_cond_signal(&r->filled);
        pthread_mutex_unlock(&r->lock);
    }
    for (unsigned i = 0; i < LANES_RUNNERS_MAX; i++) {
        struct runner *r = &all->runners[i];
        if (!r->started)
            continue;
        pthread_join(r->thread, NULL);
        pthread_cond_destroy(&r->filled);
        pthread_mutex_destroy(&r->lock);
        r->started = false;
    }
}
