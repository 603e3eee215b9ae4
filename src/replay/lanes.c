/* lanes.c - queues, threads, and the clock of the trace. */
#include "lanes.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

enum { STACK_BYTES = 256 << 10, SLICE_NS = 100000000 };

struct runner {
    struct lanes *lanes;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t filled;
    struct operation *first, **last;
    bool ended, started;
};

int lanes_init(struct lanes *l, const struct replay_options *o, struct root *root, struct report *r)
{
    *l = (struct lanes){.options = o, .root = root, .report = r};
    l->keys = intern_new();
    l->processes = intern_new();
    l->runners = calloc(REPLAY_LANES_MAX, sizeof *l->runners);
    pthread_mutex_init(&l->lock, NULL);
    clock_cond_init(&l->changed);
    return l->keys && l->processes && l->runners ? 0 : -ENOMEM;
}

void lanes_done(struct lanes *l)
{
    for (size_t i = 0; i < l->lanes_cap; i++)
        free(l->lanes[i]);
    free(l->lanes);
    free(l->runners);
    intern_free(l->keys);
    intern_free(l->processes);
    pthread_cond_destroy(&l->changed);
    pthread_mutex_destroy(&l->lock);
}

void lanes_again(struct lanes *l)
{
    for (size_t i = 0; i < l->lanes_cap; i++)
        if (l->lanes[i])
            l->lanes[i]->outer_end_ns = INT64_MIN;
}

static struct lane *lane_new(struct lanes *l, const char *key, size_t len, size_t id)
{
    if (id >= l->lanes_cap) {
        size_t cap = id * 2 + 256;
        struct lane **grown = realloc(l->lanes, cap * sizeof *grown);
        if (!grown)
            return NULL;
        memset(grown + l->lanes_cap, 0, (cap - l->lanes_cap) * sizeof *grown);
        l->lanes = grown;
        l->lanes_cap = cap;
    }
    struct lane *lane = calloc(1, sizeof *lane);
    int64_t process = lane ? intern_add(l->processes, (struct text){key + 8, len - 8}) : -ENOMEM;
    if (process < 0) {
        free(lane);
        return NULL;
    }
    lane->process = (uint32_t)process;
    lane->runner = &l->runners[id % REPLAY_LANES_MAX];
    lane->outer_end_ns = INT64_MIN;
    l->lanes[id] = lane;
    return lane;
}

struct lane *lanes_find(struct lanes *l, struct text host, int64_t pid, int64_t tid)
{
    char key[16 + 256];
    size_t len = host.len < 256 ? host.len : 256;
    memcpy(key, &tid, 8);
    memcpy(key + 8, &pid, 8);
    memcpy(key + 16, host.ptr ? host.ptr : "", len);
    int64_t id = intern_add(l->keys, (struct text){key, 16 + len});
    if (id < 0)
        return NULL;
    if ((size_t)id < l->lanes_cap && l->lanes[id])
        return l->lanes[id];
    struct lane *lane = lane_new(l, key, 16 + len, (size_t)id);
    if (lane) {
        lane->pid = pid;
        lane->tid = tid;
    }
    return lane;
}

/* ---- the thread of a lane ---- */

/* Until a time of clock_mono_ns; false when the replay is stopped. */
static bool sleep_until(struct lanes *l, int64_t until_ns)
{
    for (int64_t now = clock_mono_ns(); now < until_ns && !l->stopped; now = clock_mono_ns()) {
        int64_t next = until_ns - now > SLICE_NS ? now + SLICE_NS : until_ns;
        struct timespec t = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
    return !l->stopped;
}

static int64_t scaled_ns(const struct lanes *l, int64_t ns)
{
    double scaled = (double)ns / l->options->speed;
    if (scaled > 4e18)
        return 4000000000000000000;
    return l->options->speed == 1 ? ns : (int64_t)scaled;
}

void lanes_report(struct report *r, const struct operation *op, const struct performed *done,
                  int64_t taken_ns, int64_t late_ns)
{
    bool may_fail = !(op->has & HAS_RET) || op->ret < 0; /* the trace does not say that it worked */
    struct outcome o = {.name = op->name,
                        .taken_ns = taken_ns,
                        .traced_ns = op->dur_ns > 0 ? op->dur_ns : 0,
                        .late_ns = late_ns,
                        .bytes = done->bytes,
                        .bytes_traced = op->bytes,
                        .error = done->error,
                        .failed = done->error && !may_fail};
    report_count(r, &o);
}

static struct text text_name(struct report *r, uint32_t name)
{
    pthread_mutex_lock(&r->lock);
    struct text t = intern_text(r->names, name);
    pthread_mutex_unlock(&r->lock);
    return t;
}

static void run_operation(struct lanes *l, struct performer *p, struct operation *op)
{
    int64_t due = 0, late = -1;
    if (l->options->timing) {
        int64_t since = op->ts_ns > l->first_ns ? op->ts_ns - l->first_ns : 0;
        due = l->origin_ns + scaled_ns(l, since);
        sleep_until(l, due);
        late = clock_mono_ns() - due;
    }
    int64_t real = clock_real_ns(), begin = clock_mono_ns();
    struct performed done = {0};
    if (l->stopped) {
        if (op->handle && call_opens(op->call->kind))
            op->handle->state = HANDLE_FAILED;
        handle_release(op->handle);
        report_skip(l->report, op->name, "the replay was interrupted");
        return;
    }
    if (!op->call)
        sleep_until(l, op->sleeps ? begin + scaled_ns(l, op->dur_ns) : 0);
    else
        perform(p, op, &done);
    int64_t taken = clock_mono_ns() - begin;
    lanes_report(l->report, op, &done, taken, late);
    if (l->trace && op->call)
        trace_out_put(l->trace, op, text_name(l->report, op->name),
                      op->is_stdio ? TEXT("STDIO") : TEXT("POSIX"), op->lane->pid, op->lane->tid,
                      &done, real, taken);
}

static void wait_for_start(struct lanes *l)
{
    pthread_mutex_lock(&l->lock);
    while (!l->started)
        pthread_cond_wait(&l->changed, &l->lock);
    pthread_mutex_unlock(&l->lock);
}

static void finished_one(struct lanes *l)
{
    size_t left = atomic_fetch_sub(&l->queued, 1) - 1;
    if (left != REPLAY_AHEAD_MAX / 2 && left != 0)
        return;
    pthread_mutex_lock(&l->lock);
    pthread_cond_broadcast(&l->changed);
    pthread_mutex_unlock(&l->lock);
}

static void *runner_main(void *arg)
{
    struct runner *r = arg;
    struct lanes *l = r->lanes;
    struct performer p = {.root = l->root};
    prctl(PR_SET_TIMERSLACK, 1UL);
    wait_for_start(l);
    for (;;) {
        pthread_mutex_lock(&r->lock);
        while (!r->first && !r->ended)
            pthread_cond_wait(&r->filled, &r->lock);
        struct operation *op = r->first;
        r->first = NULL;
        r->last = &r->first;
        pthread_mutex_unlock(&r->lock);
        if (!op)
            break;
        while (op) {
            struct operation *next = op->next;
            run_operation(l, &p, op);
            free(op);
            finished_one(l);
            op = next;
        }
    }
    performer_done(&p);
    return NULL;
}

/* ---- the planning thread ---- */

static int runner_start(struct lanes *l, struct runner *r)
{
    pthread_attr_t a;
    sigset_t all, old;
    r->lanes = l;
    r->last = &r->first;
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->filled);
    pthread_attr_init(&a);
    pthread_attr_setstacksize(&a, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    int rc = pthread_create(&r->thread, &a, runner_main, r);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    pthread_attr_destroy(&a);
    r->started = rc == 0;
    l->runner_count += rc == 0;
    return -rc;
}

void lanes_start(struct lanes *l)
{
    pthread_mutex_lock(&l->lock);
    if (!l->started) {
        l->origin_ns = clock_mono_ns() + 2000000; /* the threads are awake by then */
        l->started = true;
        pthread_cond_broadcast(&l->changed);
    }
    pthread_mutex_unlock(&l->lock);
}

int lanes_push(struct lanes *l, struct operation *op)
{
    struct runner *r = op->lane->runner;
    int rc = r->started ? 0 : runner_start(l, r);
    if (rc < 0 && l->runner_count) { /* no more threads: one that is there does it, too */
        for (r = l->runners; !r->started;)
            r++;
        op->lane->runner = r;
        rc = 0;
    }
    if (rc < 0) {
        handle_release(op->handle);
        free(op);
        return rc;
    }
    if (!l->options->timing)
        lanes_start(l);
    if (l->queued >= REPLAY_AHEAD_MAX) {
        lanes_start(l);
        pthread_mutex_lock(&l->lock);
        while (l->queued > REPLAY_AHEAD_MAX / 2)
            pthread_cond_wait(&l->changed, &l->lock);
        pthread_mutex_unlock(&l->lock);
    }
    atomic_fetch_add(&l->queued, 1);
    op->next = NULL;
    pthread_mutex_lock(&r->lock);
    *r->last = op;
    r->last = &op->next;
    if (r->first == op)
        pthread_cond_signal(&r->filled);
    pthread_mutex_unlock(&r->lock);
    return 0;
}

void lanes_finish(struct lanes *l)
{
    lanes_start(l);
    for (unsigned i = 0; i < REPLAY_LANES_MAX; i++) {
        struct runner *r = &l->runners[i];
        if (!r->started)
            continue;
        pthread_mutex_lock(&r->lock);
        r->ended = true;
        pthread_cond_signal(&r->filled);
        pthread_mutex_unlock(&r->lock);
    }
    for (unsigned i = 0; i < REPLAY_LANES_MAX; i++) {
        struct runner *r = &l->runners[i];
        if (!r->started)
            continue;
        pthread_join(r->thread, NULL);
        pthread_cond_destroy(&r->filled);
        pthread_mutex_destroy(&r->lock);
        r->started = false;
    }
}
