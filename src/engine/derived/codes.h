/* codes.h - keys and dense codes of a bound source, behind batch_keys and batch_codes.
 *
 * Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_CODES_H
#define DFTRACERD_ENGINE_DERIVED_CODES_H

#include "engine/derived/derived.h"

/* ---- codes.c --------------------------------------------------------------------------------- */

const uint64_t *bound_keys(struct scan_batch *batch, struct bound *b); /* as batch_keys */

/* ---- dense.c --------------------------------------------------------------------------------- */

/* Fills dense_*. exactly: with the values that rows have and no others, even where few rows are
 * wanted. -EDOM: no stored integers close enough, or few rows are wanted. */
int bound_dense(struct scan_worker *w, struct bound *b, bool exactly);
/* Of scan_codes and batch_codes: by the numbers of bound_dense. -EDOM as there, or more than
 * `limit`. */
int bound_dense_codes(struct scan_worker *w, struct bound *b, uint32_t limit);
const uint32_t *batch_dense_codes(struct scan_batch *batch, struct bound *b);

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* The key by which the source groups; and, if these are powers of two of integers, their codes. */
uint64_t fold_key(struct query *q, const struct source *s, uint64_t key);
bool fold_has_codes(const struct bound *b);
int fold_make_codes(struct bound *b);
void fold_batch_codes(struct scan_batch *batch, struct bound *b, uint32_t *out);

#endif
