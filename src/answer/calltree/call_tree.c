/* call_tree.c - opens and closes /call-tree: sources, the order of names and groups, hosts whose
 * clocks differ. */
#include "answer/calltree/call_tree.h"
#include "answer/calltree/clocks.h"
#include "engine/plan/seen.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- columns --------------------------------------------------------------------------------- */

static int copy_options(struct call_tree *t, const struct call_tree_options *o, struct err *err)
{
    char **columns = arena_alloc(&t->arena, (o->group_by_count + 1) * sizeof(*columns));

    if (o->group_by_count > GROUP_KEYS_MAX - 2)
        return err_set_param(err, ERR_PARAM, "group_by",
                             "`group_by`: at most %d columns are allowed", GROUP_KEYS_MAX - 2);
    t->options = *o;
    t->group_count = (unsigned)o->group_by_count;
    t->options.focus = o->focus ? arena_strdup(&t->arena, text_of(o->focus)) : NULL;
    if (!columns || (o->focus && !t->options.focus))
        return -ENOMEM;
    for (unsigned i = 0; i < t->group_count; i++) {
        columns[i] = arena_strdup(&t->arena, text_of(o->group_by[i]));
        if (!columns[i])
            return -ENOMEM;
    }
    t->options.group_by = (const char *const *)columns;
    return 0;
}

static int find_sources(struct call_tree *t, struct err *err)
{
    const struct {
        const char *path;
        const struct source **at;
    } sources[] = {{"ph", &t->ph},
                   {"ts", &t->ts},
                   {"dur", &t->dur},
                   {"id", &t->id},
                   {"host", &t->lane_keys[0]},
                   {"pid", &t->lane_keys[1]},
                   {"tid", &t->lane_keys[2]},
                   {"name", &t->tuple_keys[0]},
                   {"cat", &t->tuple_keys[1]}};
    int rc = 0;

    for (size_t i = 0; i < sizeof(sources) / sizeof(*sources) && rc == 0; i++)
        rc = query_source(t->query, text_of(sources[i].path), sources[i].at);
    t->clips = within_clips(t->query);
    if (t->clips)
        within_stored_times(t->query, &t->ts, &t->dur);
    for (unsigned i = 0; i < t->group_count && rc == 0; i++) {
        rc = query_source(t->query, text_of(t->options.group_by[i]), &t->tuple_keys[2 + i]);
        rc = rc < 0 ? rc : query_check_argument(t->query, t->tuple_keys[2 + i], "group_by", err);
    }
    return rc;
}

/* ---- names and groups ------------------------------------------------------------------------ */

/* Some of the keys of all tuples, as values to be sorted. */
struct ranking {
    struct value *values; /* `width` values for each tuple */
    unsigned width;
};

static int compare_tuples(const void *a, const void *b, void *arg)
{
    const struct ranking *r = arg;
    const struct value *x = r->values + (size_t) * (const uint32_t *)a * r->width,
                       *y = r->values + (size_t) * (const uint32_t *)b * r->width;
    int cmp = 0;

    for (unsigned i = 0; i < r->width && cmp == 0; i++)
        cmp = value_cmp(&x[i], &y[i]);
    return cmp;
}

/* Ranks the tuples by the keys [from, from + width); equal keys have the same rank. order: set
 * to the tuples by rank. Returns the number of ranks, or an error. */
static int64_t rank_tuples(struct call_tree *t, unsigned from, struct ranking *r, uint32_t *rank,
                           uint32_t *order)
{
    uint32_t n = t->tuples_found.count, ranks = 0;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(t->budget);
        const uint64_t *keys = group_table_keys(&t->tuples_found, i) + from;
        for (unsigned k = 0; k < r->width; k++)
            query_key_value(t->query, keys[k], &r->values[(size_t)i * r->width + k]);
        order[i] = i;
    }
    rc = rc < 0 ? rc : sort_items(order, n, sizeof(*order), compare_tuples, r, t->budget);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(t->budget);
        ranks += i > 0 && compare_tuples(&order[i - 1], &order[i], r) != 0;
        rank[order[i]] = ranks;
    }
    return rc < 0 ? rc : n ? (int64_t)ranks + 1 : 0;
}

/* Stores the rank of each tuple by the keys [from, from + width) in *ret_rank, and the keys of each
 * rank as values in *ret_values, both in the arena. Returns the number of ranks, or an error. */
static int64_t number_keys(struct call_tree *t, unsigned from, unsigned width, uint32_t *order,
                           uint32_t **ret_rank, struct value **ret_values)
{
    uint32_t n = t->tuples_found.count;
    size_t bytes = (n + 1) * width * sizeof(struct value);
    struct ranking r = {malloc(bytes), width};
    uint32_t *rank = *ret_rank = arena_alloc(&t->arena, (n + 1) * sizeof(*rank));
    struct value *values = *ret_values = arena_alloc(&t->arena, bytes);
    int64_t ranks = r.values && rank && values ? rank_tuples(t, from, &r, rank, order) : -ENOMEM;

    for (uint32_t i = 0; i < n && ranks >= 0; i++) {
        int rc = i % 4096 ? 0 : budget_check(t->budget);
        memcpy(values + (size_t)rank[i] * width, r.values + (size_t)i * width,
               width * sizeof(*values));
        ranks = rc < 0 ? rc : ranks;
    }
    free(r.values);
    return ranks;
}

static int number_tuples(struct call_tree *t)
{
    uint32_t n = t->tuples_found.count;
    size_t bytes = (size_t)n * ((2 + t->group_count) * sizeof(struct value) + sizeof(uint32_t));
    int rc = budget_charge(t->budget, bytes); /* for order and values */

    if (rc < 0)
        return rc;
    uint32_t *order = malloc((n + 1) * sizeof(*order));
    struct value *names = NULL;
    int64_t ranks = order ? number_keys(t, 0, 2, order, &t->name_of, &names) : -ENOMEM;
    t->names = (struct call_name *)names; /* two values each */
    t->name_count = ranks < 0 ? 0 : (uint32_t)ranks;
    if (ranks >= 0 && t->group_count)
        ranks = number_keys(t, 2, t->group_count, order, &t->group_of, &t->group_values);
    budget_release(t->budget, bytes);
    free(order);
    return ranks < 0 ? (int)ranks : 0;
}

/* ---- hosts ----------------------------------------------------------------------------------- */

/* Fills an entry for each host; returns their number. Threads are sorted by host. */
static size_t list_hosts(const struct call_tree *t, struct clock_host *hosts)
{
    size_t n = 0;

    for (uint32_t i = 0; i < t->lane_count; i++) {
        const struct call_lane *l = &t->lanes[i];
        struct clock_host *h = n ? &hosts[n - 1] : hosts;
        if (n == 0 || value_cmp(&h->name, &l->host) != 0) {
            hosts[n++] = (struct clock_host){l->host, l->min_ts, l->max_te, l->count, 0};
            continue;
        }
        h->from_ns = l->min_ts < h->from_ns ? l->min_ts : h->from_ns;
        h->to_ns = l->max_te > h->to_ns ? l->max_te : h->to_ns;
        h->events += l->count;
    }
    return n;
}

static int find_hosts_apart(struct call_tree *t)
{
    struct clock_host *hosts = malloc((t->lane_count + 1) * sizeof(*hosts));

    if (!hosts)
        return -ENOMEM;
    size_t n = clocks_apart(hosts, list_hosts(t, hosts), true);
    struct call_tree_host *apart = arena_alloc(&t->arena, (n + 1) * sizeof(*apart));
    for (size_t i = 0; apart && i < n; i++) {
        const struct clock_host *h = &hosts[i];
        __int128 gap = h->distance_ns < 0 ? -h->distance_ns : h->distance_ns;
        apart[i] = (struct call_tree_host){h->name, h->from_ns, h->to_ns,
                                           gap > INT64_MAX ? INT64_MAX : (int64_t)gap};
    }
    free(hosts);
    t->totals.hosts_apart = apart;
    t->totals.host_count = n;
    return apart ? 0 : -ENOMEM;
}

int call_tree_open(struct query *q, const struct call_tree_options *o, struct err *err,
                   struct call_tree **ret)
{
    struct call_tree *t = calloc(1, sizeof(*t));

    if (!t)
        return err_set_code(err, -ENOMEM);
    t->query = q;
    t->budget = t->charge.budget = t->arena.budget = t->events.opened.budget = query_budget(q);
    group_table_init(&t->lanes_found, 3, 0, t->budget);
    group_table_init(&t->tuples_found, 2 + (unsigned)o->group_by_count, 0, t->budget);
    int rc = copy_options(t, o, err);
    rc = rc < 0 ? rc : find_sources(t, err);
    rc = rc < 0 ? rc : call_tree_scan(t, err);
    rc = rc < 0 ? rc : number_tuples(t);
    rc = rc < 0 ? rc : call_tree_fold(t);
    rc = rc < 0 ? rc : find_hosts_apart(t);
    if (rc == 0 && !o->events && o->analyze)
        rc = call_tree_analyze(t);
    if (rc == 0 && !o->events && o->focus)
        rc = call_tree_focus(t);
    for (unsigned part = 0; part < CALL_TREE_PARTS && rc == 0 && !o->events; part++) {
        if ((part == CALL_TREE_ALL) == !o->focus)
            rc = call_shape_make(t, part, o->max_depth, o->min_total_ns);
    }
    if (rc == -ENOMEM && t->arena.error < 0)
        rc = t->arena.error; /* the limit may have been reached */
    if (rc < 0) {
        call_tree_close(t);
        return err_set_code(err, rc);
    }
    *ret = t;
    return 0;
}

void call_tree_totals(const struct call_tree *t, struct call_tree_totals *ret)
{
    *ret = t->totals;
    query_counters(t->query, &ret->counters);
    ret->complete = query_complete(t->query);
}

const struct call_tree_analysis *call_tree_analysis(const struct call_tree *t)
{
    return t->options.analyze && !t->options.events ? &t->analysis : NULL;
}

void call_tree_close(struct call_tree *t)
{
    if (!t)
        return;
    for (unsigned i = 0; i < CALL_TREE_PARTS; i++) {
        call_shape_done(&t->shape[i]);
        call_forest_done(&t->forest[i]);
    }
    for (uint32_t i = 0; i < t->lane_count; i++)
        free(t->lanes[i].chain);
    group_table_done(&t->lanes_found);
    group_table_done(&t->tuples_found);
    call_unmap(NULL, t->items, t->item_bytes);
    sketch_free(t->durations);
    charge_done(&t->charge);
    vec_done(&t->events.opened);
    arena_done(&t->arena);
    free(t);
}
