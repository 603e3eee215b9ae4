/* side.c - the events of one node on one side: a scan like that of /stats, and its groups sorted by
 * their keys. */
#include "answer/compare/windows.h"
#include "answer/stats/result.h"
#include "engine/group/order.h"
#include "engine/group/worker.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdlib.h>

/* A missing column is not an error here: another side may have it. */
static int side_add_key(struct side *s, const char *path)
{
    unsigned at = s->width++;
    int rc = query_source(s->query, text_of(path), &s->keys[at]);
    struct err ignored = {0};

    rc = rc < 0 ? rc : query_check_argument(s->query, s->keys[at], "group_by", &ignored);
    err_done(&ignored);
    s->missing[at] = rc == ERR_PARAM;
    return s->missing[at] ? 0 : rc;
}

/* ---- hooks of the scan ----------------------------------------------------------------------- */

static int worker_begin(struct group_worker *w)
{
    struct side *s = w->grouping->arg;
    struct side_worker *own = w->own = calloc(1, sizeof(*own));

    if (!own)
        return -ENOMEM;
    own->group.budget = s->budget;
    times_begin(&own->times, &s->times);
    return 0;
}

static int worker_end(struct group_worker *w, bool failed)
{
    const struct side *s = w->grouping->arg;
    struct side_worker *own = w->own;
    int rc = failed ? 0 : windows_flush(w);

    if (!failed) {
        /* Rows were counted by thread, not by group. */
        const struct groups_of_set *set = w->found->set;
        for (uint32_t t = 0; t < own->group.count; t++)
            *group_count(&set[SIDE_GROUPS], own->group.at[t]) +=
                *group_count(&set[SIDE_THREADS], t);
    }
    if (s->scope != SIDE_ONLY_WINDOWS)
        times_end(&own->times, w->all_rows);
    vec_done(&own->group);
    free(own);
    return rc;
}

static int chunk_begin(struct group_worker *w, struct scan_chunk *c)
{
    const struct side *s = w->grouping->arg;
    struct side_worker *own = w->own;

    if (s->scope != SIDE_ONLY_WINDOWS)
        times_chunk(&own->times, c);
    return s->scope == SIDE_ONLY_GROUPS ? 0 : windows_chunk(w, c);
}

/* Finds the threads of the rows, and by these their groups. */
static int add_batch(struct group_worker *w, struct scan_batch *b)
{
    const struct side *s = w->grouping->arg;
    struct side_worker *own = w->own;

    if (s->scope != SIDE_ONLY_WINDOWS)
        times_batch(&own->times, b);
    if (s->scope == SIDE_ONLY_GROUPS)
        return groups_add(w, b, SIDE_GROUPS);
    int rc = own->skip ? 0 : groups_add(w, b, SIDE_THREADS);
    if (rc < 0 || s->scope == SIDE_ONLY_WINDOWS)
        return rc;
    const struct group_table *threads = &w->found->set[SIDE_THREADS].map.table;
    while (rc == 0 && own->group.count < threads->count) {
        /* The keys of a group precede the other keys of its threads. */
        const uint64_t *keys = group_table_keys(threads, (uint32_t)own->group.count);
        int64_t group = group_table_add(&w->found->set[SIDE_GROUPS].map.table, keys);
        rc = group < 0 ? (int)group : vec_push(&own->group, (uint32_t)group);
    }
    rc = rc < 0 ? rc : groups_grow(w->found, SIDE_GROUPS);
    for (uint32_t j = 0; rc == 0 && j < b->count; j++)
        w->group[j] = own->group.at[w->group[j]];
    return rc < 0 ? rc : groups_accumulate(w, b, SIDE_GROUPS, 0);
}

static void times_encode(void *arg, struct buf *out)
{
    shared_times_put(&((struct side *)arg)->times, out);
}

static int times_decode(void *arg, struct rec *in)
{
    return shared_times_take(&((struct side *)arg)->times, in);
}

/* ---- plan of the scan ------------------------------------------------------------------------ */

static int side_plan(struct node_work *w, struct side *s)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .chunk_begin = chunk_begin,
                                             .batch = add_batch,
                                             .put = times_encode,
                                             .take = times_decode};
    const struct source *size, *bytes;
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"ts", &s->ts}, {"dur", &s->dur}, {"size", &size}, {"bytes", &bytes}};
    int rc = 0;

    s->budget = query_budget(s->query);
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(s->query, text_of(sources[i].path), sources[i].at);
    for (size_t i = 0; i < w->node->group_by_count && rc == 0; i++)
        rc = side_add_key(s, w->node->group_by[i]);
    if (rc < 0)
        return rc;
    s->accs[SIDE_DUR] = (struct acc_spec){.kind = &acc_number, .column = s->dur, .sample = true};
    s->accs[SIDE_SIZE] = (struct acc_spec){.kind = &acc_number, .column = size, .sample = true};
    s->accs[SIDE_TRANSFER_BYTES] = (struct acc_spec){.kind = &acc_number, .column = bytes};
    s->accs[SIDE_TRANSFER_TIME] =
        (struct acc_spec){.kind = &acc_number, .column = s->dur, .with = bytes};
    s->sets[SIDE_GROUPS] = (struct group_set){
        .keys = s->keys, .width = s->width, .accs = s->accs, .acc_count = SIDE_ACCS};
    s->grouping = (struct grouping){.query = s->query,
                                    .budget = s->budget,
                                    .limit = query_environment(s->query)->max_groups,
                                    .set_count = SIDE_SETS,
                                    .sets = s->sets,
                                    .hooks = &hooks,
                                    .arg = s,
                                    .ends_first = true,
                                    .spreads = true};
    shared_times_init(&s->times, s->ts, s->dur, true);
    return 0;
}

/* ---- groups ---------------------------------------------------------------------------------- */

static int list_groups(struct node_work *w, struct side *s)
{
    struct comparison *c = w->run->result;
    unsigned width = s->width;
    uint32_t *order = NULL;
    int rc = groups_by_count(s->found, SIDE_GROUPS, false, 0, &order, &s->group_count);

    if (rc == 0)
        s->groups = arena_alloc(&c->arena, (s->group_count + 1) * sizeof(*s->groups));
    if (rc == 0 && !s->groups)
        rc = -ENOMEM;
    for (size_t i = 0; i < s->group_count && rc == 0; i++) {
        struct side_group *g = &s->groups[i];
        const uint64_t *keys = group_table_keys(&s->found->set[SIDE_GROUPS].map.table, order[i]);
        g->number = order[i];
        memcpy(g->peaks, side_windows_peaks(s, order[i]), sizeof(g->peaks));
        g->keys = arena_alloc(&c->arena, (width + 1) * sizeof(*g->keys));
        rc = g->keys ? 0 : -ENOMEM;
        for (unsigned k = 0; k < width && rc == 0; k++) {
            query_key_value(s->query, keys[k], &g->keys[k]);
            rc = value_keep_text(&c->arena, &g->keys[k]);
        }
    }
    free(order);
    return rc;
}

static int side_error(struct node_work *w, int rc)
{
    if (rc == -ENOMEM && w->run->result->arena.error < 0)
        rc = w->run->result->arena.error; /* the limit may have been reached */
    return err_set(w->run->err, rc, rc == ERR_ROW_LIMIT ? "%s; choose fewer columns" : "%s",
                   err_text(rc));
}

int side_open(struct node_work *w, const struct selection *selection, struct side *s)
{
    struct compare_run *run = w->run;
    int rc = query_open(run->env, run->snapshot, selection, run->budget, run->err, &s->query);

    if (rc < 0)
        return rc;
    rc = side_plan(w, s);
    rc = rc < 0 ? rc : side_windows_new(w, s);
    return rc < 0 ? side_error(w, rc) : 0;
}

static void side_sum_job(void *sides, unsigned number)
{
    struct side *s = (struct side *)sides + number;

    if (s->scanned == 0)
        s->scanned = side_windows_sum(s);
}

int sides_scan(struct node_work *w)
{
    size_t count = w->run->options->side_count;
    struct groups_job scans[COMPARE_SIDES_MAX] = {0};

    for (size_t i = 0; i < count; i++)
        scans[i].grouping = &w->sides[i].grouping;
    int rc = groups_scan_all(scans, count);
    for (size_t i = 0; i < count; i++) {
        w->sides[i].scanned = scans[i].error;
        w->sides[i].found = scans[i].found;
    }
    if (rc < 0)
        return rc;
    pool_run(w->run->env->pool, (unsigned)count, side_sum_job, w->sides);
    for (size_t i = 0; i < count; i++) {
        struct side *s = &w->sides[i];
        if (!side_lacks_memory(s))
            continue;
        /* side_groups scans it again when the other sides have freed memory. */
        s->scope = SIDE_ONLY_GROUPS;
        groups_free(s->found);
        s->found = NULL;
    }
    return 0;
}

bool side_lacks_memory(const struct side *s)
{
    return s->scanned == ERR_MEMORY_LIMIT || s->scanned == ERR_ROW_LIMIT;
}

int side_groups(struct node_work *w, struct side *s)
{
    struct query_counters counters;
    int rc = s->scanned;

    if (side_lacks_memory(s)) {
        s->times.span = (struct time_span){0};
        s->times.events = 0;
        rc = groups_scan(&s->grouping, &s->found, NULL);
        rc = rc < 0 ? rc : side_windows_scan(s);
    }
    if (rc == 0 && s->found->set[SIDE_GROUPS].map.table.count == 0)
        s->group_count = 0;
    else if (rc == 0)
        rc = list_groups(w, s);
    if (rc < 0)
        return side_error(w, rc);
    query_counters(s->query, &counters);
    s->meta.files = counters.files;
    s->meta.events = s->times.events;
    const struct time_span *span = &s->times.span;
    s->meta.makespan = stats_time(span->any ? span->max_te - span->min_ts : 0);
    rc = s->group_count ? windows_finish(s->windows) : 0;
    side_windows_free(s);
    return rc < 0 ? side_error(w, rc) : 0;
}

void side_done(struct side *s)
{
    side_windows_free(s);
    groups_free(s->found);
    if (s->grouping.query)
        shared_times_done(&s->times);
    query_close(s->query);
}
