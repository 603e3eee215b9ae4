/* summary.c - answers from the summaries in the index, without a scan. */
#include "answer/stats/plan.h"
#include "answer/stats/times.h"
#include "answer/stats/measure.h"
#include "answer/stats/result.h"
#include "answer/stats/summary.h"
#include "engine/derived/names.h"

#include <errno.h>
#include <stdlib.h>

bool stats_has_summary(const struct index_file *f)
{
    return f->state == INDEX_READY || f->state == INDEX_GROWING;
}

bool stats_has_all_summaries(const struct snapshot *s, const uint32_t *files, size_t count)
{
    size_t all = 0, ours = 0;

    for (size_t i = 0; i < count; i++)
        ours += stats_has_summary(snapshot_file(s, files[i]));
    for (uint32_t i = 0; i < snapshot_file_count(s) && all <= ours; i++)
        all += stats_has_summary(snapshot_file(s, i));
    return ours == all;
}

bool stats_can_summarise(const struct stats_plan *plan, const struct stats_options *o)
{
    struct snapshot *snapshot = query_snapshot(plan->query);
    const uint32_t *files;

    if (plan->groups || o->no_summary || o->exact || !query_unfiltered(plan->query))
        return false;
    /* Chunks of a file that is still being indexed are seen by a scan, but not by a summary. */
    for (size_t n = query_files(plan->query, &files); n > 0; n--) {
        const struct index_file *f = snapshot_file(snapshot, files[n - 1]);
        if (!stats_has_summary(f) && f->chunk_count > 0)
            return false;
    }
    return true;
}

/* Sets *ret to the summary of the selected files: *ret_own, which is *new*, or, if that is NULL,
 * the root summary, which is borrowed. */
static int get_summary(struct query *q, const struct summary **ret, struct summary **ret_own)
{
    struct snapshot *snapshot = query_snapshot(q);
    const uint32_t *files;
    size_t count = query_files(q, &files);
    int rc = 0;

    *ret_own = NULL;
    if (stats_has_all_summaries(snapshot, files, count))
        return index_root_summary(query_index(q), snapshot, ret);
    *ret = *ret_own = summary_new();
    if (!*ret_own)
        return -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct summary *one;
        if (!stats_has_summary(snapshot_file(snapshot, files[i])))
            continue;
        rc = budget_check(query_budget(q));
        rc = rc < 0 ? rc : index_file_summary(query_index(q), snapshot, files[i], &one);
        if (rc < 0)
            break;
        rc = summary_merge(*ret_own, one);
        summary_free(one);
    }
    return rc;
}

/* ---- counts ---------------------------------------------------------------------------------- */

/* A row of a count table: ids of its texts and numbers. */
struct row {
    uint64_t count;
    int64_t key[3];
};

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct row *x = a, *y = b;

    (void)arg;
    for (unsigned i = 0; i < 3; i++) {
        if (x->key[i] != y->key[i])
            return x->key[i] < y->key[i] ? -1 : 1;
    }
    return 0;
}

/* Sorts the rows and merges equal ones. */
static int merge_rows(struct row *rows, size_t *n, struct budget *budget)
{
    size_t kept = 0;
    int rc = sort_items(rows, *n, sizeof(*rows), compare_rows, NULL, budget);

    for (size_t i = 0; i < *n && rc == 0; i++) {
        rc = i % STATS_CHECKED ? 0 : budget_check(budget);
        if (kept && compare_rows(&rows[kept - 1], &rows[i], NULL) == 0)
            rows[kept - 1].count += rows[i].count;
        else
            rows[kept++] = rows[i];
    }
    *n = kept;
    return rc;
}

/* Compares rows by their numbers; `arg` is the array of rows. */
static int compare_counts(const void *a, const void *b, void *arg)
{
    const struct stats_count *all = arg, *x = &all[*(const uint32_t *)a],
                             *y = &all[*(const uint32_t *)b];
    int order = 0;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    order = order ? order : value_cmp(&x->cat, &y->cat);
    order = order ? order : value_cmp(&x->name, &y->name);
    order = order ? order : value_cmp(&x->pid, &y->pid);
    order = order ? order : value_cmp(&x->tid, &y->tid);
    return order ? order : value_cmp(&x->host, &y->host);
}

static struct value text_value(const struct stats_plan *plan, int64_t id)
{
    struct value v = {.type = VALUE_NULL};

    if ((uint32_t)id != INDEX_NO_TEXT)
        v = (struct value){.type = VALUE_TEXT,
                           .text = index_text(query_index(plan->query), (uint32_t)id)};
    return v;
}

static struct value int_value(int64_t i)
{
    return (struct value){.type = i == INT64_MIN ? VALUE_NULL : VALUE_INT, .i = i};
}

/* Fills `all` with the rows, and `order` with their numbers in the order of the answer. */
static int order_rows(const struct stats_plan *plan, unsigned table, const struct row *rows,
                      size_t n, struct stats_count *all, uint32_t *order)
{
    for (size_t i = 0; i < n; i++) {
        int rc = i % STATS_CHECKED ? 0 : budget_check(plan->budget);
        if (rc < 0)
            return rc;
        struct stats_count *ret = &all[i];
        *ret = (struct stats_count){.count = rows[i].count};
        if (table == COUNT_THREADS) {
            ret->pid = int_value(rows[i].key[0]);
            ret->tid = int_value(rows[i].key[1]);
            ret->host = text_value(plan, rows[i].key[2]);
        } else {
            ret->cat = text_value(plan, rows[i].key[0]);
            if (table == COUNT_NAMES)
                ret->name = text_value(plan, rows[i].key[1]);
        }
        order[i] = (uint32_t)i;
    }
    return sort_items(order, n, sizeof(*order), compare_counts, all, plan->budget);
}

static int keep_rows(struct stats *s, const struct stats_count *all, const uint32_t *order,
                     size_t n, struct stats_count **ret)
{
    int rc = 0;
    struct stats_count *kept = *ret = stats_rows(s, n, sizeof(*kept), &rc);

    for (size_t i = 0; i < n && rc == 0; i++) {
        kept[i] = all[order[i]];
        rc = value_keep(&s->arena, &kept[i].cat);
        rc = rc < 0 ? rc : value_keep(&s->arena, &kept[i].name);
        rc = rc < 0 ? rc : value_keep(&s->arena, &kept[i].host);
        if (rc == 0 && i % STATS_CHECKED == 0)
            rc = stats_step(s);
    }
    return rc;
}

static int set_rows(const struct stats_plan *plan, struct stats *s, unsigned table,
                    struct row *rows, size_t n, uint64_t top, struct stats_count **ret,
                    size_t *ret_count, uint64_t *ret_total)
{
    int rc = merge_rows(rows, &n, plan->budget);
    size_t bytes = (n + 1) * (sizeof(struct stats_count) + sizeof(uint32_t));

    rc = rc < 0 ? rc : budget_charge(plan->budget, bytes);
    if (rc < 0)
        return rc;
    struct stats_count *all = malloc((n + 1) * sizeof(*all));
    uint32_t *order = malloc((n + 1) * sizeof(*order));
    *ret_total = n;
    *ret_count = top && top < n ? top : n;
    rc = all && order ? order_rows(plan, table, rows, n, all, order) : -ENOMEM;
    rc = rc < 0 ? rc : keep_rows(s, all, order, *ret_count, ret);
    free(all);
    free(order);
    budget_release(plan->budget, bytes);
    return rc;
}

static int set_names(const struct stats_plan *plan, struct stats *s, const struct summary *sum,
                     unsigned table, uint64_t top)
{
    unsigned phases = query_phases(plan->query);
    struct row *rows = calloc(sum->name_count + 1, sizeof(*rows));
    size_t n = 0;
    int rc = rows ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < sum->name_count && rc == 0; i++) {
        const struct summary_name *from = &sum->names[i];
        rc = i % STATS_CHECKED ? 0 : budget_check(plan->budget);
        if (phases >> from->class & 1)
            rows[n++] =
                (struct row){from->count, {from->cat, table == COUNT_NAMES ? from->name : 0, 0}};
    }
    if (rc == 0)
        rc = table == COUNT_NAMES ? set_rows(plan, s, table, rows, n, top, &s->names,
                                             &s->name_count, &s->names_total)
                                  : set_rows(plan, s, table, rows, n, top, &s->categories,
                                             &s->category_count, &s->categories_total);
    free(rows);
    return rc;
}

static int set_threads(const struct stats_plan *plan, struct stats *s, const struct summary *sum,
                       uint64_t top)
{
    struct snapshot *snapshot = query_snapshot(plan->query);
    unsigned phases = query_phases(plan->query);
    struct row *rows = calloc(sum->thread_count + 1, sizeof(*rows));
    size_t n = 0;
    int rc = rows ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < sum->thread_count && rc == 0; i++) {
        const struct summary_thread *t = &sum->threads[i];
        uint32_t host = t->host;
        rc = i % STATS_CHECKED ? 0 : budget_check(plan->budget);
        if (!(phases >> t->class & 1))
            continue;
        if (t->host_is_hash && host != INDEX_NO_TEXT)
            host = query_resolve(plan->query, snapshot_file(snapshot, t->file), t->pid, INDEX_HH,
                                 host);
        rows[n++] = (struct row){t->count, {t->pid, t->tid, host}};
    }
    if (rc == 0)
        rc = set_rows(plan, s, COUNT_THREADS, rows, n, top, &s->pid_tids, &s->pid_tid_count,
                      &s->pid_tids_total);
    free(rows);
    return rc;
}

/* ---- durations ------------------------------------------------------------------------------- */

static int set_duration(const struct stats_plan *plan, struct stats *s, const struct summary *sum)
{
    unsigned phases = query_phases(plan->query);
    struct sketch *sketch = sketch_new();
    struct histogram h = {{0}};
    struct moments m = {0};
    int rc = sketch ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < sum->name_count && rc == 0; i++) {
        const struct summary_name *from = &sum->names[i];
        rc = i % STATS_CHECKED ? 0 : budget_check(plan->budget);
        if (rc < 0 || !(phases >> from->class & 1) || from->duration.count == 0)
            continue;
        moments_merge(&m, &from->duration);
        histogram_merge(&h, &from->histogram);
        rc = sketch_merge(sketch, from->duration_sketch);
    }
    if (rc == 0) {
        s->has_duration = true;
        moments_measure(&m, true, &s->duration);
        uint64_t n = sketch_count(sketch);
        for (unsigned i = 0; n && i < STATS_QUANTILES; i++) {
            /* Half a rank before, so that rounding cannot give the next rank. */
            double q = ((double)stats_rank(stats_percents[i], n) - 0.5) / (double)n;
            s->duration.quantiles[i] = sample_value(sketch_quantile(sketch, q, !m.nano),
                                                    m.nano ? SAMPLE_NANO : SAMPLE_WHOLE, true);
        }
    }
    sketch_free(sketch);
    return rc < 0 ? rc : stats_set_histogram(s, &h);
}

/* Counts all objects, with or without ts. */
static int count_objects(struct query *q, const struct summary *sum, uint64_t *ret)
{
    int rc = 0;

    *ret = 0;
    for (uint32_t i = 0; i < sum->name_count && rc == 0; i++) {
        rc = i % STATS_CHECKED ? 0 : budget_check(query_budget(q));
        *ret += query_phases(q) >> sum->names[i].class & 1 ? sum->names[i].count : 0;
    }
    return rc;
}

static void set_times(const struct stats_plan *plan, struct stats *s, const struct summary *sum)
{
    unsigned phases = query_phases(plan->query);
    struct time_span span = {0};

    for (unsigned c = 0; c < 4; c++) {
        const struct summary_class *from = &sum->classes[c];
        if (!(phases >> c & 1) || !from->has_time)
            continue;
        span.min_ts = !span.any || from->min_ts < span.min_ts ? from->min_ts : span.min_ts;
        span.max_te = !span.any || from->max_te > span.max_te ? from->max_te : span.max_te;
        span.any = true;
    }
    if (!span.any)
        return;
    s->min_ts = stats_time(span.min_ts);
    s->max_te = stats_time(span.max_te);
    s->span = stats_time(span.max_te - span.min_ts);
}

static int set_summary(const struct stats_plan *plan, struct stats *s, const struct summary *sum,
                       const struct stats_options *o)
{
    bool cut = o->report == STATS_TOP_NAMES || o->report == STATS_TOP_CATEGORIES;
    int rc = count_objects(plan->query, sum, &s->events);

    set_times(plan, s, sum);
    if ((s->has_categories = plan->count[COUNT_CATEGORIES]) && rc == 0)
        rc = set_names(plan, s, sum, COUNT_CATEGORIES, cut ? o->top_n : 0);
    if ((s->has_names = plan->count[COUNT_NAMES]) && rc == 0)
        rc = set_names(plan, s, sum, COUNT_NAMES, cut ? o->top_n : 0);
    if ((s->has_pid_tids = plan->count[COUNT_THREADS]) && rc == 0)
        rc = set_threads(plan, s, sum, o->top_n_pid_tid);
    if (plan->total_duration && rc == 0)
        rc = set_duration(plan, s, sum);
    return rc;
}

int stats_from_summary(const struct stats_plan *plan, struct stats *s,
                       const struct stats_options *o)
{
    const struct summary *sum = NULL;
    const struct scan_place *places;
    struct summary *own;
    int rc = get_summary(plan->query, &sum, &own);

    /* If there are very many names, the summary has no entries for them. */
    if (rc == 0 && ((plan->count[COUNT_NAMES] && sum->detail >= SUMMARY_BY_CATEGORY) ||
                    (plan->count[COUNT_CATEGORIES] && sum->detail >= SUMMARY_BY_CLASS)))
        rc = -EDOM;
    rc = rc < 0 ? rc : set_summary(plan, s, sum, o);
    summary_free(own);
    if (rc == 0) {
        struct query_counters add = {.chunks_from_summary = scan_places(plan->query, &places),
                                     .rows_selected = s->events};
        query_count(plan->query, &add);
    }
    return rc;
}

int stats_summary_count(struct query *q, uint64_t *ret)
{
    const struct summary *sum = NULL;
    struct summary *own;
    int rc = get_summary(q, &sum, &own);

    rc = rc < 0 ? rc : count_objects(q, sum, ret);
    summary_free(own);
    return rc;
}
