/* codes.h - keys and dense codes of a bound source, behind batch_keys and batch_codes.
 *
 * Used by:   source_*.c and columns.c. Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_CODES_H
#define DFTRACERD_ENGINE_DERIVED_CODES_H

#include "engine/derived/derived.h"

static inline bool bound_has_dictionary(const struct bound *b)
{
    return b->shape == SHAPE_TEXT || b->shape == SHAPE_MIXED;
}
static inline bool bound_is_integer(const struct bound *b)
{
    return b->shape == SHAPE_INT || b->shape == SHAPE_TIME || b->shape == SHAPE_BOOL;
}

/* ---- source_keys.c --------------------------------------------------------------------------- */

bool bound_constant(struct scan_worker *w, struct bound *b, uint64_t *ret_key);
/* As scan_codes: decides, once a chunk; code_count is UINT32_MAX where there are none. Not of
 * FORM_NULL. */
void bound_make_codes(struct scan_worker *w, struct bound *b, uint32_t limit);
/* As batch_codes; as batch_keys. */
const uint32_t *bound_group_codes(struct scan_batch *batch, struct bound *b);
const uint64_t *bound_keys(struct scan_batch *batch, struct bound *b);

/* ---- source_dense.c -------------------------------------------------------------------------- */

/* Fills dense_*: -EDOM: no integers that all are there and close enough, or few rows are wanted. */
int bound_dense(struct scan_worker *w, struct bound *b);
/* Of scan_codes and batch_codes: by the numbers of bound_dense. -EDOM as there, or more than
 * `limit`. */
int bound_dense_codes(struct scan_worker *w, struct bound *b, uint32_t limit);
const uint32_t *batch_dense_codes(struct scan_batch *batch, struct bound *b);

/* ---- source_fold.c --------------------------------------------------------------------------- */

/* The key by which the source groups; and, where it tells powers of two of integers, codes of
 * these. */
uint64_t fold_key(struct query *q, const struct source *s, uint64_t key);
bool fold_has_codes(const struct bound *b);
int fold_make_codes(struct bound *b);
void fold_batch_codes(struct scan_batch *batch, struct bound *b, uint32_t *out);
#endif
