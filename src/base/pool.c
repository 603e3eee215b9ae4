/* pool.c - worker threads; lanes of jobs that they serve in turn; suspension of long jobs while
 * others wait. */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* How long a job runs before it may be suspended, and how long others then run before it
 * resumes. */
#define TURN_NS (100 * 1000000ll)
/* Maximum number of suspended jobs: each keeps its thread and its memory. */
#define SUSPENDED_MAX 16u
/* How often a suspended job checks its budget. */
#define CHECK_NS (10 * 1000000ll)

struct work {
    struct work *next;
    pool_job *job;
    void *arg;
    bool helps; /* it helps another job, see pool_submit_helper */
};

struct member {
    pthread_t thread;
    struct pool *pool;
    struct pulse pulse;
    /* The rest is only used by the thread itself. */
    bool helps;        /* its present job helps another one, which waits for it */
    int64_t turn_from; /* ns, when the job began or was resumed */
};

/* A suspended job, on the stack of its thread. */
struct suspended {
    struct suspended *next;
    pthread_cond_t resume;
    int64_t since_ns;
    bool is_resumed;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct pool_lane *first, *last; /* lanes with jobs, in the order of their turns */
    struct pool_lane common;
    atomic_uint wanted;          /* waiting jobs, without helpers, and suspended ones */
    struct suspended *suspended; /* in the order in which they are resumed */
    int64_t jobs_from; /* ns, begin of the first new job since one was resumed; 0 = none */
    unsigned suspended_count;
    unsigned threads; /* maximum of `working` */
    unsigned working; /* more than `threads` for a while after suspended jobs were cancelled */
    bool stopping;
    char name[13];
    atomic_uint count; /* of members: grows under the lock */
    struct member members[];
};

static _Thread_local struct member *self;

/* Appends a lane to those that wait for their turn. */
static void append_lane(struct pool *p, struct pool_lane *lane)
{
    lane->next = NULL;
    if (p->first)
        p->last->next = lane;
    else
        p->first = lane;
    p->last = lane;
}

/* Removes the first job of the first lane. A lane is not accessed after its last job has begun. */
static struct work *dequeue_job(struct pool *p)
{
    struct pool_lane *lane = p->first;
    struct work *work = lane->first;

    p->first = lane->next;
    p->last = p->first ? p->last : NULL;
    lane->first = work->next;
    if (lane->first)
        append_lane(p, lane);
    if (work->helps)
        return work;
    atomic_fetch_sub(&p->wanted, 1);
    if (p->jobs_from == 0)
        p->jobs_from = clock_mono_ns();
    return work;
}

static void enqueue_job(struct pool *p, struct pool_lane *lane, struct work *work)
{
    bool was_empty = !lane->first;

    if (was_empty)
        lane->first = work;
    else
        lane->last->next = work;
    lane->last = work;
    if (was_empty)
        append_lane(p, lane);
    if (!work->helps)
        atomic_fetch_add(&p->wanted, 1);
}

static void remove_suspended(struct pool *p, const struct suspended *s)
{
    struct suspended **at = &p->suspended;

    while (*at != s)
        at = &(*at)->next;
    *at = s->next;
    p->suspended_count--;
    p->working++;
    atomic_fetch_sub(&p->wanted, 1);
}

/* Returns true if, since the last suspended job was resumed, new jobs have run for TURN_NS. */
static bool jobs_had_turn(const struct pool *p)
{
    int64_t since = p->jobs_from > p->suspended->since_ns ? p->jobs_from : p->suspended->since_ns;

    return p->jobs_from && clock_mono_ns() - since >= TURN_NS;
}

/* Resumes suspended jobs if a thread is free, and no other job waits or others had their turn. */
static void resume_suspended(struct pool *p)
{
    while (p->suspended && p->working < p->threads &&
           (atomic_load(&p->wanted) == p->suspended_count || jobs_had_turn(p))) {
        struct suspended *s = p->suspended;
        p->jobs_from = 0;
        remove_suspended(p, s);
        s->is_resumed = true;
        pthread_cond_signal(&s->resume);
    }
}

/* Returns true if a job waits, and one more thread may work. */
static bool has_work(const struct pool *p)
{
    return p->first && p->working < p->threads;
}

/* Waits for the next job. worked: the thread has just finished one. NULL: the pool stops. */
static struct work *next_job(struct pool *p, bool worked)
{
    pulse_rest();
    pthread_mutex_lock(&p->lock);
    p->working -= worked;
    if (p->stopping)
        pthread_cond_broadcast(&p->wake);
    for (;;) {
        resume_suspended(p);
        if (p->first ? p->working < p->threads : p->stopping)
            break;
        pthread_cond_wait(&p->wake, &p->lock);
    }
    struct work *work = p->first ? dequeue_job(p) : NULL;
    p->working += work != NULL;
    pthread_mutex_unlock(&p->lock);
    pulse_beat();
    return work;
}

static void *worker(void *arg)
{
    struct work *work = NULL;

    self = arg;
    pulse_own(&self->pulse);
    while ((work = next_job(self->pool, work != NULL))) {
        self->helps = work->helps;
        self->turn_from = clock_mono_ns();
        work->job(work->arg);
        free(work);
    }
    return NULL;
}

void signals_block(sigset_t *ret_before)
{
    sigset_t all;

    sigfillset(&all);
    sigdelset(&all, SIGSEGV);
    sigdelset(&all, SIGBUS);
    sigdelset(&all, SIGFPE);
    sigdelset(&all, SIGILL);
    pthread_sigmask(SIG_SETMASK, &all, ret_before);
}

static int start_thread(struct pool *p)
{
    sigset_t before;
    char label[16];

    signals_block(&before);
    struct member *m = &p->members[atomic_load(&p->count)];
    m->pool = p;
    int rc = pthread_create(&m->thread, NULL, worker, m);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc != 0)
        return -rc;
    snprintf(label, sizeof(label), "%s-%u", p->name, atomic_load(&p->count));
    pthread_setname_np(m->thread, label);
    atomic_fetch_add(&p->count, 1);
    return 0;
}

int pool_new(unsigned threads, const char *name, struct pool **ret)
{
    int rc = 0;

    if (threads == 0)
        threads = cpu_count();
    struct pool *p = calloc(1, sizeof(*p) + (threads + SUSPENDED_MAX) * sizeof(p->members[0]));
    if (!p)
        return -ENOMEM;
    p->threads = threads;
    snprintf(p->name, sizeof(p->name), "%.12s", name);
    pthread_mutex_init(&p->lock, NULL);
    pthread_cond_init(&p->wake, NULL);
    while (rc == 0 && p->count < threads)
        rc = start_thread(p);
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
    return p->threads;
}

bool pool_is_wanted(const struct pool *p)
{
    return p && atomic_load_explicit(&p->wanted, memory_order_relaxed) > 0;
}

int64_t pool_silence_ns(const struct pool *p)
{
    int64_t max = 0;

    for (unsigned i = 0; i < p->count; i++) {
        int64_t silence = pulse_silence_ns(&p->members[i].pulse);
        max = silence > max ? silence : max;
    }
    return max;
}

static int submit_job(struct pool *p, struct pool_lane *lane, struct work of)
{
    struct work *work = malloc(sizeof(*work));

    if (!work)
        return -ENOMEM;
    *work = of;
    pthread_mutex_lock(&p->lock);
    bool stopping = p->stopping;
    if (!stopping)
        enqueue_job(p, lane, work);
    bool wake = has_work(p);
    pthread_mutex_unlock(&p->lock);
    if (wake) /* outside of the lock, for the thread may run at once on this processor */
        pthread_cond_signal(&p->wake);
    if (stopping)
        free(work);
    return stopping ? -EPIPE : 0;
}

int pool_submit(struct pool *p, pool_job *job, void *arg)
{
    return submit_job(p, &p->common, (struct work){.job = job, .arg = arg});
}

int pool_submit_to(struct pool *p, struct pool_lane *lane, pool_job *job, void *arg)
{
    return submit_job(p, lane ? lane : &p->common, (struct work){.job = job, .arg = arg});
}

int pool_submit_helper(struct pool *p, pool_job *job, void *arg)
{
    return submit_job(p, &p->common, (struct work){.job = job, .arg = arg, .helps = true});
}

/* ---- suspension ------------------------------------------------------------------------------ */

/* Returns true if another thread can do the waiting job; starts one if necessary. */
static bool has_replacement(struct pool *p)
{
    unsigned count = atomic_load(&p->count);

    if (p->stopping || p->suspended_count == SUSPENDED_MAX)
        return false;
    return count > p->working + p->suspended_count ||
           (count < p->threads + SUSPENDED_MAX && start_thread(p) == 0);
}

/* Suspends the calling thread. The caller holds the lock. */
static void suspend_self(struct pool *p, struct budget *b)
{
    struct suspended s = {.since_ns = clock_mono_ns()}, **last = &p->suspended;

    clock_cond_init(&s.resume);
    while (*last)
        last = &(*last)->next;
    *last = &s;
    p->suspended_count++;
    p->working--;
    atomic_fetch_add(&p->wanted, 1);
    resume_suspended(p);
    if (has_work(p))
        pthread_cond_signal(&p->wake);
    while (!s.is_resumed) {
        clock_cond_wait(&s.resume, &p->lock, clock_mono_ns() + CHECK_NS);
        if (!s.is_resumed && b && budget_check(b) < 0) {
            remove_suspended(p, &s);
            break;
        }
        pulse_rest();
    }
    pthread_cond_destroy(&s.resume);
}

/* Helpers are never suspended: all jobs could be, if those that they wait for were. */
void pool_yield(struct pool *p, struct budget *b)
{
    struct member *m = self;

    if (!m || m->pool != p || m->helps || !pool_is_wanted(p) ||
        clock_mono_ns() - m->turn_from < TURN_NS)
        return;
    pulse_rest();
    pthread_mutex_lock(&p->lock);
    if (has_replacement(p))
        suspend_self(p, b);
    pthread_mutex_unlock(&p->lock);
    m->turn_from = clock_mono_ns();
    pulse_beat();
}
