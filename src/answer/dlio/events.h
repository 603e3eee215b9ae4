/* events.h - the events of /dlio-config.
 *
 * Used by:   the files of answer/dlio.
 * Path:      events.c reads rows of the names that DLIO writes -> report.c makes arrays of seconds
 *            of them, by rank, and passes these to the dlio module.
 * Threads:   one. Memory: charged to the budget of the request.
 */
#ifndef DFTRACERD_ANSWER_DLIO_EVENTS_H
#define DFTRACERD_ANSWER_DLIO_EVENTS_H

#include "dftracerd/dlio_report.h"
#include "dftracerd/vec.h"
#include "engine/scan/scan.h"

struct dlio_event {
    int64_t ts_ns, dur_ns;
    uint64_t order;   /* by file and line */
    uint32_t process; /* its number by host, then pid */
    uint8_t kind;     /* enum dlio_kind */
};
/* The events of the chosen names, ordered by kind, process, time, order. */
struct dlio_events {
    VEC(struct dlio_event) all;
    size_t begin[DLIO_KINDS + 1]; /* all[begin[k]] to all[begin[k + 1]] are of kind k */
    uint32_t processes;
};
/* Fills in cat, name, events, invalid of the times, and other_events. Returns 0 or an error of the
 * query. */
int dlio_events_read(struct query *q, struct dlio_report *r, struct err *err,
                     struct dlio_events *ret); /* vec_done(&ret->all) */
/* Restricts a query to the names. *ret is in the arena. */
int dlio_events_query(struct arena *arena, struct text query, struct text *ret);
/* Reports that the selection of `q` has no event of the loop body. Returns ERR_NOT_FOUND, or an
 * error if what it has instead cannot be read. */
int dlio_events_missing(struct query *q, const struct dlio_report *r, struct err *err);
/* curves.c: makes histograms and percentiles of the samples, fits and simulation. */
void dlio_curves(struct dlio_report *r);

#endif
