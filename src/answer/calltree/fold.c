/* fold.c - nests the events of each thread in one pass with a stack of open events; calls of one
 * name on one path are one node. Workers of the pool process different threads; their forests
 * are then merged, which is exact. */
#include "answer/calltree/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- forests --------------------------------------------------------------------------------- */

static uint64_t hash_child(uint32_t parent, uint32_t name)
{
    uint64_t h = ((uint64_t)parent << 32 | name) * 0x9E3779B97F4A7C15ull;

    return h ^ h >> 32;
}

static int add_node(struct call_forest *f, uint32_t parent, uint32_t name)
{
    uint32_t node = (uint32_t)f->nodes.count;
    int rc = node == UINT32_MAX / 2 ? ERR_ROW_LIMIT : vec_reserve(&f->nodes, 1);

    rc = rc < 0 ? rc : hash_index_add(&f->index, hash_child(parent, name), node);
    if (rc == 0)
        f->nodes.at[f->nodes.count++] =
            (struct call_node){.parent = parent, .name = name, .min = INT64_MAX, .max = INT64_MIN};
    return rc;
}

int call_forest_init(struct call_forest *f, struct budget *budget)
{
    *f = (struct call_forest){.nodes = {.budget = budget}, .index = {.budget = budget}};
    return add_node(f, CALL_NONE, CALL_NONE);
}

void call_forest_done(struct call_forest *f)
{
    vec_done(&f->nodes);
    hash_index_done(&f->index);
}

int64_t call_forest_child(struct call_forest *f, uint32_t parent, uint32_t name)
{
    struct hash_match m = hash_index_find(&f->index, hash_child(parent, name));

    while (hash_index_next(&f->index, &m)) {
        const struct call_node *n = &f->nodes.at[m.position];
        if (n->parent == parent && n->name == name)
            return m.position;
    }
    int rc = add_node(f, parent, name);
    return rc < 0 ? rc : (int64_t)f->nodes.count - 1;
}

void call_node_add(struct call_node *n, const struct call_node *other, bool with_total)
{
    n->count += other->count;
    n->total += with_total ? other->total : 0;
    n->self += other->self;
    n->min = other->min < n->min ? other->min : n->min;
    n->max = other->max > n->max ? other->max : n->max;
}

static int call_forest_merge(struct call_forest *f, const struct call_forest *other)
{
    uint32_t *to = malloc(other->nodes.count * sizeof(*to));
    int64_t at = 0;

    for (uint32_t i = 0; to && i < other->nodes.count && at >= 0; i++) {
        const struct call_node *n = &other->nodes.at[i];
        at = i == 0 ? 0 : call_forest_child(f, to[n->parent], n->name);
        if (at < 0)
            break;
        to[i] = (uint32_t)at;
        call_node_add(&f->nodes.at[at], n, true);
        at = i % 4096 ? 0 : budget_check(f->nodes.budget);
    }
    free(to);
    return !to ? -ENOMEM : at < 0 ? (int)at : 0;
}

/* ---- one thread ------------------------------------------------------------------------------ */

/* An open event; times in ns. */
struct frame {
    int64_t ts, te;
    int64_t covered, until; /* time covered by children so far; end of the last of these */
    int64_t chain_te;       /* end of the child that ends last */
    uint32_t item, node;
    uint32_t last_name, last_node; /* of the last child; the next one often has the same name */
    uint32_t chain;                /* a link: the path from the child that ends last; 0: none */
};
/* An event of a critical path, and the one within it. */
struct link {
    uint32_t item, next;
};
struct folder {
    struct call_tree *tree;
    struct call_forest forest;
    VEC(struct frame) frames; /* 1 + depth: frame 0 encloses all */
    size_t depth;
    VEC(struct link) links; /* link 0 is not used */
    uint32_t free_link;     /* first of a list */
    const struct call_lane *lane;
    size_t near; /* see call_length */
    uint64_t overlaps, levels;
    struct sketch *durations;
    uint32_t top; /* the node of the group of the outermost event; 0: without groups */
};

/* Each link is freed once, so the total is linear. */
static void free_links(struct folder *f, uint32_t chain)
{
    while (chain) {
        uint32_t next = f->links.at[chain].next;
        f->links.at[chain].next = f->free_link;
        f->free_link = chain;
        chain = next;
    }
}

/* Keeps the chain of the event if it ends later than its earlier siblings. */
static int end_chain(struct folder *f, struct frame *ended, struct frame *around)
{
    const struct link link = {ended->item, ended->chain};
    uint32_t at = f->free_link ? f->free_link : (uint32_t)f->links.count;

    if (around->chain && ended->te <= around->chain_te) {
        free_links(f, ended->chain);
        return 0;
    }
    int rc = f->free_link ? 0 : vec_push(&f->links, link);
    if (rc < 0)
        return rc;
    f->free_link = f->free_link ? f->links.at[at].next : 0;
    f->links.at[at] = link;
    free_links(f, around->chain);
    around->chain = at;
    around->chain_te = ended->te;
    return 0;
}

static int64_t length_of(struct folder *f, int64_t ts, int64_t te)
{
    return call_length(f->tree, f->lane, &f->near, ts, te);
}

static int pop_frame(struct folder *f)
{
    struct frame *ended = &f->frames.at[f->depth--], *around = ended - 1;

    f->forest.nodes.at[ended->node].self += length_of(f, ended->ts, ended->te) - ended->covered;
    return f->tree->options.analyze ? end_chain(f, ended, around) : 0;
}

static int64_t find_node(struct folder *f, struct frame *around, const struct call_item *i)
{
    const struct call_tree *t = f->tree;
    uint32_t name = t->name_of[i->tuple];

    if (f->depth == 0 && t->group_count) {
        int64_t top = call_forest_child(&f->forest, 0, t->name_count + t->group_of[i->tuple]);
        if (top < 0)
            return top;
        around->last_name = around->node == (uint32_t)top ? around->last_name : CALL_NONE;
        around->node = f->top = (uint32_t)top;
    }
    if (around->last_name == name)
        return around->last_node;
    int64_t node = call_forest_child(&f->forest, around->node, name);
    around->last_name = node < 0 ? CALL_NONE : name;
    around->last_node = (uint32_t)node;
    return node;
}

static void count_event(struct folder *f, uint32_t node, int64_t dur)
{
    struct call_node *n = &f->forest.nodes.at[node], *top = &f->forest.nodes.at[0];

    n->count++;
    n->total += dur;
    n->min = dur < n->min ? dur : n->min;
    n->max = dur > n->max ? dur : n->max;
    top->count++;
    top->total += f->depth == 0 ? dur : 0;
    if (f->top == 0)
        return;
    top = &f->forest.nodes.at[f->top];
    top->count++;
    top->total += f->depth == 0 ? dur : 0;
}

/* Subtracts from the enclosing event's time what the event covers beyond its earlier siblings. */
static void cover_time(struct folder *f, struct frame *around, const struct call_item *i)
{
    int64_t from = i->ts > around->until ? i->ts : around->until;

    if (i->te <= from)
        return;
    around->covered += length_of(f, from, i->te);
    around->until = i->te;
}

static int add_event(struct folder *f, const struct call_item *i, uint32_t number)
{
    bool crosses = false;
    int rc = 0;

    for (; f->depth && !call_contains(f->frames.at[f->depth].ts, f->frames.at[f->depth].te, i);) {
        crosses |= i->ts < f->frames.at[f->depth].te && f->frames.at[f->depth].te < i->te;
        rc = pop_frame(f);
        if (rc < 0)
            return rc;
    }
    f->overlaps += crosses;
    rc = vec_reserve(&f->frames, f->depth + 2);
    if (rc < 0)
        return rc;
    struct frame *around = &f->frames.at[f->depth];
    int64_t node = find_node(f, around, i);
    if (node < 0)
        return (int)node;
    count_event(f, (uint32_t)node, length_of(f, i->ts, i->te));
    if (f->depth)
        cover_time(f, around, i);
    f->frames.at[++f->depth] = (struct frame){.ts = i->ts,
                                              .te = i->te,
                                              .until = i->ts,
                                              .item = number,
                                              .node = (uint32_t)node,
                                              .last_name = CALL_NONE};
    f->levels = f->depth > f->levels ? f->depth : f->levels;
    return 0;
}

/* Stores the critical path of the thread. */
static int store_chain(struct folder *f, struct call_lane *l)
{
    size_t n = 0;

    for (uint32_t at = f->frames.at[0].chain; at; at = f->links.at[at].next)
        n++;
    l->chain = malloc((n + 1) * sizeof(*l->chain));
    for (uint32_t at = f->frames.at[0].chain; at && l->chain; at = f->links.at[at].next)
        l->chain[l->chain_count++] = f->links.at[at].item;
    free_links(f, f->frames.at[0].chain);
    return l->chain ? 0 : -ENOMEM;
}

static int fold_lane(struct folder *f, struct call_lane *l)
{
    struct call_item *items = f->tree->items + l->first;
    int rc = call_sort(items, l->count, f->tree->budget);

    l->min_ts = items[0].ts;
    for (uint64_t i = 0; i < l->count; i++)
        l->max_te = i && l->max_te > items[i].te ? l->max_te : items[i].te;
    if (rc < 0 || f->tree->options.events)
        return rc;
    rc = vec_reserve(&f->frames, 1);
    if (rc < 0)
        return rc;
    f->lane = l;
    f->near = 0;
    f->depth = 0;
    f->top = 0;
    f->frames.at[0] = (struct frame){.last_name = CALL_NONE};
    for (uint64_t i = 0; i < l->count && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(f->tree->budget);
        rc = rc < 0 ? rc : add_event(f, &items[i], (uint32_t)i);
    }
    while (f->depth && rc == 0)
        rc = pop_frame(f);
    for (size_t at = 0; f->durations && at < l->count && rc == 0; at += 256) {
        int64_t durations[256];
        size_t many = l->count - at < 256 ? l->count - at : 256;
        for (size_t i = 0; i < many; i++)
            durations[i] = length_of(f, items[at + i].ts, items[at + i].te);
        rc = sketch_add_all(f->durations, durations, many, true);
    }
    return rc == 0 && f->tree->options.analyze ? store_chain(f, l) : rc;
}

/* ---- all threads ----------------------------------------------------------------------------- */

struct fold {
    struct call_tree *tree;
    struct folder *folders;
    uint32_t *order; /* lanes, those with the most events first */
    atomic_uint next;
    atomic_int error;
};

static void fold_worker(void *arg, unsigned worker)
{
    struct fold *all = arg;
    struct folder *f = &all->folders[worker];
    uint32_t i;
    int rc = 0, none = 0;

    f->tree = all->tree;
    f->frames.budget = f->links.budget = all->tree->budget;
    if (all->tree->options.analyze && !(f->durations = sketch_new()))
        rc = -ENOMEM;
    rc = rc < 0 ? rc : vec_extend(&f->links, 1);
    rc = rc < 0 ? rc : call_forest_init(&f->forest, all->tree->budget);
    while (rc == 0 && atomic_load(&all->error) == 0 &&
           (i = atomic_fetch_add(&all->next, 1)) < all->tree->lane_count)
        rc = fold_lane(f, &all->tree->lanes[all->order[i]]);
    if (rc < 0)
        atomic_compare_exchange_strong(&all->error, &none, rc);
}

static int compare_counts(const void *a, const void *b, void *arg)
{
    const struct call_lane *lanes = arg, *x = &lanes[*(const uint32_t *)a],
                           *y = &lanes[*(const uint32_t *)b];

    return x->count != y->count ? (x->count > y->count ? -1 : 1) : (x > y) - (x < y);
}

/* The first worker's forest becomes the tree's. */
static int merge_folders(struct fold *all, unsigned workers)
{
    struct call_tree *t = all->tree;
    int rc = atomic_load(&all->error);

    for (unsigned i = 0; i < workers; i++) {
        struct folder *f = &all->folders[i];
        t->totals.partial_overlaps += f->overlaps;
        t->totals.levels = f->levels > t->totals.levels ? f->levels : t->totals.levels;
        if (rc == 0 && f->forest.nodes.count && !t->forest[CALL_TREE_ALL].nodes.count) {
            t->forest[CALL_TREE_ALL] = f->forest;
            f->forest = (struct call_forest){0};
            t->durations = f->durations;
            f->durations = NULL;
        } else if (rc == 0 && f->forest.nodes.count) {
            rc = call_forest_merge(&t->forest[CALL_TREE_ALL], &f->forest);
            if (rc == 0 && f->durations)
                rc = sketch_merge(t->durations, f->durations);
        }
        call_forest_done(&f->forest);
        sketch_free(f->durations);
        vec_done(&f->frames);
        vec_done(&f->links);
    }
    return rc;
}

int call_tree_fold(struct call_tree *t)
{
    struct fold all = {.tree = t};
    const struct query_env *env = query_environment(t->query);
    unsigned threads = env->pool ? pool_threads(env->pool) : 1;
    unsigned workers = threads < t->lane_count ? threads : t->lane_count ? t->lane_count : 1;

    all.folders = calloc(workers, sizeof(*all.folders));
    all.order = malloc((t->lane_count + 1) * sizeof(*all.order));
    int rc = all.folders && all.order ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < t->lane_count && rc == 0; i++)
        all.order[i] = i;
    if (rc == 0) {
        qsort_r(all.order, t->lane_count, sizeof(*all.order), compare_counts, t->lanes);
        pool_run(query_environment(t->query)->pool, workers, fold_worker, &all);
        rc = merge_folders(&all, workers);
    }
    free(all.folders);
    free(all.order);
    return rc;
}
