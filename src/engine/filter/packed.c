/* packed.c - tests on encoded columns, for a whole chunk at once: bitmaps of the rows that pass. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "dftracerd/kernel.h"
#include "engine/filter/modes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    return test_is_leaf(t) ? test_select(w, t, source_bind(w, t->source)) : NULL;
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
    if (b == to->own && !to->range && mode_is_range(s) && mode_column(s, b)) {
        to->range = s->ranges.data;
        return true;
    }
    const uint64_t *rows = test_select(w, t, b);
    if (rows)
        and_rows(to->rows, rows, mask_words(w->chunk.rows));
    return rows != NULL;
}

static int read_values(struct scan_worker *w, const struct value_filter *from,
                       struct scan_values *ret)
{
    const struct column *c = from->own->stored;
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

    if (worker_set_error(w, to.rows ? 0 : -ENOMEM) || to.own->shape != SHAPE_TIME ||
        !to.own->stored)
        return false;
    memset(to.rows, 0xFF, bytes);
    if (!value_filter_add(w, root, &to) || (!to.range && to.own->nulls))
        return false; /* rows without a value would not be counted */
    if (w->chunk.rows % 64)
        to.rows[w->chunk.rows / 64] &= ((uint64_t)1 << w->chunk.rows % 64) - 1;
    return !worker_set_error(w, read_values(w, &to, ret));
}
