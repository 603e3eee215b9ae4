/* summary.c - answers from the summaries in the index, without a scan. */
#include "answer/stats/summary.h"
#include "answer/stats/measure.h"
#include "answer/stats/result.h"
#include "engine/derived/names.h"

#include <errno.h>

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
        return index_total_summary(query_index(q), snapshot, ret);
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

static int add_count(struct groups *f, unsigned table, const uint64_t *keys, uint64_t count)
{
    struct groups_of_set *set = &f->set[SET_COUNTS + table];
    int64_t group = group_table_add(&set->map.table, keys);
    int rc = group < 0 ? (int)group : groups_grow(f, SET_COUNTS + table);

    if (rc == 0)
        *group_count(set, (uint32_t)group) += count;
    return rc;
}

static int count_names(struct stats_found *f, const struct summary *sum)
{
    const struct stats_plan *plan = f->plan;
    int rc = 0;

    for (uint32_t i = 0; i < sum->name_count && rc == 0; i++) {
        const struct summary_name *from = &sum->names[i];
        const uint64_t keys[] = {query_key_text_id(from->cat), query_key_text_id(from->name)};
        rc = i % STATS_CHECKED ? 0 : budget_check(plan->budget);
        if (!(query_phases(plan->query) >> from->class & 1))
            continue;
        if (rc == 0 && plan->count[COUNT_CATEGORIES])
            rc = add_count(f->groups, COUNT_CATEGORIES, keys, from->count);
        if (rc == 0 && plan->count[COUNT_NAMES])
            rc = add_count(f->groups, COUNT_NAMES, keys, from->count);
    }
    return rc;
}

/* Sets *ret to the key of a pid or tid; INT64_MIN: null. */
static int id_key(struct query *q, int64_t id, uint64_t *ret)
{
    *ret = QUERY_KEY_NULL;
    return id == INT64_MIN ? 0 : key_of_i64(q, id, ret);
}

static int count_threads(struct stats_found *f, const struct summary *sum)
{
    struct query *q = f->plan->query;
    int rc = 0;

    for (uint32_t i = 0; i < sum->thread_count && rc == 0; i++) {
        const struct summary_thread *t = &sum->threads[i];
        uint32_t host = t->host;
        uint64_t keys[3];
        rc = i % STATS_CHECKED ? 0 : budget_check(f->plan->budget);
        if (!(query_phases(q) >> t->class & 1))
            continue;
        if (t->host_is_hash && host != INDEX_NO_TEXT)
            host = query_resolve_name(q, snapshot_file(query_snapshot(q), t->file), t->pid,
                                      INDEX_HH, host);
        rc = rc < 0 ? rc : id_key(q, t->pid, &keys[0]);
        rc = rc < 0 ? rc : id_key(q, t->tid, &keys[1]);
        keys[2] = query_key_text_id(host);
        rc = rc < 0 ? rc : add_count(f->groups, COUNT_THREADS, keys, t->count);
    }
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

static void set_times(struct stats_found *f, const struct summary *sum)
{
    struct time_span *span = &f->times.span;

    for (unsigned c = 0; c < 4; c++) {
        const struct summary_class *from = &sum->classes[c];
        if (!(query_phases(f->plan->query) >> c & 1) || !from->has_time)
            continue;
        span->min_ts = !span->any || from->min_ts < span->min_ts ? from->min_ts : span->min_ts;
        span->max_te = !span->any || from->max_te > span->max_te ? from->max_te : span->max_te;
        span->any = true;
    }
}

static int read_summary(struct stats_found *f, struct stats *s, const struct summary *sum)
{
    const struct stats_plan *plan = f->plan;
    const struct scan_place *places;
    int rc = count_objects(plan->query, sum, &f->times.events);

    f->grouping.limit = UINT32_MAX; /* max_groups limits scans only */
    set_times(f, sum);
    rc = rc < 0 ? rc : groups_new(&f->grouping, &f->groups);
    if (rc == 0 && (plan->count[COUNT_CATEGORIES] || plan->count[COUNT_NAMES]))
        rc = count_names(f, sum);
    if (rc == 0 && plan->count[COUNT_THREADS])
        rc = count_threads(f, sum);
    if (rc == 0 && plan->total_duration)
        rc = set_duration(plan, s, sum);
    if (rc < 0)
        return rc;
    struct query_counters add = {.chunks_from_summary = scan_places(plan->query, &places),
                                 .rows_selected = f->times.events};
    query_count(plan->query, &add);
    return 0;
}

int stats_from_summary(struct stats_found *f, struct stats *s)
{
    const struct summary *sum = NULL;
    struct summary *own;
    int rc = get_summary(f->plan->query, &sum, &own);

    /* If there are very many names, the summary has no entries for them. */
    if (rc == 0 && ((f->plan->count[COUNT_NAMES] && sum->detail >= SUMMARY_BY_CATEGORY) ||
                    (f->plan->count[COUNT_CATEGORIES] && sum->detail >= SUMMARY_BY_CLASS)))
        rc = -EDOM;
    rc = rc < 0 ? rc : read_summary(f, s, sum);
    summary_free(own);
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
