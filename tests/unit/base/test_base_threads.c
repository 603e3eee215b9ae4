/* module: base; threads, paths */
#include "asleep.h"
#include "check.h"
#include "dftracerd/base.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

/* ---- clocks and budget ----------------------------------------------------------------------- */

static void clocks_go_on(void)
{
    int64_t before = clock_mono_ns();

    sleep_ms(2);
    CHECK(clock_mono_ns() - before >= 2000000);
    /* time() tells the last tick, which may be of the second before. */
    time_t first = time(NULL);
    int64_t now = clock_real_ns() / 1000000000;
    CHECK(first <= now && now <= time(NULL) + 1);
}

static void budget_tells_why(void)
{
    struct budget b = {.memory_limit = 100};

    CHECK_INT(budget_check(&b), 0);
    b.deadline_ns = clock_mono_ns() + INT64_C(3600) * 1000000000;
    CHECK_INT(budget_check(&b), 0);
    b.deadline_ns = clock_mono_ns();
    CHECK_INT(budget_check(&b), ERR_DEADLINE);
    budget_cancel(&b, ERR_CANCELLED); /* too late: the first reason stays */
    CHECK_INT(budget_check(&b), ERR_DEADLINE);

    struct budget c = {0};
    budget_cancel(&c, ERR_ROW_LIMIT);
    CHECK_INT(budget_check(&c), ERR_ROW_LIMIT);
    c.deadline_ns = 1;
    CHECK_INT(budget_check(&c), ERR_ROW_LIMIT);
}

static void budget_counts_memory(void)
{
    struct budget b = {.memory_limit = 100};

    CHECK_INT(budget_charge(&b, 60), 0);
    CHECK_INT(budget_charge(&b, 41), ERR_MEMORY_LIMIT);
    CHECK_INT(budget_charge(&b, SIZE_MAX), ERR_MEMORY_LIMIT);
    CHECK_INT(budget_charge(&b, 40), 0);
    CHECK_INT(budget_charge(&b, 1), ERR_MEMORY_LIMIT);
    budget_release(&b, 100);
    CHECK_INT(atomic_load(&b.memory_used), 0);
    struct budget unlimited = {0};
    CHECK_INT(budget_charge(&unlimited, SIZE_MAX), 0);
}

static void charge_some(void *arg, unsigned i)
{
    struct budget *b = arg;

    for (int n = 0; n < 2000; n++) {
        if (budget_charge(b, i + 1) == 0)
            budget_release(b, i + 1);
    }
}

/* What several may have together; whoever is refused takes nothing anywhere. */
static void budgets_share(void)
{
    struct budget_share all = {.limit = 150}, one = {.limit = 100, .parent = &all};
    struct budget a = {.memory_limit = 90, .share = &one}, b = {.share = &one}, c = {.share = &all};

    CHECK_INT(budget_charge(&a, 91), ERR_MEMORY_LIMIT);
    CHECK(!a.share_exceeded);
    CHECK_INT(budget_charge(&a, 60), 0);
    CHECK_INT(budget_charge(&b, 41), ERR_MEMORY_LIMIT);
    CHECK(b.share_exceeded && b.memory_used == 0);
    CHECK_INT(budget_charge(&b, 40), 0);
    CHECK_INT(budget_charge(&c, 51), ERR_MEMORY_LIMIT);
    CHECK(c.share_exceeded && c.memory_used == 0);
    CHECK_INT((int)one.used, 100);
    CHECK_INT((int)all.used, 100);
    budget_release(&a, 60);
    CHECK_INT(budget_charge(&c, 110), 0);
    CHECK_INT(budget_charge(&b, 1), ERR_MEMORY_LIMIT); /* room of its own, but not in all */
    CHECK_INT((int)one.used, 40);
    budget_release(&b, 40);
    budget_release(&c, 110);
    CHECK(one.used == 0 && all.used == 0);
}

static void budget_is_shared(void)
{
    struct budget b = {.memory_limit = 10};
    struct pool *p;

    CHECK_STOP(pool_new(4, "budget", &p) == 0);
    pool_run(p, 8, charge_some, &b);
    CHECK_INT(atomic_load(&b.memory_used), 0);
    pool_free(p);
}

/* ---- pulses ---------------------------------------------------------------------------------- */

struct patient {
    struct pulse pulse;
    atomic_int thread;
    int fd; /* what it reads from; -1: it waits for `open` */
    atomic_bool open;
};

static void *be_patient(void *arg)
{
    struct patient *p = arg;
    char byte;

    atomic_store(&p->thread, gettid());
    pulse_own(&p->pulse);
    pulse_beat();
    if (p->fd >= 0)
        CHECK_INT(read(p->fd, &byte, 1), 1);
    while (p->fd < 0 && !atomic_load(&p->open))
        sleep_ms(5);
    pulse_rest();
    return NULL;
}

/* Who waits for what others are to give is not judged, who only takes long is. */
static void pulses_tell_who_is_stuck(void)
{
    int ends[2];
    CHECK_STOP(pipe(ends) == 0);
    struct patient one = {.fd = -1}, other = {.fd = ends[0]};
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, be_patient, &one);
    pthread_create(&threads[1], NULL, be_patient, &other);

    while (pulse_silence_ns(&one.pulse) <= PULSE_USUAL_NS)
        sleep_ms(20);
    while (!atomic_load(&other.pulse.beat_ns) ||
           clock_mono_ns() - atomic_load(&other.pulse.beat_ns) <= PULSE_USUAL_NS)
        sleep_ms(20);
    /* A kernel may be built without. */
    if (access("/proc/thread-self/syscall", R_OK) == 0) {
        until_asleep(atomic_load(&other.thread));
        CHECK_INT(pulse_silence_ns(&other.pulse), 0);
    }
    CHECK(pulse_silence_ns(&one.pulse) > PULSE_USUAL_NS);
    atomic_store(&one.open, true);
    CHECK_INT(write(ends[1], "", 1), 1);
    for (int i = 0; i < 2; i++)
        pthread_join(threads[i], NULL);
    close(ends[0]);
    close(ends[1]);
    CHECK_INT(pulse_silence_ns(&one.pulse), 0);
}

/* ---- pool ------------------------------------------------------------------------------------ */

static void count_job(void *arg)
{
    atomic_fetch_add((atomic_int *)arg, 1);
}

static void slow_count_job(void *arg)
{
    sleep_ms(1);
    count_job(arg);
}

static void pool_runs_what_is_queued(void)
{
    struct pool *p;
    atomic_int count = 0;
    CHECK_STOP(pool_new(3, "worker", &p) == 0);

    CHECK_INT(pool_threads(p), 3);
    for (int i = 0; i < 200; i++)
        CHECK_INT(pool_submit(p, i % 10 ? count_job : slow_count_job, &count), 0);
    pool_free(p);
    CHECK_INT(atomic_load(&count), 200);
    pool_free(NULL);
}

struct order {
    int next;
    bool broken;
    int numbers[100];
};

static void note_number(void *arg)
{
    int *number = arg;
    struct order *order =
        (struct order *)((char *)(number - *number) - offsetof(struct order, numbers));

    order->broken |= *number != order->next++;
}

static void pool_keeps_order(void)
{
    struct order order = {0};
    struct pool *p;
    CHECK_STOP(pool_new(1, "order", &p) == 0);

    for (int i = 0; i < 100; i++) {
        order.numbers[i] = i;
        CHECK_INT(pool_submit(p, note_number, &order.numbers[i]), 0);
    }
    pool_free(p);
    CHECK(!order.broken && order.next == 100);
}

static void mark(void *arg, unsigned i)
{
    atomic_fetch_add((atomic_uchar *)arg + i, 1);
}

static void run_covers_every_index_once(void)
{
    static const unsigned sizes[] = {0, 1, 2, 3, 7, 1000};
    atomic_uchar *marks = calloc(1000, sizeof(*marks));
    struct pool *p;
    CHECK_STOP(marks && pool_new(3, "run", &p) == 0);

    for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
        for (int round = 0; round < 50; round++) {
            memset((void *)marks, 0, 1000);
            pool_run(p, sizes[s], mark, marks);
            for (unsigned i = 0; i < 1000; i++) {
                if (atomic_load(&marks[i]) != (i < sizes[s]))
                    CHECK_INT(i, -1);
            }
        }
    }
    pool_free(p);
    free((void *)marks);
}

struct nest {
    struct pool *p;
    atomic_int leaves;
    int depth;
};

static void run_nested(void *arg, unsigned i)
{
    struct nest *outer = arg;
    struct nest inner = {.p = outer->p, .depth = outer->depth - 1};

    (void)i;
    if (outer->depth == 0) {
        atomic_fetch_add(&outer->leaves, 1);
        return;
    }
    pool_run(inner.p, 3, run_nested, &inner);
    atomic_fetch_add(&outer->leaves, atomic_load(&inner.leaves));
}

static void run_works_within_jobs(void)
{
    struct nest nest = {.depth = 4};
    CHECK_STOP(pool_new(2, "nest", &nest.p) == 0);

    for (int round = 0; round < 20; round++) {
        atomic_store(&nest.leaves, 0);
        pool_run(nest.p, 3, run_nested, &nest);
        CHECK_INT(atomic_load(&nest.leaves), 3 * 3 * 3 * 3 * 3);
    }
    pool_free(nest.p);
}

struct gate {
    atomic_bool open;
    atomic_int inside;
};

static void wait_at_gate(void *arg)
{
    struct gate *gate = arg;

    atomic_fetch_add(&gate->inside, 1);
    while (!atomic_load(&gate->open))
        sleep_ms(1);
}

/* All threads are busy for as long as pool_run takes: the caller does it alone, and helpers that
 * come when it is over find nothing. */
static void run_does_not_need_the_pool(void)
{
    struct gate gate = {0};
    atomic_uchar marks[100] = {0};
    struct pool *p;
    CHECK_STOP(pool_new(2, "busy", &p) == 0);

    pool_submit(p, wait_at_gate, &gate);
    pool_submit(p, wait_at_gate, &gate);
    while (atomic_load(&gate.inside) < 2)
        sleep_ms(1);
    pool_run(p, 100, mark, marks);
    for (int i = 0; i < 100; i++)
        CHECK_INT(atomic_load(&marks[i]), 1);
    atomic_store(&gate.open, true);
    pool_free(p);
}

struct elsewhere {
    struct pool *p;
    int64_t until_ns;
    atomic_int called[2];
    atomic_bool was_there;
};

static void be_elsewhere(void *arg)
{
    atomic_store((atomic_bool *)arg, true);
}

/* Number 0 is with the caller, as the only other thread comes to number 1. */
static bool go_on_until_it_was_there(void *arg, unsigned i)
{
    struct elsewhere *e = arg;

    if (atomic_fetch_add(&e->called[i], 1) == 0 && i == 1) {
        CHECK(!pool_is_wanted(e->p));
        pool_submit(e->p, be_elsewhere, &e->was_there);
        CHECK(pool_is_wanted(e->p));
    }
    sleep_ms(1);
    return !atomic_load(&e->was_there) && clock_mono_ns() < e->until_ns;
}

static void helpers_go_where_they_are_wanted(void)
{
    struct elsewhere e = {.until_ns = clock_mono_ns() + 60 * 1000000000ll};
    CHECK_STOP(pool_new(1, "helper", &e.p) == 0);

    CHECK(!pool_is_wanted(NULL));
    pool_run_turns(e.p, 2, go_on_until_it_was_there, &e, NULL);
    CHECK(atomic_load(&e.was_there));
    CHECK(atomic_load(&e.called[1]) > 0);
    CHECK(!pool_is_wanted(e.p));
    pool_free(e.p);
}

/* Long jobs, and one that waits for a thread. */
struct way {
    struct pool *p;
    int64_t until_ns;
    atomic_int begun, working, most, ended;
    atomic_bool was_there;
    struct budget budget;
};

static bool take_long(void *arg, unsigned i)
{
    struct way *w = arg;
    int working = atomic_fetch_add(&w->working, 1) + 1, most = atomic_load(&w->most);

    (void)i;
    while (working > most && !atomic_compare_exchange_weak(&w->most, &most, working))
        ;
    sleep_ms(1);
    atomic_fetch_sub(&w->working, 1);
    return !atomic_load(&w->was_there) && clock_mono_ns() < w->until_ns &&
           budget_check(&w->budget) == 0;
}

static void long_job(void *arg)
{
    struct way *w = arg;

    atomic_fetch_add(&w->begun, 1);
    pool_run_turns(w->p, 2, take_long, w, &w->budget);
    atomic_fetch_add(&w->ended, 1);
}

static bool waits(struct way *w, bool until)
{
    if (until || clock_mono_ns() > w->until_ns)
        return false;
    sleep_ms(1);
    return true;
}

/* Each thread has one, and more are queued: a short one is done all the same, and no more work at a
 * time than there are threads. */
static void long_jobs_give_way(void)
{
    struct way w = {.until_ns = clock_mono_ns() + 60 * 1000000000ll};
    CHECK_STOP(pool_new(2, "way", &w.p) == 0);

    for (int i = 0; i < 5; i++)
        pool_submit(w.p, long_job, &w);
    pool_submit(w.p, be_elsewhere, &w.was_there);
    while (waits(&w, atomic_load(&w.was_there)))
        ;
    CHECK(clock_mono_ns() < w.until_ns);
    pool_free(w.p);
    CHECK_INT(atomic_load(&w.begun), 5);
    CHECK_INT(atomic_load(&w.ended), 5);
    CHECK_INT(atomic_load(&w.most), 2);
}

/* More than may be away: the others are not begun before, and all come to their end. */
static void few_are_away(void)
{
    struct way w = {.until_ns = clock_mono_ns() + 60 * 1000000000ll};
    CHECK_STOP(pool_new(1, "away", &w.p) == 0);

    for (int i = 0; i < 20; i++)
        pool_submit(w.p, long_job, &w);
    while (waits(&w, atomic_load(&w.begun) >= 17))
        ;
    sleep_ms(210); /* two turns of pool.c: at the end of each another one would begin */
    CHECK_INT(atomic_load(&w.begun), 17);
    CHECK_INT(atomic_load(&w.ended), 0);
    atomic_store(&w.was_there, true);
    pool_free(w.p);
    CHECK_INT(atomic_load(&w.ended), 20);
    CHECK_INT(atomic_load(&w.most), 1);
}

/* The only thread's place is taken by one who never gives way: who is away need not wait for that.
 */
static void who_is_away_can_be_stopped(void)
{
    struct gate gate = {0};
    struct way w = {.until_ns = clock_mono_ns() + 60 * 1000000000ll};
    CHECK_STOP(pool_new(1, "stop", &w.p) == 0);

    pool_submit(w.p, long_job, &w);
    pool_submit(w.p, wait_at_gate, &gate);
    while (waits(&w, atomic_load(&gate.inside) == 1))
        ;
    CHECK_INT(atomic_load(&w.ended), 0);
    budget_cancel(&w.budget, ERR_CANCELLED);
    while (waits(&w, atomic_load(&w.ended) == 1))
        ;
    CHECK_INT(atomic_load(&w.ended), 1);
    atomic_store(&gate.open, true);
    pool_free(w.p);
    CHECK(clock_mono_ns() < w.until_ns);
}

struct turns {
    struct gate gate;
    char done[16];
    atomic_int count;
};
struct turn {
    struct turns *turns;
    char of;
};

static void take_turn(void *arg)
{
    struct turn *t = arg;

    t->turns->done[atomic_load(&t->turns->count)] =
        t->of; /* one thread writes, who reads waits for the count */
    atomic_fetch_add(&t->turns->count, 1);
}

/* One thread, which is busy until all is queued. */
static void lanes_take_turns(void)
{
    struct turns turns = {0};
    struct turn a = {&turns, 'a'}, b = {&turns, 'b'}, common = {&turns, '-'};
    struct pool_lane *lane_a = calloc(1, sizeof *lane_a), lane_b = {0};
    struct pool *p;
    CHECK_STOP(lane_a && pool_new(1, "turns", &p) == 0);

    pool_submit(p, wait_at_gate, &turns.gate);
    while (atomic_load(&turns.gate.inside) < 1)
        sleep_ms(1);
    for (int i = 0; i < 4; i++)
        CHECK_INT(pool_submit_to(p, lane_a, take_turn, &a), 0);
    for (int i = 0; i < 2; i++)
        CHECK_INT(pool_submit_to(p, &lane_b, take_turn, &b), 0);
    CHECK_INT(pool_submit(p, take_turn, &common), 0);
    atomic_store(&turns.gate.open, true);
    while (atomic_load(&turns.count) < 7)
        sleep_ms(1);
    CHECK_STR(turns.done, "ab-abaa");
    free(lane_a); /* the pool does not come back to a lane that is empty */
    CHECK_INT(pool_submit_to(p, &lane_b, take_turn, &b), 0);
    pool_free(p);
    CHECK_STR(turns.done, "ab-abaab");
}

struct late {
    struct pool *p;
    atomic_bool open;
    atomic_int rc;
};

static void submit_late(void *arg)
{
    struct late *late = arg;

    /* pool_free has been called, or soon is: from then on nothing is taken */
    while (pool_submit(late->p, count_job, &late->rc) == 0)
        sleep_ms(1);
    atomic_store(&late->open, true);
}

static void stopping_pool_takes_nothing(void)
{
    struct late late = {0};
    CHECK_STOP(pool_new(2, "late", &late.p) == 0);

    CHECK_INT(pool_submit(late.p, submit_late, &late), 0);
    while (atomic_load(&late.rc) < 1) /* it has submitted some */
        sleep_ms(1);
    pool_free(late.p);
    CHECK(atomic_load(&late.open));
}

static void note_thread(void *arg)
{
    sigset_t blocked;
    char *name = arg;

    pthread_getname_np(pthread_self(), name, 16);
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    CHECK(sigismember(&blocked, SIGTERM) == 1);
    CHECK(sigismember(&blocked, SIGSEGV) == 0);
}

static void threads_have_names_and_no_signals(void)
{
    struct pool *p;
    sigset_t mask;
    char name[16] = "";
    CHECK_STOP(pool_new(1, "query-worker-pool", &p) == 0);

    pool_submit(p, note_thread, name);
    pool_free(p);
    CHECK_STR(name, "query-worker-0");
    pthread_sigmask(SIG_SETMASK, NULL, &mask);
    CHECK(sigismember(&mask, SIGTERM) == 0);
}

static void pool_counts_processors(void)
{
    struct pool *p;
    CHECK_STOP(pool_new(0, "all", &p) == 0);

    CHECK(cpu_count() >= 1);
    CHECK_INT(pool_threads(p), cpu_count());
    pool_free(p);
}

static void cpu_has_a_level(void)
{
    CHECK(cpu_level() >= CPU_PORTABLE && cpu_level() <= CPU_AVX2);
    CHECK_INT(cpu_level(), cpu_level());
    CHECK_STR(cpu_level_name(CPU_PORTABLE), "portable");
    CHECK_STR(cpu_level_name(CPU_AVX2), "avx2");
}

static const struct check_test tests[] = {
    {"clocks_go_on", clocks_go_on},
    {"budget_tells_why", budget_tells_why},
    {"budget_counts_memory", budget_counts_memory},
    {"budgets_share", budgets_share},
    {"budget_is_shared", budget_is_shared},
    {"pulses_tell_who_is_stuck", pulses_tell_who_is_stuck},
    {"pool_runs_what_is_queued", pool_runs_what_is_queued},
    {"pool_keeps_order", pool_keeps_order},
    {"run_covers_every_index_once", run_covers_every_index_once},
    {"run_works_within_jobs", run_works_within_jobs},
    {"run_does_not_need_the_pool", run_does_not_need_the_pool},
    {"helpers_go_where_they_are_wanted", helpers_go_where_they_are_wanted},
    {"long_jobs_give_way", long_jobs_give_way},
    {"few_are_away", few_are_away},
    {"who_is_away_can_be_stopped", who_is_away_can_be_stopped},
    {"lanes_take_turns", lanes_take_turns},
    {"stopping_pool_takes_nothing", stopping_pool_takes_nothing},
    {"threads_have_names_and_no_signals", threads_have_names_and_no_signals},
    {"pool_counts_processors", pool_counts_processors},
    {"cpu_has_a_level", cpu_has_a_level},
    {NULL, NULL},
};
CHECK_MAIN(tests)
