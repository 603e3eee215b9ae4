/* bind.c - a test in one chunk: none of its rows, all, or some, and then how they are
 * found.
 *
 * Decided by the bounds of numbers, by each entry of a dictionary once, by bloom filters. Three
 * values, so that NOT is
 * exact: ALL means that every row passes, nulls included.
 */
#include "engine/filter/filter.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static enum tri settle(struct test_state *s, bool none, bool all)
{
    s->tri = none ? TRI_NONE : all ? TRI_ALL : TRI_SOME;
    return s->tri;
}

/* ---- integers and times ---------------------------------------------------------------------- */

/* The literal in the unit of the column; false when no number of the column compares with it. */
static bool literal_cut(const struct bound *b, const struct literal *l, struct cut *ret)
{
    if (b->shape == SHAPE_BOOL) {
        *ret = (struct cut){l->boolean, false};
        return l->type == LITERAL_BOOL;
    }
    if (l->type == LITERAL_NUMBER) {
        *ret = number_cut(&l->number);
        if (b->shape == SHAPE_TIME && b->nano) { /* a plain number against a time is microseconds */
            ret->floor *= 1000;
            ret->more = false;
        }
        return true;
    }
    if (l->type != LITERAL_TIME)
        return false;
    *ret = b->shape == SHAPE_TIME && b->nano ? l->ns : cut_divide(l->ns, 1000);
    return true;
}

static void bind_range(struct test_state *s, const struct bound *b, struct range r, bool inverted)
{
    bool inside = r.lo <= b->min && b->max <= r.hi,
         outside = r.lo > r.hi || r.hi < b->min || r.lo > b->max;

    s->mode = MODE_I64;
    s->lo = r.lo;
    s->hi = r.hi;
    s->inverted = inverted;
    if (inverted ? outside : inside)
        s->mode = MODE_VALID;
    settle(s, inverted ? inside : outside, s->mode == MODE_VALID && !b->nulls);
    if (s->mode == MODE_VALID)
        s->inverted = false;
}

static int cmp_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* IN: the values of the list that the column may have. */
static int bind_set_i64(struct test_state *s, const struct test *t, const struct bound *b)
{
    const struct dsl_node *n = t->node;
    int64_t *set = grow_to(&s->set, (n->literal_count + 1) * sizeof(*set));
    struct cut cut;

    if (!set)
        return -ENOMEM;
    s->set_count = 0;
    for (size_t i = 0; i < n->literal_count; i++) {
        if (!literal_cut(b, &n->literals[i], &cut) || cut.more || cut.floor < b->min ||
            cut.floor > b->max)
            continue;
        set[s->set_count++] = (int64_t)cut.floor;
    }
    qsort(set, s->set_count, sizeof(*set), cmp_i64);
    struct range none = {INT64_MAX, INT64_MIN}, one = {set[0], set[0]};
    if (s->set_count <= 1 || set[0] == set[s->set_count - 1]) {
        bind_range(s, b, s->set_count ? one : none, n->negated);
        return 0;
    }
    s->mode = MODE_I64_SET;
    s->inverted = n->negated;
    settle(s, false, false);
    return 0;
}

static int bind_integers(struct test_state *s, const struct test *t, const struct bound *b)
{
    const struct dsl_node *n = t->node;
    struct cut cut;

    if (n->op == DSL_IN)
        return bind_set_i64(s, t, b);
    if (n->op != DSL_COMPARE || !literal_cut(b, &n->literals[0], &cut)) {
        settle(s, true, false);
        return 0;
    }
    bind_range(s, b, range_of(n->compare, cut), n->compare == COMPARE_NE);
    return 0;
}

/* ---- doubles --------------------------------------------------------------------------------- */

static void bind_range_f64(struct test_state *s, const struct bound *b, struct range_f64 r,
                           bool inverted)
{
    bool inside = r.lo <= b->column.min_f64 && b->column.max_f64 <= r.hi;
    bool outside = r.lo > r.hi || r.hi < b->column.min_f64 || r.lo > b->column.max_f64;

    s->mode = MODE_F64;
    s->lo_f64 = r.lo;
    s->hi_f64 = r.hi;
    s->inverted = inverted;
    if (inverted ? outside : inside) {
        s->mode = MODE_VALID;
        s->inverted = false;
    }
    settle(s, inverted ? inside : outside, s->mode == MODE_VALID && !b->nulls);
}

static int bind_doubles(struct test_state *s, const struct test *t, const struct bound *b)
{
    const struct dsl_node *n = t->node;
    double *set = grow_to(&s->set, (n->literal_count + 1) * sizeof(*set));

    if (!set)
        return -ENOMEM;
    s->set_count = 0;
    for (size_t i = 0; i < n->literal_count; i++) {
        if (n->literals[i].type != LITERAL_NUMBER)
            continue;
        struct range_f64 r =
            range_f64_of(n->op == DSL_IN ? COMPARE_EQ : n->compare, &n->literals[i].number);
        if (n->op == DSL_COMPARE) {
            bind_range_f64(s, b, r, n->compare == COMPARE_NE);
            return 0;
        }
        if (r.lo <= r.hi && r.lo >= b->column.min_f64 && r.lo <= b->column.max_f64)
            set[s->set_count++] = r.lo;
    }
    if (n->op != DSL_IN) {
        settle(s, true, false);
        return 0;
    }
    struct range_f64 none = {INFINITY, -INFINITY};
    if (s->set_count == 0) {
        bind_range_f64(s, b, none, n->negated);
        return 0;
    }
    s->mode = MODE_F64_SET;
    s->inverted = n->negated;
    settle(s, false, false);
    return 0;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* 1 and 0 for texts that have been judged before; by global id. */
static int judge_seen(struct scan_worker *w, struct test_state *s, const struct test *t,
                      const struct column_entry *e)
{
    if (e->text_id == INDEX_NO_TEXT || e->text_id >= (1u << 24))
        return test_entry(t, e);
    if (e->text_id >= s->seen.count) {
        size_t texts = index_text_count(w->query->env.index);
        if (vec_extend(&s->seen, (texts > e->text_id ? texts : e->text_id) + 1) < 0)
            return -ENOMEM;
    }
    uint8_t *seen = &s->seen.at[e->text_id];
    if (*seen == 0) {
        int result = test_entry(t, e);
        if (result < 0)
            return result;
        *seen = (uint8_t)(result + 1);
    }
    return *seen - 1;
}

static int cmp_text_to(const void *key, const void *entry)
{
    return text_cmp(*(const struct text *)key, *(const struct text *)entry);
}

static int cmp_id_to(const void *key, const void *entry)
{
    uint32_t x = *(const uint32_t *)key, y = *(const uint32_t *)entry;

    return (x > y) - (x < y);
}

/* == != IN on a text. */
static bool set_has(const struct test *t, uint32_t id, struct text text)
{
    if (id != INDEX_NO_TEXT)
        return bsearch(&id, t->text_ids, t->text_id_count, sizeof(id), cmp_id_to) != NULL;
    return bsearch(&text, t->texts, t->text_count, sizeof(text), cmp_text_to) != NULL;
}

static int judge_code(struct scan_worker *w, struct test_state *s, const struct test *t,
                      struct bound *b, uint32_t code)
{
    bool negated =
        t->node->negated || (t->node->op == DSL_COMPARE && t->node->compare == COMPARE_NE);

    if (t->texts && b->ids && b->ids[code] != INDEX_NO_TEXT) /* without fetching the text */
        return (t->text_count > 0 || t->node->op == DSL_IN) &&
               set_has(t, b->ids[code], (struct text){NULL, 0}) != negated;
    struct column_entry e = bound_entry(w, b, code);
    if (t->texts && e.type == TRACE_TEXT)
        return (t->text_count > 0 || t->node->op == DSL_IN) &&
               set_has(t, e.text_id, e.text) != negated;
    if (e.type == TRACE_TEXT)
        return judge_seen(w, s, t, &e);
    return test_entry(t, &e);
}

/* False: the bloom filter says that no literal of the list occurs. Asked for large dictionaries
 * only. */
static bool set_may_occur(struct scan_worker *w, const struct test *t, const struct bound *b)
{
    if (!b->ids || b->entries <= 4096 || t->text_count == 0)
        return true;
    for (size_t i = 0; i < t->text_count; i++) {
        if (chunk_may_have(w->chunk.view, &b->column, text_hash(t->texts[i])))
            return true;
    }
    return false;
}

static void table_set(uint32_t *table, uint32_t code)
{
    table[code / 32] |= (uint32_t)1 << code % 32;
}

static int bind_codes(struct scan_worker *w, struct test_state *s, const struct test *t,
                      struct bound *b)
{
    bool negated =
        t->node->negated || (t->node->op == DSL_COMPARE && t->node->compare == COMPARE_NE);
    uint32_t hits = 0, *table = grow_to(&s->table, (b->entries / 32 + 1) * sizeof(*table));
    bool occurs = set_may_occur(w, t, b);

    if (!table)
        return -ENOMEM;
    memset(table, 0, (b->entries / 32 + 1) * sizeof(*table));
    for (uint32_t code = 0; occurs && !w->error && code < b->entries; code++) {
        if ((code & 4095) == 4095 && budget_check(w->query->budget) < 0)
            return budget_check(w->query->budget);
        int result = judge_code(w, s, t, b, code);
        if (result < 0)
            return result;
        if (!result)
            continue;
        table_set(table, code);
        s->only_code = hits++ == 0 ? code : UINT32_MAX;
    }
    if (!occurs)
        hits = negated ? b->entries : 0;
    s->inverted = false;
    s->mode = hits == b->entries ? MODE_VALID : MODE_CODES;
    settle(s, hits == 0, hits == b->entries && !b->nulls);
    return 0;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static int bind_is_null(struct test_state *s, const struct test *t, const struct bound *b)
{
    bool wants_null = !t->node->negated;

    s->mode = MODE_VALID;
    s->inverted = wants_null;
    if (b->shape == SHAPE_NULL)
        settle(s, !wants_null, wants_null);
    else if (!b->nulls)
        settle(s, wants_null, !wants_null);
    else
        settle(s, false, false);
    return 0;
}

static int bind_leaf(struct scan_worker *w, const struct test *t, struct test_state *s)
{
    struct bound *b = source_bind(w, t->source);

    if (t->node->op == DSL_NULL)
        return bind_is_null(s, t, b);
    switch (b->shape) {
    case SHAPE_NULL:
        settle(s, true, false);
        return 0;
    case SHAPE_INT:
    case SHAPE_TIME:
    case SHAPE_BOOL:
        return bind_integers(s, t, b);
    case SHAPE_DOUBLE:
        return bind_doubles(s, t, b);
    case SHAPE_TEXT:
    case SHAPE_MIXED:
        return bind_codes(w, s, t, b);
    }
    return -EINVAL;
}

static void bind_classes(struct scan_worker *w, const struct test *t, struct test_state *s)
{
    const struct bound *b = source_bind(w, t->source);
    bool any = false, all = true;

    if (b->shape != SHAPE_INT) {
        settle(s, true, false);
        return;
    }
    for (int64_t class = b->min; class <= b->max; class ++) {
        bool wanted = class >= 0 && class < 4 && (t->classes >> class & 1);
        any = any || wanted;
        all = all && wanted;
    }
    settle(s, !any, all);
}

/* ---- the tree -------------------------------------------------------------------------------- */

static bool is_range(const struct scan_worker *w, const struct test *t)
{
    const struct test_state *s = &w->tests[t->id];

    return t->type == TEST_LEAF && s->tri == TRI_SOME && s->mode == MODE_I64 && !s->inverted;
}

/* dur >= a AND dur <= b is one look at the column: the first of them takes the others' bounds. What
 * no value can meet is left for the scan to find out. */
static void join_ranges(struct scan_worker *w, const struct test *t)
{
    for (size_t i = 0; i < t->child_count; i++) {
        struct test_state *first = &w->tests[t->children[i]->id];
        for (size_t k = i + 1; k < t->child_count && is_range(w, t->children[i]); k++) {
            struct test_state *other = &w->tests[t->children[k]->id];
            if (t->children[k]->source != t->children[i]->source || !is_range(w, t->children[k]))
                continue;
            first->lo = other->lo > first->lo ? other->lo : first->lo;
            first->hi = other->hi < first->hi ? other->hi : first->hi;
            other->tri = TRI_ALL;
        }
    }
}

/* Stops at the first child that decides; the others are not bound, nor evaluated then. */
static void bind_children(struct scan_worker *w, const struct test *t, struct test_state *s)
{
    enum tri decides = t->type == TEST_AND ? TRI_NONE : TRI_ALL,
             result = t->type == TEST_AND ? TRI_ALL : TRI_NONE;

    for (size_t i = 0; i < t->child_count && !w->error; i++) {
        enum tri tri = test_bind(w, t->children[i]);
        if (tri == decides) {
            s->tri = decides;
            return;
        }
        if (tri == TRI_SOME)
            result = TRI_SOME;
    }
    s->tri = result;
    if (t->type == TEST_AND && result == TRI_SOME && !w->query->no_pruning)
        join_ranges(w, t);
}

/* For tests: as if nothing could be known of a chunk. */
static void forget_pruning(const struct test *t, struct test_state *s)
{
    if (t->type == TEST_NOT || s->tri == TRI_SOME)
        return;
    s->known = s->tri;
    s->tri = TRI_SOME;
}

void test_bind_only(struct scan_worker *w, const struct test *root)
{
    const struct test *const *tests = (const struct test *const *)root->children;

    for (size_t i = 0; i < (root->type == TEST_AND ? root->child_count : 1); i++) {
        const struct test *t = root->type == TEST_AND ? tests[i] : root;
        const struct test_state *s = &w->tests[t->id];
        if (t->type != TEST_LEAF || s->tri != TRI_SOME || s->mode != MODE_CODES ||
            s->only_code == UINT32_MAX)
            continue;
        struct bound *b = source_bind(w, t->source);
        b->only_serial = w->serial;
        b->only_code = s->only_code;
    }
}

enum tri test_bind(struct scan_worker *w, const struct test *t)
{
    struct test_state *s = &w->tests[t->id];

    s->known = TRI_SOME;
    if (t->type == TEST_LEAF)
        (void)worker_fails(w, bind_leaf(w, t, s));
    else if (t->type == TEST_CLASS)
        bind_classes(w, t, s);
    else if (t->type == TEST_NOT) /* none and all change places */
        s->tri = (enum tri)(TRI_ALL - test_bind(w, t->children[0]));
    else
        bind_children(w, t, s);
    if (w->query->no_pruning && (t->type == TEST_LEAF || t->type == TEST_CLASS))
        forget_pruning(t, s);
    return s->tri;
}
