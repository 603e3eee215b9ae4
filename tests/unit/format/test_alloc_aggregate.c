/* module: format */
/* So many groups that all threads merge, rank and sort them, once for each of the allocations,
 * which fails. What is told is the same by one thread and by several, and what the numbers of the
 * events say. */
#include "dftracerd/aggregate.h"
#include "dftracerd/format.h"
#include "query_alloc.h"

enum { EVENTS = 6000 };
struct question {
    const char *name;
    const char *keys[6];
    size_t width;
    enum format format;
    bool last_first; /* sort */
};
static struct store store;

/* Event i stands at (7 i) mod EVENTS of the file, so groups are not met in the order of the answer.
 */
static void make_store(void)
{
    struct buf b = {0};

    for (int at = 0; at < EVENTS; at++) {
        int i = at * 7 % EVENTS;
        buf_printf(&b,
                   "{\"name\":\"n%d\",\"cat\":\"c\",\"pid\":%d,\"tid\":%d,\"ts\":%d,\"dur\":%d,"
                   "\"ph\":\"X\",\"args\":{\"a\":%d,\"b\":%d,\"c\":%d}}\n",
                   i % 3, 100 + i / 1000, i, i * 10, i % 50 + 1, EVENTS - i, i * 3, i * 5);
    }
    store_file(&store, "t.pfw", b.data, b.len);
    buf_done(&b);
    CHECK(store_ingest(&store, 21504, 1));
}

static int ask(void *arg, struct buf *answer)
{
    static const char *const tells[] = {"count", "sum:dur", "min:ts"}, *const last[] = {"-tid"};
    const struct question *a = arg;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = NULL;
    struct aggregate *aggregate = NULL;
    struct aggregate_options o = {.interval_ns = 1000000,
                                  .limit = UINT64_MAX,
                                  .group_by = a->keys,
                                  .group_by_count = a->width,
                                  .aggregates = tells,
                                  .aggregate_count = 3,
                                  .sort = last,
                                  .sort_count = a->last_first};

    selection_init(&selection);
    int rc = query_open(&store.env, store.snapshot, &selection, &budget, &err, &q);
    rc = rc ? rc : aggregate_open(q, &o, &err, &aggregate);
    rc = rc ? rc : alloc_write_aggregate(aggregate, q, a->format, &budget, &err, answer);
    aggregate_close(aggregate);
    return alloc_settle(rc, q, &budget, &err);
}

/* Ranks of 6,000 keys have 13 bits: those of five such columns do not fit into one word. */
static const struct question cases[] = {
    {"one word", {"pid", "name", "tid"}, 3, FORMAT_CSV, false},
    {"two words", {"tid", "a", "b", "c", "ts", "name"}, 6, FORMAT_CSV, false},
    {"two words as arrow", {"tid", "a", "b", "c", "ts", "name"}, 6, FORMAT_ARROW, false},
    {"sorted, as arrow", {"name", "tid"}, 2, FORMAT_ARROW_STREAM, true},
};

static void wanted(const struct question *q, struct buf *ret)
{
    buf_puts(ret, q->width == 3 ? "pid,name,tid,count,dur_sum,ts_min\n"
                                : "tid,a,b,c,ts,name,count,dur_sum,ts_min\n");
    for (int k = 0; k < EVENTS; k++) {
        /* tids by pid, then by name */
        int i = q->width == 3 ? k / 1000 * 1000 : k, left = k % 1000;
        for (int n = 0; q->width == 3 && n < 3; n++) {
            int first = (n - i % 3 + 3) % 3, count = (1000 - first + 2) / 3;
            if (left < count) {
                i += first + 3 * left;
                break;
            }
            left -= count;
        }
        if (q->width == 3)
            buf_printf(ret, "%d,n%d,%d,", 100 + i / 1000, i % 3, i);
        else
            buf_printf(ret, "%d,%d,%d,%d,%d,n%d,", i, EVENTS - i, i * 3, i * 5, i * 10, i % 3);
        buf_printf(ret, "1,%d,%d\n", i % 50 + 1, i * 10);
    }
}

static void ask_all(void)
{
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        alloc_check(cases[i].name, ask, (void *)(uintptr_t)&cases[i]);
}

static void is_right(void)
{
    for (size_t i = 0; i < 2; i++) {
        struct buf got = {0}, want = {0};
        CHECK_INT(ask((void *)(uintptr_t)&cases[i], &got), 0);
        wanted(&cases[i], &want);
        CHECK(alloc_same(&got, &want));
        buf_done(&got);
        buf_done(&want);
    }
}

static void alone(void)
{
    is_right();
    ask_all();
}

static void with_a_pool(void)
{
    struct pool *pool = NULL;
    struct buf one = {0}, many = {0};
    struct question *arrow = (void *)(uintptr_t)&cases[2];

    CHECK_INT(ask(arrow, &one), 0);
    CHECK_INT(pool_new(3, "test", &pool), 0);
    store.env.pool = pool;
    is_right();
    CHECK_INT(ask(arrow, &many), 0);
    CHECK(alloc_same(&many, &one));
    failing_malloc_everywhere(true);
    ask_all();
    failing_malloc_everywhere(false);
    store.env.pool = NULL;
    pool_free(pool);
    buf_done(&one);
    buf_done(&many);
}

static const struct check_test tests[] = {
    {"alone", alone},
    {"with_a_pool", with_a_pool},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
