/* compile.c - makes tests with sources from the tree of a query, cheapest first; and excludes files
 * by their catalog entries. */
#include "engine/filter/filter.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- building -------------------------------------------------------------------------------- */

static struct test *test_new(struct query *q, int type, size_t children)
{
    struct test *t = arena_alloc(&q->arena, sizeof(*t));

    if (!t)
        return NULL;
    t->type = type;
    t->id = q->test_count++;
    if (children)
        t->children = arena_alloc(&q->arena, children * sizeof(*t->children));
    return children && !t->children ? NULL : t;
}

static int cmp_texts(const void *a, const void *b)
{
    return text_cmp(*(const struct text *)a, *(const struct text *)b);
}

static int cmp_ids(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return (x > y) - (x < y);
}

/* Makes sets of the texts of ==, != and IN: by global id, and by bytes, for texts that only one
 * chunk has. */
static void prepare_texts(struct query *q, struct test *t)
{
    const struct dsl_node *n = t->node;

    t->texts = arena_alloc(&q->arena, (n->literal_count + 1) * sizeof(*t->texts));
    t->text_ids = arena_alloc(&q->arena, (n->literal_count + 1) * sizeof(*t->text_ids));
    if (!t->texts || !t->text_ids)
        return;
    for (size_t i = 0; i < n->literal_count; i++) {
        if (n->literals[i].type != LITERAL_TEXT)
            continue;
        uint32_t id = index_text_find(q->env.index, n->literals[i].text);
        t->texts[t->text_count++] = n->literals[i].text;
        if (id != INDEX_NO_TEXT)
            t->text_ids[t->text_id_count++] = id;
    }
    qsort(t->texts, t->text_count, sizeof(*t->texts), cmp_texts);
    qsort(t->text_ids, t->text_id_count, sizeof(*t->text_ids), cmp_ids);
}

bool test_has_text(const struct test *t, uint32_t id, struct text text)
{
    if (id != INDEX_NO_TEXT)
        return bsearch(&id, t->text_ids, t->text_id_count, sizeof(id), cmp_ids) != NULL;
    return bsearch(&text, t->texts, t->text_count, sizeof(text), cmp_texts) != NULL;
}

static bool is_set_test(const struct dsl_node *n)
{
    bool equality = n->op == DSL_COMPARE && (n->compare == COMPARE_EQ || n->compare == COMPARE_NE);

    return equality || n->op == DSL_IN;
}

/* Estimates the cost of a test. */
static unsigned leaf_cost(const struct test *t)
{
    enum path_kind kind = t->source->info.kind;
    unsigned cost = kind == PATH_COLUMN || kind == PATH_BYTES ? 0 : 4;

    if (t->node->op == DSL_LIKE || t->node->op == DSL_CONTAINS)
        return cost + 2;
    return t->node->op == DSL_MATCH ? cost + 3 : cost;
}

static struct test *compile_leaf(struct query *q, const struct dsl_node *node)
{
    struct test *t = test_new(q, TEST_LEAF, 0);

    if (!t || !(t->source = source_of(q, node->path)))
        return NULL;
    t->node = node;
    t->cost = leaf_cost(t);
    if (is_set_test(node))
        prepare_texts(q, t);
    return t;
}

/* Stable, so that equal costs keep the order of the query. */
static void sort_children(struct test *t)
{
    for (size_t i = 1; i < t->child_count; i++) {
        struct test *child = t->children[i];
        size_t at = i;
        for (; at > 0 && t->children[at - 1]->cost > child->cost; at--)
            t->children[at] = t->children[at - 1];
        t->children[at] = child;
    }
}

static struct test *compile_row(struct query *q, const struct dsl_node *node)
{
    size_t count = 0;

    for (const struct dsl_node *c = node->child; c; c = c->next)
        count++;
    struct test *t = test_new(q,
                              node->op == DSL_AND  ? TEST_AND
                              : node->op == DSL_OR ? TEST_OR
                                                   : TEST_NOT,
                              count);
    for (const struct dsl_node *c = node->child; t && c; c = c->next) {
        struct test *child = test_compile(q, c);
        if (!child)
            return NULL;
        t->children[t->child_count++] = child;
        t->cost = child->cost > t->cost ? child->cost : t->cost;
    }
    if (t && t->child_count <= 64) /* longer lists mostly have tests of the same cost */
        sort_children(t);
    return t;
}

struct test *test_compile(struct query *q, const struct dsl_node *node)
{
    return node->op <= DSL_NOT ? compile_row(q, node) : compile_leaf(q, node);
}

struct test *test_classes(struct query *q, unsigned phases)
{
    struct test *t = test_new(q, TEST_CLASS, 0);

    if (t) {
        t->source = source_of(q, TEXT("@class"));
        t->classes = phases;
    }
    return t;
}

/* Children of an AND, or the test itself. */
static size_t parts_of(struct test *const *t, struct test *const **ret)
{
    *ret = (*t)->type == TEST_AND ? (*t)->children : t;
    return (*t)->type == TEST_AND ? (*t)->child_count : 1;
}

/* Makes one AND of all parts, without a nested AND: each child is evaluated only for rows that
 * passed the ones before. */
struct test *test_both(struct query *q, struct test *a, struct test *b)
{
    struct test *const *of_a, *const *of_b;

    if (!a || !b)
        return a ? a : b;
    size_t n = parts_of(&a, &of_a), more = parts_of(&b, &of_b);
    struct test *t = test_new(q, TEST_AND, n + more);
    if (!t)
        return NULL;
    t->child_count = n + more;
    memcpy(t->children, of_a, n * sizeof(*t->children));
    memcpy(t->children + n, of_b, more * sizeof(*t->children));
    t->cost = a->cost > b->cost ? a->cost : b->cost;
    sort_children(t);
    return t;
}

/* ---- excluding files ------------------------------------------------------------------------- */

static uint64_t count_of(const struct trace_counts *c, enum trace_class class)
{
    switch (class) {
    case TRACE_EVENT:
        return c->events;
    case TRACE_COUNTER:
        return c->counters;
    case TRACE_AGGREGATED:
        return c->aggregated;
    default:
        return c->metadata;
    }
}

/* The times in the catalog are those of events only. */
static bool only_events(const struct query *q, const struct index_file *file)
{
    for (int class = TRACE_COUNTER; class <= TRACE_METADATA; class ++) {
        if ((q->phases & 1u << class) && count_of(&file->counts, (enum trace_class) class) > 0)
            return false;
    }
    return true;
}

static bool time_may_match(const struct query *q, const struct test *t,
                           const struct index_file *file)
{
    const struct dsl_node *n = t->node;
    bool is_ts = t->source->info.kind == PATH_COLUMN;

    if (n->op != DSL_COMPARE || n->literals[0].type != LITERAL_TIME || !only_events(q, file))
        return true;
    if (!file->has_time)
        return false;
    struct cut ns = n->literals[0].ns;
    /* te of every event is at most max_te, and ts at least min_ts */
    bool above = (is_ts && file->negative_durations) || file->max_te > ns.floor ||
                 (file->max_te == ns.floor && !ns.more && n->compare != COMPARE_GT);
    bool below = file->min_ts < ns.floor ||
                 (file->min_ts == ns.floor && (ns.more || n->compare != COMPARE_LT));
    switch (n->compare) {
    case COMPARE_GT:
    case COMPARE_GE:
        return above;
    case COMPARE_LT:
    case COMPARE_LE:
        return !is_ts || below;
    case COMPARE_EQ:
        return above && (!is_ts || below);
    default:
        return true;
    }
}

/* Returns false if values that are equal to the literal may have other hashes: beyond 2^53, the
 * shortest digits of a double differ from those of the same integer. */
static bool literal_hash(const struct literal *l, uint64_t *ret)
{
    char digits[40];
    size_t len;

    if (l->type == LITERAL_TEXT) {
        *ret = text_hash(l->text);
        return true;
    }
    if (l->type != LITERAL_NUMBER || fabs(number_double(&l->number)) > 0x1p53)
        return false;
    len = l->number.type == NUMBER_INT ? num_format_i64(l->number.i, digits)
                                       : num_format_double(l->number.d, digits);
    *ret = text_hash((struct text){digits, len});
    return true;
}

static bool set_may_match(const struct query *q, const struct test *t,
                          const struct index_file *file)
{
    const struct dsl_node *n = t->node;
    const struct path_info *info = &t->source->info;

    if (!is_set_test(n) || n->negated || n->compare == COMPARE_NE || info->kind != PATH_COLUMN ||
        info->time)
        return true;
    for (size_t i = 0; i < n->literal_count; i++) {
        uint64_t hash;
        if (!literal_hash(&n->literals[i], &hash) ||
            index_file_may_have(q->env.index, file, info->column, hash) ||
            (info->other.len > 0 && index_file_may_have(q->env.index, file, info->other, hash)))
            return true;
    }
    return false;
}

static bool classes_may_match(const struct test *t, const struct index_file *file)
{
    for (int class = TRACE_EVENT; class <= TRACE_METADATA; class ++) {
        if ((t->classes & 1u << class) && count_of(&file->counts, (enum trace_class) class) > 0)
            return true;
    }
    return false;
}

static bool leaf_may_match(const struct query *q, const struct test *t,
                           const struct index_file *file)
{
    const struct path_info *info = &t->source->info;

    if (info->time && !text_eq(info->column, TEXT("dur")))
        return time_may_match(q, t, file);
    return set_may_match(q, t, file);
}

bool test_may_match_file(const struct query *q, const struct test *t, const struct index_file *file)
{
    bool any = false;

    switch (t->type) {
    case TEST_CLASS:
        return classes_may_match(t, file);
    case TEST_LEAF:
        return leaf_may_match(q, t, file);
    case TEST_NOT:
        return true;
    case TEST_AND:
        for (size_t i = 0; i < t->child_count; i++) {
            if (!test_may_match_file(q, t->children[i], file))
                return false;
        }
        return true;
    case TEST_OR:
        for (size_t i = 0; i < t->child_count && !any; i++)
            any = test_may_match_file(q, t->children[i], file);
        return any;
    }
    return true;
}
