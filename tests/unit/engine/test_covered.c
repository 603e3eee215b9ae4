/* module: engine */
/* Which calls have a transfer inside: against every pair of them, in any order, with as many of
 * them at a time as there is memory for. */
#include "engine/plan/covered_find.h"
#include "engine/scan/scan.h"
#include "query_store.h"

enum { CALLS = 3000, THREADS = 5 };

static struct store store;
static struct call {
    bool outer;
    int64_t ts, te;
    int thread;
} calls[CALLS];

/* Spans of all lengths, so that many are around others; equal ends, too. */
static void make(void)
{
    struct buf text = {0};
    unsigned seed = 3;

    for (int i = 0; i < CALLS; i++) {
        int64_t length = rand_r(&seed) % 7 ? rand_r(&seed) % 8 : rand_r(&seed) % 3000;
        struct call *c = &calls[i];
        *c = (struct call){rand_r(&seed) % 3 == 0, rand_r(&seed) % 40000, 0,
                           rand_r(&seed) % THREADS};
        c->te = c->ts + length;
        buf_printf(&text,
                   "{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%d,\"ts\":%lld,\"dur\":%lld,"
                   "\"ph\":\"X\",\"args\":{\"ret\":2,\"size\":%d}}\n",
                   c->outer ? "fread" : "read",
                   c->outer ? "Stdio"
                   : i % 2  ? "POSIX"
                            : "sys",
                   c->thread / 2, c->thread % 2, (long long)c->ts, (long long)length, i + 1);
    }
    store_file(&store, "t.pfw", text.data, text.len);
    buf_done(&text);
    store_ingest(&store, 1u << 16, 1);
}

static bool is_covered(const struct call *outer)
{
    for (int i = 0; i < CALLS; i++)
        if (!calls[i].outer && calls[i].thread == outer->thread && calls[i].ts >= outer->ts &&
            calls[i].te <= outer->te)
            return true;
    return false;
}

/* Rows of the chunks follow each other as the calls do. */
static void compare(const struct covered *c)
{
    const struct index_file *file = snapshot_file(store.snapshot, 0);
    int at = 0, wrong = 0, covered = 0, outer = 0;

    CHECK(file->chunk_count > 4);
    for (uint32_t k = 0; k < file->chunk_count; k++) {
        const uint64_t *bits = covered_bits(c, k);
        for (uint32_t row = 0; row < file->chunks[k].rows; row++, at++) {
            bool found = bits && bits[row / 64] >> row % 64 & 1;
            wrong += found != (calls[at].outer && is_covered(&calls[at]));
            covered += found;
            outer += calls[at].outer;
        }
    }
    CHECK_INT(at, CALLS);
    CHECK_INT(wrong, 0);
    CHECK(covered > outer / 8 && covered < outer * 7 / 8);
}

static void any_number_at_a_time(void)
{
    static const size_t mosts[] = {COVERED_MAX, 1, 300, 77};
    struct selection s;
    struct query *q;

    selection_init(&s);
    for (size_t i = 0; i < sizeof(mosts) / sizeof(*mosts); i++) {
        struct budget budget = {.memory_limit = 1u << 24};
        struct covered *c;
        CHECK_INT(query_open(&store.env, store.snapshot, &s, &budget, NULL, &q), 0);
        if (CHECK_INT(covered_find(q, 0, mosts[i], &c), 0)) {
            compare(c);
            CHECK_INT(budget.memory_used, c->bytes);
            budget_release(&budget, c->bytes);
            covered_drop(c);
        }
        query_close(q);
        CHECK_INT(budget.memory_used, 0);
    }
}

/* Without memory, and when it is cancelled, it ends and keeps nothing. */
static void stops(void)
{
    struct selection s;
    struct query *q;
    struct covered *c;

    selection_init(&s);
    for (size_t limit = 1; limit < 200000; limit += limit / 2 + 100) {
        struct budget budget = {.memory_limit = limit};
        CHECK_INT(query_open(&store.env, store.snapshot, &s, &budget, NULL, &q), 0);
        int rc = covered_find(q, 0, COVERED_MAX, &c);
        CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
        if (rc == 0) {
            budget_release(&budget, c->bytes);
            covered_drop(c);
        }
        query_close(q);
        CHECK_INT(budget.memory_used, 0);
    }
    struct budget budget = {.cancelled = ERR_CANCELLED};
    CHECK_INT(query_open(&store.env, store.snapshot, &s, &budget, NULL, &q), 0);
    CHECK_INT(covered_find(q, 0, COVERED_MAX, &c), ERR_CANCELLED);
    query_close(q);
}

/* A file is kept as long as its chunks are the same. */
static void kept(void)
{
    struct covered_cache *cache = covered_cache_new();
    struct query_env env = store.env;
    struct selection s;
    const uint64_t *first = NULL, *rows;

    env.covered = cache;
    selection_init(&s);
    for (int i = 0; i < 2; i++) {
        struct query *q;
        struct scan_worker *w;
        CHECK_INT(query_open(&env, store.snapshot, &s, NULL, NULL, &q), 0);
        CHECK_INT(scan_worker_new(q, &w), 0);
        w->chunk.place.file = 0;
        w->chunk.place.chunk = 1;
        CHECK_INT(chunk_open(env.index, store.snapshot, snapshot_file(store.snapshot, 0), 1,
                             &w->chunk.view),
                  0);
        CHECK_INT(covered_rows(w, &rows), 0);
        CHECK(rows && (!first || rows == first));
        first = rows;
        chunk_close(w->chunk.view);
        scan_worker_free(w);
        query_close(q);
    }
    covered_cache_free(cache);
}

static const struct check_test tests[] = {
    {"any_number_at_a_time", any_number_at_a_time}, {"stops", stops}, {"kept", kept}, {0}};

STORE_MAIN(tests, &store, make)
