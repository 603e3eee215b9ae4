/* packed.c - tests on encoded columns, for a whole chunk at once: bitmaps of the rows that pass. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "dftracerd/kernel.h"
#include "engine/filter/modes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool test_misses_zeros(const struct test_state *s, const struct binding *b)
{
    const struct range *r = s->ranges.data;

    return b->kind->zeros && mode_is_range(s) && r->lo <= 0 && r->hi >= 0;
}

const uint64_t *test_select(struct scan_worker *w, const struct test *t, const struct binding *b)
{
    struct test_state *s = &w->tests[t->id];

    if (s->rows_serial == w->serial)
        return s->rows.data;
    const struct column *c = mode_column(s, b);
    int rc = budget_check(w->query->budget); /* a filter may have thousands of tests */
    if (rc == 0 && c && !scratch_reserve(&s->rows, mask_words(w->chunk.rows) * 16ul))
        rc = -ENOMEM;
    if (rc == 0 && c)
        rc = s->mode->select(w->chunk.view, c, s, s->rows.data);
    if (worker_set_error(w, rc) || !c)
        return NULL;
    s->rows_serial = w->serial;
    return s->rows.data;
}

/* ---- trees of tests -------------------------------------------------------------------------- */

static const uint64_t *rows_of_leaf(struct scan_worker *w, const struct test *t)
{
    const struct binding *b = source_bind(w, t->source);

    return test_misses_zeros(&w->tests[t->id], b) ? NULL : test_select(w, t, b);
}

/* Returns true if any row is left. */
static bool and_rows(uint64_t *restrict rows, const uint64_t *restrict one, uint32_t words)
{
    uint64_t left = 0;

    for (uint32_t k = 0; k < words; k++) {
        rows[k] &= one[k];
        left |= rows[k];
    }
    return left != 0;
}

/* Children that every row of the chunk passes are skipped. */
static const uint64_t *rows_of_and(struct scan_worker *w, const struct test *t)
{
    uint32_t words = mask_words(w->chunk.rows);
    uint64_t *rows = scratch_reserve(&w->tests[t->id].rows, words * 8);
    bool any = true, first = true;

    if (worker_set_error(w, rows ? 0 : -ENOMEM))
        return NULL;
    for (size_t i = 0; any && i < t->child_count; i++) {
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        const uint64_t *one = test_select_root(w, t->children[i]);
        if (!one)
            return NULL;
        if (first)
            memcpy(rows, one, words * 8);
        any = first || and_rows(rows, one, words);
        first = false;
    }
    return first ? NULL : rows;
}

const uint64_t *test_select_root(struct scan_worker *w, const struct test *t)
{
    if (w->tests[t->id].known != TRI_SOME)
        return NULL;
    if (t->type == TEST_AND)
        return rows_of_and(w, t);
    return test_is_leaf(t) ? rows_of_leaf(w, t) : NULL;
}

/* ---- values of the rows that pass ------------------------------------------------------------ */

struct value_filter {
    const struct binding *own; /* the source of the values */
    const struct range *range; /* the only test of the values, NULL: none */
    uint64_t *rows;            /* that pass all other tests */
};

/* Adds a test to the filter. Returns false if that is not possible. */
static bool value_filter_add(struct scan_worker *w, const struct test *t, struct value_filter *to)
{
    struct test_state *s = &w->tests[t->id];
    bool ok = true;

    for (size_t i = 0; t->type == TEST_AND && ok && i < t->child_count; i++)
        if (w->tests[t->children[i]->id].tri == TRI_SOME)
            ok = value_filter_add(w, t->children[i], to);
    if (t->type == TEST_AND)
        return ok;
    if (s->known != TRI_SOME || !test_is_leaf(t))
        return false;
    struct binding *b = source_bind(w, t->source);
    if (b == to->own && !to->range && mode_is_range(s) && mode_column(s, b) &&
        !test_misses_zeros(s, b)) {
        to->range = s->ranges.data;
        return true;
    }
    const uint64_t *rows = rows_of_leaf(w, t);
    if (rows)
        and_rows(to->rows, rows, mask_words(w->chunk.rows));
    return rows != NULL;
}

/* Returns the column of the durations, or NULL if there is none or it does not hold times. */
static const struct column *stored_dur(const struct binding *own)
{
    const struct column *c = own->stored_except_zeros ? own->stored_except_zeros : own->stored;

    return own->shape == SHAPE_TIME ? c : NULL;
}

static int read_values(struct scan_worker *w, const struct value_filter *from,
                       struct scan_values *ret)
{
    const struct column *c = stored_dur(from->own);
    uint32_t max_count = kernels()->count(from->rows, mask_words(w->chunk.rows));
    int64_t *values = scratch_reserve(&w->values, ((size_t)max_count + 1) * sizeof(*values));

    if (!values)
        return -ENOMEM;
    *ret = (struct scan_values){.chunk = &w->chunk, .values = values, .nano = c->nano};
    return column_copy_selected_i64(w->chunk.view, c, from->rows,
                                    from->range ? from->range->lo : INT64_MIN,
                                    from->range ? from->range->hi : INT64_MAX, values, &ret->count);
}

bool test_values(struct scan_worker *w, const struct test *root, const struct source *s,
                 struct scan_values *ret)
{
    uint32_t bytes = mask_words(w->chunk.rows) * 8;
    struct value_filter to = {source_bind(w, s), NULL, scratch_reserve(&w->other_rows, bytes)};

    if (worker_set_error(w, to.rows ? 0 : -ENOMEM) || !stored_dur(to.own))
        return false;
    memset(to.rows, 0xFF, bytes);
    if (!value_filter_add(w, root, &to) || (!to.range && stored_dur(to.own)->nulls > 0))
        return false; /* null rows may have to be counted as 0 */
    if (w->chunk.rows % 64)
        to.rows[w->chunk.rows / 64] &= ((uint64_t)1 << w->chunk.rows % 64) - 1;
    return !worker_set_error(w, read_values(w, &to, ret));
}
