/* eval.c - the tests that a chunk did not decide, for one batch: bitmaps of the rows that
 * pass. */
#include "dftracerd/kernel.h"
#include "engine/filter/filter.h"

#include <string.h>

static uint32_t words_of(const struct scan_batch *b)
{
    return (b->rows + 63) / 64;
}

/* All rows of the batch. */
void mask_fill(const struct scan_batch *b, uint64_t *mask)
{
    memset(mask, 0xFF, words_of(b) * 8);
    if (b->rows % 64)
        mask[b->rows / 64] = ((uint64_t)1 << b->rows % 64) - 1;
}

static void and_valid(const struct scan_batch *b, uint64_t *mask, const uint64_t *valid)
{
    for (uint32_t i = 0; valid && i < words_of(b); i++)
        mask[i] &= valid[i];
}

static void invert(const struct scan_batch *b, uint64_t *mask)
{
    for (uint32_t i = 0; i < words_of(b); i++)
        mask[i] = ~mask[i];
    if (b->rows % 64)
        mask[b->rows / 64] &= ((uint64_t)1 << b->rows % 64) - 1;
}

bool mask_is_full(const struct scan_batch *b, const uint64_t *mask)
{
    uint64_t all = ~(uint64_t)0;

    for (uint32_t i = 0; i < b->rows / 64; i++)
        all &= mask[i];
    return !~all && (b->rows % 64 == 0 || mask[b->rows / 64] == ((uint64_t)1 << b->rows % 64) - 1);
}

/* ---- leaves ---------------------------------------------------------------------------------- */

static bool has_i64(const int64_t *set, size_t count, int64_t value)
{
    size_t from = 0;

    while (count > 1) {
        size_t half = count / 2;
        from += set[from + half] <= value ? half : 0;
        count -= half;
    }
    return set[from] == value;
}

static void match_set_i64(const struct scan_batch *b, const struct test_state *s,
                          const int64_t *values, uint64_t *mask)
{
    const int64_t *set = s->set.data;
    uint64_t one[SCAN_WORDS];

    memset(mask, 0, words_of(b) * 8);
    for (size_t i = 0; i < s->set_count && s->set_count <= TEST_FEW; i++) {
        kernels()->range_i64(values, b->rows, set[i], set[i], one);
        for (uint32_t k = 0; k < words_of(b); k++)
            mask[k] |= one[k];
    }
    for (uint32_t i = 0; i < b->rows && s->set_count > TEST_FEW; i++)
        mask[i / 64] |= (uint64_t)has_i64(set, s->set_count, values[i]) << i % 64;
}

static void eval_i64(struct scan_batch *b, struct test_state *s, struct bound *bound,
                     uint64_t *mask)
{
    const uint64_t *valid;
    const int64_t *values = bound_i64(b, bound, &valid);

    if (s->mode == MODE_I64)
        kernels()->range_i64(values, b->rows, s->lo, s->hi, mask);
    else
        match_set_i64(b, s, values, mask);
    if (s->inverted)
        invert(b, mask);
    and_valid(b, mask, valid);
}

static void eval_f64(struct scan_batch *b, struct test_state *s, struct bound *bound,
                     uint64_t *mask)
{
    const uint64_t *valid;
    const double *values = bound_f64(b, bound, &valid), *set = s->set.data;
    uint64_t one[SCAN_WORDS];

    if (s->mode == MODE_F64)
        kernels()->range_f64(values, b->rows, s->lo_f64, s->hi_f64, mask);
    else
        memset(mask, 0, words_of(b) * 8);
    for (size_t i = 0; s->mode == MODE_F64_SET && i < s->set_count; i++) {
        kernels()->range_f64(values, b->rows, set[i], set[i], one);
        for (uint32_t k = 0; k < words_of(b); k++)
            mask[k] |= one[k];
    }
    if (s->inverted)
        invert(b, mask);
    and_valid(b, mask, valid);
}

static void eval_codes(struct scan_batch *b, struct test_state *s, struct bound *bound,
                       uint64_t *mask)
{
    const uint32_t *codes = bound_codes(b, bound);

    if (s->only_code != UINT32_MAX)
        kernels()->equal_u32(codes, b->rows, s->only_code, mask);
    else
        kernels()->table_u32(codes, b->rows, s->table.data, bound->entries + 1, mask);
}

static void eval_valid(struct scan_batch *b, struct test_state *s, struct bound *bound,
                       uint64_t *mask)
{
    mask_fill(b, mask);
    and_valid(b, mask, bound_valid(b, bound));
    if (s->inverted)
        invert(b, mask);
}

/* ---- the tree -------------------------------------------------------------------------------- */

/* Of a leaf that the packed column answers, for the whole chunk at once. False: values must be
 * looked at. */
static bool eval_packed(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                        struct bound *bound, uint64_t *mask)
{
    const uint64_t *rows = test_select(w, t, bound);

    if (!rows)
        return false;
    memcpy(mask, rows + b->first / 64, words_of(b) * 8);
    if (test_misses_zeros(&w->tests[t->id], bound))
        bound->row->zeros(b, bound, mask);
    return true;
}

static void eval_leaf(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                      uint64_t *mask)
{
    struct test_state *s = &w->tests[t->id];
    struct bound *bound = source_bind(w, t->source);

    if (eval_packed(w, b, t, bound, mask))
        return;
    if (s->mode == MODE_VALID)
        eval_valid(b, s, bound, mask);
    else if (s->mode == MODE_I64 || s->mode == MODE_I64_SET)
        eval_i64(b, s, bound, mask);
    else if (s->mode == MODE_F64 || s->mode == MODE_F64_SET)
        eval_f64(b, s, bound, mask);
    else
        eval_codes(b, s, bound, mask);
}

/* `root`: what later children find out may be narrowed to the rows that are left, for no other part
 * of the tree can ask for the others. Children that hold for the whole chunk say nothing. */
static void eval_and(struct scan_worker *w, struct scan_batch *b, const struct test *t, bool root,
                     uint64_t *mask)
{
    uint64_t one[SCAN_WORDS], *to = mask;

    for (size_t i = 0; i < t->child_count; i++) {
        uint64_t any = 0;
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        test_eval(w, b, t->children[i], to);
        for (uint32_t k = 0; to == one && k < words_of(b); k++)
            mask[k] &= one[k];
        for (uint32_t k = 0; k < words_of(b); k++) {
            mask[k] &= root && w->interest ? w->interest[k] : UINT64_MAX;
            any |= mask[k];
        }
        if (w->error || !any)
            return;
        if (root)
            w->interest = mask;
        to = one;
    }
    if (to == mask)
        mask_fill(b, mask);
}

/* Children that no row of the chunk passes say nothing. */
static void eval_or(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                    uint64_t *mask)
{
    uint64_t one[SCAN_WORDS], *to = mask;

    for (size_t i = 0; i < t->child_count; i++) {
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        test_eval(w, b, t->children[i], to);
        for (uint32_t k = 0; to == one && k < words_of(b); k++)
            mask[k] |= one[k];
        if (w->error || mask_is_full(b, mask))
            return;
        to = one;
    }
    if (to == mask)
        memset(mask, 0, words_of(b) * 8);
}

void test_eval(struct scan_worker *w, struct scan_batch *b, const struct test *t, uint64_t *mask)
{
    const struct test_state *s = &w->tests[t->id];

    if (s->known != TRI_SOME) { /* pruning is switched off; the chunk knows nevertheless */
        memset(mask, 0, words_of(b) * 8);
        if (s->known == TRI_ALL)
            mask_fill(b, mask);
    } else if (t->type == TEST_LEAF) {
        eval_leaf(w, b, t, mask);
    } else if (t->type == TEST_CLASS) {
        (void)eval_packed(w, b, t, source_bind(w, t->source), mask);
    } else if (t->type == TEST_NOT) {
        test_eval(w, b, t->children[0], mask);
        invert(b, mask);
    } else if (t->type == TEST_AND) {
        eval_and(w, b, t, false, mask);
    } else {
        eval_or(w, b, t, mask);
    }
}

void test_eval_root(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                    uint64_t *mask)
{
    if (t->type == TEST_AND)
        eval_and(w, b, t, true, mask);
    else
        test_eval(w, b, t, mask);
}
