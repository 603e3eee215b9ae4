/* pool_run.c - one job in many parts, on the calling thread and free threads of the pool. */
#include "base/pool.h"

#include <pthread.h>
#include <stdlib.h>

/* Helpers that start late find nothing left to do and only drop their reference, so the caller
 * waits for indexes that are being processed, never for a helper in the queue. An index that a
 * thread has put back may be continued by any other. */
struct run {
    struct pool *pool;
    pool_turn *job;
    void *arg;
    struct budget *budget;
    unsigned n;
    pthread_mutex_t lock;   /* for all below */
    pthread_cond_t changed; /* all indexes are done, or one was put back */
    unsigned next;
    unsigned done;
    unsigned references;
    unsigned back_count;
    unsigned back[]; /* n elements */
};

static bool take_index(struct run *run, unsigned *ret)
{
    pthread_mutex_lock(&run->lock);
    bool more = run->back_count > 0 || run->next < run->n;
    if (more)
        *ret = run->back_count > 0 ? run->back[--run->back_count] : run->next++;
    pthread_mutex_unlock(&run->lock);
    return more;
}

static bool has_more(struct run *run)
{
    pthread_mutex_lock(&run->lock);
    bool more = run->back_count > 0 || run->next < run->n;
    pthread_mutex_unlock(&run->lock);
    return more;
}

/* Processes indexes until none is left. A helper returns when other jobs wait; the caller yields,
 * and others may process its index meanwhile. */
static void run_some(struct run *run, bool helps)
{
    unsigned i;
    bool more;

    while (!(helps && pool_is_wanted(run->pool)) && take_index(run, &i)) {
        do {
            more = run->job(run->arg, i);
            pulse_beat();
        } while (more && !pool_is_wanted(run->pool));
        /* The index is done, or is left to another thread. */
        pthread_mutex_lock(&run->lock);
        if (more)
            run->back[run->back_count++] = i;
        else
            run->done++;
        if (more || run->done == run->n)
            pthread_cond_signal(&run->changed);
        pthread_mutex_unlock(&run->lock);
        if (!helps)
            pool_yield(run->pool, run->budget);
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

/* Waiting jobs come first: for the rest of its work, the helper is queued again. */
static void run_helper(void *arg)
{
    struct run *run = arg;

    run_some(run, true);
    if (!has_more(run) || pool_submit_helper(run->pool, run_helper, run) < 0)
        run_release(run);
}

/* If a helper cannot be started (no memory, pool stopping), the others do its work. */
static void start_helpers(struct run *run)
{
    unsigned threads = pool_threads(run->pool),
             helpers = run->n - 1 < threads ? run->n - 1 : threads;

    for (unsigned i = 0; i < helpers; i++) {
        pthread_mutex_lock(&run->lock);
        run->references++;
        pthread_mutex_unlock(&run->lock);
        if (pool_submit_helper(run->pool, run_helper, run) < 0) {
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

static struct run *run_new(struct pool *p, unsigned n, pool_turn *job, void *arg, struct budget *b)
{
    struct run *run = n > 1 ? calloc(1, sizeof(*run) + n * sizeof(run->back[0])) : NULL;

    if (!run)
        return NULL;
    run->pool = p;
    run->job = job;
    run->arg = arg;
    run->budget = b;
    run->n = n;
    run->references = 1;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    return run;
}

int pool_run_turns(struct pool *p, unsigned n, pool_turn *job, void *arg, struct budget *b)
{
    struct run *run = run_new(p, n, job, arg, b);

    for (unsigned i = 0; !run && i < n; i++)
        for (bool more = true; more; pool_yield(p, b)) {
            more = job(arg, i);
            pulse_beat();
        }
    if (!run)
        return 0;
    start_helpers(run);
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
    return pool_run_turns(p, n, run_whole, &(struct whole){job, arg}, NULL);
}
