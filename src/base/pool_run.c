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
    unsigned unfinished_count;
    unsigned unfinished[]; /* indexes that were put back; n elements */
};

/* Sets *ret (unless NULL) to the next index, which the caller is to process. Returns false if none
 * is left. */
static bool next_index(struct run *run, unsigned *ret)
{
    pthread_mutex_lock(&run->lock);
    bool more = run->unfinished_count > 0 || run->next < run->n;
    if (more && ret)
        *ret = run->unfinished_count > 0 ? run->unfinished[--run->unfinished_count] : run->next++;
    pthread_mutex_unlock(&run->lock);
    return more;
}

/* Processes indexes until none is left. A helper returns when other jobs wait; the caller yields,
 * and others may process its index meanwhile. */
static void run_indexes(struct run *run, bool helps)
{
    unsigned i;
    bool more;

    while (!(helps && pool_is_wanted(run->pool)) && next_index(run, &i)) {
        do {
            more = run->job(run->arg, i);
            pulse_beat();
        } while (more && !pool_is_wanted(run->pool));
        /* The index is done, or is left to another thread. */
        pthread_mutex_lock(&run->lock);
        if (more)
            run->unfinished[run->unfinished_count++] = i;
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

    run_indexes(run, true);
    if (!next_index(run, NULL) || pool_submit_helper(run->pool, run_helper, run) < 0)
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
        if (run->unfinished_count == 0) {
            pthread_cond_wait(&run->changed, &run->lock);
            continue;
        }
        pthread_mutex_unlock(&run->lock);
        pulse_beat();
        run_indexes(run, false);
        pulse_rest();
        pthread_mutex_lock(&run->lock);
    }
    pthread_mutex_unlock(&run->lock);
    pulse_beat();
}

void pool_run_turns(struct pool *p, unsigned n, pool_turn *job, void *arg, struct budget *b)
{
    struct run *run = p && n > 1 ? calloc(1, sizeof(*run) + n * sizeof(run->unfinished[0])) : NULL;

    for (unsigned i = 0; !run && i < n; i++) { /* without memory, too */
        for (bool more = true; more; pool_yield(p, b)) {
            more = job(arg, i);
            pulse_beat();
        }
    }
    if (!run)
        return;
    run->pool = p;
    run->job = job;
    run->arg = arg;
    run->budget = b;
    run->n = n;
    run->references = 1;
    pthread_mutex_init(&run->lock, NULL);
    pthread_cond_init(&run->changed, NULL);
    start_helpers(run);
    run_indexes(run, false);
    wait_for_all(run);
    run_release(run);
}

/* A job that is done after one call. */
struct one_turn {
    void (*job)(void *arg, unsigned i);
    void *arg;
};

static bool run_one_turn(void *arg, unsigned i)
{
    struct one_turn *turn = arg;

    turn->job(turn->arg, i);
    return false;
}

void pool_run(struct pool *p, unsigned n, void (*job)(void *arg, unsigned i), void *arg)
{
    pool_run_turns(p, n, run_one_turn, &(struct one_turn){job, arg}, NULL);
}
