/* module: answer; threads */
/* /aggregate: threads, chunks and parts that memory has room for change nothing; what is too much
 * is refused and given back. More than 5 s of processor time under ThreadSanitizer: threads meet in
 * each kind of question, and in parts, here only. */
#include "answer/aggregate/rows.h"
#include "answer/aggregate/scan.h"
#include "aggregate_ask.h"
#include "dftracerd/aggregate.h"

#include <malloc.h>
#include <math.h>
#include <time.h>

/* ---- threads and chunks ---------------------------------------------------------------------- */

static uint64_t random_state;
static unsigned below(unsigned n)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return (unsigned)(random_state >> 33) % n;
}

/* Whole us, ns, doubles, sizes as fractions, counters, forks, epochs. */
static void many_lines(struct store *s, unsigned file, unsigned count)
{
    static const char *const names[] = {"read", "write", "open64", "epoch", "step", "compute"};
    struct buf text = {0};
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        unsigned kind = below(6), dur = below(1u << below(22));
        bool counter = below(20) == 0;
        buf_printf(&text, "{\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u,",
                   names[kind],
                   counter && below(2) ? "sys"
                   : kind < 3          ? "POSIX"
                                       : "AI",
                   10 + file + below(2), below(5), 1000 + i * 700 + below(9000));
        buf_printf(&text, "\"dur\":%u%s,\"ph\":\"%s\",\"args\":{\"hhash\":\"h%u\",\"fhash\":%u",
                   dur, file == 1 ? ".125" : "", counter ? "C" : "X", below(2), below(90));
        if (kind < 2)
            buf_printf(&text, ",\"ret\":%u", below(100000));
        else if (file == 2)
            buf_printf(&text, ",\"size_sum\":%u.%u", below(1000), i % 10);
        buf_printf(&text, ",\"x\":%u.%u,\"epoch\":%u}}\n", below(1000), below(1000), below(9));
    }
    buf_printf(&text,
               "{\"name\":\"fork\",\"cat\":\"POSIX\",\"pid\":10,\"tid\":1,\"ts\":1,\"dur\":1,"
               "\"ph\":\"X\",\"args\":{\"hhash\":\"h0\",\"ret\":12}}\n");
    snprintf(name, sizeof(name), "%u.pfw", file);
    store_file(s, name, text.data, text.len);
    buf_done(&text);
}

static const char *const some[] = {"0.1", "0.5", "0.999"}, *const fields[] = {"x", "args.ret"};
static const char *const epochs[] = {"epoch:epoch:epoch_of"}, *const extra[] = {"epoch", "trace"};
static const char *const by_file[] = {"dirname(trace)", "name", "time_bucket"};
static const char *const by_all[] = {"cat", "name", "pid", "tid", "hhash", "fhash", "args.x"};
static const char *const all[] = {"count",       "sum:x",     "mean:x",
                                  "std:x",       "skew:dur",  "kurtosis:x",
                                  "p99.9:dur",   "p50:x",     "distinct:args.ret",
                                  "first:ts",    "last:x",    "busy",
                                  "concurrency", "bandwidth", "sum:size"};
static const struct {
    const char *query;
    struct aggregate_options options;
} questions[] = {
    {"", {.interval_ns = 5000000000, .parents = true}},
    {"",
     {.interval_ns = 1000000,
      .relative = true,
      .parents = true,
      .boundaries = epochs,
      .boundary_count = 1}},
    {"",
     {.percentiles = some,
      .percentile_count = 3,
      .metric_fields = fields,
      .metric_field_count = 2,
      .shape = true}},
    {"", {.interval_ns = 100000000, .percentiles = some, .percentile_count = 3, .exact = true}},
    {"dur > 100",
     {.interval_ns = 20000000,
      .split = true,
      .group_keys = extra,
      .group_key_count = 2,
      .metric_fields = fields,
      .metric_field_count = 1}},
    {"", {.aggregates = all, .aggregate_count = 15}},
    {"",
     {.interval_ns = 1000000000,
      .group_by = by_file,
      .group_by_count = 3,
      .aggregates = all,
      .aggregate_count = 15}},
    {"", {.group_by = by_all, .group_by_count = 6, .aggregates = all + 8, .aggregate_count = 7}},
    {"tid != 3",
     {.interval_ns = 1000000,
      .group_by = by_all,
      .group_by_count = 7,
      .aggregates = all,
      .aggregate_count = 15,
      .top = 90,
      .top_by = "x_sum"}},
    {"",
     {.interval_ns = 10000000,
      .split = true,
      .group_by = by_file + 1,
      .group_by_count = 2,
      .aggregates = all,
      .aggregate_count = 15}},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

/* ---- sums ------------------------------------------------------------------------------------ */

struct sums {
    uint64_t rows, count;
    __int128 sum, squares;
    int64_t min, max;
    double durs, shortest, longest;
};

/* Few of any kind but small ones: none, negative ones, those around 2^26, large ones. */
static bool some_value(int64_t *ret)
{
    unsigned kind = below(40);

    *ret = kind == 1   ? -(int64_t)below(1000)
           : kind == 2 ? (1 << 26) - 2 + (int64_t)below(4)
           : kind == 3 ? (int64_t)below(1 << 20) << 30
                       : (int64_t)below(1u << below(20));
    return kind != 0;
}

/* Names a, b, c in turn by chance; durations in us or in ns; lines between them that are no events.
 */
static void lines_of_sums(struct store *s, const char *name, const char *fraction,
                          struct sums *sums)
{
    struct buf text = {0};

    for (unsigned i = 0; i < 9000; i++) {
        unsigned group = below(3), tid = below(5), dur = 7 + below(5000);
        struct sums none = {0}, *to = tid == 3 ? &none : &sums[group]; /* tid != 3 is asked for */
        int64_t n;
        bool has = some_value(&n);
        if (below(30) == 0)
            buf_printf(&text,
                       "{\"name\":\"FH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,\"ph\":\"M\","
                       "\"args\":{\"name\":\"/f%u\",\"value\":\"%u\"}}\n",
                       i, i);
        buf_printf(&text,
                   "{\"name\":\"%c\",\"cat\":\"x\",\"pid\":1,\"tid\":%u,\"ts\":%u,\"dur\":%u%s,"
                   "\"ph\":\"X\",\"args\":{",
                   'a' + (int)group, tid, 1000 + i * 7, dur, fraction);
        if (has)
            buf_printf(&text, "\"n\":%lld", (long long)n);
        buf_printf(&text, "}}\n");
        to->rows++;
        double d = dur + atof(fraction[0] ? fraction : "0");
        to->shortest = to->durs == 0 || d < to->shortest ? d : to->shortest;
        to->longest = to->durs == 0 || d > to->longest ? d : to->longest;
        to->durs += d;
        if (!has)
            continue;
        to->min = to->count == 0 || n < to->min ? n : to->min;
        to->max = to->count++ == 0 || n > to->max ? n : to->max;
        to->sum += n;
        to->squares += (__int128)n * n;
    }
    store_file(s, name, text.data, text.len);
    buf_done(&text);
}

static void check_sums(const char *rows, unsigned row, const struct sums *want)
{
    const double n = (double)want->count;
    __int128 spread = want->squares * want->count - want->sum * want->sum;
    char digits[64];

    snprintf(digits, sizeof(digits), "%llu", (unsigned long long)want->rows);
    CELL(row, "count", digits);
    CELL(row, "n_sum", (num_format_i128(want->sum, digits), digits));
    CELL(row, "n_min", (num_format_i128(want->min, digits), digits));
    CELL(row, "n_max", (num_format_i128(want->max, digits), digits));
    CHECK_NEAR(atof(cell(rows, row, "n_std")), sqrt((double)spread / n / (n - 1)), 1e-12);
    CHECK_NEAR(atof(cell(rows, row, "dur_sum")), want->durs, 1e-12);
    CHECK_NEAR(atof(cell(rows, row, "dur_min")), want->shortest, 0);
    CHECK_NEAR(atof(cell(rows, row, "dur_max")), want->longest, 0);
}

static void threads_change_nothing(void)
{
    static const unsigned threads[] = {1, 2, 8};
    char *answers[QUESTIONS] = {0};
    struct store s;

    random_state = 7;
    CHECK_STOP(store_begin(&s));
    for (unsigned file = 0; file < 3; file++)
        many_lines(&s, file,
                   CHECK_THREADS_ONLY ? 1200 : check_count(3000, 1200)); /* several chunks */
    CHECK_STOP(store_ingest(&s, 64 << 10, 1));
    CHECK(snapshot_file(s.snapshot, 0)->chunk_count > 2);
    for (unsigned round = 0; round < 3; round += check_everything() ? 1 : 2) {
        if (round > 0)
            CHECK_INT(pool_new(threads[round], "test", &s.env.pool), 0);
        for (unsigned i = 0; i < QUESTIONS; i += 1 + CHECK_THREADS_ONLY) {
            char *rows = rows_of(&s, questions[i].query, questions[i].options);
            CHECK(*rows);
            if (round == 0) {
                answers[i] = rows;
                continue;
            }
            if (strcmp(rows, answers[i]) != 0)
                check_fail(__FILE__, __LINE__, "question %u differs with %u threads", i,
                           threads[round]);
            free(rows);
        }
        pool_free(s.env.pool);
    }
    for (unsigned i = 0; i < QUESTIONS; i++)
        free(answers[i]);
    store_end(&s);
}

/* Against sums made line by line here. */
static void sums_are_exact(void)
{
    static const char *const by[] = {"name"};
    static const char *const what[] = {"count", "sum:n",   "min:n",   "max:n",
                                       "std:n", "sum:dur", "min:dur", "max:dur"};
    struct sums want[3] = {0};
    struct store s;

    random_state = 5;
    CHECK_STOP(store_begin(&s));
    lines_of_sums(&s, "us.pfw", "", want);
    lines_of_sums(&s, "ns.pfw", ".125", want);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1));
    for (unsigned threads = 1; threads <= 2; threads++) {
        CHECK_INT(pool_new(threads, "test", &s.env.pool), 0);
        char *rows = rows_of(
            &s, "tid != 3",
            (struct aggregate_options){
                .group_by = by, .group_by_count = 1, .aggregates = what, .aggregate_count = 8});
        for (unsigned i = 0; i < 3; i++)
            check_sums(rows, i, &want[i]);
        free(rows);
        pool_free(s.env.pool);
        s.env.pool = NULL;
    }
    store_end(&s);
}

/* ---- too much -------------------------------------------------------------------------------- */

/* With so much memory; NULL: refused. */
static char *rows_within(struct store *s, const char *query, struct aggregate_options o,
                         uint64_t memory)
{
    struct budget budget = {.memory_limit = memory};
    struct err err = {0};
    struct buf out = {0};
    int rc;

    o.limit = o.limit ? o.limit : UINT64_MAX;
    rc = ask(s, query, &o, &budget, &err, &out);
    CHECK(rc == 0 || rc == ERR_MEMORY_LIMIT);
    err_done(&err);
    if (rc == 0)
        return out.data ? buf_steal(&out, NULL) : strdup("");
    buf_done(&out);
    return NULL;
}

/* The least memory that it is answered with, in steps of a third (halves, if threads are what is
 * looked at); all answers are `want`. */
static uint64_t least_memory(struct store *s, const char *query, const struct aggregate_options *o,
                             const char *want)
{
    uint64_t memory = check_everything() ? 64 << 20 : 16 << 20, least = 0;

    for (; memory > 1000; memory -= memory / (CHECK_THREADS_ONLY ? 2 : 3)) {
        char *rows = rows_within(s, query, *o, memory);
        if (!rows)
            break;
        if (strcmp(rows, want) != 0)
            check_fail(__FILE__, __LINE__, "other rows with %llu bytes",
                       (unsigned long long)memory);
        free(rows);
        least = memory;
    }
    return least;
}

static const char *after_lines(const char *rows, unsigned n)
{
    return n ? after_lines(strchr(rows, '\n') + 1, n - 1) : rows;
}
/* Groups that do not fit into memory together are found part after part, and the rows are the same;
 * also where the values of the first key do not fit, if that is a time. */
static void parts_change_nothing(void)
{
    static const char *const by[][2] = {{"tid", "ts"}, {"ts", "tid"}, {"time_bucket", "tid"}};
    struct aggregate_options wide = {
        .group_by_count = 2, .aggregates = all, .aggregate_count = 15, .interval_ns = 1000};
    struct store s;

    random_state = 11;
    CHECK_STOP(store_begin(&s));
    for (unsigned file = 0; file < 3; file++)
        many_lines(&s, file, check_everything() ? 1500 : 800);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1) && pool_new(2, "test", &s.env.pool) == 0);
    for (unsigned i = 0; i < QUESTIONS;
         i += CHECK_THREADS_ONLY ? QUESTIONS : check_step(QUESTIONS, 3)) {
        char *rows = rows_of(&s, questions[i].query, questions[i].options);
        CHECK(least_memory(&s, questions[i].query, &questions[i].options, rows) > 0);
        free(rows);
    }
    for (unsigned i = 0; i < 3; i += CHECK_THREADS_ONLY ? 3 : 1) {
        wide.group_by = wide.sort = by[i];
        wide.sort_count = 0;
        char *rows = rows_of(&s, "", wide);
        uint64_t parted = least_memory(&s, "", &wide, rows);
        wide.offset = 1234, wide.limit = 1000;
        const char *from = after_lines(rows, 1234), *to = after_lines(from, 1000);
        char *page = rows_within(&s, "", wide, 2 * parted);
        CHECK(page && strlen(page) == (size_t)(to - from) && strncmp(page, from, to - from) == 0);
        wide.offset = wide.limit = 0;
        free(page);
        wide.sort_count = 1; /* all of them, as values */
        CHECK(parted > 0 &&
              parted < least_memory(&s, "", &wide, rows) / (CHECK_THREADS_ONLY ? 2 : 5));
        free(rows);
    }
    pool_free(s.env.pool);
    store_end(&s);
}

/* The first rows by their values are the same however many parts the groups were found in, and
 * "(other)" to the last bit. */
static void parts_are_put_in_order(void)
{
    static const char *const by[] = {"tid", "ts"}, *const sort[] = {"-x_sum", "x_last"};
    static const struct aggregate_options chosen[] = {
        {.sort = sort, .sort_count = 2, .offset = 5, .limit = 100},
        {.sort = sort, .sort_count = 2, .limit = 30, .having = "count > 0 AND x_sum < 5000"},
        {.top = 20, .top_by = "x_sum"},
        {.top = 20, .top_by = "x_mean", .having = "NOT tid == 2", .sort = sort, .sort_count = 1},
        {.top = 7, .top_by = "tid", .offset = 3, .limit = 5},
    };
    const struct aggregate_options unordered = {.group_by = by,
                                                .group_by_count = 2,
                                                .aggregates = all,
                                                .aggregate_count = 15,
                                                .interval_ns = 1000,
                                                .limit = UINT64_MAX};
    struct store s;

    random_state = 13;
    CHECK_STOP(store_begin(&s));
    for (unsigned file = 0; file < 3; file++)
        many_lines(&s, file, check_everything() ? 1500 : 800);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1) && pool_new(2, "test", &s.env.pool) == 0);
    char *every = rows_of(&s, "", unordered);
    uint64_t least = least_memory(&s, "", &unordered, every);
    free(every);
    for (size_t i = 0; i < sizeof(chosen) / sizeof(*chosen); i += CHECK_THREADS_ONLY ? 5 : 1) {
        struct aggregate_options o = chosen[i];
        o.group_by = by;
        o.group_by_count = 2;
        o.aggregates = all;
        o.aggregate_count = 15;
        o.interval_ns = 1000;
        char *rows = rows_of(&s, "", o);
        uint64_t ordered = least_memory(&s, "", &o, rows);
        CHECK(ordered > 0 && ordered < 4 * least);
        free(rows);
    }
    pool_free(s.env.pool);
    store_end(&s);
}

static void check_refused(struct store *s, const struct aggregate_options *o, uint64_t memory,
                          int rc, const char *says)
{
    struct budget budget = {.memory_limit = memory};
    struct err err = {0};
    struct buf out = {0};

    CHECK_INT(ask(s, "", o, &budget, &err, &out), rc);
    CHECK(err.text && strstr(err.text, says));
    err_done(&err);
    buf_done(&out);
}

static void limits_are_told(void)
{
    static const char *const by[] = {"args.x", "ts"}, *const sort[] = {"-count"};
    struct aggregate_options o = {.limit = UINT64_MAX,
                                  .interval_ns = 1000000,
                                  .group_by = by,
                                  .group_by_count = 2,
                                  .aggregates = all,
                                  .aggregate_count = 15};
    struct store s;

    random_state = 9;
    CHECK_STOP(store_begin(&s));
    many_lines(&s, 0, 20000);
    CHECK_STOP(store_ingest(&s, 64 << 10, 2));
    s.env.pool = s.pool;
    s.env.max_groups = 1000;
    check_refused(&s, &o, 0, ERR_ROW_LIMIT, "more than 1000 groups");
    s.env.max_groups = 0;
    o.sort = sort;
    o.sort_count = 1;
    check_refused(&s, &o, 3 << 20, ERR_MEMORY_LIMIT, "memory limit of a query (3 MiB)");
    o.sort_count = o.aggregate_count = 0;
    check_refused(&s, &o, 50000, ERR_MEMORY_LIMIT, "memory limit of a query (0 MiB)");
    store_end(&s);
}

/* Rows that are kept by their values are all that is left of a `top` of many, and their memory is
 * the query's. */
static void kept_rows_are_charged(void)
{
    static const char *const by[] = {"tid", "ts"}, *const sort[] = {"-x_sum"};
    const struct aggregate_options o = {.group_by = by,
                                        .group_by_count = 2,
                                        .aggregates = all,
                                        .aggregate_count = 15,
                                        .top = 4000,
                                        .top_by = "x_mean",
                                        .sort = sort,
                                        .sort_count = 1,
                                        .limit = UINT64_MAX,
                                        .interval_ns = 1000};
    enum { SLACK = 1 << 20 }; /* blocks, columns, chunks */
    struct selection selection;
    struct budget budget = {0};
    struct err err = {0};
    struct aggregate *a;
    struct query *q;
    struct store s;

    random_state = 17;
    CHECK_STOP(store_begin(&s));
    many_lines(&s, 0, 6000);
    CHECK_STOP(store_ingest(&s, 64 << 10, 1));
    selection_init(&selection);
    CHECK_INT(query_open(&s.env, s.snapshot, &selection, &budget, &err, &q), 0);
    struct mallinfo2 before = mallinfo2();
    CHECK_STOP(aggregate_open(q, &o, &err, &a) == 0);
    struct mallinfo2 after = mallinfo2();
    CHECK(budget.memory_used > 4000 * 17 * sizeof(struct value));
    CHECK(after.uordblks + after.hblkhd <
          before.uordblks + before.hblkhd + budget.memory_used + SLACK);
    aggregate_close(a);
    query_close(q);
    CHECK_INT(budget.memory_used, 0);
    store_end(&s);
}

static double thread_seconds(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Each once, here and there. */
static int64_t begin_of(uint32_t i)
{
    return (int64_t)(i * 2654435761u) * 4;
}

/* Processor seconds of all groups, one with `count` intervals of which none meets another, as
 * "(other)". */
static double seconds_of_others(struct budget *budget, uint32_t count, int want)
{
    struct arena arena = {0};
    struct aggregate_plan plan = {
        .budget = budget, .arena = &arena, .general = true, .intervals = true, .width = 1};
    const struct row_id row = {0};
    double begin, seconds;
    struct teller_state t = {.plan = &plan};
    struct best_rows *none;
    struct others *others;
    struct value values[2];

    CHECK_INT(plan_grouping(&plan), 0);
    CHECK_INT(groups_new(&plan.grouping, &t.found), 0);
    CHECK_INT(doubles_init(&t.found->doubles, &plan.grouping), 0);
    CHECK_INT(group_table_add(&t.found->set[0].map.table, &(uint64_t){1}), 0);
    CHECK_INT(groups_grow(t.found, 0), 0);
    for (uint32_t i = 0; i < count; i++) {
        int64_t from = begin_of(i);
        CHECK_INT(interval_add(plan_intervals(&plan, t.found), 0, from, from + 3), 0);
    }
    CHECK_INT(best_new(&plan, NULL, 0, 0, &none), 0);
    CHECK_INT(others_new(&plan, &others), 0);
    if (want < 0)
        budget_cancel(budget, want);
    begin = thread_seconds();
    CHECK_INT(others_add(others, &t, none, &row, want < 0 ? 0 : 1), want);
    seconds = thread_seconds() - begin;
    if (want == 0)
        CHECK_INT(others_tell(others, values), 0);
    others_free(others);
    best_free(none);
    groups_free(t.found);
    arena_done(&arena);
    CHECK_INT(budget->memory_used, 0);
    return seconds;
}

static int compare_begins(const void *a, const void *b, void *arg)
{
    const struct interval *x = a, *y = b;

    (void)arg;
    return (x->from > y->from) - (x->from < y->from);
}

/* Processor seconds of sorting these intervals once. */
static double seconds_of_sorting(struct budget *budget, uint32_t count)
{
    struct interval *intervals = calloc(count, sizeof(*intervals));
    double begin, seconds;

    for (uint32_t i = 0; intervals && i < count; i++)
        intervals[i].from = begin_of(i);
    begin = thread_seconds();
    CHECK(intervals &&
          sort_items(intervals, count, sizeof(*intervals), compare_begins, NULL, budget) == 0);
    seconds = thread_seconds() - begin;
    free(intervals);
    return seconds;
}

/* They are sorted whenever they have doubled: in all, that takes as long as sorting them once.
 * Sorted after each 65,536, they take four times as long here, eight times in check-all. Times of
 * the same work on as much memory are compared, the best of several: other processes use the
 * processor and its caches, too. And one that is cancelled does not wait for them. */
static void other_intervals_do_not_add_up(void)
{
    const uint32_t count = check_count(1600000, 800000);
    double added = INFINITY, sorted = INFINITY;
    struct budget budget = {0};

    for (int i = 0; i == 0 || (i < 5 && added > 2 * sorted); i++) {
        added = fmin(added, seconds_of_others(&budget, count, 0));
        sorted = fmin(sorted, seconds_of_sorting(&budget, count));
    }
    if (added > 2 * sorted)
        check_fail(__FILE__, __LINE__, "%.3f s, sorting %.3f s", added, sorted);
    seconds_of_others(&budget, 10, ERR_CANCELLED);
}

static const struct check_test tests[] = {
    {"kept_rows_are_charged", kept_rows_are_charged},
    {"other_intervals_do_not_add_up", other_intervals_do_not_add_up, true},
    {"sums_are_exact", sums_are_exact},
    {"threads_change_nothing", threads_change_nothing},
    {"parts_change_nothing", parts_change_nothing},
    {"parts_are_put_in_order", parts_are_put_in_order},
    {"limits_are_told", limits_are_told},
    {NULL, NULL},
};
CHECK_MAIN(tests)
