/* density.h - chunks whose cells come from their densities, without a scan of their rows.
 *
 * Used by:   scan.c, offer.c, slices.c, work.h; timeline.c (query_tuple_set).
 * Path:      timeline_density_plan before a chunk is read -> the rows that it wants, by
 *            timeline_density_tuple and timeline_density_longest -> timeline_density_end.
 *            0, -ENOMEM, ERR_MEMORY_LIMIT, ERR_CORRUPT.
 * Threads:   one worker each. Memory: charged to the budget of the plan.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_DENSITY_H
#define DFTRACERD_ANSWER_TIMELINE_DENSITY_H

#include "answer/timeline/found.h"
#include "answer/timeline/picks.h"

/* The density of the chunk that a worker reads. */
struct timeline_density {
    bool whole, picks; /* the chunk lies in one column; rows may be picks */
    unsigned level;
    uint32_t tuple, longest; /* next positions in the chunk's lists */
    struct density chunk;
    const struct density_set *set;
    const uint32_t *rows; /* rows of its tuples */
    struct density_cells *cells;
    VEC(uint64_t) wanted;
    VEC(uint32_t) group; /* by tuple: group + 1; 0: not selected; set between row and end */
};
/* by_tuple.c: returns the first set of densities (column.h) in whose tuples each key has one value,
 * and which the filter selects or excludes as a whole, except for time_range. Returns -ENOENT if
 * there is none. */
int query_tuple_set(const struct query *q, const struct source *const *keys, unsigned count);
/* Call it before the chunk is read: decides whether the chunk is answered from its density, and
 * then selects the rows to read; of the longest only those that may be picks. last: see
 * picks_last. */
int timeline_density_plan(struct timeline_density *d, const struct timeline_plan *plan,
                          const struct timeline_pick *last, struct scan_chunk *c);
/* Selects the rows of the chunk with a dur of at least `min_ns` ns. Returns -EDOM if the column
 * does not allow it. */
int timeline_select_long(struct chunk_view *v, __int128 min_ns, uint64_t *out);
/* Call it before a chunk answered from its density is read again for picks: selects the rows that
 * are long enough. */
int timeline_density_plan_unlisted(struct timeline_density *d, const struct timeline_plan *plan,
                                   const struct timeline_pick *last, struct scan_chunk *c);
/* Returns the longest duration of the chunk. */
static inline int64_t timeline_density_max_dur(const struct density *d)
{
    int64_t longest = d->rest_dur;

    for (uint32_t i = 0; i < d->longest_count; i++)
        longest = d->longest_dur[i] > longest ? d->longest_dur[i] : longest;
    return longest < 0 ? 0 : longest;
}
/* Call these for each selected row, in order. They return true if it represents a tuple,
 * *ret_tuple, or is one of the longest, *ret_dur in ns. */
bool timeline_density_tuple(struct timeline_density *d, uint32_t row, uint32_t *ret_tuple);
bool timeline_density_longest(struct timeline_density *d, uint32_t row, int64_t *ret_dur);
/* Call it after the rows: adds the density to the cells of groups. */
int timeline_density_end(struct timeline_density *d, const struct timeline_plan *plan,
                         struct groups *found, struct scan_chunk *c);
void timeline_density_done(struct timeline_density *d);

#endif
