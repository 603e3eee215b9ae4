/* bind.c - binds tests to a chunk: none of its rows pass, all, or some; and then how these are
 * found.
 *
 * A chunk is decided by the bounds of numbers, by testing each entry of a dictionary once, and by
 * bloom filters. The three values make NOT exact: ALL means that every row passes, nulls included.
 */
#include "engine/filter/modes.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* none: no row passes; else all: every row does. */
static void test_decide(struct test_state *s, bool none, bool all)
{
    s->tri = none ? TRI_NONE : all ? TRI_ALL : TRI_SOME;
}

/* ---- integers and times ---------------------------------------------------------------------- */

/* Converts a literal to the unit of the column. Returns false if they cannot be compared. */
static bool literal_cut(const struct binding *b, const struct literal *l, struct cut *ret)
{
    if (b->shape == SHAPE_BOOL) {
        *ret = (struct cut){l->boolean, false};
        return l->type == LITERAL_BOOL;
    }
    if (l->type == LITERAL_NUMBER) {
        *ret = number_cut(&l->number);
        return true;
    }
    if (l->type != LITERAL_TIME)
        return false;
    *ret = b->shape == SHAPE_TIME && b->nano ? l->ns : cut_divide(l->ns, 1000);
    return true;
}

/* Sets a test of ranges, or if `inverted` of all but these. `inside`: the ranges contain all values
 * of the chunk, `outside`: none. */
static int test_decide_ranges(struct test_state *s, const struct binding *b,
                              const struct test_mode *mode, bool inverted, bool inside,
                              bool outside)
{
    bool all = inverted ? outside : inside;

    s->mode = all ? &mode_valid : mode;
    s->inverted = inverted && !all;
    test_decide(s, inverted ? inside : outside, all && !b->nulls);
    return 0;
}

static int bind_ranges(struct test_state *s, const struct binding *b, bool inverted)
{
    const struct range *r = s->ranges.data;
    bool one = s->count == 1;

    return test_decide_ranges(s, b, &mode_i64, inverted, one && r->lo <= b->min && b->max <= r->hi,
                              one && (r->lo > r->hi || r->hi < b->min || r->lo > b->max));
}

static int cmp_ranges(const void *a, const void *b)
{
    int64_t x = ((const struct range *)a)->lo, y = ((const struct range *)b)->lo;

    return (x > y) - (x < y);
}

/* For IN, only values of the list within the bounds of the column are kept. */
static int bind_integer_ranges(struct test_state *s, const struct test *t, const struct binding *b)
{
    const struct dsl_node *n = t->node;
    struct range *r = scratch_reserve(&s->ranges, (n->literal_count + 1) * sizeof(*r));
    struct cut cut;

    if (!r)
        return -ENOMEM;
    if (n->op == DSL_COMPARE && literal_cut(b, &n->literals[0], &cut)) {
        r[0] = range_of(n->compare, cut);
        s->count = 1;
        return bind_ranges(s, b, n->compare == COMPARE_NE);
    }
    test_decide(s, true, false);
    if (n->op != DSL_IN)
        return 0;
    s->count = 0;
    for (size_t i = 0; i < n->literal_count; i++) {
        if (!literal_cut(b, &n->literals[i], &cut) || cut.more || cut.floor < b->min ||
            cut.floor > b->max)
            continue;
        r[s->count++] = (struct range){(int64_t)cut.floor, (int64_t)cut.floor};
    }
    qsort(r, s->count, sizeof(*r), cmp_ranges);
    if (s->count == 0)
        r[s->count++] = (struct range){INT64_MAX, INT64_MIN};
    else if (r[0].lo == r[s->count - 1].lo)
        s->count = 1;
    return bind_ranges(s, b, n->negated);
}

/* ---- doubles --------------------------------------------------------------------------------- */

static int bind_doubles(struct test_state *s, const struct test *t, const struct binding *b)
{
    const struct dsl_node *n = t->node;
    struct range_f64 *r = scratch_reserve(&s->ranges, (n->literal_count + 1) * sizeof(*r));
    double min = b->column.min_f64, max = b->column.max_f64;

    if (!r)
        return -ENOMEM;
    s->count = 0;
    for (size_t i = 0; i < n->literal_count; i++) {
        if (n->literals[i].type != LITERAL_NUMBER)
            continue;
        r[s->count] =
            range_f64_of(n->op == DSL_IN ? COMPARE_EQ : n->compare, &n->literals[i].number);
        s->count += n->op == DSL_COMPARE || (r[s->count].lo <= r[s->count].hi &&
                                             r[s->count].lo >= min && r[s->count].lo <= max);
    }
    if (n->op != DSL_IN && s->count == 0) {
        test_decide(s, true, false);
        return 0;
    }
    bool list = n->op == DSL_IN && s->count > 0;
    if (s->count == 0)
        r[s->count++] = (struct range_f64){INFINITY, -INFINITY};
    return test_decide_ranges(s, b, &mode_f64,
                              n->op == DSL_IN ? n->negated : n->compare == COMPARE_NE,
                              !list && r->lo <= min && max <= r->hi,
                              !list && (r->lo > r->hi || r->hi < min || r->lo > max));
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

/* Tests a text with a global id once, and keeps the result, if there is memory for the results of
 * all texts. Returns 1, 0 or an error. */
static int test_text_once(struct scan_worker *w, struct test_state *s, const struct test *t,
                          const struct column_entry *e)
{
    if (e->text_id == INDEX_NO_TEXT || e->text_id >= (1u << 24))
        return test_entry(t, e);
    if (e->text_id >= s->seen.count) {
        size_t texts = index_text_count(w->query->env.index);
        s->seen.budget = w->query->budget;
        int rc = vec_extend(&s->seen, (texts > e->text_id ? texts : e->text_id) + 1);
        if (rc < 0)
            return rc == ERR_MEMORY_LIMIT ? test_entry(t, e) : rc;
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

static bool is_negated(const struct test *t)
{
    return t->node->negated || (t->node->op == DSL_COMPARE && t->node->compare == COMPARE_NE);
}

static int test_code(struct scan_worker *w, struct test_state *s, const struct test *t,
                     struct binding *b, uint32_t code)
{
    struct column_entry e = {.type = TRACE_TEXT, .text_id = b->ids ? b->ids[code] : INDEX_NO_TEXT};

    if (!t->texts || e.text_id == INDEX_NO_TEXT) /* otherwise its id suffices */
        e = binding_entry(w, b, code);
    if (e.type != TRACE_TEXT)
        return test_entry(t, &e);
    if (!t->texts)
        return test_text_once(w, s, t, &e);
    return (t->text_count > 0 || t->node->op == DSL_IN) &&
           test_has_text(t, e.text_id, e.text) != is_negated(t);
}

enum { BLOOM_ENTRIES = 4096 }; /* smaller dictionaries are searched faster */

/* Returns false if no literal of the list occurs, by the bloom filter of a large dictionary. */
static bool set_may_occur(struct scan_worker *w, const struct test *t, const struct binding *b)
{
    if (!b->ids || b->entries <= BLOOM_ENTRIES || t->text_count == 0)
        return true;
    for (size_t i = 0; i < t->text_count; i++) {
        if (chunk_may_have(w->chunk.view, &b->column, text_hash(t->texts[i])))
            return true;
    }
    return false;
}

static int bind_codes(struct scan_worker *w, struct test_state *s, const struct test *t,
                      struct binding *b)
{
    uint32_t hits = 0, *table = scratch_reserve(&s->table, (b->entries / 32 + 1) * sizeof(*table));
    bool occurs = set_may_occur(w, t, b);

    if (!table)
        return -ENOMEM;
    memset(table, 0, (b->entries / 32 + 1) * sizeof(*table));
    for (uint32_t code = 0; occurs && !w->error && code < b->entries; code++) {
        bool checks = code % ENTRIES_CHECKED == ENTRIES_CHECKED - 1;
        int result = checks ? budget_check(w->query->budget) : 0;
        result = result < 0 ? result : test_code(w, s, t, b, code);
        if (result < 0)
            return result;
        if (!result)
            continue;
        table[code / 32] |= (uint32_t)1 << code % 32;
        s->only_code = hits++ == 0 ? code : UINT32_MAX;
    }
    if (!occurs)
        hits = is_negated(t) ? b->entries : 0;
    s->inverted = false;
    s->mode = hits == b->entries ? &mode_valid : &mode_codes;
    s->count = 0;
    test_decide(s, hits == 0, hits == b->entries && !b->nulls);
    return 0;
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static int bind_is_null(struct test_state *s, const struct test *t, const struct binding *b)
{
    bool wants_null = !t->node->negated;

    s->mode = &mode_valid;
    s->inverted = wants_null;
    if (b->shape == SHAPE_NULL)
        test_decide(s, !wants_null, wants_null);
    else if (!b->nulls)
        test_decide(s, wants_null, !wants_null);
    else
        test_decide(s, false, false);
    return 0;
}

static int bind_leaf(struct scan_worker *w, const struct test *t, struct test_state *s)
{
    struct binding *b = source_bind(w, t->source);

    if (t->node->op == DSL_NULL)
        return bind_is_null(s, t, b);
    switch (b->shape) {
    case SHAPE_NULL:
        test_decide(s, true, false);
        return 0;
    case SHAPE_INT:
    case SHAPE_TIME:
    case SHAPE_BOOL:
        return bind_integer_ranges(s, t, b);
    case SHAPE_DOUBLE:
        return bind_doubles(s, t, b);
    case SHAPE_TEXT:
    case SHAPE_MIXED:
        return bind_codes(w, s, t, b);
    }
    return -EINVAL;
}

/* Tests for classes: each run of consecutive classes is a range. */
static int bind_classes(struct scan_worker *w, const struct test *t, struct test_state *s)
{
    const struct binding *b = source_bind(w, t->source);
    struct range *r = scratch_reserve(&s->ranges, (TRACE_METADATA + 1) * sizeof(*r));
    bool some = false, all = b->min >= 0 && b->max <= TRACE_METADATA, before = false;

    test_decide(s, true, false);
    if (!r || b->shape != SHAPE_INT)
        return r ? 0 : -ENOMEM;
    s->mode = &mode_i64;
    s->count = 0;
    for (int64_t class = 0; class <= TRACE_METADATA; class ++) {
        bool wanted = t->classes >> class & 1, occurs = b->min <= class && class <= b->max;
        some = some || (occurs && wanted);
        all = all && (!occurs || wanted);
        if (wanted && before)
            r[s->count - 1].hi = class;
        else if (wanted)
            r[s->count++] = (struct range){class, class};
        before = wanted;
    }
    test_decide(s, !some, all);
    return 0;
}

/* ---- trees of tests -------------------------------------------------------------------------- */

static bool is_range(const struct scan_worker *w, const struct test *t)
{
    const struct test_state *s = &w->tests[t->id];

    return t->type == TEST_LEAF && s->tri == TRI_SOME && mode_is_range(s);
}

/* dur >= a AND dur <= b needs one pass over the column: the first test gets the bounds of the
 * others. An empty range is not detected here; the scan then finds no rows. */
static void join_ranges(struct scan_worker *w, const struct test *t)
{
    for (size_t i = 0; i < t->child_count; i++) {
        for (size_t k = i + 1; k < t->child_count && is_range(w, t->children[i]); k++) {
            struct test_state *joined = &w->tests[t->children[k]->id];
            if (t->children[k]->source != t->children[i]->source || !is_range(w, t->children[k]))
                continue;
            struct range *r = w->tests[t->children[i]->id].ranges.data;
            const struct range *more = joined->ranges.data;
            r->lo = more->lo > r->lo ? more->lo : r->lo;
            r->hi = more->hi < r->hi ? more->hi : r->hi;
            joined->tri = TRI_ALL;
        }
    }
}

/* Stops at the first child that decides the result; later ones are neither bound nor evaluated. */
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

void test_bind_only_codes(struct scan_worker *w, const struct test *root)
{
    const struct test *const *tests = (const struct test *const *)root->children;

    for (size_t i = 0; i < (root->type == TEST_AND ? root->child_count : 1); i++) {
        const struct test *t = root->type == TEST_AND ? tests[i] : root;
        const struct test_state *s = &w->tests[t->id];
        if (t->type != TEST_LEAF || s->tri != TRI_SOME || s->mode != &mode_codes ||
            s->only_code == UINT32_MAX)
            continue;
        struct binding *b = source_bind(w, t->source);
        b->only_serial = w->serial;
        b->only_code = s->only_code;
    }
}

enum tri test_bind(struct scan_worker *w, const struct test *t)
{
    struct test_state *s = &w->tests[t->id];

    s->known = TRI_SOME;
    if (t->type == TEST_LEAF)
        (void)worker_set_error(w, bind_leaf(w, t, s));
    else if (t->type == TEST_CLASS)
        (void)worker_set_error(w, bind_classes(w, t, s));
    else if (t->type == TEST_NOT) /* swaps TRI_NONE and TRI_ALL */
        s->tri = (enum tri)(TRI_ALL - test_bind(w, t->children[0]));
    else
        bind_children(w, t, s);
    if (w->query->no_pruning && test_is_leaf(t) && s->tri != TRI_SOME) {
        /* For unit tests: the chunk does not decide the test. */
        s->known = s->tri;
        s->tri = TRI_SOME;
    }
    return s->tri;
}
