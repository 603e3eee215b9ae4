/* bind.h - functions that kinds of columns are made of: binding, stored columns, dictionaries of
 * codes, lanes.
 *
 * Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BIND_H
#define DFTRACERD_ENGINE_DERIVED_BIND_H

#include "engine/derived/batch.h"
#include "engine/derived/derived.h"

/* ---- kinds of columns, in the files of their names; host, file, cmd and exec in hashed.c ----- */

extern const struct column_kind derived_column, derived_te, derived_bytes, derived_host,
    derived_file, derived_cmd, derived_exec, derived_rank, derived_trace, derived_bucket;

/* ---- bind.c ---------------------------------------------------------------------------------- */

/* Makes all rows null. Returns 0, as the next ones, for the caller to return. */
int bind_null(struct binding *b);
/* Binds to integers between min and max, which `kind` reads. */
int bind_integers(struct binding *b, const struct column_kind *kind, enum scan_shape shape,
                  int64_t min, int64_t max);
/* Binds to codes, which `kind` reads, of entries, which are borrowed. */
int bind_dictionary(struct binding *b, const struct column_kind *kind, enum scan_shape shape,
                    const struct column_entry *entry, uint32_t entries);
/* Binds part i to the same chunk, and sets b->part[i]. */
struct binding *bind_part(struct scan_worker *w, struct binding *b, unsigned i);
enum scan_shape shape_of_entries(const struct column_entry *entry, uint32_t entries);

/* ---- stored.c -------------------------------------------------------------------------------- */

int bind_stored(struct scan_worker *w, struct binding *b, const struct column *c);
/* Binds to the codes of a stored column with other entries; remap: other codes by stored code. */
int bind_renamed(struct binding *b, const struct column *c, enum scan_shape shape,
                 const struct column_entry *entry, uint32_t entries, const uint32_t *remap);
/* Reads values. Returns true if it has set only rows that may still be selected. */
bool stored_integers(struct scan_batch *batch, const struct column *c, int64_t *out);
void stored_valid(struct scan_batch *batch, const struct column *c, uint64_t *mask);

/* ---- whole.c --------------------------------------------------------------------------------- */

#define CODED_NULL UINT32_MAX
/* Allocates codes for the whole chunk, which the caller sets (CODED_NULL: null). NULL: no
 * memory. */
uint32_t *coded_alloc(struct scan_worker *w, struct binding *b);
/* Binds to these codes. The entries are copied. Returns 0 or -ENOMEM. */
int bind_coded(struct scan_worker *w, struct binding *b, const struct column_entry *entry,
               size_t entries);

/* Allocates integers for the whole chunk, and a bitmap of the rows that have one; the caller sets
 * both. NULL: no memory. */
int64_t *whole_alloc(struct scan_worker *w, struct binding *b, uint64_t **ret_valid);
/* Binds to these integers. */
int bind_whole(struct binding *b, int64_t min, int64_t max);

/* ---- other.c and merged.c -------------------------------------------------------------------- */

/* Binds to the values of a path in the column "@other", or in rows where it is null to those of
 * `second`, if that is not empty. */
int bind_other(struct scan_worker *w, struct binding *b, const struct column *other,
               struct text path, struct text second);
/* Binds to the values of the first part, or if they are null, of the second (may be NULL). Rows
 * whose bit is set in `without` (may be NULL) are null. */
int bind_merged(struct scan_worker *w, struct binding *b, struct binding *first,
                struct binding *second, const uint64_t *without);

/* ---- lanes.c --------------------------------------------------------------------------------- */

/* Returns true if the lane has the values of the batch. */
bool lane_has(const struct lane *l, const struct scan_batch *batch);
/* Returns memory for 64 bits for each row, followed by a bitmap. Never NULL: without memory the
 * worker fails, and the values are never read. */
void *lane_begin(struct lane *l, const struct scan_batch *batch);
/* Sets the values of the lane. Returns false if the worker has an error. */
bool lane_end(struct lane *l, const struct scan_batch *batch, const void *values);
/* Clears bits beyond the rows of the batch. Returns NULL if all others are set. */
const uint64_t *lane_valid(const struct scan_batch *batch, uint64_t *mask);
/* Sets the integers or keys of null rows to 0. valid NULL: no row is null. */
static inline void clear_nulls(const struct scan_batch *batch, const uint64_t *valid, void *out)
{
    uint64_t *values = out;

    for (uint32_t i = 0; valid && i < batch->rows; i++)
        values[i] = batch_is_valid(valid, i) ? values[i] : 0;
}
/* Sets the codes of null rows. valid NULL: no row is null. */
void set_null_codes(const struct scan_batch *batch, const uint64_t *valid, uint32_t null,
                    uint32_t *codes);
/* Returns the bitmap after the 64-bit values in the memory of a lane. */
static inline uint64_t *lane_mask(const void *values)
{
    return (uint64_t *)(uintptr_t)values + SCAN_BATCH;
}

#endif
