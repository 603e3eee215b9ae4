/* side.c - the events of one node on one side: a scan as /stats makes it, and its groups by
 * their keys. */
#include "answer/compare/compare.h"
#include "answer/stats/result.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdlib.h>

/* Another side may have the column. */
static int add_column(struct side *s, const char *path)
{
    unsigned at = s->plan.group_width++;
    int rc = query_source(s->query, text_of(path), &s->plan.group_keys[at]);
    struct err ignored = {0};

    rc = rc < 0 ? rc : query_check_column(s->query, s->plan.group_keys[at], "group_by", &ignored);
    err_done(&ignored);
    s->missing[at] = rc == ERR_PARAM;
    return s->missing[at] ? 0 : rc;
}

static int make_plan(struct node_work *w, struct side *s)
{
    struct stats_plan *p = &s->plan;
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"ts", &p->ts}, {"dur", &p->dur}, {"size", &p->size}, {"bytes", &p->bytes}};
    int rc = 0;

    *p = (struct stats_plan){.query = s->query,
                             .budget = query_budget(s->query),
                             .max_groups = query_environment(s->query)->max_groups,
                             .groups = true,
                             .no_rates = true};
    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(s->query, text_of(sources[i].path), sources[i].at);
    for (size_t i = 0; i < w->node->group_by_count && rc == 0; i++)
        rc = add_column(s, w->node->group_by[i]);
    return rc;
}

static int tell_groups(struct node_work *w, struct side *s, const uint32_t *order)
{
    struct comparison *c = w->run->result;
    unsigned width = s->plan.group_width;
    int rc = 0;

    s->groups = arena_alloc(&c->arena, (s->group_count + 1) * sizeof(*s->groups));
    if (!s->groups)
        return -ENOMEM;
    for (size_t i = 0; i < s->group_count && rc == 0; i++) {
        struct side_group *g = &s->groups[i];
        const uint64_t *keys = group_table_keys(&s->found.groups.map.table, order[i]);
        g->number = order[i];
        memcpy(g->peaks, side_windows_peaks(s, order[i]), sizeof(g->peaks));
        if (order[i] < s->found.groups.moved.count)
            g->moved = s->found.groups.moved.at[order[i]];
        g->keys = arena_alloc(&c->arena, (width + 1) * sizeof(*g->keys));
        if (!g->keys)
            return -ENOMEM;
        for (unsigned k = 0; k < width && rc == 0; k++) {
            query_key_value(s->query, keys[k], &g->keys[k]);
            rc = value_keep(&c->arena, &g->keys[k]);
        }
    }
    return rc;
}

static int order_groups(struct node_work *w, struct side *s)
{
    const struct group_table *t = &s->found.groups.map.table;
    uint64_t *same = calloc(t->count + 1, sizeof(*same)); /* no count goes before the keys */
    uint32_t *order = NULL;

    if (!same)
        return -ENOMEM;
    int rc = stats_order(s->query, t, same, 0, w->run->budget, &order, &s->group_count);
    rc = rc < 0 ? rc : tell_groups(w, s, order);
    free(order);
    free(same);
    return rc;
}

static int explain(struct node_work *w, int rc)
{
    return err_set(w->run->err, rc, rc == ERR_ROW_LIMIT ? "%s; choose fewer columns" : "%s",
                   err_text(rc));
}

int side_open(struct node_work *w, const struct selection *selection, struct side *s)
{
    struct compare_run *run = w->run;
    int rc = query_open(run->env, run->snapshot, selection, run->budget, run->err, &s->query);

    if (rc < 0)
        return rc;
    rc = make_plan(w, s);
    rc = rc < 0 ? rc : side_windows_new(w, s);
    return rc < 0 ? explain(w, rc) : 0;
}

static void sum_up(void *sides, unsigned number)
{
    struct side *s = (struct side *)sides + number;

    if (s->scanned == 0)
        s->scanned = side_windows_sum(s);
}

/* Who is short begins anew later: the others need the room. */
static void make_room(struct side *s)
{
    side_windows_drop(s);
    found_done(&s->found);
    doubles_done(&s->doubles);
}

int sides_scan(struct node_work *w)
{
    size_t count = w->run->options->side_count;
    struct pool *pool = w->run->env->pool;
    struct stats_scan scans[COMPARE_SIDES_MAX] = {0};

    for (size_t i = 0; i < count; i++) {
        struct side *s = &w->sides[i];
        scans[i] =
            (struct stats_scan){.plan = &s->plan, .found = &s->found, .doubles = &s->doubles};
    }
    int rc = stats_scan_all(scans, count);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < count; i++)
        w->sides[i].scanned = scans[i].error;
    if (!pool || pool_run(pool, (unsigned)count, sum_up, w->sides) < 0) {
        for (unsigned i = 0; i < count; i++)
            sum_up(w->sides, i);
    }
    for (size_t i = 0; i < count; i++) {
        if (side_is_short(&w->sides[i]))
            make_room(&w->sides[i]);
    }
    return 0;
}

bool side_is_short(const struct side *s)
{
    return s->scanned == ERR_MEMORY_LIMIT || s->scanned == ERR_ROW_LIMIT;
}

static int scan_alone(struct side *s)
{
    int rc = stats_scan(&s->plan, &s->found, &s->doubles, NULL);
    return rc < 0 ? rc : side_windows_scan(s);
}

int side_tell(struct node_work *w, struct side *s)
{
    struct query_counters counters;
    int rc = side_is_short(s) ? scan_alone(s) : s->scanned;

    if (rc == 0 && s->found.groups.map.table.count == 0)
        s->group_count = 0;
    else if (rc == 0)
        rc = order_groups(w, s);
    if (rc < 0)
        return explain(w, rc);
    query_counters(s->query, &counters);
    s->meta.files = counters.files;
    s->meta.events = s->found.events;
    const struct time_span *span = &s->found.span;
    s->meta.makespan = stats_time(span->any ? span->max_te - span->min_ts : 0);
    rc = s->group_count ? side_windows_tell(s) : 0;
    side_windows_free(s);
    return rc < 0 ? explain(w, rc) : 0;
}

void side_done(struct side *s)
{
    side_windows_free(s);
    found_done(&s->found);
    doubles_done(&s->doubles);
    query_close(s->query);
}
