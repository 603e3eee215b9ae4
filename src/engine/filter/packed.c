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
    return b->row->zeros && s->lo <= 0 && s->hi >= 0;
}

/* NULL where values have to be computed. */
static const struct column *packed_column(const struct test_state *s, const struct bound *b)
{
    bool codes = s->mode == MODE_CODES, range = s->mode == MODE_I64;
    bool few = s->mode == MODE_I64_SET && s->set_count <= TEST_FEW;

    if (b->packed_or_0 && range && !s->inverted)
        return b->packed_or_0;
    return codes || range || few ? b->packed : NULL;
}

/* Whose rows with a value, or those without one, are all that matters of the test: MODE_VALID. */
static const struct column *valid_column(const struct bound *b)
{
    return b->valid_of ? b->valid_of->packed : b->packed;
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

const uint64_t *test_select(struct scan_worker *w, const struct test *t, const struct bound *b)
{
    struct test_state *s = &w->tests[t->id];

    if (s->rows_serial == w->serial)
        return s->rows.data;
    const struct column *c = t->type == TEST_CLASS   ? &b->column
                             : s->mode == MODE_VALID ? valid_column(b)
                                                     : packed_column(s, b);
    int rc = budget_check(w->query->budget); /* a filter may have thousands of tests */
    if (rc == 0 && c)
        rc = t->type == TEST_CLASS ? select_classes(w, t, s, c) : select_packed(w, s, c);
    if (worker_fails(w, rc) || !c)
        return NULL;
    s->rows_serial = w->serial;
    return s->rows.data;
}

/* ---- the whole tree -------------------------------------------------------------------------- */

static const uint64_t *rows_of_leaf(struct scan_worker *w, const struct test *t)
{
    const struct bound *b = source_bind(w, t->source);

    return test_misses_zeros(&w->tests[t->id], b) ? NULL : test_select(w, t, b);
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
static const uint64_t *rows_of_and(struct scan_worker *w, const struct test *t)
{
    uint32_t words = words_of(w);
    uint64_t *rows = grow_to(&w->tests[t->id].rows, words * 8);
    bool any = true, first = true;

    if (worker_fails(w, rows ? 0 : -ENOMEM))
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
    return t->type == TEST_LEAF || t->type == TEST_CLASS ? rows_of_leaf(w, t) : NULL;
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

/* False: it is not so. */
static bool and_besides(struct scan_worker *w, const struct test *t, struct besides *to)
{
    struct test_state *s = &w->tests[t->id];
    bool ok = true;

    for (size_t i = 0; t->type == TEST_AND && ok && i < t->child_count; i++)
        if (w->tests[t->children[i]->id].tri == TRI_SOME)
            ok = and_besides(w, t->children[i], to);
    if (t->type == TEST_AND)
        return ok;
    if (s->known != TRI_SOME || (t->type != TEST_LEAF && t->type != TEST_CLASS))
        return false;
    struct bound *b = source_bind(w, t->source);
    if (b == to->own && !to->range && is_range(s, b)) {
        to->range = s;
        return true;
    }
    const uint64_t *rows = rows_of_leaf(w, t);
    if (rows)
        and_rows(to->rows, rows, words_of(w));
    return rows != NULL;
}

/* The column that holds the durations, NULL: none, or they are not times as they are there. */
static const struct column *stored_dur(const struct bound *own)
{
    const struct column *c = own->packed_or_0 ? own->packed_or_0 : own->packed;

    return own->shape == SHAPE_TIME ? c : NULL;
}

static int take(struct scan_worker *w, const struct besides *from, struct scan_values *ret)
{
    const struct column *c = stored_dur(from->own);
    uint32_t room = kernels()->count(from->rows, words_of(w));
    int64_t *values = grow_to(&w->taken, ((size_t)room + 1) * sizeof(*values));

    if (!values)
        return -ENOMEM;
    *ret = (struct scan_values){.chunk = &w->chunk, .values = values, .nano = c->nano};
    return column_take_i64(w->chunk.view, c, from->rows, from->range ? from->range->lo : INT64_MIN,
                           from->range ? from->range->hi : INT64_MAX, values, &ret->count);
}

bool test_take(struct scan_worker *w, const struct test *root, const struct source *s,
               struct scan_values *ret)
{
    uint32_t bytes = words_of(w) * 8;
    struct besides to = {source_bind(w, s), NULL, grow_to(&w->besides, bytes)};

    if (worker_fails(w, to.rows ? 0 : -ENOMEM) || !stored_dur(to.own))
        return false;
    memset(to.rows, 0xFF, bytes);
    if (!and_besides(w, root, &to) || (!to.range && stored_dur(to.own)->nulls > 0))
        return false; /* null rows may count as 0, and are counted */
    if (w->chunk.rows % 64)
        to.rows[w->chunk.rows / 64] &= ((uint64_t)1 << w->chunk.rows % 64) - 1;
    return !worker_fails(w, take(w, &to, ret));
}
