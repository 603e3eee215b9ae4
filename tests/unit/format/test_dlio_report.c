/* module: format */
/* /dlio-config in all forms, byte for byte where that follows from the events; once more for each
 * of its allocations, which fails. */
#include "dftracerd/dlio_report.h"
#include "dftracerd/query.h"
#include "query_alloc.h"

struct question {
    enum format format;
    const char *query;
    bool has_queue;
};
static struct store store;

static int run_query(void *arg, struct buf *answer)
{
    const struct question *a = arg;
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct dlio_report *r = NULL;
    struct dlio_options o = {.refine = {.percentile = 95,
                                        .min_percentile = 50,
                                        .iterations = 5,
                                        .patience = 10,
                                        .target_error = .05,
                                        .target_similarity = .9,
                                        .epsilon = 1,
                                        .momentum = .9},
                             .families = DLIO_ALL,
                             .has_queue = a->has_queue,
                             .workers = 2,
                             .prefetch = 2,
                             .seed = 42,
                             .samples_per_entry = 10,
                             .interval_ns = 5000000};

    selection_init(&selection);
    selection.query = text_of(a->query);
    int rc = dlio_report_run(&store.env, store.snapshot, &selection, &o, &budget, &err, &r);
    rc = rc < 0 ? rc : format_dlio(r, a->format, false, answer);
    dlio_report_free(r);
    return alloc_settle(rc, NULL, &budget, &err);
}

/* A rank of 30 steps of random durations; and an older one of 20 steps of 2 ms, whose samples take
 * 1 ms. */
static void make_store(void)
{
    struct dlio_random random = {1};
    struct buf b = {0};

    for (int i = 0; i < 30; i++)
        for (int k = 0; k < 3; k++)
            buf_printf(&b,
                       "{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":1,\"tid\":1,\"ts\":%d,\"dur\":%d,"
                       "\"ph\":\"X\"}\n",
                       (const char *[]){"fetch.iter", "fetch.block", "preprocess"}[k],
                       (const char *[]){"dataloader", "DATALOADER", "data"}[k],
                       1000 * i + (k == 1 ? 100 : 0),
                       k == 0 ? 100 : 200 + (int)(500 * dlio_random_uniform(&random)));
    for (int i = 0; i < 20; i++)
        buf_printf(&b,
                   "{\"name\":\"loop.yield\",\"cat\":\"data_loader\",\"pid\":2,\"tid\":2,\"ts\":%d,"
                   "\"dur\":2000,\"ph\":\"X\"}\n"
                   "{\"name\":\"TorchDataset.__getitem__\",\"cat\":\"data_loader\",\"pid\":3,"
                   "\"tid\":3,\"ts\":%d,\"dur\":1000,\"ph\":\"X\"}\n",
                   3000 * i, 3000 * i);
    buf_puts(&b, "{\"name\":\"read\",\"cat\":\"POSIX\",\"pid\":9,\"tid\":9,\"ts\":1,\"dur\":1,"
                 "\"ph\":\"X\"}\n");
    store_file(&store, "a.pfw", b.data, b.len);
    buf_done(&b);
    store_ingest(&store, 0, 1);
}

static void check_answer(struct question question, const char *expected)
{
    struct buf answer = {0};

    CHECK_INT(run_query(&question, &answer), 0);
    buf_putc(&answer, '\0');
    CHECK_STR(answer.data, expected);
    buf_done(&answer);
}

static void constant_times(void)
{
    struct question question = {FORMAT_YAML, "pid != 1", false};

    check_answer(question, "train:\n  computation_time:\n    type: normal\n    mean: 0.002\n    "
                           "stdev: 0.0\n    max_bound: 0.002\n");
    question.format = FORMAT_TEXT;
    question.has_queue = true;
    /* Two workers have two batches of one sample every 1 ms; the rank waits for the first alone: 1
     * ms + 20 * 2 ms. */
    check_answer(
        question,
        "1 rank, 20 steps each\n\n"
        "matched events        events   samples  invalid  processes  category/name\n"
        "  loop body               20        20        0          1  data_loader/loop.yield\n"
        "  wait for batch           0         0        0          0  data_loader/loop.iter\n"
        "  preprocess               0         0        0          0  "
        "reader/FormatReader.preprocess\n"
        "  load sample             20        20        0          1  "
        "data_loader/TorchDataset.__getitem__\n"
        "\ntrain.computation_time: normal, mean 0.002, stdev 0; max_bound 0.002 s\n"
        "  20 samples: mean 0.002 s, stdev 0 s, from 0.002 s to 0.002 s\n"
        "  all samples are equal: the time is constant\n"
        "\nsimulation\n"
        "  waits for batches    simulated: workers 2, prefetch factor 2, samples a batch 1, "
        "stalls 1\n"
        "  end-to-end time      simulated 0.041 s, traced 0.04 s, error 2.50 %\n"
        "  CDF similarity       1.0000\n"
        "  max_bound            percentile 95; converged after 1 iteration\n");
}

static void says_what_is_missing(void)
{
    struct question question = {FORMAT_YAML, "pid == 9", false};
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct dlio_report *r = NULL;
    struct dlio_options o = {.refine = {.iterations = 1}, .interval_ns = 1};
    struct buf answer = {0};

    CHECK_INT(run_query(&question, &answer), ERR_NOT_FOUND);
    CHECK(answer.len == 0);
    selection_init(&selection);
    selection.query = text_of(question.query);
    CHECK_INT(dlio_report_run(&store.env, store.snapshot, &selection, &o, &budget, &err, &r),
              ERR_NOT_FOUND);
    CHECK_STR(err.text,
              "no event of a data loader. Looked for dataloader: fetch.block, fetch.iter; data: "
              "preprocess, item; "
              "data_loader: loop.yield, loop.iter, TorchDataset.__getitem__; reader: "
              "FormatReader.preprocess; "
              "dlio_benchmark: loop.yield, loop.iter, _train, _train.iter. Found POSIX/read (1)");
    CHECK_INT(budget.memory_used, 0);
    err_done(&err);
}

static void memory_limits(void)
{
    struct selection selection;
    struct dlio_options o = {.refine = {.iterations = 1}, .interval_ns = 1000000000};
    bool refused = false, answered = false;

    selection_init(&selection);
    for (size_t limit = 1000; limit < 100000000; limit *= 2) {
        struct budget budget = {.memory_limit = limit};
        struct err err = {0};
        struct dlio_report *r = NULL;
        int rc = dlio_report_run(&store.env, store.snapshot, &selection, &o, &budget, &err, &r);

        CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
        refused |= rc == ERR_MEMORY_LIMIT;
        answered |= rc == 0;
        dlio_report_free(r);
        CHECK_INT(budget.memory_used, 0);
        err_done(&err);
    }
    CHECK(refused && answered);
}

static void without_memory(void)
{
    static struct question questions[] = {
        {FORMAT_YAML, "pid == 1", false}, {FORMAT_JSON, "", true}, {FORMAT_TEXT, "pid != 1", true}};
    static const char *const names[] = {"yaml", "json", "text"};

    for (size_t i = 0; i < 3; i++)
        alloc_check(names[i], run_query, &questions[i]);
}

static void with_a_pool(void)
{
    struct pool *pool = NULL;

    CHECK_INT(pool_new(2, "test", &pool), 0);
    store.env.pool = pool;
    constant_times();
    store.env.pool = NULL;
    pool_free(pool);
}

static const struct check_test tests[] = {
    {"constant_times", constant_times}, {"says_what_is_missing", says_what_is_missing},
    {"memory_limits", memory_limits},   {"without_memory", without_memory},
    {"with_a_pool", with_a_pool},       {NULL, NULL},
};
STORE_MAIN(tests, &store, make_store)
