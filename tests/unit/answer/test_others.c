/* module: answer */
/* The time that the intervals of many groups take when they become "(other)". */
#include "answer/aggregate/rows.h"
#include "answer/aggregate/scan.h"
#include "check.h"

#include <math.h>
#include <time.h>

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
    struct row_reader t = {.plan = &plan};
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
        CHECK_INT(others_values(others, values), 0);
    others_free(others);
    best_free(none);
    groups_free(t.found);
    arena_done(&arena);
    CHECK_INT(budget->memory_used, 0);
    return seconds;
}

static int compare_begins(const void *a, const void *b, void *arg)
{
    const struct span *x = a, *y = b;

    (void)arg;
    return (x->lo > y->lo) - (x->lo < y->lo);
}

/* Processor seconds of sorting these intervals once. */
static double seconds_of_sorting(struct budget *budget, uint32_t count)
{
    struct span *intervals = calloc(count, sizeof(*intervals));
    double begin, seconds;

    for (uint32_t i = 0; intervals && i < count; i++)
        intervals[i].lo = begin_of(i);
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
    {"other_intervals_do_not_add_up", other_intervals_do_not_add_up, true},
    {NULL, NULL},
};
CHECK_MAIN(tests)
