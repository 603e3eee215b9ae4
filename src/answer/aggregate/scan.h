/* scan.h - one pass over the selected rows of a plan.
 *
 * Used by:   aggregate.c, prefixes.c.
 * Path:      scan_run -> batches by set of rows -> counts, spans and measures by scan.c, counters
 *            of the system by counters.c, shared buckets by split.c, plain integers by slots.c, all
 *            with worker.h -> merged into one struct aggregate_found and one struct aggregate_fine.
 * Threads:   those of query_env.pool, one worker each. Memory: as found.h and fine.h say.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_SCAN_H
#define DFTRACERD_ANSWER_AGGREGATE_SCAN_H

#include "answer/aggregate/fine.h"
#include "answer/aggregate/found.h"

/* Both are the caller's, on failure too (*found may be NULL then). */
int aggregate_scan(const struct aggregate_plan *plan, struct aggregate_found **found,
                   struct aggregate_fine *fine, struct err *err);

#endif
