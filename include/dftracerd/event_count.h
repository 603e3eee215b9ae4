/* event_count.h - counts the objects of a selection, file by file.
 *
 * Used by:   http (/event-count), tools.
 * Path:      query_count_files reads the counters of the catalog; with a filter, it groups by file.
 * Memory:    a group for each file with selected objects during a scan.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_EVENT_COUNT_H
#define DFTRACERD_EVENT_COUNT_H

#include "dftracerd/query.h"

/* Counts the selected objects of each file of query_files, in that order: exactly, and from the
 * catalog if nothing is filtered. */
int query_count_files(struct query *q, struct err *err, uint64_t *ret_counts);

#endif
