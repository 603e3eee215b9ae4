/* codes.h - keys and dense codes of a bound source, for batch_keys and batch_codes.
 *
 * Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_CODES_H
#define DFTRACERD_ENGINE_DERIVED_CODES_H

#include "engine/derived/derived.h"

/* ---- codes.c --------------------------------------------------------------------------------- */

const uint64_t *binding_keys(struct scan_batch *batch, struct binding *b); /* as batch_keys */

/* ---- dense.c --------------------------------------------------------------------------------- */

/* Numbers the distinct values of the chunk: sets b->dense_*. exactly: only values that occur are
 * numbered, and even if few rows are selected. Returns 0, -EDOM if the source has no stored
 * integers, their range is too large, or (unless exactly) few rows are selected; or an error. */
int binding_number_values(struct scan_worker *w, struct binding *b, bool exactly);
/* For scan_codes and batch_codes: codes are the numbers of binding_number_values. Returns -EDOM as
 * binding_number_values, and if there are more than `limit` codes. */
int binding_dense_codes(struct scan_worker *w, struct binding *b, uint32_t limit);
const uint32_t *batch_dense_codes(struct scan_batch *batch, struct binding *b);

/* ---- fold.c ---------------------------------------------------------------------------------- */

/* fold_key returns the key that the source groups by. The others are for sources that group
 * integers by powers of two, which have codes. */
uint64_t fold_key(struct query *q, const struct source *s, uint64_t key);
bool fold_has_codes(const struct binding *b);
int fold_make_codes(struct binding *b);
void fold_batch_codes(struct scan_batch *batch, struct binding *b, uint32_t *out);

#endif
