/* find.h - /find and /event: one object: the next one in the order of time, and a query that begins
 * with a given one.
 *
 * Used by:   http.
 * Path:      query_find scans the selection once and returns the place of an object: file and
 *            number in the file. query_begin_at makes such a place the first one of a query, whose
 *            rows or lines then follow (rows.h, view.h).
 * Memory:    none that grows with the selection.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_FIND_H
#define DFTRACERD_FIND_H

#include "dftracerd/query.h"

/* Selected objects with ts in the order of time (those of one time by file and place): which comes
 * next, or came last. */
struct find_options {
    bool backward;  /* the last one before, not the first one after */
    bool has_at;    /* else the first or last of all */
    __int128 at_ns; /* this time counts as after and as before */
    bool has_place; /* has_at: strictly after or before the object there */
    uint32_t file;  /* position in the snapshot */
    uint64_t object;
};
struct find_found {
    uint64_t objects, untimed; /* selected ones with ts; without */
    uint64_t position;         /* of the found one among them, from 1 on; 0: there is none */
    uint32_t file;
    uint64_t object; /* of the file: how many stand before it */
    struct query_counters counters;
    bool complete;
};
/* One scan of what is selected. ERR_MEMORY_LIMIT ... */
int query_find(struct query *q, const struct find_options *o, struct find_found *ret,
               struct err *err);

/* From now on the first object that is selected is this one, if it is selected: the `object`-th of
 * the file, from 0 on. Before the first scan. ERR_NOT_FOUND: the file does not have so many. */
int query_begin_at(struct query *q, uint32_t file, uint64_t object);

#endif
