/* by_tuple.h - the densities that answer a /timeline without a scan of rows. */
#ifndef DFTRACERD_ANSWER_TIMELINE_BY_TUPLE_H
#define DFTRACERD_ANSWER_TIMELINE_BY_TUPLE_H

#include "engine/query.h"

/* The first set of densities (index.h) whose tuples have one value of each key and are selected or
 * not as a whole, but for time_range. -ENOENT: none. */
int query_tuple_set(const struct query *q, const struct source *const *keys, unsigned count);

#endif
