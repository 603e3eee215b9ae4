/* module: answer; threads */
/* /stats: every report on a few objects by hand; scans and summaries, threads and chunks give the
 * same answer. */
#include "dftracerd/query.h"
#include "dftracerd/stats.h"
#include "query_store.h"

static struct stats *run_on(struct store *s, const char *query, struct stats_options *options,
                            struct err *err)
{
    struct selection selection;
    struct budget budget = {0};
    struct query *q;
    struct stats *stats = NULL;

    selection_init(&selection);
    selection.query = text_of(query);
    if (!CHECK_INT(query_open(&s->env, s->snapshot, &selection, &budget, err, &q), 0)) {
        printf("   %s\n", err->text);
        return NULL;
    }
    stats_run(q, options, err, &stats);
    query_close(q);
    CHECK_INT(budget.memory_used, stats ? stats->arena.charged : 0);
    if (stats)
        stats->arena.budget = NULL; /* it is kept longer than the budget */
    return stats;
}

static struct stats *run(struct store *s, const char *query, struct stats_options options)
{
    struct err err = {0};
    struct stats *stats = run_on(s, query, &options, &err);

    if (!CHECK(stats))
        printf("   %s\n", err.text);
    err_done(&err);
    return stats;
}

/* ---- by hand --------------------------------------------------------------------------------- */

#define X(name, cat, pid, tid, ts, dur, args) \
    "{\"id\":1,\"name\":\"" name "\",\"cat\":\"" cat "\",\"pid\":" pid ",\"tid\":" tid \
    ",\"ts\":" ts ",\"dur\":" dur ",\"ph\":\"X\",\"args\":{" args "}}\n"

static const char by_hand[] =
    "[\n"
    "{\"name\":\"HH\",\"cat\":\"dftracer\",\"pid\":1,\"tid\":1,\"ph\":\"M\",\"args\":{\"name\":"
    "\"node1\",\"value\":\"aa\"}}\n" X("read", "POSIX", "1", "1", "1000", "10",
                                       "\"hhash\":\"aa\",\"ret\":100,\"offset\":0")
        X("read", "POSIX", "1", "2", "1010", "20", "\"hhash\":\"aa\",\"ret\":300,\"offset\":100")
            X("write", "POSIX", "1", "2", "1020", "0", "\"hhash\":\"aa\",\"ret\":50")
                X("read", "POSIX", "2", "2", "1030", "30", "\"hhash\":\"aa\",\"ret\":-1")
                    X("step", "AI", "2", "2", "900", "1000",
                      "") "{\"name\":\"step\",\"ph\":\"X\",\"ts\":5000,"
                          "\"args\":{}}\n" /* dur 0, no cat, no thread */
                          "{\"name\":\"cpu\",\"cat\":\"sys\",\"ph\":\"C\","
                          "\"pid\":1,\"tid\":1,\"ts\":2000,\"args\":{\"hhash\":"
                          "\"aa\"}}\n"          /* no dur */
    X("late", "AI", "3", "3", "null", "5", ""); /* no ts */

static bool hand_store(struct store *s)
{
    if (!store_begin(s))
        return false;
    store_file(s, "a.pfw", by_hand, sizeof(by_hand) - 1);
    return store_ingest(s, 0, 1);
}

static void check_cat(const struct stats_count *c, const char *cat, uint64_t count)
{
    if (cat)
        CHECK_TEXT(c->cat.text, cat);
    else
        CHECK_INT(c->cat.type, VALUE_NULL);
    CHECK_INT(c->count, count);
}

static void check_summary(struct store *s, bool scan)
{
    struct stats *a = run(
        s, "",
        (struct stats_options){.report = STATS_SUMMARY, .top_n_pid_tid = 2, .no_summary = scan});

    CHECK_STOP(a);
    CHECK_INT(a->events, 8);
    CHECK_INT(a->counters.files, 1);
    CHECK_INT(scan ? a->counters.chunks_scanned : a->counters.chunks_from_summary, 1);
    CHECK_INT(a->min_ts.wide, 900000);
    CHECK_INT(a->max_te.wide, 5000000);
    CHECK_INT(a->span.wide, 4100000);
    CHECK_INT(a->duration.count, 7);
    CHECK_INT(a->duration.sum.wide, 1065000);
    CHECK_NEAR(a->duration.mean.d, 152.14285714285714, 1e-14);
    CHECK_NEAR(a->duration.std.d, 374.03049277272771, 1e-14);
    CHECK_INT(a->duration.min.wide, 0);
    CHECK_INT(a->duration.max.wide, 1000000);
    CHECK_INT(a->duration.quantiles[0].wide, 0);     /* p10: the first of 0 0 5 10 20 30 1000 */
    CHECK_INT(a->duration.quantiles[2].wide, 10000); /* p50: the fourth */
    CHECK_INT(a->duration.quantiles[6].wide, 1000000);
    CHECK(a->has_categories && a->has_pid_tids && a->has_histogram && !a->has_names &&
          !a->has_groups);
    CHECK_INT(a->category_count, 4);
    check_cat(&a->categories[0], "POSIX", 4);
    check_cat(&a->categories[1], "AI", 2);
    check_cat(&a->categories[2], NULL, 1);
    check_cat(&a->categories[3], "sys", 1);
    /* 1:1 node1 2, 1:2 node1 2, 2:2 node1 2, then the others: cut to 2 of 5 */
    CHECK_INT(a->pid_tids_total, 5);
    CHECK_INT(a->pid_tid_count, 2);
    CHECK_INT(a->pid_tids[0].pid.i, 1);
    CHECK_INT(a->pid_tids[0].tid.i, 1);
    CHECK_TEXT(a->pid_tids[0].host.text, "node1");
    CHECK_INT(a->pid_tids[0].count, 2);
    CHECK_INT(a->pid_tids[1].tid.i, 2);
    CHECK_INT(a->histogram_count, 5);
    CHECK(a->histogram[0].lo == 0 && a->histogram[0].hi == 0 && a->histogram[0].count == 2);
    CHECK(a->histogram[1].lo == 4 && a->histogram[1].hi == 8 && a->histogram[1].count == 1);
    CHECK(a->histogram[3].lo == 16 && a->histogram[3].hi == 32 && a->histogram[3].count == 2);
    CHECK(a->histogram[4].lo == 512 && a->histogram[4].hi == 1024 && a->histogram[4].count == 1);
    stats_free(a);
}

static void summary_by_hand(void)
{
    struct store s;

    CHECK_STOP(hand_store(&s));
    check_summary(&s, false);
    check_summary(&s, true);
    store_end(&s);
}

static void names_are_cut(void)
{
    struct store s;

    CHECK_STOP(hand_store(&s));
    for (int scan = 0; scan < 2; scan++) {
        struct stats *a =
            run(&s, "",
                (struct stats_options){.report = STATS_TOP_NAMES, .top_n = 3, .no_summary = scan});
        CHECK_STOP(a);
        CHECK_INT(a->names_total, 6);
        CHECK_INT(a->name_count, 3);
        check_cat(&a->names[0], "POSIX", 3);
        CHECK_TEXT(a->names[0].name.text, "read");
        check_cat(&a->names[1], NULL, 1); /* null is sorted first */
        CHECK_TEXT(a->names[1].name.text, "step");
        check_cat(&a->names[2], "AI", 1);
        CHECK_TEXT(a->names[2].name.text, "late");
        stats_free(a);
        a = run(&s, "",
                (struct stats_options){.report = STATS_NAMES, .top_n = 3, .no_summary = scan});
        CHECK_INT(a->name_count, 6);
        stats_free(a);
        a = run(
            &s, "",
            (struct stats_options){.report = STATS_TOP_CATEGORIES, .top_n = 1, .no_summary = scan});
        CHECK_INT(a->category_count, 1);
        CHECK_INT(a->categories_total, 4);
        stats_free(a);
    }
    store_end(&s);
}

static void groups_by_hand(void)
{
    static const char *const by[] = {"name", "pid_tid", "pid"};
    struct store s;

    CHECK_STOP(hand_store(&s));
    struct stats *a = run(&s, "cat == \"POSIX\"", (struct stats_options){.report = STATS_DETAILED});
    CHECK_STOP(a);
    CHECK_INT(a->events, 4);
    CHECK_INT(a->group_by_count, 1);
    CHECK_STR(a->group_by[0], "name");
    CHECK_INT(a->group_count, 2);
    const struct stats_group *g = &a->groups[0];
    CHECK_TEXT(g->keys[0].text, "read");
    CHECK_INT(g->count, 3);
    CHECK_INT(g->duration.sum.wide, 60000);
    CHECK_NEAR(g->duration.std.d, 10, 1e-15);
    CHECK_INT(g->size.count, 2); /* a failed call has no size */
    CHECK_INT((int64_t)g->size.sum.wide, 400);
    CHECK_NEAR(g->size.mean.d, 200, 0);
    CHECK_INT(g->size.quantiles[2].i, 100);
    CHECK_INT(g->bandwidth.count, 2); /* 100 bytes in 10 us, 300 in 20 */
    CHECK_NEAR(g->bandwidth.min.d, 1e7, 0);
    CHECK_NEAR(g->bandwidth.max.d, 1.5e7, 0);
    CHECK_NEAR(g->bandwidth.mean.d, 1.25e7, 1e-15);
    CHECK_NEAR(g->bandwidth.std.d, 3535533.9059327375, 1e-15);
    CHECK_NEAR(g->bandwidth.quantiles[6].d, 1.5e7, 0);
    CHECK_INT(g->offset.count, 2);
    CHECK_INT((int64_t)g->offset.max.wide, 100);
    g = &a->groups[1];
    CHECK_TEXT(g->keys[0].text, "write");
    CHECK_INT(g->size.count, 1);
    CHECK_INT(g->bandwidth.count, 0); /* dur 0 */
    CHECK_INT(g->bandwidth.mean.type, VALUE_NULL);
    CHECK_INT(g->bandwidth.sum.type, VALUE_WIDE);
    CHECK_INT(g->offset.count, 0);
    stats_free(a);
    a = run(&s, "cat == \"POSIX\"",
            (struct stats_options){
                .report = STATS_DETAILED, .group_by = by, .group_by_count = 3, .top_n = 2});
    CHECK_STOP(a);
    CHECK_INT(a->group_by_count, 3);
    CHECK_STR(a->group_by[2], "tid");
    CHECK_INT(a->groups_total, 4);
    CHECK_INT(a->group_count, 2);
    CHECK_INT(a->groups[0].keys[1].i, 1); /* all have count 1: read 1 1, read 1 2 */
    CHECK_INT(a->groups[0].keys[2].i, 1);
    CHECK_INT(a->groups[1].keys[2].i, 2);
    stats_free(a);
    store_end(&s);
}

static void nothing_selected(void)
{
    static const enum stats_report reports[] = {STATS_SUMMARY, STATS_NAMES, STATS_DETAILED,
                                                STATS_TIME_RANGE};
    struct store s;

    CHECK_STOP(hand_store(&s));
    for (size_t i = 0; i < sizeof(reports) / sizeof(reports[0]); i++) {
        struct stats *a =
            run(&s, "name == \"nobody\"", (struct stats_options){.report = reports[i]});
        CHECK_STOP(a);
        CHECK_INT(a->events, 0);
        CHECK_INT(a->min_ts.type, VALUE_NULL);
        CHECK_INT(a->span.type, VALUE_NULL);
        CHECK_INT(a->group_count + a->name_count + a->category_count + a->pid_tid_count +
                      a->histogram_count,
                  0);
        if (a->has_duration) {
            CHECK_INT(a->duration.sum.type, VALUE_TIME);
            CHECK_INT(a->duration.sum.wide, 0);
            CHECK_INT(a->duration.mean.type, VALUE_NULL);
        }
        stats_free(a);
    }
    store_end(&s);
}

static void limits(void)
{
    static const char *const by[] = {"name", "cat"};
    struct stats_options options = {.report = STATS_DETAILED, .group_by = by, .group_by_count = 2};
    struct store s;
    struct err err = {0};

    CHECK_STOP(hand_store(&s));
    s.env.max_groups = 5;
    CHECK(run_on(&s, "", &options, &err) == NULL);
    CHECK_INT(err.code, ERR_ROW_LIMIT);
    err_done(&err);
    s.env.max_groups = 6;
    stats_free(run(&s, "", options));
    store_end(&s);
}

/* ---- the same answer every way --------------------------------------------------------------- */

static void put_value(struct buf *out, const struct value *v)
{
    char text[64];

    if (v->type == VALUE_TEXT)
        buf_text(out, v->text);
    else if (v->type == VALUE_DOUBLE)
        buf_printf(out, "%.17g", v->d);
    else if (v->type == VALUE_WIDE || v->type == VALUE_TIME)
        buf_append(out, text, num_format_i128(v->wide, text));
    else if (v->type == VALUE_NULL)
        buf_putc(out, '-');
    else
        buf_printf(out, "%lld", (long long)v->i);
    buf_putc(out, ' ');
}

static void put_measured(struct buf *out, const struct measured *m)
{
    const struct value *all[] = {&m->sum, &m->mean, &m->std, &m->min, &m->max};

    buf_printf(out, "(%llu ", (unsigned long long)m->count);
    for (int i = 0; i < 5; i++)
        put_value(out, all[i]);
    for (int i = 0; i < STATS_QUANTILES; i++)
        put_value(out, &m->quantiles[i]);
    buf_putc(out, ')');
}

static void put_counts(struct buf *out, const struct stats_count *c, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const struct value *all[] = {&c[i].cat, &c[i].name, &c[i].pid, &c[i].tid, &c[i].host};
        for (int k = 0; k < 5; k++)
            put_value(out, all[k]);
        buf_printf(out, "%llu\n", (unsigned long long)c[i].count);
    }
}

/* All that an answer tells, as text. */
static char *all_of(const struct stats *s)
{
    struct buf out = {0};

    buf_printf(&out, "%llu ", (unsigned long long)s->events);
    put_value(&out, &s->min_ts);
    put_value(&out, &s->max_te);
    put_measured(&out, &s->duration);
    put_counts(&out, s->categories, s->category_count);
    put_counts(&out, s->names, s->name_count);
    put_counts(&out, s->pid_tids, s->pid_tid_count);
    for (size_t i = 0; i < s->group_count; i++) {
        for (size_t k = 0; k < s->group_by_count; k++)
            put_value(&out, &s->groups[i].keys[k]);
        buf_printf(&out, "%llu", (unsigned long long)s->groups[i].count);
        put_measured(&out, &s->groups[i].duration);
        put_measured(&out, &s->groups[i].size);
        put_measured(&out, &s->groups[i].bandwidth);
        put_measured(&out, &s->groups[i].offset);
        buf_putc(&out, '\n');
    }
    for (size_t i = 0; i < s->histogram_count; i++)
        buf_printf(&out, "[%g,%g) %llu\n", s->histogram[i].lo, s->histogram[i].hi,
                   (unsigned long long)s->histogram[i].count);
    return buf_steal(&out, NULL);
}

static uint64_t random_state = 5;
static uint64_t next_random(void)
{
    random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
    return random_state >> 20;
}

/* Three files: whole us, ns by fractions, sizes that are fractions now and then. */
static void many_lines(struct store *s, unsigned file, unsigned count)
{
    static const char *const names[] = {"read", "write", "open64", "forward", "step", "compute"};
    struct buf text = {0};
    char name[16];

    for (unsigned i = 0; i < count; i++) {
        unsigned kind = (unsigned)(next_random() % 6),
                 dur = (unsigned)(next_random() % (1u << next_random() % 22));
        buf_printf(&text,
                   "{\"id\":%u,\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%u,\"tid\":%u,\"ts\":%u,"
                   "\"dur\":%u%s,\"ph\":\"X\",\"args\":{",
                   i, names[kind], kind < 3 ? "POSIX" : "AI", 10 + file,
                   (unsigned)(next_random() % 5), 1000 + i * 7, dur, file == 1 ? ".125" : "");
        if (kind < 2)
            buf_printf(&text, "\"ret\":%u,\"offset\":%u", (unsigned)(next_random() % 100000),
                       i * 100);
        else if (file == 2)
            buf_printf(&text, "\"size_sum\":%u.%u,\"offset\":%u.5",
                       (unsigned)(next_random() % 1000), i % 10, i);
        buf_puts(&text, "}}\n");
    }
    snprintf(name, sizeof(name), "%u.pfw", file);
    store_file(s, name, text.data, text.len);
    buf_done(&text);
}

static const struct {
    const char *query;
    struct stats_options options;
    const char *by[4];
} questions[] = {
    {"", {.report = STATS_SUMMARY}, {NULL}},
    {"", {.report = STATS_NAMES}, {NULL}},
    {"", {.report = STATS_CATEGORIES}, {NULL}},
    {"", {.report = STATS_PID_TIDS}, {NULL}},
    {"", {.report = STATS_DURATION}, {NULL}},
    {"", {.report = STATS_TIME_RANGE}, {NULL}},
    {"", {.report = STATS_DETAILED, .group_by_count = 2}, {"cat", "name"}},
    {"", {.report = STATS_DETAILED, .group_by_count = 2, .exact = true}, {"cat", "name"}},
    {"dur > 100", {.report = STATS_DETAILED, .group_by_count = 3}, {"name", "tid", "trace"}},
    {"name LIKE '%e%' and tid != 3", {.report = STATS_SUMMARY}, {NULL}},
    {"name == 'read'", {.report = STATS_DETAILED, .group_by_count = 1, .top_n = 20}, {"args.ret"}},
    {"", {.report = STATS_DETAILED, .group_by_count = 1, .top_n = 50}, {"args.offset"}},
};
enum { QUESTIONS = sizeof(questions) / sizeof(questions[0]) };

static void ask_all(struct store *s, bool scan, char **answers, bool compare)
{
    for (int i = 0; i < QUESTIONS; i++) {
        struct stats_options options = questions[i].options;
        options.group_by = questions[i].by;
        options.no_summary = scan;
        struct stats *a = run(s, questions[i].query, options);
        CHECK_STOP(a);
        char *told = all_of(a);
        stats_free(a);
        if (!compare) {
            answers[i] = told;
            continue;
        }
        if (strcmp(told, answers[i]) != 0)
            check_fail(__FILE__, __LINE__, "question %d differs:\n%.600s\n%.600s", i, told,
                       answers[i]);
        free(told);
    }
}

static void same_every_way(void)
{
    char *answers[QUESTIONS] = {0};
    struct store s;

    for (int round = 0; round < 2; round++) {
        CHECK_STOP(store_begin(&s));
        random_state = 5;
        for (unsigned file = 0; file < 3; file++)
            many_lines(&s, file, CHECK_THREADS_ONLY ? 3500 : 9000); /* more than five chunks */
        CHECK_STOP(store_ingest(&s, 64 << 10, round ? 4 : 1));
        CHECK(snapshot_file(s.snapshot, 0)->chunk_count > 5);
        ask_all(&s, true, answers, round > 0);
        ask_all(&s, false, answers, true);
        store_end(&s);
    }
    for (int i = 0; i < QUESTIONS; i++)
        free(answers[i]);
}

static void memory_is_limited(void)
{
    static const char *const by[] = {"args.offset", "args.ret"};
    struct stats_options options = {.report = STATS_DETAILED, .group_by = by, .group_by_count = 2};
    struct selection selection;
    struct store s;

    CHECK_STOP(store_begin(&s));
    many_lines(&s, 0, 20000);
    CHECK_STOP(store_ingest(&s, 64 << 10, 2));
    selection_init(&selection);
    for (size_t limit = 1 << 16; limit <= 1 << 26; limit <<= 5) {
        struct budget budget = {.memory_limit = limit};
        struct err err = {0};
        struct stats *a = NULL;
        struct query *q;
        CHECK_STOP(query_open(&s.env, s.snapshot, &selection, &budget, &err, &q) == 0);
        int rc = stats_run(q, &options, &err, &a);
        CHECK_INT(rc, limit < 1 << 24 ? ERR_MEMORY_LIMIT : 0);
        CHECK_INT(err.code, rc);
        stats_free(a);
        query_close(q);
        CHECK_INT(budget.memory_used, 0);
        err_done(&err);
    }
    struct budget budget = {0};
    struct err err = {0};
    struct stats *a = NULL;
    struct query *q;
    CHECK_STOP(query_open(&s.env, s.snapshot, &selection, &budget, &err, &q) == 0);
    budget_cancel(&budget, ERR_CANCELLED);
    CHECK_INT(stats_run(q, &options, &err, &a), ERR_CANCELLED);
    query_close(q);
    err_done(&err);
    store_end(&s);
}

static void reports_have_names(void)
{
    enum stats_report r;

    CHECK_INT(stats_report_parse(TEXT("top-names"), &r), 0);
    CHECK_INT(r, STATS_TOP_NAMES);
    CHECK_STR(stats_report_names[STATS_PID_TIDS], "pid_tids");
    CHECK(stats_report_parse(TEXT("Names"), &r) < 0);
}

static const struct check_test tests[] = {
    {"summary_by_hand", summary_by_hand},
    {"names_are_cut", names_are_cut},
    {"groups_by_hand", groups_by_hand},
    {"nothing_selected", nothing_selected},
    {"limits", limits},
    {"same_every_way", same_every_way},
    {"memory_is_limited", memory_is_limited},
    {"reports_have_names", reports_have_names},
    {NULL, NULL},
};
CHECK_MAIN(tests)
