/* codes.h - keys and dense codes of a bound source, for batch_keys and batch_codes.
 *
 * Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_CODES_H
#define DFTRACERD_ENGINE_DERIVED_CODES_H

#include "engine/derived/derived.h"

/* ---- codes.c --------------------------------------------------------------------------------- */

const uint64_t *bound_keys(struct scan_batch *batch, struct bound *b); /* as batch_keys */

/* ---- dense.c --------------------------------------------------------------------------------- */

/* Numbers the distinct values of the chunk: sets b->dense_*. exactly: only values that occur are
 * numbered, and even if few rows are selected. Returns 0, -EDOM if the source has no stored
 * integers, their range is too large, or (unless exactly) few rows are selected; or an error. */
int bound_dense(struct scan_worker *w, struct bound *b, bool exactly);
/* For scan_codes and batch_codes: codes are the numbers of bound_dense. Returns -EDOM as
 * bound_dense, and if there are more than `limit` codes. */
int bound_dense_codes(struct scan_worker *w, struct bound *b, uint32_t limit);
const uint32_t *batch_dense_codes(struct scan_batch *batch, struct bound *b);

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* fold_key returns the key that the source groups by. The others are for sources that group
 * integers by powers of two, which have codes. */
uint64_t fold_key(struct query *q, const struct source *s, uint64_t key);
bool fold_has_codes(const struct bound *b);
int fold_make_codes(struct bound *b);
void fold_batch_codes(struct scan_batch *batch, struct bound *b, uint32_t *out);

#endif
