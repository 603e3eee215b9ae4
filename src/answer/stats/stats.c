/* stats.c - /stats: plans counts and sums, computes them from summaries or by a scan, and fills the
 * answer. */
#include "answer/stats/measure.h"
#include "answer/stats/result.h"
#include "answer/stats/scan.h"
#include "answer/stats/summary.h"
#include "engine/group/order.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdlib.h>

/* ---- reports --------------------------------------------------------------------------------- */

enum {
    WANT_DURATION = 1,
    WANT_CATEGORIES = 2,
    WANT_NAMES = 4,
    WANT_THREADS = 8,
    WANT_GROUPS = 16,
    LIMIT_TOP = 32 /* top_n limits the counts */
};

static const unsigned report_parts[] = {
    [STATS_SUMMARY] = WANT_DURATION | WANT_CATEGORIES | WANT_THREADS,
    [STATS_CATEGORIES] = WANT_CATEGORIES,
    [STATS_NAMES] = WANT_NAMES,
    [STATS_PID_TIDS] = WANT_THREADS,
    [STATS_TIME_RANGE] = 0,
    [STATS_DURATION] = WANT_DURATION,
    [STATS_TOP_NAMES] = WANT_NAMES | LIMIT_TOP,
    [STATS_TOP_CATEGORIES] = WANT_CATEGORIES | LIMIT_TOP,
    [STATS_DETAILED] = WANT_GROUPS,
};

/* ---- plan ------------------------------------------------------------------------------------ */

static int add_group_key(struct stats_plan *plan, struct stats *s, const char *path,
                         struct err *err)
{
    for (size_t i = 0; i < s->group_by_count; i++) {
        if (strcmp(s->group_by[i], path) == 0)
            return 0;
    }
    if (plan->group_width == GROUP_KEYS_MAX)
        return err_set_param(err, ERR_PARAM, "group_by",
                             "`group_by`: at most %d columns are allowed", GROUP_KEYS_MAX);
    const char *copy = arena_strdup(&s->arena, text_of(path));
    if (!copy)
        return -ENOMEM;
    s->group_by[s->group_by_count++] = copy;
    const struct source **key = &plan->group_keys[plan->group_width++];
    int rc = query_source(plan->query, text_of(copy), key);
    return rc < 0 ? rc : query_check_argument(plan->query, *key, "group_by", err);
}

static int plan_groups(struct stats_plan *plan, struct stats *s, const struct stats_options *o,
                       struct err *err)
{
    static const char *const by_name[] = {"name"};
    const char *const *paths = o->group_by_count ? o->group_by : by_name;
    size_t count = o->group_by_count ? o->group_by_count : 1;
    int rc = 0;

    if (!(report_parts[o->report] & WANT_GROUPS) && o->group_by_count == 0)
        return 0;
    plan->groups = s->has_groups = true;
    s->group_by = arena_alloc(&s->arena, (count * 2 + 1) * sizeof(*s->group_by));
    if (!s->group_by)
        return -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        bool both = strcmp(paths[i], "pid_tid") == 0;
        rc = add_group_key(plan, s, both ? "pid" : paths[i], err);
        if (both && rc == 0)
            rc = add_group_key(plan, s, "tid", err);
    }
    return rc;
}

static int plan_counts(struct stats_plan *plan, unsigned wants)
{
    static const struct {
        unsigned want, width;
        const char *keys[3];
    } tables[COUNT_TABLES] = {
        [COUNT_CATEGORIES] = {WANT_CATEGORIES, 1, {"cat"}},
        [COUNT_NAMES] = {WANT_NAMES, 2, {"cat", "name"}},
        [COUNT_THREADS] = {WANT_THREADS, 3, {"pid", "tid", "host"}},
    };

    for (unsigned i = 0; i < COUNT_TABLES; i++) {
        plan->count[i] = wants & tables[i].want;
        plan->count_width[i] = tables[i].width;
        for (unsigned k = 0; plan->count[i] && k < tables[i].width; k++) {
            int rc = query_source(plan->query, text_of(tables[i].keys[k]), &plan->count_keys[i][k]);
            if (rc < 0)
                return rc;
        }
    }
    return 0;
}

static int plan_make(struct stats_plan *plan, struct stats *s, const struct stats_options *o,
                     struct err *err)
{
    unsigned wants = report_parts[o->report];
    const struct {
        const struct source **at;
        const char *path;
    } sources[] = {
        {&plan->ts, "ts"},
        {&plan->dur, "dur"},
        {&plan->size, "size"},
        {&plan->offset, "args.offset"},
    };
    int rc = 0;

    plan->max_groups = query_environment(plan->query)->max_groups;
    plan->exact = o->exact;
    plan->total_duration = wants & WANT_DURATION;
    for (unsigned i = 0; i < sizeof(sources) / sizeof(sources[0]) && rc == 0; i++)
        rc = query_source(plan->query, text_of(sources[i].path), sources[i].at);
    rc = rc < 0 ? rc : plan_counts(plan, wants);
    return rc < 0 ? rc : plan_groups(plan, s, o, err);
}

/* ---- the answer ------------------------------------------------------------------------------ */

static int set_key(struct stats *s, struct query *q, uint64_t key, struct value *ret)
{
    query_key_value(q, key, ret);
    return value_keep_text(&s->arena, ret);
}

static int set_counts(struct stats *s, const struct stats_found *f, unsigned table, uint64_t top,
                      struct stats_count **ret, size_t *ret_count, uint64_t *ret_total)
{
    const struct stats_plan *plan = f->plan;
    const struct groups_of_set *t = &f->groups->set[SET_COUNTS + table];
    uint32_t *order = NULL;
    size_t n = 0;
    int rc = groups_by_count(f->groups, SET_COUNTS + table, true, top, &order, &n);

    *ret_total = t->map.table.count;
    *ret_count = n;
    *ret = stats_rows(s, n, sizeof(**ret), &rc);
    for (size_t i = 0; i < n && rc == 0; i++) {
        const uint64_t *keys = group_table_keys(&t->map.table, order[i]);
        struct stats_count *c = *ret + i;
        struct value *const by[COUNT_TABLES][3] = {
            {&c->cat}, {&c->cat, &c->name}, {&c->pid, &c->tid, &c->host}};
        c->count = *group_count(t, order[i]);
        for (unsigned k = 0; k < plan->count_width[table] && rc == 0; k++)
            rc = set_key(s, plan->query, keys[k], by[table][k]);
        if (rc == 0 && i % STATS_CHECKED == 0)
            rc = stats_step(s);
    }
    free(order);
    return rc;
}

static int set_total(struct stats *s, struct stats_found *f)
{
    const struct groups_of_set *all = &f->groups->set[SET_TOTAL];
    /* The text of a detailed report begins with the total of all groups. */
    bool of_groups = !f->plan->total_duration;
    uint32_t groups = of_groups ? f->groups->set[SET_GROUPS].map.table.count : 0;
    struct sample sample = {0};
    struct quantity total = {.sample = &sample};
    struct histogram h = {{0}};
    int rc = 0;

    if (!of_groups && all->map.table.count)
        group_quantity(f->groups, SET_TOTAL, 0, 0, &total);
    for (uint32_t i = 0; i < groups && rc == 0; i++) {
        struct quantity q;
        group_quantity(f->groups, SET_GROUPS, i, Q_DURATION, &q);
        rc = quantity_add(&f->groups->memory, &total, &q);
        if (rc == 0 && i % STATS_CHECKED == 0)
            rc = budget_check(f->plan->budget);
    }
    rc = rc < 0 ? rc : quantity_measure(&total, true, &s->duration);
    s->has_duration = s->report != STATS_DETAILED;
    if (rc < 0 || of_groups)
        return rc;
    sample_histogram(total.sample, &h);
    return stats_set_histogram(s, &h);
}

static int set_group(struct stats *s, struct stats_found *f, uint32_t group,
                     struct stats_group *ret)
{
    const struct groups_of_set *g = &f->groups->set[SET_GROUPS];
    const uint64_t *keys = group_table_keys(&g->map.table, group);
    struct measured *const measured[QUANTITIES] = {&ret->duration, &ret->size, &ret->bandwidth,
                                                   &ret->offset};
    int rc = 0;

    ret->count = *group_count(g, group);
    ret->key_names = s->group_by;
    ret->key_count = s->group_by_count;
    ret->keys = arena_alloc(&s->arena, f->plan->group_width * sizeof(*ret->keys));
    if (!ret->keys)
        return -ENOMEM;
    for (unsigned i = 0; i < f->plan->group_width && rc == 0; i++)
        rc = set_key(s, f->plan->query, keys[i], &ret->keys[i]);
    for (unsigned q = 0; q < QUANTITIES && rc == 0; q++) {
        struct quantity of;
        group_quantity(f->groups, SET_GROUPS, group, q, &of);
        rc = quantity_measure(&of, q == Q_DURATION, measured[q]);
    }
    return rc;
}

static int set_groups(struct stats *s, struct stats_found *f, uint64_t top)
{
    const struct groups_of_set *g = &f->groups->set[SET_GROUPS];
    uint32_t *order = NULL;
    int rc = groups_by_count(f->groups, SET_GROUPS, true, top, &order, &s->group_count);

    s->groups_total = g->map.table.count;
    s->groups = stats_rows(s, s->group_count, sizeof(*s->groups), &rc);
    for (size_t i = 0; i < s->group_count && rc == 0; i++) {
        rc = set_group(s, f, order[i], &s->groups[i]);
        if (rc == 0 && i % STATS_CHECKED == 0)
            rc = stats_step(s);
    }
    free(order);
    return rc;
}

static int set_counts_and_times(struct stats *s, struct stats_found *f,
                                const struct stats_options *o)
{
    const struct stats_plan *plan = f->plan;
    const struct time_span *span = &f->times.span;
    uint64_t top = report_parts[o->report] & LIMIT_TOP ? o->top_n : 0;
    int rc = 0;

    s->events = f->times.events;
    if (span->any) {
        s->min_ts = stats_time(span->min_ts);
        s->max_te = stats_time(span->max_te);
        s->span = stats_time(span->max_te - span->min_ts);
    }
    if ((s->has_categories = plan->count[COUNT_CATEGORIES]))
        rc = set_counts(s, f, COUNT_CATEGORIES, top, &s->categories, &s->category_count,
                        &s->categories_total);
    if ((s->has_names = plan->count[COUNT_NAMES]) && rc == 0)
        rc = set_counts(s, f, COUNT_NAMES, top, &s->names, &s->name_count, &s->names_total);
    if ((s->has_pid_tids = plan->count[COUNT_THREADS]) && rc == 0)
        rc = set_counts(s, f, COUNT_THREADS, o->top_n_pid_tid, &s->pid_tids, &s->pid_tid_count,
                        &s->pid_tids_total);
    return rc;
}

/* ---- running --------------------------------------------------------------------------------- */

static int stats_compute(const struct stats_plan *plan, struct stats *s,
                         const struct stats_options *o)
{
    struct stats_found found;

    stats_found_init(plan, &found);
    int rc = stats_can_summarise(plan, o) ? stats_from_summary(&found, s) : -EDOM;
    if (rc == -EDOM) {
        rc = stats_scan(&found);
        if (rc == 0 && plan->groups)
            rc = set_groups(s, &found, o->top_n);
        if (rc == 0 && (plan->total_duration || plan->groups))
            rc = set_total(s, &found);
    }
    rc = rc < 0 ? rc : set_counts_and_times(s, &found, o);
    stats_found_done(&found);
    return rc;
}

int stats_run(struct query *q, const struct stats_options *options, struct err *err,
              struct stats **ret)
{
    struct stats *s = calloc(1, sizeof(*s));
    struct stats_plan plan = {.query = q, .budget = query_budget(q)};
    int64_t started_ns = clock_mono_ns();

    if (!s)
        return err_set_code(err, -ENOMEM);
    s->report = options->report;
    s->query = "";
    s->budget = s->arena.budget = plan.budget;
    int rc = plan_make(&plan, s, options, err);
    rc = rc < 0 ? rc : stats_compute(&plan, s, options);
    if (rc == -ENOMEM && s->arena.error < 0)
        rc = s->arena.error; /* it may be ERR_MEMORY_LIMIT */
    if (rc < 0) {
        uint64_t max = plan.max_groups ? plan.max_groups : 10000000;
        stats_free(s);
        if (rc == ERR_ROW_LIMIT)
            return err_set(err, rc, "more than %llu groups; choose fewer columns or fewer objects",
                           (unsigned long long)max);
        return scan_error(err, rc);
    }
    query_counters(q, &s->counters);
    s->complete = query_complete(q);
    const uint32_t *files;
    for (size_t n = query_files(q, &files); n > 0; n--)
        s->failed_files += snapshot_file(query_snapshot(q), files[n - 1])->state == INDEX_FAILED;
    s->elapsed_ns = clock_mono_ns() - started_ns;
    *ret = s;
    return 0;
}

void stats_free(struct stats *s)
{
    if (!s)
        return;
    arena_done(&s->arena);
    free(s);
}
