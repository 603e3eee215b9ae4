/* bind.h - for the rows of kinds: binding, stored columns, dictionaries of codes, lanes.
 *
 * Private to the folder.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_BIND_H
#define DFTRACERD_ENGINE_DERIVED_BIND_H

#include "engine/derived/batch.h"
#include "engine/derived/derived.h"

/* ---- the kinds: each in the file of its name ------------------------------------------------- */

extern const struct derived derived_column, derived_dur, derived_te, derived_bytes, derived_host,
    derived_file, derived_cmd, derived_exec, derived_rank, derived_trace, derived_bucket;

/* ---- bind.c ---------------------------------------------------------------------------------- */

int bind_null(struct bound *b);
/* The part in the same chunk, which b->part has from then on. */
struct bound *bind_part(struct scan_worker *w, struct bound *b, unsigned i);
/* Integers between min and max, which `row` reads. */
int bind_integers(struct bound *b, const struct derived *row, enum scan_shape shape, int64_t min,
                  int64_t max);

/* Codes, which `row` reads, of entries, which are borrowed. */
int bind_dictionary(struct bound *b, const struct derived *row, enum scan_shape shape,
                    const struct column_entry *entry, uint32_t entries);
enum scan_shape shape_of_entries(const struct column_entry *entry, uint32_t entries);

/* ---- stored.c -------------------------------------------------------------------------------- */

int bind_stored(struct scan_worker *w, struct bound *b, const struct column *c);
/* Codes of a stored column with other entries; remap: to other codes. */
int bind_renamed(struct bound *b, const struct column *c, enum scan_shape shape,
                 const struct column_entry *entry, uint32_t entries, const uint32_t *remap);
/* Returns whether only rows that are still of interest were filled in. */
bool stored_integers(struct scan_batch *batch, const struct column *c, int64_t *out);
void stored_valid(struct scan_batch *batch, const struct column *c, uint64_t *mask);

/* ---- whole.c --------------------------------------------------------------------------------- */

#define CODED_NULL UINT32_MAX
/* Room for codes of the whole chunk. NULL: no memory. */
uint32_t *coded_room(struct scan_worker *w, struct bound *b);
/* These codes, CODED_NULL for null, of entries, which are copied. 0, -ENOMEM. */
int bind_coded(struct scan_worker *w, struct bound *b, const struct column_entry *entry,
               size_t entries);

/* Room for integers of the whole chunk and for a bitmap of the rows that have one. NULL: no memory.
 */
int64_t *whole_room(struct scan_worker *w, struct bound *b, uint64_t **ret_valid);
int bind_whole(struct bound *b, int64_t min, int64_t max);

/* ---- other.c, both.c ------------------------------------------------------------------------- */

int bind_other(struct scan_worker *w, struct bound *b, const struct column *other,
               struct text path); /* "@other" */
/* The first part, where it is null the second (may be NULL), but for the rows whose bit is set in
 * `without` (may be NULL). */
int bind_both(struct scan_worker *w, struct bound *b, struct bound *first, struct bound *second,
              const uint64_t *without);

/* ---- lanes.c --------------------------------------------------------------------------------- */

bool lane_has(const struct lane *l, const struct scan_batch *batch);
/* Room for 64 bits a row and a bitmap; without memory, a place that is never read. */
void *lane_begin(struct lane *l, const struct scan_batch *batch);
/* False: an error of the worker; the values are worth nothing. */
bool lane_end(struct lane *l, const struct scan_batch *batch, const void *values);
/* Cuts a bitmap to the rows of the batch; NULL when all are set. */
const uint64_t *lane_valid(const struct scan_batch *batch, uint64_t *mask);
/* Null rows are 0. */
static inline void clear_nulls(const struct scan_batch *batch, const uint64_t *valid, int64_t *out)
{
    for (uint32_t i = 0; valid && i < batch->rows; i++)
        out[i] = batch_is_valid(valid, i) ? out[i] : 0;
}
/* Behind 64-bit values in the room of a lane. */
static inline uint64_t *room_mask(const void *room)
{
    return (uint64_t *)(uintptr_t)room + SCAN_BATCH;
}

#endif
