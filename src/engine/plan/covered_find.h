/* covered_find.h - finds the calls of a file whose bytes a call inside of them counts (see
 * derived/covered.h).
 *
 * Used by:   struct query.find_covered: when a query first binds `bytes` in a chunk with such
 *            calls.
 * Way:       an inner query of the file collects up to `most` of the outer calls, sorts them by
 *            thread and ts, and passes over all transfers within their times: each marks the calls
 *            around it, and a marked call is not met again. Then the next calls are collected. So
 *            time is linear in the rows but for the sorting, as long as the file is about in the
 *            order of time or has at most `most` outer calls; memory is bounded.
 * Memory:    40 bytes a collected call, while it is found; charged to the query's budget.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_PLAN_COVERED_FIND_H
#define DFTRACERD_ENGINE_PLAN_COVERED_FIND_H

#include "engine/derived/covered.h"

/* *new*. ERR_MEMORY_LIMIT, -ENOMEM, what a scan may return. What it holds is charged to the query's
 * budget. */
int covered_find(struct query *q, uint32_t file, size_t most, struct covered **ret);

#endif
