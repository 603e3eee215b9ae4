/* find.h - /find and /event: one object: the next one in the order of time, and a query that begins
 * with a given one.
 *
 * Used by:   http.
 * Path:      query_find scans the selection once and returns the position of an object: file
 *            and number in the file. query_begin_at makes an object the first one of a query,
 *            whose row or line is then read (rows.h, view.h).
 * Memory:    none that grows with the selection.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_FIND_H
#define DFTRACERD_FIND_H

#include "dftracerd/query.h"

/* Finds an object in the order of time (objects of equal time by file and position): the next or
 * the last one. */
struct find_options {
    bool backward;  /* finds the last one before, not the first one after */
    bool has_at;    /* else finds the first or last of all */
    __int128 at_ns; /* objects at this time count as after and as before */
    bool has_place; /* has_at: strictly after or before the object at this position */
    uint32_t file;  /* position in the snapshot */
    uint64_t object;
};
struct find_result {
    uint64_t objects, untimed; /* selected ones with ts; without ts */
    uint64_t position;         /* of the object among them, counted from 1; 0: not found */
    uint32_t file;
    uint64_t object; /* number of objects before it in the file */
    struct query_counters counters;
    bool complete;
};
/* Scans the selection once. Returns 0, ERR_MEMORY_LIMIT, or another error of the query. */
int query_find(struct query *q, const struct find_options *o, struct find_result *ret,
               struct err *err);

/* Restricts the selection to the `object`-th object of the file, counted from 0, and those after it
 * in its chunk. Call it before the first scan. Returns ERR_NOT_FOUND if the file has fewer
 * objects. */
int query_begin_at(struct query *q, uint32_t file, uint64_t object);

#endif
