/* summary.h - /stats without a scan: from the summaries that indexing made.
 *
 * Used by:   stats.c; answer/lines (counting lines).
 * Path:      stats_can_summarise -> stats_from_summary (summary.c) -> struct stats.
 * Threads:   one. Memory: as result.h says.
 */
#ifndef DFTRACERD_ANSWER_STATS_SUMMARY_H
#define DFTRACERD_ANSWER_STATS_SUMMARY_H

#include "answer/stats/plan.h"

bool stats_can_summarise(const struct stats_plan *plan, const struct stats_options *o);
/* Fills everything in the plan but groups. -EDOM: there are more names than summaries contain;
 * nothing is filled. */
int stats_from_summary(const struct stats_plan *plan, struct stats *s,
                       const struct stats_options *o);
bool stats_has_summary(const struct index_file *f);
/* Whether no other file has a summary: the root summary is that of these files. */
bool stats_has_all_summaries(const struct snapshot *s, const uint32_t *files, size_t count);
/* The number of selected objects, if query_unfiltered. */
int stats_summary_count(struct query *q, uint64_t *ret);

#endif
