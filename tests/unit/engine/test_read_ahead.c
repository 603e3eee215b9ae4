/* module: engine; threads */
/* test_read_ahead.c - items come in order, whatever threads there are; nothing is
 * kept of it when memory is short, when the client is away, or when it does not come back. */
#include "query_store.h"
#include "engine/cursor/read_ahead.h"
#include "engine/cursor/read_ahead_ring.h"

enum { ITEMS = 200 };

/* Items are numbers; how many are alive, and how many at once at most. */
struct factory {
    atomic_int alive, most, made;
    int limit; /* more at once find no memory; 0 = any number */
    enum { QUICK, SOME_SLOW, SLOW } pace;
};

static int make(void *arg, struct item_tools *tools, size_t position, void **ret)
{
    struct factory *f = arg;
    int alive = atomic_fetch_add(&f->alive, 1) + 1, most = atomic_load(&f->most);
    size_t *item;

    CHECK(tools != NULL && tools->scan != NULL);
    if (f->limit && alive > f->limit) {
        atomic_fetch_sub(&f->alive, 1);
        return ERR_MEMORY_LIMIT;
    }
    while (alive > most && !atomic_compare_exchange_weak(&f->most, &most, alive))
        ;
    if (f->pace == SLOW || (f->pace == SOME_SLOW && position % 7 == 0))
        usleep(f->pace == SLOW ? 300 : 1000);
    item = malloc(sizeof *item);
    if (!item)
        abort();
    *item = position;
    atomic_fetch_add(&f->made, 1);
    *ret = item;
    return 0;
}

static void drop(void *arg, void *item)
{
    struct factory *f = arg;

    atomic_fetch_sub(&f->alive, 1);
    free(item);
}

static bool small_store(struct store *s, unsigned threads)
{
    static const char line[] =
        "{\"name\":\"a\",\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1}\n";

    if (!store_begin(s))
        return false;
    store_file(s, "a.pfw", line, sizeof line - 1);
    return store_ingest(s, 0, threads);
}

/* Takes items until `stop` of them have come, resting before every `rest`-th; then the client is
 * gone. */
static void take(struct store *s, struct factory *f, size_t stop, size_t rest)
{
    struct budget budget = {0};
    struct selection selection;
    struct err err = {0};
    struct query *q;
    struct read_ahead *a;
    size_t positions[ITEMS];

    for (size_t i = 0; i < ITEMS; i++)
        positions[i] = i * 3 + 1;
    selection_init(&selection);
    CHECK_STOP(query_open(&s->env, s->snapshot, &selection, &budget, &err, &q) == 0);
    struct item_maker maker = {.query = q, .arg = f, .make = make, .drop = drop};
    CHECK_STOP(read_ahead_new(&maker, positions, ITEMS, &a) == 0);
    memset(positions, 0, sizeof positions); /* they were copied */
    for (size_t i = 0; i < stop; i++) {
        void *item = NULL;
        if (rest && i % rest == rest - 1) {
            read_ahead_pause(a, false);
            CHECK_INT(atomic_load(&f->alive), 0);
        }
        if (!CHECK_INT(read_ahead_next(a, &err, &item), 0))
            break;
        CHECK_INT(*(size_t *)item, i * 3 + 1);
        drop(f, item);
        if (rest && i % rest == 0) { /* the same once more */
            read_ahead_pause(a, true);
            CHECK_INT(read_ahead_next(a, &err, &item), 0);
            CHECK_INT(*(size_t *)item, i * 3 + 1);
            drop(f, item);
        }
    }
    void *none;
    if (stop == ITEMS)
        CHECK_INT(read_ahead_next(a, &err, &none), ERR_END);
    read_ahead_free(a);
    CHECK_INT(atomic_load(&f->alive), 0);
    query_close(q);
    CHECK_INT(budget.memory_used, 0);
    err_done(&err);
}

static void in_order(void)
{
    for (unsigned threads = 1; threads <= 8; threads = threads == 1 ? 2 : threads * 2) {
        struct store s;
        CHECK_STOP(small_store(&s, threads));
        for (int pace = QUICK; pace <= SLOW; pace++) {
            struct factory f = {.pace = pace};
            take(&s, &f, ITEMS, 0);
            CHECK_INT(atomic_load(&f.made), ITEMS);
            /* two a thread and two more, or four times as many that are made quickly, besides what
             * the client has */
            int ahead = (int)(2 * threads + 2) * (pace == SLOW ? 1 : 4);
            CHECK(atomic_load(&f.most) <= (threads == 1 ? 1 : ahead + 1));
        }
        store_end(&s);
    }
}

static void client_rests(void)
{
    struct store s;

    CHECK_STOP(small_store(&s, 4));
    for (size_t rest = 1; rest < 60; rest += 7) {
        struct factory f = {.pace = rest % 2 ? SOME_SLOW : QUICK};
        take(&s, &f, ITEMS, rest);
    }
    store_end(&s);
}

/* Jobs may still be queued when the view is closed. */
static void client_vanishes(void)
{
    struct store s;

    CHECK_STOP(small_store(&s, 4));
    for (size_t stop = 0; stop < 40; stop++) {
        struct factory f = {.pace = stop % 3 == 0 ? SOME_SLOW : QUICK};
        take(&s, &f, stop, 0);
    }
    store_end(&s);
}

/* With memory for one item all come, one at a time; with memory for none the first says so. */
static void short_of_memory(void)
{
    struct store s;

    CHECK_STOP(small_store(&s, 4));
    for (int limit = 1; limit < 6; limit++) {
        struct factory f = {.limit = limit, .pace = SOME_SLOW};
        take(&s, &f, ITEMS, 0);
        CHECK(atomic_load(&f.most) <= limit);
    }
    store_end(&s);
}

/* A run that ends after another one of the same rank has failed, with the first of two items. */
static void failed_rank(void)
{
    enum rank_state states[] = {RANK_NEW, RANK_FAILED};
    struct slot slots[] = {{.state = SLOT_RUNNING, .number = 0, .rank = 1},
                           {.state = SLOT_RUNNING, .number = 1, .rank = 1}};
    struct read_ahead a = {.slot = slots, .slots = 2, .filled = 2, .ranks = states};
    struct pull_run run = {
        .items = {{.number = 0}, {.number = 1}}, .count = 2, .rank = 1, .received = 1};

    pthread_cond_init(&a.done, NULL);
    read_ahead_end_run(&a, &run);
    CHECK_INT(slots[0].state, SLOT_DONE);
    CHECK_INT(slots[1].state, SLOT_QUEUED); /* this process makes it */
    CHECK_INT(a.queued, 1);
    CHECK_INT(a.remote, 0);
    pthread_cond_destroy(&a.done);
}

static const struct check_test tests[] = {{"in_order", in_order},
                                          {"client_rests", client_rests},
                                          {"client_vanishes", client_vanishes},
                                          {"short_of_memory", short_of_memory},
                                          {"failed_rank", failed_rank},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
