/* within.h - questions of overlap: only objects that share time with an event matching another
 * query.
 *
 * Used by:   derived/, scan/, plan/; answers that fold times (call trees).
 * Way:       within_open (plan/within_collect.c) compiles the query and groups all events that
 *            match it, in the files of the selection, by what the scope is (host, pid, tid): their
 *            intervals, united. Later every scan asks, after its own filter, within_skips for a
 *            chunk and within_thin for a batch.
 * Times:     the interval of an object is [ts, ts + dur): touching ends do not overlap. Where there
 *            is no dur, or it is not above 0, the object is the instant ts, which is inside of [ts,
 *            te) and meets another instant at the same time. So overlapping is mutual, and what
 *            matches overlaps itself. An object without ts has no time: it neither is collected nor
 *            overlaps. All in ns here, whatever the units of the files.
 * Scopes:    null is a value like any other: objects without pid of one host share a process.
 * Clipping:  `dur` of an object is what of it lies inside of the united intervals, `ts` where its
 *            first part in them begins, `te` is ts + dur as ever: an object of several parts counts
 *            as if these were one piece. A dur that is null stays null, one below 0 becomes 0.
 *            Filters (query, min_duration, time_range ...) always see the stored times.
 * Memory:    24 bytes an interval, 56 while they are sorted, charged to the query's budget.
 * Threads:   once it is open nothing changes: any number of workers.
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
    VEC(struct span) spans; /* scope after scope */
    VEC(size_t) first;      /* by scope, and one more: in `spans` */
    bool ready;
};

void within_free(struct within *w);
bool within_filters(const struct query *q); /* what follows is to be asked */
/* No object of the chunk that the worker is at has time in common with any span. */
bool within_skips(struct scan_worker *w);
/* Takes rows out of the batch's mask, a part of which is selected. */
void within_thin(struct scan_batch *b, uint64_t *mask);
/* The united intervals of one scope. */
struct within_part {
    const struct span *spans;
    size_t count;
};
bool within_clips(const struct query *q);
/* Times as the files have them; where the query clips. */
void within_stored(struct query *q, const struct source **ret_ts, const struct source **ret_dur);
/* Of the scope that a thread (keys of host, pid, tid) is in; borrowed from the query. */
void within_part_of(const struct query *q, const uint64_t *thread, struct within_part *ret);
/* How much of [ts, te) lies inside, and where that begins (ts: nowhere). `near`: see spans_find;
 * moved. */
int64_t within_length(const struct within_part *p, size_t *near, int64_t ts, int64_t te,
                      int64_t *ret_from);
/* The source that answers read instead of this path, NULL: the usual one. */
const struct source *within_source(const struct query *q, struct text path);

/* Of ts and dur as stored. */
extern const struct derived within_clipped_ts, within_clipped_dur;

#endif
