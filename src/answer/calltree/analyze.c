/* analyze.c - tables of the folded nodes: by name, category and depth, and the paths with the most
 * self time; statistics of durations, and critical paths. */
#include "answer/calltree/call_tree.h"

#include <errno.h>
#include <stdlib.h>

static struct call_tree_sum *new_sums(struct call_tree *t, size_t n)
{
    return arena_alloc(&t->arena, (n + 1) * sizeof(struct call_tree_sum));
}

static void add_sum(struct call_tree_sum *s, const struct call_node *n)
{
    s->count += n->count;
    s->total_ns += n->total;
    s->self_ns += n->self;
}

enum { CHECK_EVERY = 4096 }; /* nodes or names between two checks of the budget */

static int check_budget(const struct call_tree *t, uint32_t i)
{
    return i % CHECK_EVERY ? 0 : budget_check(t->budget);
}

static bool is_call(const struct call_tree *t, uint32_t node)
{
    return node != 0 && t->forest[CALL_TREE_ALL].nodes.at[node].name < t->name_count;
}

static size_t limit_to_top(const struct call_tree *t, size_t n)
{
    return t->options.top_n && n > t->options.top_n ? t->options.top_n : n;
}

static int sum_names(struct call_tree *t, const struct call_forest *f, struct call_tree_sum *sums)
{
    int rc = 0;

    for (uint32_t i = 0; i < t->name_count && rc == 0; i++) {
        rc = check_budget(t, i);
        sums[i].name = t->names[i].name;
        sums[i].cat = t->names[i].cat;
    }
    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        rc = check_budget(t, i);
        if (is_call(t, i))
            add_sum(&sums[f->nodes.at[i].name], &f->nodes.at[i]);
    }
    return rc;
}

/* Compares names by category. */
static int compare_categories(const void *a, const void *b, void *arg)
{
    const struct call_name *names = arg;

    return value_cmp(&names[*(const uint32_t *)a].cat, &names[*(const uint32_t *)b].cat);
}

/* Compares by count, descending, then by name: names are numbered in sorted order. */
static int compare_called(const void *a, const void *b, void *arg)
{
    const struct call_tree_sum *sums = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (sums[x].count != sums[y].count)
        return sums[x].count > sums[y].count ? -1 : 1;
    return (x > y) - (x < y);
}

/* Sorts the numbers of the names; returns *new*, or NULL. */
static uint32_t *order_names(struct call_tree *t, sort_compare *compare, void *arg, int *rc)
{
    uint32_t *order = malloc((t->name_count + 1) * sizeof(*order));

    for (uint32_t i = 0; order && i < t->name_count; i++)
        order[i] = i;
    *rc =
        order ? sort_items(order, t->name_count, sizeof(*order), compare, arg, t->budget) : -ENOMEM;
    return order;
}

/* Sums up `sums`, which are by name, by category. */
static int sum_categories(struct call_tree *t, const struct call_tree_sum *sums)
{
    struct call_tree_analysis *a = &t->analysis;
    struct call_tree_sum *last = NULL;
    int rc;
    uint32_t *order = order_names(t, compare_categories, t->names, &rc);

    a->categories = new_sums(t, t->name_count);
    rc = rc == 0 && !a->categories ? -ENOMEM : rc;
    for (uint32_t i = 0; i < t->name_count && rc == 0; i++) {
        const struct call_tree_sum *s = &sums[order[i]];
        rc = check_budget(t, i);
        if (s->count == 0) /* names of events that are in no tree */
            continue;
        if (!last || value_cmp(&last->cat, &s->cat) != 0) {
            last = &a->categories[a->category_count++];
            last->cat = s->cat;
        }
        last->count += s->count;
        last->total_ns += s->total_ns;
        last->self_ns += s->self_ns;
    }
    free(order);
    return rc;
}

static int find_most_called(struct call_tree *t, struct call_tree_sum *sums)
{
    struct call_tree_analysis *a = &t->analysis;
    int rc;
    uint32_t *order = order_names(t, compare_called, sums, &rc);
    size_t n = t->name_count;

    while (rc == 0 && n && sums[order[n - 1]].count == 0)
        n--;
    a->most_called_count = limit_to_top(t, n);
    a->most_called = new_sums(t, a->most_called_count);
    rc = rc == 0 && !a->most_called ? -ENOMEM : rc;
    for (uint32_t i = 0; i < a->most_called_count && rc == 0; i++) {
        rc = check_budget(t, i);
        a->most_called[i] = sums[order[i]];
    }
    free(order);
    return rc;
}

static int sum_depths(struct call_tree *t, const struct call_forest *f, const uint32_t *depth)
{
    struct call_tree_analysis *a = &t->analysis;
    int rc = 0;

    a->depths = new_sums(t, t->totals.levels);
    if (!a->depths)
        return -ENOMEM;
    a->depth_count = t->totals.levels;
    for (size_t i = 0; i < a->depth_count; i++)
        a->depths[i].depth = (uint32_t)i;
    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        rc = check_budget(t, i);
        if (is_call(t, i))
            add_sum(&a->depths[depth[i]], &f->nodes.at[i]);
    }
    return rc;
}

/* ---- paths ----------------------------------------------------------------------------------- */

static void write_path(const struct call_tree *t, uint32_t node, struct buf *out)
{
    const struct call_node *nodes = t->forest[CALL_TREE_ALL].nodes.at;
    uint32_t path[CALL_TREE_PATH_LEVELS + 1];
    unsigned n = 0;

    for (; node != 0; node = nodes[node].parent)
        path[n++] = nodes[node].name;
    while (n-- > 0) {
        bool call = path[n] < t->name_count;
        struct call_tree_node shown = {.is_call = call, .is_group = !call};
        if (call)
            shown.name = t->names[path[n]].name;
        else
            shown.group = t->group_values + (size_t)(path[n] - t->name_count) * t->group_count;
        call_tree_write_label(t, &shown, out);
        buf_puts(out, n ? ";" : "");
    }
}

struct hot_order {
    const struct call_node *nodes;
    uint32_t *position; /* by node: in the order of the whole tree */
};

static int compare_hot(const void *a, const void *b, void *arg)
{
    const struct hot_order *o = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    if (o->nodes[x].self != o->nodes[y].self)
        return o->nodes[x].self > o->nodes[y].self ? -1 : 1;
    return (o->position[x] > o->position[y]) - (o->position[x] < o->position[y]);
}

/* Finds the position of each node in the order of the whole tree. */
static int find_positions(struct call_tree *t, uint32_t *position)
{
    uint32_t n = 0;
    int rc = call_shape_make(t, CALL_TREE_ALL, 0, INT64_MIN);

    call_tree_begin(t, CALL_TREE_ALL);
    while (rc == 0 && call_tree_next(t)) {
        position[t->cursor.node] = n;
        rc = check_budget(t, n++);
    }
    call_shape_done(&t->shape[CALL_TREE_ALL]);
    return rc;
}

static int fill_hot_path(struct call_tree *t, uint32_t node, uint32_t depth,
                         struct call_tree_sum *s)
{
    const struct call_node *n = &t->forest[CALL_TREE_ALL].nodes.at[node];
    struct buf path = {0};

    s->name = t->names[n->name].name;
    s->cat = t->names[n->name].cat;
    s->depth = depth;
    add_sum(s, n);
    if (depth >= CALL_TREE_PATH_LEVELS)
        return 0;
    write_path(t, node, &path);
    if (!path.error)
        s->path = arena_strdup(&t->arena, (struct text){path.data, path.len});
    buf_done(&path);
    return s->path ? 0 : -ENOMEM;
}

static int find_hottest(struct call_tree *t, const struct call_forest *f, const uint32_t *depth)
{
    struct call_tree_analysis *a = &t->analysis;
    struct hot_order o = {f->nodes.at, malloc(f->nodes.count * sizeof(*o.position))};
    uint32_t *nodes = malloc(f->nodes.count * sizeof(*nodes)), n = 0;
    int rc = o.position && nodes ? find_positions(t, o.position) : -ENOMEM;

    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        if (is_call(t, i))
            nodes[n++] = i;
    }
    rc = rc < 0 ? rc : sort_items(nodes, n, sizeof(*nodes), compare_hot, &o, t->budget);
    if (rc == 0) {
        a->hottest_count = limit_to_top(t, n);
        a->hottest = new_sums(t, a->hottest_count);
        rc = a->hottest ? 0 : -ENOMEM;
    }
    for (uint32_t i = 0; i < a->hottest_count && rc == 0; i++) {
        rc = check_budget(t, i);
        rc = rc < 0 ? rc : fill_hot_path(t, nodes[i], depth[nodes[i]], &a->hottest[i]);
    }
    free(o.position);
    free(nodes);
    return rc;
}

static int sum_durations(struct call_tree *t, const struct call_forest *f)
{
    struct call_tree_durations *a = &t->analysis.duration;
    int rc = 0;

    a->count = t->totals.in_tree;
    a->known = a->count > 0;
    a->min_ns = INT64_MAX;
    a->max_ns = INT64_MIN;
    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        rc = check_budget(t, i);
        if (!is_call(t, i))
            continue;
        a->total_ns += f->nodes.at[i].total;
        a->min_ns = f->nodes.at[i].min < a->min_ns ? f->nodes.at[i].min : a->min_ns;
        a->max_ns = f->nodes.at[i].max > a->max_ns ? f->nodes.at[i].max : a->max_ns;
    }
    if (a->known) {
        a->mean_us = (double)a->total_ns / 1000 / (double)a->count;
        a->median_us = sketch_quantile(t->durations, 0.5, false);
        a->p95_us = sketch_quantile(t->durations, 0.95, false);
        a->p99_us = sketch_quantile(t->durations, 0.99, false);
    }
    return rc;
}

static int make_paths(struct call_tree *t)
{
    struct call_tree_analysis *a = &t->analysis;
    int64_t last = 0;

    a->paths = arena_alloc(&t->arena, (t->lane_count + 1) * sizeof(*a->paths));
    if (!a->paths)
        return -ENOMEM;
    a->path_count = t->lane_count;
    for (uint32_t i = 0; i < t->lane_count; i++) {
        const struct call_lane *l = &t->lanes[i];
        struct call_tree_path *p = &a->paths[i];
        int64_t end = t->items[l->first + l->chain[0]].te;
        *p = (struct call_tree_path){l->host,     l->pid,   l->tid, .count = l->chain_count,
                                     .thread = i, .tree = t};
        const struct call_tree_event *outermost = call_tree_path_event(p, 0);
        p->from_ns = outermost->ts_ns;
        p->to_ns = p->from_ns + outermost->dur_ns;
        if (!a->critical || end > last) {
            a->critical = p;
            last = end;
        }
    }
    return 0;
}

int call_tree_analyze(struct call_tree *t)
{
    const struct call_forest *f = &t->forest[CALL_TREE_ALL];
    size_t bytes = (t->name_count + 1) * sizeof(struct call_tree_sum);
    int rc = budget_charge(t->budget, bytes);

    if (rc < 0)
        return rc;
    struct call_tree_sum *sums = calloc(1, bytes);
    uint32_t *depth = calloc(f->nodes.count, sizeof(*depth));
    rc = sums && depth ? sum_names(t, f, sums) : -ENOMEM;
    rc = rc < 0 ? rc : sum_categories(t, sums);
    rc = rc < 0 ? rc : find_most_called(t, sums);
    free(sums);
    budget_release(t->budget, bytes);
    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        rc = check_budget(t, i);
        uint32_t above = f->nodes.at[i].parent;
        depth[i] = is_call(t, above) ? depth[above] + 1 : 0;
    }
    rc = rc < 0 ? rc : sum_depths(t, f, depth);
    rc = rc < 0 ? rc : find_hottest(t, f, depth);
    free(depth);
    rc = rc < 0 ? rc : sum_durations(t, f);
    return rc < 0 ? rc : make_paths(t);
}
