/* within.h - the filter `within`: selects objects that overlap in time with an event matching
 * another query.
 *
 * Used by:   derived/, scan/, plan/; answers that fold times (call trees).
 * Path:      within_open (plan/within_collect.c) compiles the query, finds all events that match
 *            it in the selected files, and unites their intervals by scope (host, pid, tid). Later
 *            every scan calls, after its own filter, within_skips for a chunk and within_select for
 *            a batch.
 * Times:     the interval of an object is [ts, ts + dur): touching ends do not overlap. Without a
 *            dur above 0, the object is the instant ts, which overlaps [ts, te) and another instant
 *            at the same time. So overlapping is symmetric, and each event overlaps itself. Objects
 *            without ts are neither collected nor selected. All times are in ns here, whatever the
 *            units of the files.
 * Scopes:    null is a value like any other: objects without pid of one host share a process.
 * Clipping:  `dur` of an object is the time of it that is inside of the united intervals, `ts` the
 *            begin of its first part inside, and `te` is ts + dur: an object with several parts
 *            counts as if these were contiguous. A null dur stays null, one below 0 becomes 0.
 *            Filters (query, min_duration, time_range ...) always use the stored times.
 * Memory:    24 bytes an interval, 56 while they are sorted, charged to the query's budget.
 * Threads:   nothing changes after within_open: any number of workers.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_WITHIN_H
#define DFTRACERD_ENGINE_DERIVED_WITHIN_H

#include "base/group_table.h"
#include "engine/derived/batch_times.h"
#include "engine/derived/derived.h"
#include "engine/derived/spans.h"

struct within { /* filled by within_open */
    struct dsl dsl;
    struct test *root;
    const struct source *keys[3]; /* of the scope */
    unsigned width;
    struct source *ts, *dur;                     /* as stored */
    struct source *clip_ts, *clip_dur, *clip_te; /* NULL: not clipped */
    struct group_table scopes;
    VEC(struct span) spans; /* sorted by scope */
    VEC(size_t) first;      /* by scope: position in `spans`; one more at the end */
    bool ready;             /* the spans are complete; before, scans are not filtered by them */
};

void within_free(struct within *w);
/* Returns true if within_skips and within_select are to be called. */
bool within_filters(const struct query *q);
/* Returns true if no object of the current chunk overlaps any span. */
bool within_skips(struct scan_worker *w);
/* Sets `mask` to the selected rows of the batch that overlap a span of their scope. */
void within_select(struct scan_batch *b, uint64_t *mask);
/* The united intervals of one scope. */
struct within_part {
    const struct span *spans;
    size_t count;
};
bool within_clips(const struct query *q);
/* Sets the sources of the stored times, if the query clips. */
void within_stored_times(struct query *q, const struct source **ret_ts,
                         const struct source **ret_dur);
/* Sets *ret to the intervals of the scope of a thread (keys of host, pid, tid); borrowed. */
void within_spans_of(const struct query *q, const uint64_t *thread, struct within_part *ret);
/* Returns the length of [ts, te) that is inside of the intervals. *ret_from: begin of the first
 * part inside, or ts if there is none. *hint: as for spans_find; updated. */
int64_t within_length(const struct within_part *p, size_t *hint, int64_t ts, int64_t te,
                      int64_t *ret_from);
/* Returns the clipped source that answers read for this path, or NULL: the usual one. */
const struct source *within_source(const struct query *q, struct text path);

/* Kinds of the clipped ts and dur. Their parts are the stored ts and dur. */
extern const struct column_kind within_clipped_ts, within_clipped_dur;

#endif
