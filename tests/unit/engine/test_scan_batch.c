/* module: engine; threads, paths */
/* A scan inside: keys, codes, constants and values of a column say the same in each batch, with all
 * rows selected and with few; selected rows have their bits; parts are merged in the order of
 * chunks; nothing is read after an error. What queries select is in tests/answers.
 */
#include "engine/plan/plan.h"
#include "engine/scan/scan.h"
#include "query_store.h"

enum { ROWS = 2500 / (1 + CHECK_THREADS_ONLY), CHUNK = 65536 };
static const char *const names[] = {"name",  "cat",  "pid",  "tid",  "ts",   "dur", "ret",  "mix",
                                    "score", "flag", "uniq", "host", "file", "te",  "trace"};
enum { NAMES = sizeof(names) / sizeof(*names) };
static struct store store;

/* Values of every type, missing ones, and in one of two files nanoseconds. */
static void make_store(void)
{
    struct buf b = {0};

    for (unsigned f = 0; f < 2; f++) {
        buf_clear(&b);
        buf_puts(&b,
                 "{\"name\":\"HH\",\"ph\":\"M\",\"args\":{\"name\":\"node\",\"value\":\"h1\"}}\n");
        for (unsigned n = 0; n < ROWS; n++) {
            buf_printf(&b, "{\"ph\":\"%s\",\"name\":\"op%u\",\"pid\":%u", n % 5 ? "X" : "i",
                       n % 4 + n / 400, 1000 + f * 3 + n % 3);
            if (n % 9)
                buf_printf(&b, ",\"cat\":\"C%u\",\"tid\":%u", n / 800, n * 7919 % 100000);
            if (n % 7)
                buf_printf(&b, ",\"ts\":%u%s,\"dur\":%u", n * 100, f ? ".125" : "", n * 31 % 977);
            buf_printf(&b,
                       ",\"args\":{\"n\":%u,\"uniq\":\"u%u\",\"hhash\":\"h%u\",\"fhash\":\"f%u\"",
                       n, n * 7 % 5000, n % 3, n % 40);
            if (n % 3)
                buf_printf(&b, ",\"ret\":%d,\"score\":%u.25", (int)(n % 2000) - 100, n % 10);
            if (n % 4)
                buf_printf(&b, ",\"flag\":%s,\"mix\":%s", n % 8 < 4 ? "true" : "false",
                           (const char *[]){"1", "2.5", "\"m\"", "true"}[n / 4 % 4]);
            buf_puts(&b, "}}\n");
        }
        store_file(&store, f ? "b.pfw" : "a.pfw", b.data, b.len);
    }
    buf_done(&b);
    CHECK(store_ingest(&store, CHUNK, 4));
    CHECK(snapshot_file(store.snapshot, 0)->chunk_count > 2);
}

static struct query *open_query(const char *text, struct budget *budget)
{
    struct selection s;
    struct err err = {0};
    struct query *q = NULL;

    selection_init(&s);
    s.query = text_of(text);
    CHECK_INT(query_open(&store.env, store.snapshot, &s, budget, &err, &q), 0);
    return q;
}

/* ---- columns --------------------------------------------------------------------------------- */

struct looked {
    const struct source *source, *number;
    const char *name;
    uint32_t gathered;
};

static bool same(const struct value *a, const struct value *b)
{
    if (a->type != b->type)
        return false;
    if (a->type == VALUE_TEXT || a->type == VALUE_JSON)
        return text_eq(a->text, b->text);
    return a->type == VALUE_TIME     ? a->wide == b->wide
           : a->type == VALUE_DOUBLE ? a->d == b->d
           : a->type == VALUE_NULL   ? true
                                     : a->i == b->i;
}

static void check_codes(struct scan_batch *b, const struct source *s, const uint64_t *keys)
{
    const uint64_t *table;
    uint32_t count;

    if (!scan_codes(b->chunk, s, 1000000, &count, &table))
        return;
    const uint32_t *codes = batch_codes(b, s);
    for (uint32_t i = 0; i < b->rows; i++) {
        if (codes[i] >= count || table[codes[i]] != keys[i]) {
            check_fail(__FILE__, __LINE__, "code %u of row %u", codes[i], i);
            return;
        }
    }
}

static int look(void *arg, struct scan_batch *b)
{
    struct looked *l = arg;
    const uint64_t *keys = batch_keys(b, l->source);
    uint64_t constant;
    bool is_constant = scan_constant(b->chunk, l->source, &constant);

    l->gathered += b->places != NULL;
    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t row = b->select ? b->select[i] : i;
        struct value by_key, by_row = batch_value(b, l->source, row);
        query_key_value(b->chunk->query, keys[row], &by_key);
        if (!same(&by_key, &by_row) || (is_constant && keys[row] != constant)) {
            check_fail(__FILE__, __LINE__, "%s of row %u", l->name, row);
            return ERR_END;
        }
    }
    check_codes(b, l->source, keys);
    return 0;
}

/* After an error nothing is read any more, and what the callback says of it does not count. */
static int look_after_error(void *arg, struct scan_batch *b)
{
    const struct looked *l = arg;
    const uint64_t *valid;

    (void)worker_set_error(b->chunk->worker, ERR_MEMORY_LIMIT);
    CHECK_INT(batch_i64(b, l->number, &valid, NULL)[b->rows - 1], 0);
    CHECK(valid && valid[0] == 0);
    CHECK(batch_keys(b, l->source)[0] == QUERY_KEY_NULL);
    CHECK_INT(batch_value(b, l->number, 0).type, VALUE_NULL);
    return ERR_CORRUPT;
}

static void look_at_all(struct query *q, struct scan_worker *w, struct looked *l)
{
    const struct scan_place *places;

    for (size_t i = 0; i < scan_places(q, &places); i++)
        CHECK_INT(scan_chunk(w, i, look, l), 0);
}

/* `query` chooses few rows or (empty) all. */
static void look_at_columns(const char *query)
{
    struct query *q = open_query(query, NULL);
    struct scan_worker *w;

    CHECK_INT(scan_worker_new(q, &w), 0);
    scan_worker_gather(w);
    for (unsigned i = 0; i < NAMES; i++) {
        struct looked l = {.name = names[i]};
        bool time =
            strcmp(l.name, "ts") == 0 || strcmp(l.name, "te") == 0 || strcmp(l.name, "dur") == 0;
        CHECK_INT(query_source(q, text_of(l.name), &l.source), 0);
        CHECK_INT(query_source(q, TEXT("n"), &l.number), 0);
        CHECK(source_is_time(l.source) == time);
        CHECK_INT(scan_chunk(w, 0, look_after_error, &l), ERR_MEMORY_LIMIT);
        look_at_all(q, w, &l);
        CHECK((l.gathered > 0) == (*query != '\0'));
    }
    scan_worker_free(w);
    query_close(q);
}

static void columns(void)
{
    look_at_columns("");
}

static void columns_of_few_rows(void)
{
    char query[ROWS];
    size_t len = 0;

    for (unsigned n = 0; n < ROWS; n += 37)
        len += (size_t)snprintf(query + len, sizeof(query) - len, "%s%u", n ? "," : "n in [", n);
    snprintf(query + len, sizeof(query) - len, "]");
    look_at_columns(query);
}

static void buckets(void)
{
    static const int64_t pairs[][2] = {{0, 0},         {5000000, 0}, {1000, 0},
                                       {7, 0},         {1500, 77},   {1000000000, 123456789},
                                       {3000000, 5000}};
    struct query *q = open_query("", NULL);
    struct scan_worker *w;

    CHECK_INT(scan_worker_new(q, &w), 0);
    for (size_t i = 0; i < sizeof(pairs) / sizeof(*pairs); i++) {
        struct looked l = {.name = "bucket"};
        CHECK_INT(query_source_bucket(q, pairs[i][0], pairs[i][1], &l.source), 0);
        look_at_all(q, w, &l);
    }
    scan_worker_free(w);
    query_close(q);
}

/* ---- all workers ----------------------------------------------------------------------------- */

struct seen {
    const struct source *number;
    atomic_uint rows;
    atomic_ullong sum; /* of args.n */
    size_t next;       /* the position to be merged, at least */
};

static int begin(void *arg, unsigned worker, void **ret)
{
    (void)worker;
    *ret = arg;
    return 0;
}

static int see(void *state, struct scan_batch *b)
{
    struct seen *s = state;
    const int64_t *numbers = batch_i64(b, s->number, NULL, NULL);

    for (uint32_t i = 0; i < b->count; i++) {
        uint32_t row = b->select ? b->select[i] : i;
        if (!(b->mask[row / 64] >> row % 64 & 1))
            check_fail(__FILE__, __LINE__, "row %u is selected, its bit is not set", row);
        atomic_fetch_add(&s->sum, (unsigned long long)numbers[row]);
    }
    atomic_fetch_add(&s->rows, b->count);
    return 0;
}

static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    (void)state;
    *ret_part = (void *)(uintptr_t)(c->position + 1);
    return 0;
}

static int merge(void *arg, size_t position, void *part, bool failed)
{
    struct seen *s = arg;

    CHECK(!failed);
    CHECK((uintptr_t)part == position + 1);
    CHECK(position + 1 > s->next);
    s->next = position + 1;
    return 0;
}

/* Pruned or not, with threads or without, gathered or not: the same rows. */
static void scans(void)
{
    static const char *const queries[] = {"", "name == 'op5' and n < 1000", "mix == 2.5",
                                          "n >= 2400"};

    for (unsigned i = 0; i < 32; i++) {
        const char *text = queries[i / 8];
        struct pool *pool = store.env.pool;
        store.env.pool = i & 1 ? store.pool : NULL;
        struct query *q = open_query(text, NULL);
        struct seen s = {0};
        struct scan_sink sink = {.arg = &s,
                                 .worker_begin = begin,
                                 .batch = see,
                                 .chunk_end = chunk_end,
                                 .merge = merge,
                                 .gathers = i & 2};
        struct query_counters counters;
        struct err err = {0};
        static unsigned rows[4];
        static unsigned long long sums[4];
        if (i & 4)
            query_disable_pruning(q);
        CHECK_INT(query_source(q, TEXT("n"), &s.number), 0);
        CHECK_INT(scan_run(q, &sink, &err), 0);
        query_counters(q, &counters);
        CHECK_INT(counters.rows_selected, s.rows);
        CHECK_INT(counters.chunks_scanned + counters.chunks_skipped, counters.chunks_total);
        if (i % 8 == 0) {
            rows[i / 8] = s.rows;
            sums[i / 8] = s.sum;
        }
        CHECK_INT(s.rows, rows[i / 8]);
        CHECK_INT(s.sum, sums[i / 8]);
        query_close(q);
        store.env.pool = pool;
    }
}

static int never(void *state, struct scan_batch *b)
{
    (void)state;
    (void)b;
    return -EIO;
}

static void stops(void)
{
    struct scan_sink sink = {.batch = never};
    struct budget budget = {0};
    struct err err = {0};
    struct query *q = open_query("", &budget);

    CHECK_INT(scan_run(q, &sink, &err), -EIO);
    err_done(&err);
    budget_cancel(&budget, ERR_CANCELLED);
    CHECK_INT(scan_run(q, &sink, &err), ERR_CANCELLED);
    err_done(&err);
    query_close(q);
    CHECK_INT(atomic_load(&budget.memory_used), 0);
}

/* ---- patterns -------------------------------------------------------------------------------- */

static int count_rows(void *rows, struct scan_batch *b)
{
    *(uint32_t *)rows += b->count;
    return 0;
}

/* What is kept of the texts that a pattern was tested with is charged. Without memory for it, the
 * same rows are found. */
static void memory_of_patterns(void)
{
    uint32_t rows[2] = {0, 0};

    for (int limited = 0; limited <= 1; limited++) {
        struct budget budget = {0};
        struct query *q = open_query("name like 'op%1'", &budget);
        struct scan_worker *w;
        size_t before = atomic_load(&budget.memory_used);
        budget.memory_limit = limited ? before + 1 : 0;
        CHECK_INT(scan_worker_new(q, &w), 0);
        CHECK_INT(scan_chunk(w, 0, count_rows, &rows[limited]), 0);
        CHECK((atomic_load(&budget.memory_used) > before) == !limited);
        scan_worker_free(w);
        query_close(q);
        CHECK_INT(atomic_load(&budget.memory_used), 0);
    }
    CHECK(rows[0] > 0);
    CHECK_INT(rows[1], rows[0]);
}

static const struct check_test tests[] = {
    {"columns", columns}, {"columns_of_few_rows", columns_of_few_rows},
    {"buckets", buckets}, {"scans", scans},
    {"stops", stops},     {"memory_of_patterns", memory_of_patterns},
    {NULL, NULL},
};

STORE_MAIN(tests, &store, make_store)
