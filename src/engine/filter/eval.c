/* eval.c - evaluates tests that a chunk does not decide, for one batch: bitmaps of the rows that
 * pass. */
#include "engine/derived/batch.h"
#include "engine/filter/modes.h"

#include <string.h>

/* Uses the stored column for the whole chunk at once if possible, else decoded values. */
static void eval_leaf(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                      uint64_t *mask)
{
    struct test_state *s = &w->tests[t->id];
    struct binding *bound = source_bind(w, t->source);
    const uint64_t *rows = test_select(w, t, bound);

    if (!rows) {
        s->mode->eval(b, s, bound, mask);
        return;
    }
    memcpy(mask, rows + b->first / 64, mask_words(b->rows) * 8);
}

/* `root`: later children are evaluated only for rows that are left, since no other part of the tree
 * uses the others. Children that every row of the chunk passes are skipped. */
static void eval_and(struct scan_worker *w, struct scan_batch *b, const struct test *t, bool root,
                     uint64_t *mask)
{
    uint64_t one[SCAN_WORDS], *to = mask;

    for (size_t i = 0; i < t->child_count; i++) {
        uint64_t any = 0;
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        test_eval(w, b, t->children[i], to);
        for (uint32_t k = 0; to == one && k < mask_words(b->rows); k++)
            mask[k] &= one[k];
        for (uint32_t k = 0; k < mask_words(b->rows); k++) {
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

/* Children that no row of the chunk passes are skipped. */
static void eval_or(struct scan_worker *w, struct scan_batch *b, const struct test *t,
                    uint64_t *mask)
{
    uint64_t one[SCAN_WORDS], *to = mask;

    for (size_t i = 0; i < t->child_count; i++) {
        if (w->tests[t->children[i]->id].tri != TRI_SOME)
            continue;
        test_eval(w, b, t->children[i], to);
        for (uint32_t k = 0; to == one && k < mask_words(b->rows); k++)
            mask[k] |= one[k];
        if (w->error || mask_is_full(b, mask))
            return;
        to = one;
    }
    if (to == mask)
        memset(mask, 0, mask_words(b->rows) * 8);
}

void test_eval(struct scan_worker *w, struct scan_batch *b, const struct test *t, uint64_t *mask)
{
    const struct test_state *s = &w->tests[t->id];

    if (s->known != TRI_SOME) { /* pruning is disabled, but the test is decided */
        memset(mask, 0, mask_words(b->rows) * 8);
        if (s->known == TRI_ALL)
            mask_fill(b, mask);
    } else if (test_is_leaf(t)) {
        eval_leaf(w, b, t, mask);
    } else if (t->type == TEST_NOT) {
        test_eval(w, b, t->children[0], mask);
        mask_invert(b->rows, mask);
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
