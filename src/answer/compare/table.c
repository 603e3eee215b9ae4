/* table.c - joins groups with equal keys on all sides into the summary, groups and children of a
 * node. */
#include "answer/compare/compare.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

struct row {
    const struct value *keys;
    struct side_group **of; /* by side: the group with these keys; NULL: none */
};

/* ---- rows ------------------------------------------------------------------------------------ */

static int compare_keys(const struct value *a, const struct value *b, size_t width)
{
    int cmp = 0;

    for (size_t i = 0; i < width && cmp == 0; i++)
        cmp = value_cmp(&a[i], &b[i]);
    return cmp;
}

/* Returns the first keys, in their order, that any side has at its position; NULL at the end of all
 * sides. */
static const struct value *first_keys(const struct node_work *w, const size_t *at)
{
    const struct value *first = NULL;

    for (size_t s = 0; s < w->run->options->side_count; s++) {
        const struct side *side = &w->sides[s];
        if (at[s] == side->group_count)
            continue;
        const struct value *keys = side->groups[at[s]].keys;
        if (!first || compare_keys(keys, first, w->node->group_by_count) < 0)
            first = keys;
    }
    return first;
}

static int join_rows(struct node_work *w, struct row **ret, size_t *ret_count)
{
    struct arena *arena = &w->run->result->arena;
    size_t sides = w->run->options->side_count, max = 0, n = 0;
    size_t at[COMPARE_SIDES_MAX] = {0};
    const struct value *keys;

    for (size_t s = 0; s < sides; s++)
        max += w->sides[s].group_count;
    struct row *rows = arena_alloc(arena, (max + 1) * sizeof(*rows));
    if (!rows)
        return -ENOMEM;
    while ((keys = first_keys(w, at))) {
        struct row *r = &rows[n++];
        r->keys = keys;
        r->of = arena_alloc(arena, sides * sizeof(*r->of));
        if (!r->of)
            return -ENOMEM;
        for (size_t s = 0; s < sides; s++) {
            struct side *side = &w->sides[s];
            if (at[s] < side->group_count &&
                compare_keys(side->groups[at[s]].keys, keys, w->node->group_by_count) == 0)
                r->of[s] = &side->groups[at[s]++];
        }
    }
    *ret = rows;
    *ret_count = n;
    return 0;
}

/* ---- parts ----------------------------------------------------------------------------------- */

static void group_part(struct side *s, const struct side_group *g, struct part *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (!g)
        return;
    ret->count = *group_count(&s->found->set[SIDE_GROUPS], g->number);
    for (unsigned i = 0; i < SIDE_ACCS; i++)
        group_quantity(s->found, SIDE_GROUPS, g->number, i, &ret->of[i]);
    memcpy(ret->peaks, g->peaks, sizeof(ret->peaks));
}

/* Sums up several groups; samples are in w->memory. */
static int sum_part(struct node_work *w, size_t side, const struct row *rows, size_t count,
                    struct part *ret)
{
    struct sample *samples = sample_alloc(&w->memory, SIDE_MEASURES * sizeof(*samples));
    struct part p;
    int rc = 0;

    memset(ret, 0, sizeof(*ret));
    ret->no_peak_std = true;
    if (!samples)
        return w->memory.error;
    for (unsigned i = 0; i < SIDE_MEASURES; i++)
        ret->of[i].sample = &samples[i];
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (!rows[i].of[side])
            continue;
        group_part(&w->sides[side], rows[i].of[side], &p);
        ret->count += p.count;
        for (unsigned k = 0; k < SIDE_ACCS && rc == 0; k++)
            rc = quantity_add(&w->memory, &ret->of[k], &p.of[k]);
        for (unsigned k = 0; k < PEAKS; k++)
            moments_f64_add(&ret->peaks[k], peak_mean(&p.peaks[k]));
    }
    return rc;
}

static int summarise_node(struct node_work *w, const struct row *rows, size_t count,
                          bool with_totals, struct compare_group *ret)
{
    struct part parts[COMPARE_SIDES_MAX];
    size_t sides = w->run->options->side_count;
    int rc = 0;

    for (size_t s = 0; s < sides && rc == 0; s++) {
        rc = sum_part(w, s, rows, count, &parts[s]);
        parts[s].totals = with_totals ? &w->sides[s].meta : NULL;
    }
    return rc < 0 ? rc : metrics_make(w, parts, ret);
}

/* ---- groups ---------------------------------------------------------------------------------- */

struct ranked {
    struct compare_group group;
    double worst; /* the largest regression, in percent */
    size_t place; /* in the order of keys */
};

static int compare_ranked(const void *a, const void *b, void *arg)
{
    const struct ranked *x = a, *y = b;

    (void)arg;
    if (x->worst != y->worst)
        return x->worst > y->worst ? -1 : 1;
    return x->place < y->place ? -1 : x->place > y->place;
}

/* Sets r->worst to the largest regression. Returns true if any change reaches the threshold. */
static bool find_worst_change(const struct node_work *w, struct ranked *r)
{
    bool reached = false;

    for (size_t i = 0; i < r->group.metric_count; i++) {
        for (size_t v = 0; v + 1 < w->run->options->side_count; v++) {
            const struct compare_change *c = &r->group.metrics[i].changes[v];
            double size = fabs(c->percent);
            reached = reached || size >= w->options->threshold;
            if (c->regression && size > r->worst)
                r->worst = size;
        }
    }
    return reached;
}

static int make_group(struct node_work *w, const struct row *row, struct compare_group *ret)
{
    struct part parts[COMPARE_SIDES_MAX];
    size_t width = w->node->group_by_count;

    for (size_t s = 0; s < w->run->options->side_count; s++)
        group_part(&w->sides[s], row->of[s], &parts[s]);
    ret->keys = arena_alloc(&w->run->result->arena, (width + 1) * sizeof(*ret->keys));
    if (!ret->keys)
        return -ENOMEM;
    memcpy(ret->keys, row->keys, width * sizeof(*ret->keys));
    return metrics_make(w, parts, ret);
}

static int make_groups(struct node_work *w, const struct row *rows, size_t count,
                       struct compare_node *ret)
{
    size_t n = 0, bytes = 2 * (count + 1) * sizeof(struct ranked); /* sorting copies them */
    int rc = budget_charge(w->run->budget, bytes);

    if (rc < 0)
        return rc;
    struct ranked *ranked = calloc(count + 1, sizeof(*ranked));
    rc = ranked ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = budget_check(w->run->budget);
        ranked[n] = (struct ranked){.place = i};
        ranked[n].group.key_names = ret->group_by;
        ranked[n].group.key_count = ret->group_by_count;
        ranked[n].group.label_from = ret->label_from;
        rc = rc < 0 ? rc : make_group(w, &rows[i], &ranked[n].group);
        n += rc == 0 && find_worst_change(w, &ranked[n]);
    }
    if (rc == 0 && !w->options->by_name)
        rc = sort_items(ranked, n, sizeof(*ranked), compare_ranked, NULL, w->run->budget);
    ret->groups =
        rc < 0 ? NULL : arena_alloc(&w->run->result->arena, (n + 1) * sizeof(*ret->groups));
    for (size_t i = 0; ret->groups && i < n; i++)
        ret->groups[ret->group_count++] = ranked[i].group;
    free(ranked);
    budget_release(w->run->budget, bytes);
    return rc < 0 ? rc : ret->groups ? 0 : -ENOMEM;
}

/* ---- the node -------------------------------------------------------------------------------- */

static int make_children(struct node_work *w, const struct row *rows, size_t count)
{
    struct compare_node *node = w->node;
    int rc = 0;

    for (size_t i = 0, n; i < count && rc == 0; i += n) {
        struct compare_node *child = &node->children[node->child_count++];
        n = 1;
        while (i + n < count && value_cmp(&rows[i + n].keys[0], &rows[i].keys[0]) == 0)
            n++;
        child->name = rows[i].keys[0];
        child->query = node->query;
        child->group_by = node->group_by;
        child->group_by_count = node->group_by_count;
        child->label_from = 1;
        rc = summarise_node(w, rows + i, n, false, &child->summary);
        rc = rc < 0 ? rc : make_groups(w, rows + i, n, child);
    }
    return rc;
}

int table_make(struct node_work *w)
{
    struct compare_node *node = w->node;
    struct row *rows;
    size_t count;
    int rc = join_rows(w, &rows, &count);

    if (rc < 0)
        return rc;
    node->children = arena_alloc(&w->run->result->arena,
                                 (count + w->options->child_count + 1) * sizeof(*node->children));
    if (!node->children)
        return -ENOMEM;
    rc = summarise_node(w, rows, count, w->top, &node->summary);
    if (rc == 0 && node->group_by_count > 1)
        rc = make_children(w, rows, count);
    else if (rc == 0 && node->group_by_count == 1)
        rc = make_groups(w, rows, count, node);
    return rc;
}
