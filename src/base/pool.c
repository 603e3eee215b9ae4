/* pool.c - worker threads; lanes of jobs that they serve in turn. */
#include "dftracerd/base.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

struct work {
    struct work *next;
    pool_job *job;
    void *arg;
};

struct member {
    pthread_t thread;
    struct pool *pool;
    struct pulse pulse;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct pool_lane *first, *last; /* those that hold jobs, in the order of their turns */
    struct pool_lane common;
    atomic_uint wanted; /* jobs that wait, helpers apart */
    bool stopping;
    unsigned count;
    struct member members[];
};

static void run_help(void *arg);

/* To the end of those whose turn comes. */
static void line_up(struct pool *p, struct pool_lane *lane)
{
    lane->next = NULL;
    if (p->first)
        p->last->next = lane;
    else
        p->first = lane;
    p->last = lane;
}

/* Nothing of the lane is touched once its last job has begun. */
static struct work *next_work(struct pool *p)
{
    struct pool_lane *lane = p->first;

    if (!lane)
        return NULL;
    struct work *work = lane->first;
    p->first = lane->next;
    lane->first = work->next;
    if (lane->first)
        line_up(p, lane);
    if (work->job != run_help)
        atomic_fetch_sub(&p->wanted, 1);
    return work;
}

static void put(struct pool *p, struct pool_lane *lane, struct work *work)
{
    if (lane->first)
        lane->last->next = work;
    else
        lane->first = work;
    lane->last = work;
    if (lane->first == work)
        line_up(p, lane);
    if (work->job != run_help)
        atomic_fetch_add(&p->wanted, 1);
}

static struct work *take(struct pool *p)
{
    pulse_rest();
    pthread_mutex_lock(&p->lock);
    while (!p->first && !p->stopping)
        pthread_cond_wait(&p->wake, &p->lock);
    struct work *work = next_work(p);
    pthread_mutex_unlock(&p->lock);
    pulse_beat();
    return work;
}

static void *worker(void *arg)
{
    struct member *self = arg;

    pulse_own(&self->pulse);
    for (;;) {
        struct work *work = take(self->pool);
        if (!work)
            return NULL;
        work->job(work->arg);
        free(work);
    }
}

/* Signals are the main thread's: a worker must never be the one that is interrupted. Faults stay. */
static int start_thread(struct pool *p, const char *name)
{
    sigset_t all, before;
    char label[16];

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    struct member *m = &p->members[p->count];
    m->pool = p;
    int rc = pthread_create(&m->thread, NULL, worker, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return -rc;
    snprintf(label, sizeof(label), "%.12s-%u", name, p->count);
    pthread_setname_np(m->thread, label);
    p->count++;
    return 0;
}

int pool_new(unsigned threads, const char *name, struct pool **ret)
{
    int rc = 0;

    if (threads == 0)
        threads = cpu_count();
    struct pool *p = calloc(1, sizeof(*p) + threads * sizeof(p->members[0]));
    if (!p)
        return -ENOMEM;
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    while (rc == 0 && p->count < threads)
        rc = start_thread(p, name);
    if (rc < 0) {
        pool_free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void pool_free(struct pool *p)
{
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    p->stopping = true;
    pthread_cond_broadcast(&p->wake);
    pthread_mutex_unlock(&p->lock);
    for (unsigned i = 0; i < p->count; i++)
        pthread_join(p->members[i].thread, NULL);
    assert(!p->first);
    pthread_cond_destroy(&p->wake);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

unsigned pool_threads(const struct pool *p)
{
    return p->count;
}

bool pool_is_wanted(const struct pool *p)
{
    return p && atomic_load_explicit(&p->wanted, memory_order_relaxed) > 0;
}

int64_t pool_silence_ns(const struct pool *p)
{
    int64_t most = 0;

    for (unsigned i = 0; i < p->count; i++) {
        int64_t silence = pulse_silence_ns(&p->members[i].pulse);
        most = silence > most ? silence : most;
    }
    return most;
}

int pool_submit(struct pool *p, pool_job *job, void *arg)
{
    return pool_submit_to(p, NULL, job, arg);
}

int pool_submit_to(struct pool *p, struct pool_lane *lane, pool_job *job, void *arg)
{
    struct work *work = malloc(sizeof(*work));

    if (!work)
        return -ENOMEM;
    *work = (struct work){.job = job, .arg = arg};
    pthread_mutex_lock(&p->lock);
    bool stopping = p->stopping;
    if (!stopping) {
        put(p, lane ? lane : &p->common, work);
        pthread_cond_signal(&p->wake);
    }
    pthread_mutex_unlock(&p->lock);
    if (stopping)
        free(work);
    return stopping ? -EPIPE : 0;
}

/* ---- pool_run -------------------------------------------------------------------------------- */

/* Helpers that start late find nothing left to do and only drop their reference, so the caller waits
 * for indexes that are being worked on, never for a place in the queue. What a helper has put back is anybody's. */
struct run {
    struct pool *pool;
    pool_turn *job;
    void *arg;
    unsigned n;
    pthread_mutex_t lock;   /* all below */
    pthread_cond_t changed; /* all is done, or something was put back */
    unsigned next;
    unsigned done;
    unsigned references;
    unsigned back_count;
    unsigned back[]; /* n of them */
};

static bool take_index(struct run *run, unsigned *ret)
{
    pthread_mutex_lock(&run->lock);
    bool any = run->back_count > 0 || run->next < run->n;
    if (any)
        *ret = run->back_count > 0 ? run->back[--run->back_count] : run->next++;
    pthread_mutex_unlock(&run->lock);
    return any;
}

/* An index is done, or for another one. */
static void give_index(struct run *run, unsigned i, bool is_done)
{
    pthread_mutex_lock(&run->lock);
    if (is_done)
        run->done++;
    else
        run->back[run->back_count++] = i;
    if (!is_done || run->done == run->n)
        pthread_cond_signal(&run->changed);
    pthread_mutex_unlock(&run->lock);
}

static bool has_more(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    bool more = run->back_count > 0 || run->next < run->n;
    pthread_mutex_unlock(&run->lock);
    return more;
}

/* Until nothing is left, or a helper is wanted elsewhere. */
static void run_some(struct run *run, bool helps)
{
    unsigned i;

    while (!(helps && pool_is_wanted(run->pool)) && take_index(run, &i)) {
        bool more = true;
        while (more && !(helps && pool_is_wanted(run->pool))) {
            more = run->job(run->arg, i);
            pulse_beat();
        }
        give_index(run, i, !more);
    }
}

static void run_release(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    bool last = --run->references == 0;
    pthread_mutex_unlock(&run->lock);
    if (!last)
        return;
    pthread_cond_destroy(&run->changed);
    pthread_mutex_destroy(&run->lock);
    free(run);
}

/* A job of somebody else comes first; what is left then waits for its turn again. */
static void run_help(void *arg)
{
    struct run *run = arg;

    run_some(run, true);
    if (!has_more(run) || pool_submit(run->pool, run_help, run) < 0)
        run_release(run);
}

/* A helper that cannot be had (no memory, pool stopping) only means that the others do more. */
static void call_helpers(struct run *run)
{
    unsigned helpers = run->n - 1 < run->pool->count ? run->n - 1 : run->pool->count;

    for (unsigned i = 0; i < helpers; i++) {
        pthread_mutex_lock(&run->lock);
        run->references++;
        pthread_mutex_unlock(&run->lock);
        if (pool_submit(run->pool, run_help, run) < 0) {
            run_release(run);
            return;
        }
    }
}

static void wait_for_all(struct run *run)
{
    pulse_rest();
    pthread_mutex_lock(&run->lock);
    while (run->done < run->n) {
        if (run->back_count == 0) {
            pthread_cond_wait(&run->changed, &run->lock);
            continue;
        }
        pthread_mutex_unlock(&run->lock);
        pulse_beat();
        run_some(run, false);
        pulse_rest();
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
    pulse_beat();
}

static struct run *run_new(struct pool *p, unsigned n, pool_turn *job, void *arg)
{
    struct run *run = n > 1 ? calloc(1, sizeof(*run) + n * sizeof(run->back[0])) : NULL;

    if (!run)
        return NULL;
    run->pool = p;
    run->job = job;
    run->arg = arg;
    run->n = n;
    run->references = 1;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    return run;
}

int pool_run_turns(struct pool *p, unsigned n, pool_turn *job, void *arg)
{
    struct run *run = run_new(p, n, job, arg);

    for (unsigned i = 0; !run && i < n; i++) {
        while (job(arg, i))
            pulse_beat();
        pulse_beat();
    }
    if (!run)
        return 0;
    call_helpers(run);
    run_some(run, false);
    wait_for_all(run);
    run_release(run);
    return 0;
}

struct whole {
    void (*job)(void *arg, unsigned i);
    void *arg;
};

static bool run_whole(void *arg, unsigned i)
{
    struct whole *whole = arg;

    whole->job(whole->arg, i);
    return false;
}

int pool_run(struct pool *p, unsigned n, void (*job)(void *arg, unsigned i), void *arg)
{
    return pool_run_turns(p, n, run_whole, &(struct whole){job, arg});
}
