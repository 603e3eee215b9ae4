/* module: format; alone */
/* Queries with very many distinct names check often whether they must stop, and then stop there.
 * Each check of a budget reads the clock, so a clock of the test's own counts checks, and a
 * deadline is the number of the check at which a query has to stop. */
#include "dftracerd/call_tree.h"
#include "dftracerd/compare.h"
#include "dftracerd/stats.h"
#include "query_store.h"

#include "dftracerd/format.h"

#include <sys/syscall.h>
#include <time.h>

enum { NAMES = 30000, PLACES = 12 };
/* Closing makes further checks, after the one that stops the query. */
enum { LOOKS_AFTER = 4 };

static _Thread_local bool counted;
static _Thread_local long looks;

/* Replaces the function of the C library. */
int clock_gettime(clockid_t id, struct timespec *ret)
{
    if (!counted || id != CLOCK_MONOTONIC)
        return (int)syscall(SYS_clock_gettime, id, ret);
    *ret = (struct timespec){.tv_nsec = ++looks};
    return 0;
}

struct question {
    const char *name;
    enum stats_report report;
    const char *group_by;
    bool scan, tree, analyze, compare;
    const char *focus;
    uint64_t top;
    enum format format;
    int64_t
        /* minimum of checks of a whole answer: each pass over the names makes seven or more */
        least;
};

static int tell_stats(const struct question *a, struct query *q, struct err *err, struct buf *out)
{
    struct stats_options o = {.report = a->report,
                              .no_summary = a->scan,
                              .top_n = a->top,
                              .top_n_pid_tid = 0,
                              .group_by = &a->group_by,
                              .group_by_count = a->group_by != NULL};
    struct stats *s = NULL;
    int rc = stats_run(q, &o, err, &s);

    rc = rc < 0 ? rc : format_stats(s, a->format, false, out);
    stats_free(s);
    return rc;
}

static int tell_tree(const struct question *a, struct query *q, struct err *err)
{
    struct call_tree_options o = {.analyze = a->analyze, .focus = a->focus};
    struct call_tree *t = NULL;
    int rc = call_tree_open(q, &o, err, &t);

    call_tree_close(t);
    return rc;
}

static int tell_difference(const struct question *a, struct store *s, struct budget *budget,
                           struct err *err, struct buf *out)
{
    static const char *const keys[] = {"name"}, *const labels[] = {"one", "two"};
    struct selection sides[2];
    const struct compare_node_options node = {
        .group_by = keys, .group_by_count = 1, .metrics = COMPARE_ALL};
    const struct compare_options o = {.sides = sides,
                                      .side_count = 2,
                                      .labels = labels,
                                      .fail_on = -1,
                                      .interval_ns = 1000000,
                                      .nodes = &node,
                                      .node_count = 1};
    const struct format_compare_options told = {.format = a->format, .budget = budget};
    struct comparison *c = NULL;

    for (int i = 0; i < 2; i++) {
        selection_init(&sides[i]);
        sides[i].query = text_of(i ? "tid == 1 and dur < 3" : "tid == 0 and dur < 3");
    }
    int rc = compare_run(&s->env, s->snapshot, &o, budget, err, &c);
    rc = rc < 0 ? rc : format_compare(c, &told, out);
    comparison_free(c);
    return rc;
}

/* Returns the error of a query that has to stop at the `until`-th check (0: never). */
static int ask(struct store *s, const struct question *a, int64_t until, int64_t *ret_looks)
{
    struct budget budget = {.deadline_ns = until};
    struct selection selection;
    struct err err = {0};
    struct buf out = {0};
    struct query *q = NULL;

    selection_init(&selection);
    selection.phases = PHASE_EVENTS;
    counted = true;
    looks = 0;
    int rc = a->compare ? tell_difference(a, s, &budget, &err, &out)
                        : query_open(&s->env, s->snapshot, &selection, &budget, &err, &q);
    if (rc == 0 && !a->compare)
        rc = a->tree ? tell_tree(a, q, &err) : tell_stats(a, q, &err, &out);
    *ret_looks = looks;
    counted = false;
    query_close(q);
    CHECK_INT(budget.memory_used, 0);
    buf_done(&out);
    err_done(&err);
    return rc;
}

static void stops_everywhere(struct store *s, const struct question *a)
{
    int64_t all, done;

    CHECK_INT(ask(s, a, 0, &all), 0);
    if (all < a->least)
        check_fail(__FILE__, __LINE__, "%s: %" PRId64 " looks, not %" PRId64, a->name, all,
                   a->least);
    for (int64_t i = 0; i < PLACES; i += check_step(PLACES, PLACES)) {
        int64_t until = 1 + i * (all - LOOKS_AFTER) / PLACES;
        int rc = ask(s, a, until, &done);
        if (rc != ERR_DEADLINE || done > until + LOOKS_AFTER)
            check_fail(__FILE__, __LINE__,
                       "%s: %d after %" PRId64 " looks, %" PRId64 " of %" PRId64, a->name, rc, done,
                       until, all);
    }
}

static void names_of_their_own(void)
{
    static const struct question questions[] = {
        {"names", STATS_NAMES, .format = FORMAT_JSON, .least = 265},
        {"names, scanned", STATS_NAMES, .scan = true, .format = FORMAT_CSV, .least = 318},
        {"top names, scanned", STATS_TOP_NAMES, .scan = true, .top = 10, .least = 189},
        {"names as text", STATS_NAMES, .format = FORMAT_TEXT, .least = 265},
        {"groups", STATS_DETAILED, "name", .format = FORMAT_JSON, .least = 346},
        {"groups by file", STATS_DETAILED, "file", .format = FORMAT_CSV, .least = 349},
        {"summary", STATS_SUMMARY, .format = FORMAT_JSON, .top = 10, .least = 10},
        {"comparison", .compare = true, .format = FORMAT_JSON, .least = 13174},
        {"comparison as rows", .compare = true, .format = FORMAT_CSV, .least = 13174},
        {"comparison as text", .compare = true, .format = FORMAT_TEXT, .least = 13677},
        {"call tree", .tree = true, .least = 216},
        {"calls", .tree = true, .analyze = true, .least = 486},
        {"calls of one", .tree = true, .analyze = true, .focus = "function_7", .least = 418},
    };
    struct store s;
    struct buf lines = {0};

    CHECK_STOP(store_begin(&s));
    for (unsigned i = 0; i < NAMES; i++)
        buf_printf(&lines,
                   "{\"id\":%u,\"name\":\"function_%u\",\"cat\":\"c\",\"pid\":1,\"tid\":%u,"
                   "\"ts\":%u,\"dur\":%u,\"ph\":\"X\",\"args\":{\"fname\":\"/f%u\"}}\n",
                   i, i * 7919 % NAMES, i % 2, i * 10, i % 7, i);
    store_file(&s, "a.pfw", lines.data, lines.len);
    buf_done(&lines);
    if (store_ingest(&s, 0, 1)) {
        for (size_t i = 0; i < sizeof(questions) / sizeof(questions[0]); i++)
            stops_everywhere(&s, &questions[i]);
    }
    store_end(&s);
}

static const struct check_test tests[] = {{"names_of_their_own", names_of_their_own, true},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
