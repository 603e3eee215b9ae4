/* packed.c - tests that packed columns answer without being decoded, for the whole chunk
 * at once: bitmaps of the rows that pass. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "dftracerd/kernel.h"
#include "engine/filter/filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint32_t words_of(const struct scan_worker *w)
{
    return (w->chunk.rows + 63) / 64;
}

bool test_misses_zeros(const struct test_state *s, const struct bound *b)
{
    return b->form == FORM_DUR && s->lo <= 0 && s->hi >= 0;
}

/* NULL where values have to be computed. */
static const struct column *packed_column(const struct test_state *s, const struct bound *b)
{
    bool codes = s->mode == MODE_CODES, range = s->mode == MODE_I64;
    bool few = s->mode == MODE_I64_SET && s->set_count <= TEST_FEW;

    if (b->form == FORM_DUR && range && !s->inverted && b->part[0]->form == FORM_STORED)
        return &b->part[0]->column;
    if (b->form == FORM_STORED || (b->form == FORM_MAPPED && !b->remap && codes))
        return codes || range || few ? &b->column : NULL;
    return NULL;
}

/* Whose rows with a value, or those without one, are all that matters of the test: MODE_VALID. */
static const struct column *valid_column(const struct bound *b)
{
    b = b->form == FORM_TE ? b->part[0] : b;
    return b->form == FORM_STORED ? &b->column : NULL;
}

static int select_valid(struct chunk_view *view, const struct column *c, bool nulls, uint64_t *rows,
                        uint32_t words)
{
    int rc = column_read_valid(view, c, 0, c->rows, rows);

    for (uint32_t k = 0; rc == 0 && nulls && k < words; k++)
        rows[k] = ~rows[k];
    if (rc == 0 && nulls && c->rows % 64)
        rows[words - 1] &= ((uint64_t)1 << c->rows % 64) - 1;
    return rc;
}

static int select_set(struct chunk_view *view, const struct column *c, const struct test_state *s,
                      uint64_t *rows, uint32_t words)
{
    const int64_t *set = s->set.data;
    uint64_t *one = malloc(words * 8);
    int rc = one ? 0 : -ENOMEM;

    memset(rows, 0, words * 8);
    for (size_t i = 0; rc == 0 && i < s->set_count; i++) {
        rc = column_select_i64(view, c, set[i], set[i], one);
        for (uint32_t k = 0; rc == 0 && k < words; k++)
            rows[k] |= one[k];
    }
    free(one);
    return rc;
}

/* Null rows do not pass either way. */
static int invert_rows(struct chunk_view *view, const struct column *c, uint64_t *rows)
{
    uint64_t valid[SCAN_WORDS];
    int rc = 0;

    for (uint32_t first = 0; rc == 0 && first < c->rows; first += SCAN_BATCH) {
        uint32_t n = c->rows - first < SCAN_BATCH ? c->rows - first : SCAN_BATCH;
        rc = column_read_valid(view, c, first, n, valid);
        for (uint32_t k = 0; rc == 0 && k < (n + 63) / 64; k++)
            rows[first / 64 + k] = ~rows[first / 64 + k] & valid[k];
    }
    return rc;
}

static int select_packed(struct scan_worker *w, struct test_state *s, const struct column *c)
{
    struct chunk_view *view = w->chunk.view;
    uint32_t words = words_of(w);
    uint64_t *rows = grow_to(&s->rows, words * 8);
    int rc;

    if (!rows)
        return -ENOMEM;
    if (s->mode == MODE_VALID)
        return select_valid(view, c, s->inverted, rows, words);
    if (s->mode == MODE_CODES)
        rc = column_select_codes(view, c, s->table.data, rows);
    else if (s->mode == MODE_I64)
        rc = column_select_i64(view, c, s->lo, s->hi, rows);
    else
        rc = select_set(view, c, s, rows, words);
    return rc == 0 && s->inverted ? invert_rows(view, c, rows) : rc;
}

/* The next run [*lo, *hi] of wanted classes from *lo on; false: there is none. */
static bool next_classes(const struct test *t, int64_t *lo, int64_t *hi)
{
    while (*lo < 4 && !(t->classes >> *lo & 1))
        ++*lo;
    for (*hi = *lo; *hi + 1 < 4 && (t->classes >> (*hi + 1) & 1);)
        ++*hi;
    return *lo < 4;
}

/* Nearly always there is one run, which goes straight to its place. */
static int select_classes(struct scan_worker *w, const struct test *t, struct test_state *s,
                          const struct column *c)
{
    uint32_t words = words_of(w);
    uint64_t *rows = grow_to(&s->rows, words * 16), *to = rows;
    int64_t lo = 0, hi;
    int rc = rows ? 0 : -ENOMEM;

    if (rc == 0 && !next_classes(t, &lo, &hi))
        memset(rows, 0, words * 8);
    for (; rc == 0 && next_classes(t, &lo, &hi); lo = hi + 1) {
        rc = column_select_i64(w->chunk.view, c, lo, hi, to);
        for (uint32_t k = 0; rc == 0 && to != rows && k < words; k++)
            rows[k] |= to[k];
        to = rows + words;
    }
    return rc;
}

int test_select(struct scan_worker *w, const struct test *t, struct bound **ret)
{
    struct test_state *s = &w->tests[t->id];
    int rc = source_bind(w, t->source, ret);

    if (rc < 0 || s->rows_serial == w->serial)
        return rc;
    rc = budget_check(w->query->budget); /* a filter may have thousands of tests */
    if (rc < 0)
        return rc;
    const struct column *c = t->type == TEST_CLASS   ? &(*ret)->column
                             : s->mode == MODE_VALID ? valid_column(*ret)
                                                     : packed_column(s, *ret);
    if (!c)
        return -EDOM;
    rc = t->type == TEST_CLASS ? select_classes(w, t, s, c) : select_packed(w, s, c);
    if (rc == 0)
        s->rows_serial = w->serial;
    return rc;
}

/* ---- the whole tree -------------------------------------------------------------------------- */

static int rows_of(struct scan_worker *w, const struct test *t, const uint64_t **ret);

static int rows_of_leaf(struct scan_worker *w, const struct test *t, const uint64_t **ret)
{
    struct test_state *s = &w->tests[t->id];
    struct bound *bound;
    int rc = test_select(w, t, &bound);

    *ret = s->rows.data;
    return rc == 0 && test_misses_zeros(s, bound) ? -EDOM : rc;
}

/* Whether any row is left. */
static bool and_rows(uint64_t *restrict rows, const uint64_t *restrict one, uint32_t words)
{
    uint64_t any = 0;

    for (uint32_t k = 0; k < words; k++) {
        rows[k] &= one[k];
        any |= rows[k];
    }
    return any != 0;
}

/* Children that hold for the whole chunk say nothing. */
static int rows_of_and(struct scan_worker *w, const struct test *t, const uint64_t **ret)
{
    uint32_t words = words_of(w);
    uint64_t *rows = grow_to(&w->tests[t->id].rows, words * 8);
    const uint64_t *one;
    bool any = true, first = true;

    if (!rows)
        return -ENOMEM;
    for (size_t i = 0; any && i < t->child_count; i++) {
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        int rc = rows_of(w, t->children[i], &one);
        if (rc < 0)
            return rc;
        if (first)
            memcpy(rows, one, words * 8);
        any = first || and_rows(rows, one, words);
        first = false;
    }
    *ret = rows;
    return first ? -EDOM : 0;
}

static int rows_of(struct scan_worker *w, const struct test *t, const uint64_t **ret)
{
    if (w->tests[t->id].known != TRI_SOME)
        return -EDOM;
    switch (t->type) {
    case TEST_LEAF:
    case TEST_CLASS:
        return rows_of_leaf(w, t, ret);
    case TEST_AND:
        return rows_of_and(w, t, ret);
    default:
        return -EDOM;
    }
}

int test_select_root(struct scan_worker *w, const struct test *t, const uint64_t **ret)
{
    int rc = rows_of(w, t, ret);

    if (rc < 0)
        *ret = NULL;
    return rc == -EDOM ? 0 : rc;
}

/* ---- values of the rows that pass ------------------------------------------------------------ */

struct besides {
    const struct bound *own;        /* whose values are wanted */
    const struct test_state *range; /* the one test of them, NULL: none */
    uint64_t *rows;                 /* that pass all other tests */
};

static bool is_range(const struct test_state *s, const struct bound *b)
{
    return packed_column(s, b) && s->mode == MODE_I64 && !s->inverted && !test_misses_zeros(s, b);
}

static int and_besides(struct scan_worker *w, const struct test *t, struct besides *to)
{
    struct test_state *s = &w->tests[t->id];
    struct bound *b;
    int rc = 0;

    for (size_t i = 0; t->type == TEST_AND && rc == 0 && i < t->child_count; i++)
        if (w->tests[t->children[i]->id].tri == TRI_SOME)
            rc = and_besides(w, t->children[i], to);
    if (t->type == TEST_AND)
        return rc;
    if (s->known != TRI_SOME || (t->type != TEST_LEAF && t->type != TEST_CLASS))
        return -EDOM;
    rc = source_bind(w, t->source, &b);
    if (rc == 0 && b == to->own && !to->range && is_range(s, b)) {
        to->range = s;
        return 0;
    }
    rc = rc < 0 ? rc : test_select(w, t, &b);
    if (rc == 0 && test_misses_zeros(s, b))
        rc = -EDOM;
    if (rc == 0)
        and_rows(to->rows, s->rows.data, words_of(w));
    return rc;
}

/* The column that holds the durations, NULL: none, or they are not times as they stand there. */
static const struct bound *stored_dur(const struct bound *own)
{
    const struct bound *b = own->form == FORM_DUR ? own->part[0] : own;

    return b->form == FORM_STORED && b->shape == SHAPE_TIME ? b : NULL;
}

static int take(struct scan_worker *w, const struct besides *from, struct scan_values *ret)
{
    const struct bound *b = stored_dur(from->own);
    uint32_t room = kernels()->count(from->rows, words_of(w));
    int64_t *values = grow_to(&w->taken, ((size_t)room + 1) * sizeof(*values));

    if (!values)
        return -ENOMEM;
    ret->values = values;
    ret->nano = b->nano;
    return column_take_i64(w->chunk.view, &b->column, from->rows,
                           from->range ? from->range->lo : INT64_MIN,
                           from->range ? from->range->hi : INT64_MAX, values, &ret->count);
}

int test_take(struct scan_worker *w, const struct test *root, const struct source *s,
              struct scan_values *ret)
{
    uint32_t bytes = words_of(w) * 8;
    struct besides to = {.rows = grow_to(&w->besides, bytes)};
    struct bound *own;
    int rc = to.rows ? source_bind(w, s, &own) : -ENOMEM;

    if (rc < 0)
        return rc;
    if (!stored_dur(own))
        return -EDOM;
    to.own = own;
    memset(to.rows, 0xFF, bytes);
    rc = and_besides(w, root, &to);
    if (rc == 0 && !to.range && stored_dur(own)->nulls)
        rc = -EDOM; /* null rows may count as 0, and are counted */
    if (rc == 0 && w->chunk.rows % 64)
        to.rows[w->chunk.rows / 64] &= ((uint64_t)1 << w->chunk.rows % 64) - 1;
    ret->chunk = &w->chunk;
    return rc < 0 ? rc : take(w, &to, ret);
}
