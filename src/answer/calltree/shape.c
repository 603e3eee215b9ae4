/* shape.c - selects and orders the nodes of a forest that are returned; makes the trees of
 * callees and callers of one name. */
#include "answer/calltree/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- callees and callers --------------------------------------------------------------------- */

/* Returns true for a call of the focus name. */
static bool is_focus(const struct call_tree *t, const struct call_node *n)
{
    const struct value *name = n->name < t->name_count ? &t->names[n->name].name : NULL;

    return name && name->type == VALUE_TEXT && text_eq(name->text, text_of(t->options.focus));
}

/* Adds a focus node, its parent, and so on upwards as one path of the tree of callers.
 * `inside_focus`: the node is nested in another call of the focus name, whose total already
 * contains its time; so its total is not added again, but its count and self time are. */
static int add_callers(struct call_tree *t, uint32_t node, bool inside_focus)
{
    const struct call_forest *all = &t->forest[CALL_TREE_ALL];
    struct call_forest *f = &t->forest[CALL_TREE_CALLERS];
    const struct call_node *focus = &all->nodes.at[node];
    int64_t at = 0;

    for (unsigned level = 0; node != 0 && level < CALL_TREE_PATH_LEVELS; level++) {
        at = call_forest_child(f, (uint32_t)at, all->nodes.at[node].name);
        if (at < 0)
            return (int)at;
        call_node_add(&f->nodes.at[at], focus, !inside_focus);
        node = all->nodes.at[node].parent;
    }
    return 0;
}

/* Sums up count and total of the nodes directly below the top; its self time remains 0. */
static void add_top(struct call_forest *f)
{
    for (uint32_t i = 1; i < f->nodes.count; i++) {
        if (f->nodes.at[i].parent != 0)
            continue;
        f->nodes.at[0].count += f->nodes.at[i].count;
        f->nodes.at[0].total += f->nodes.at[i].total;
    }
}

int call_tree_focus(struct call_tree *t)
{
    const struct call_forest *all = &t->forest[CALL_TREE_ALL];
    struct call_forest *callees = &t->forest[CALL_TREE_CALLEES];
    /* the position of each node in the forest of callees; 0: none */
    uint32_t *callee_of = calloc(all->nodes.count, sizeof(*callee_of));
    int rc = callee_of ? call_forest_init(callees, t->budget) : -ENOMEM;

    rc = rc < 0 ? rc : call_forest_init(&t->forest[CALL_TREE_CALLERS], t->budget);
    for (uint32_t i = 1; i < all->nodes.count && rc == 0; i++) {
        const struct call_node *n = &all->nodes.at[i];
        uint32_t parent = callee_of[n->parent]; /* 0: the node is in no call of the focus name */
        int64_t at = parent || is_focus(t, n) ? call_forest_child(callees, parent, n->name) : 0;
        if (at > 0)
            call_node_add(&callees->nodes.at[at], n, true);
        rc = at < 0 ? (int)at : i % 4096 ? 0 : budget_check(t->budget);
        callee_of[i] = (uint32_t)(at < 0 ? 0 : at);
        if (rc == 0 && is_focus(t, n))
            rc = add_callers(t, i, parent != 0);
    }
    free(callee_of);
    if (rc == 0) {
        add_top(callees);
        add_top(&t->forest[CALL_TREE_CALLERS]);
    }
    return rc;
}

/* ---- returned nodes -------------------------------------------------------------------------- */

/* Orders nodes by parent, then by total, descending, then by name. Names and
 * groups are numbered in sorted order, so comparing numbers compares the values. */
static int compare_nodes(const void *a, const void *b, void *arg)
{
    const struct call_node *nodes = arg, *x = &nodes[*(const uint32_t *)a],
                           *y = &nodes[*(const uint32_t *)b];

    if (x->parent != y->parent)
        return x->parent < y->parent ? -1 : 1;
    if (x->total != y->total)
        return x->total > y->total ? -1 : 1;
    return (x->name > y->name) - (x->name < y->name);
}

void call_shape_done(struct call_shape *s)
{
    free(s->first);
    free(s->next);
    free(s->rest);
    charge_done(&s->charge);
    memset(s, 0, sizeof(*s));
}

/* Temporarily stores in `first` the number of calls on the path to each node, the node included;
 * groups do not count. Omitted nodes get CALL_NONE. */
static int mark_omitted(const struct call_tree *t, const struct call_forest *f,
                        struct call_shape *s, uint64_t max_depth, int64_t min_total)
{
    uint32_t returned = 0;
    int rc = 0;

    s->first[0] = 0;
    for (uint32_t i = 1; i < f->nodes.count && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(t->budget);
        const struct call_node *n = &f->nodes.at[i];
        uint32_t calls = s->first[n->parent];
        bool omitted =
            calls == CALL_NONE || (max_depth && calls >= max_depth) || n->total < min_total;
        s->first[i] = omitted ? CALL_NONE : calls + (n->name < t->name_count);
        returned += !omitted;
    }
    s->count = returned + 1;
    return rc;
}

/* Computes `rest`. In the tree of all calls and in that of callees, it is the self time of a node
 * plus that of the omitted nodes below it. In the tree of callers, the self time of a node is that
 * of the focus calls reached through it; `rest` is what remains after subtracting the self times of
 * its returned children. */
static int sum_rests(const struct call_forest *f, struct call_shape *s, bool callers)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->nodes.count && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(f->nodes.budget);
        s->rest[i] = f->nodes.at[i].self;
    }
    for (uint32_t i = f->nodes.count; i-- > 1 && rc == 0;) {
        rc = i % 4096 ? 0 : budget_check(f->nodes.budget);
        __int128 *above = &s->rest[f->nodes.at[i].parent];
        bool returned = s->first[i] != CALL_NONE;
        if (callers && returned)
            *above -= f->nodes.at[i].self;
        else if (!callers && !returned)
            *above += s->rest[i];
    }
    return rc;
}

static int link_children(const struct call_forest *f, struct call_shape *s)
{
    uint32_t *order = malloc(s->count * sizeof(*order)), n = 0;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 1; i < f->nodes.count; i++) {
        if (s->first[i] != CALL_NONE)
            order[n++] = i;
    }
    int rc = sort_items(order, n, sizeof(*order), compare_nodes, f->nodes.at, f->nodes.budget);
    /* `order` replaces the marks of mark_omitted: `first` and `next` become lists, still empty. */
    memset(s->first, 0xFF, f->nodes.count * sizeof(*s->first));
    memset(s->next, 0xFF, f->nodes.count * sizeof(*s->next));
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(f->nodes.budget);
        uint32_t parent = f->nodes.at[order[i]].parent;
        if (i > 0 && f->nodes.at[order[i - 1]].parent == parent)
            s->next[order[i - 1]] = order[i];
        else
            s->first[parent] = order[i];
    }
    free(order);
    return rc;
}

int call_shape_make(struct call_tree *t, enum call_tree_part part, uint64_t max_depth,
                    int64_t min_total)
{
    const struct call_forest *f = &t->forest[part];
    struct call_shape *s = &t->shape[part];
    uint32_t count = f->nodes.count;

    *s = (struct call_shape){.charge.budget = t->budget};
    int rc = charge_add(&s->charge, count * (2 * sizeof(*s->first) + sizeof(*s->rest)));
    if (rc < 0)
        return rc;
    s->first = malloc(count * sizeof(*s->first));
    s->next = malloc(count * sizeof(*s->next));
    s->rest = malloc(count * sizeof(*s->rest));
    if (!s->first || !s->next || !s->rest)
        return -ENOMEM;
    rc = mark_omitted(t, f, s, max_depth, min_total);
    rc = rc < 0 ? rc : sum_rests(f, s, part == CALL_TREE_CALLERS);
    return rc < 0 ? rc : link_children(f, s);
}

/* ---- the cursor ------------------------------------------------------------------------------ */

size_t call_tree_begin(struct call_tree *t, enum call_tree_part part)
{
    t->cursor = (struct call_cursor){.part = part};
    return t->shape[part].count;
}

static const struct call_tree_node *fill_node(struct call_tree *t)
{
    static const char *const tops[] = {"all", "callees", "callers"};
    const struct call_cursor *c = &t->cursor;
    const struct call_node *n = &t->forest[c->part].nodes.at[c->node];
    struct call_tree_node *ret = &t->cursor.current;

    *ret = (struct call_tree_node){.depth = c->depth,
                                   .count = n->count,
                                   .total_ns = n->total,
                                   .self_ns = n->self,
                                   .rest_ns = t->shape[c->part].rest[c->node],
                                   .min_ns = n->min,
                                   .max_ns = n->max,
                                   .has_range = n->min <= n->max,
                                   .has_name = true};
    if (c->node == 0) {
        ret->name = (struct value){.type = VALUE_TEXT, .text = text_of(tops[c->part])};
    } else if (n->name >= t->name_count) {
        ret->is_group = true;
        ret->has_name = false;
        ret->columns = t->options.group_by;
        ret->group = t->group_values + (size_t)(n->name - t->name_count) * t->group_count;
        ret->group_count = t->group_count;
    } else {
        ret->is_call = true;
        ret->name = t->names[n->name].name;
        ret->cat = t->names[n->name].cat;
    }
    return ret;
}

const struct call_tree_node *call_tree_next(struct call_tree *t)
{
    struct call_cursor *c = &t->cursor;
    const struct call_shape *s = &t->shape[c->part];

    if (!c->began) {
        c->began = true;
    } else if (s->first[c->node] != CALL_NONE) {
        c->node = s->first[c->node];
        c->depth++;
    } else {
        for (; c->node != 0 && s->next[c->node] == CALL_NONE; c->depth--)
            c->node = t->forest[c->part].nodes.at[c->node].parent;
        if (c->node == 0) {
            c->depth = 0;
            return NULL;
        }
        c->node = s->next[c->node];
    }
    return fill_node(t);
}
