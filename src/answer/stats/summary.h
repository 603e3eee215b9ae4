/* summary.h - /stats without a scan, from summaries in the index.
 *
 * Used by:   stats.c; answer/lines (counting lines), answer/small (/info).
 * Path:      stats_can_summarise -> stats_from_summary -> struct stats_found, as from a scan.
 * Threads:   one. Memory: as result.h says.
 */
#ifndef DFTRACERD_ANSWER_STATS_SUMMARY_H
#define DFTRACERD_ANSWER_STATS_SUMMARY_H

#include "answer/stats/scan.h"

/* Returns true if summaries have all data of the report. */
bool stats_can_summarise(const struct stats_plan *plan, const struct stats_options *o);
/* Sets times and groups of `f`, which was initialised, and the durations of `s`. Returns -EDOM,
 * with nothing set, if there were too many names to be in the summaries. */
int stats_from_summary(struct stats_found *f, struct stats *s);
bool stats_has_summary(const struct index_file *f);
/* Returns true if no other file has a summary, so that the root summary is that of these files. */
bool stats_has_all_summaries(const struct snapshot *s, const uint32_t *files, size_t count);
/* Counts the selected objects of a query that is query_unfiltered. */
int stats_summary_count(struct query *q, uint64_t *ret);

#endif
