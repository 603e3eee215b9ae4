/* covered_find.h - finds the calls of a file whose bytes are counted by a call inside of them (see
 * derived/covered.h).
 *
 * Used by:   struct query.find_covered: when a query first binds `bytes` in a chunk with such
 *            calls.
 * Path:      an inner query of the file collects up to `max_calls` outer calls, sorts them by
 *            thread and ts, and scans all transfers within their times: each marks the calls around
 *            it, which are then not visited again. Then the next outer calls are collected. The
 *            time is linear in the rows, except for sorting, if the file is roughly in the order of
 *            time or has at most `max_calls` outer calls; memory is bounded.
 * Memory:    40 bytes for each collected call during the search; charged to the query's budget.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_PLAN_COVERED_FIND_H
#define DFTRACERD_ENGINE_PLAN_COVERED_FIND_H

#include "engine/derived/covered.h"

/* Sets *ret to the *new* covered calls of a file (position in the snapshot); their memory is
 * charged to the query's budget. max_calls: outer calls that are collected at a time. Returns 0,
 * ERR_MEMORY_LIMIT, -ENOMEM or an error of a scan. */
int covered_find(struct query *q, uint32_t file, size_t max_calls, struct covered **ret);

#endif
