/* pool.c - worker threads; lanes of jobs that they serve in turn; long jobs that give way to
 * others. */
#include "base/pool.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

/* A job works for so long before it gives way, and others have so long before it is back. */
#define TURN_NS (100 * 1000000ll)
/* Jobs that may have given way at a time: each keeps a thread, and the memory that it has. */
#define AWAY_MAX 16u
/* How often a suspended request checks whether its budget says to stop. */
#define LOOK_NS (10 * 1000000ll)

struct work {
    struct work *next;
    pool_job *job;
    void *arg;
    bool helps; /* another job */
};

struct member {
    pthread_t thread;
    struct pool *pool;
    struct pulse pulse;
    bool helps;        /* the thread's own, as what follows: others wait for what it does */
    int64_t turn_from; /* ns, when it began or came back */
};

/* A job that has given way: on the stack of its thread. */
struct away {
    struct away *next;
    pthread_cond_t back;
    int64_t since_ns;
    bool is_back;
};

struct pool {
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct pool_lane *first, *last; /* those that hold jobs, in the order of their turns */
    struct pool_lane common;
    atomic_uint wanted; /* jobs that wait, helpers apart; those that are away, too */
    struct away *away;  /* first to be back first */
    int64_t jobs_from;  /* ns, when the first job was begun since one came back; 0 = none */
    unsigned away_count;
    unsigned threads; /* work at a time */
    unsigned working; /* work (one more for a moment, if it comes back early) */
    bool stopping;
    char name[13];
    atomic_uint count; /* of members: grows under the lock */
    struct member members[];
};

static _Thread_local struct member *self;

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

/* The first job of the first lane. Nothing of a lane is touched once its last job has begun. */
static struct work *take_first(struct pool *p)
{
    struct pool_lane *lane = p->first;
    struct work *work = lane->first;

    p->first = lane->next;
    p->last = p->first ? p->last : NULL;
    lane->first = work->next;
    if (lane->first)
        line_up(p, lane);
    if (work->helps)
        return work;
    atomic_fetch_sub(&p->wanted, 1);
    if (p->jobs_from == 0)
        p->jobs_from = clock_mono_ns();
    return work;
}

/* At the end of the lane. */
static void put(struct pool *p, struct pool_lane *lane, struct work *work)
{
    bool alone = !lane->first;

    if (alone)
        lane->first = work;
    else
        lane->last->next = work;
    lane->last = work;
    if (alone)
        line_up(p, lane);
    if (!work->helps)
        atomic_fetch_add(&p->wanted, 1);
}

/* The place among those that are away is given up. */
static void leave_away(struct pool *p, const struct away *a)
{
    struct away **at = &p->away;

    while (*at != a)
        at = &(*at)->next;
    *at = a->next;
    p->away_count--;
    p->working++;
    atomic_fetch_sub(&p->wanted, 1);
}

/* Since the last came back from being away, a job was begun, and jobs have had their time. */
static bool jobs_had_turn(const struct pool *p)
{
    int64_t since = p->jobs_from > p->away->since_ns ? p->jobs_from : p->away->since_ns;

    return p->jobs_from && clock_mono_ns() - since >= TURN_NS;
}

/* Suspended requests resume where there is room and nobody else waits, or it is their turn. */
static void call_back(struct pool *p)
{
    while (p->away && p->working < p->threads &&
           (atomic_load(&p->wanted) == p->away_count || jobs_had_turn(p))) {
        struct away *a = p->away;
        p->jobs_from = 0;
        leave_away(p, a);
        a->is_back = true;
        pthread_cond_signal(&a->back);
    }
}

/* There is room for one more that works, and a job. */
static bool has_work(const struct pool *p)
{
    return p->first && p->working < p->threads;
}

/* After the calling thread has done one, or its first. NULL: no more will come. */
static struct work *take(struct pool *p, bool worked)
{
    pulse_rest();
    pthread_mutex_lock(&p->lock);
    p->working -= worked;
    if (p->stopping)
        pthread_cond_broadcast(&p->wake);
    for (;;) {
        call_back(p);
        if (p->first ? p->working < p->threads : p->stopping)
            break;
        pthread_cond_wait(&p->wake, &p->lock);
    }
    struct work *work = p->first ? take_first(p) : NULL;
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
    while ((work = take(self->pool, work != NULL))) {
        self->helps = work->helps;
        self->turn_from = clock_mono_ns();
        work->job(work->arg);
        free(work);
    }
    return NULL;
}

void signals_leave(sigset_t *ret_before)
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

    signals_leave(&before);
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
    struct pool *p = calloc(1, sizeof(*p) + (threads + AWAY_MAX) * sizeof(p->members[0]));
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
    int64_t most = 0;

    for (unsigned i = 0; i < p->count; i++) {
        int64_t silence = pulse_silence_ns(&p->members[i].pulse);
        most = silence > most ? silence : most;
    }
    return most;
}

static int submit(struct pool *p, struct pool_lane *lane, struct work of)
{
    struct work *work = malloc(sizeof(*work));

    if (!work)
        return -ENOMEM;
    *work = of;
    pthread_mutex_lock(&p->lock);
    bool stopping = p->stopping;
    if (!stopping)
        put(p, lane, work);
    bool wake = has_work(p);
    pthread_mutex_unlock(&p->lock);
    if (wake) /* now, as the thread that wakes up may take this thread's processor at once */
        pthread_cond_signal(&p->wake);
    if (stopping)
        free(work);
    return stopping ? -EPIPE : 0;
}

int pool_submit(struct pool *p, pool_job *job, void *arg)
{
    return submit(p, &p->common, (struct work){.job = job, .arg = arg});
}

int pool_submit_to(struct pool *p, struct pool_lane *lane, pool_job *job, void *arg)
{
    return submit(p, lane ? lane : &p->common, (struct work){.job = job, .arg = arg});
}

int pool_submit_helper(struct pool *p, pool_job *job, void *arg)
{
    return submit(p, &p->common, (struct work){.job = job, .arg = arg, .helps = true});
}

/* ---- giving way ------------------------------------------------------------------------------ */

/* A thread is, or can be made, to do what waits. */
static bool has_stand_in(struct pool *p)
{
    unsigned count = atomic_load(&p->count);

    if (p->stopping || p->away_count == AWAY_MAX)
        return false;
    return count > p->working + p->away_count ||
           (count < p->threads + AWAY_MAX && start_thread(p) == 0);
}

/* Caller holds the lock. */
static void be_away(struct pool *p, struct budget *b)
{
    struct away a = {.since_ns = clock_mono_ns()}, **last = &p->away;

    clock_cond_init(&a.back);
    while (*last)
        last = &(*last)->next;
    *last = &a;
    p->away_count++;
    p->working--;
    atomic_fetch_add(&p->wanted, 1);
    call_back(p);
    if (has_work(p))
        pthread_cond_signal(&p->wake);
    while (!a.is_back) {
        clock_cond_wait(&a.back, &p->lock, clock_mono_ns() + LOOK_NS);
        if (!a.is_back && b && budget_check(b) < 0) {
            leave_away(p, &a);
            break;
        }
        pulse_rest();
    }
    pthread_cond_destroy(&a.back);
}

/* Helpers do not, and those that others wait for cannot all be suspended. */
void pool_give_way(struct pool *p, struct budget *b)
{
    struct member *m = self;

    if (!m || m->pool != p || m->helps || !pool_is_wanted(p) ||
        clock_mono_ns() - m->turn_from < TURN_NS)
        return;
    pulse_rest();
    pthread_mutex_lock(&p->lock);
    if (has_stand_in(p))
        be_away(p, b);
    pthread_mutex_unlock(&p->lock);
    m->turn_from = clock_mono_ns();
    pulse_beat();
}
