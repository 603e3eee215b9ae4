/* clocks.h - hosts whose clocks differ: the one rule of /compare and /call-tree.
 *
 * Used by:   answer/calltree, answer/compare.
 */
#ifndef DFTRACERD_ANSWER_CALLTREE_CLOCKS_H
#define DFTRACERD_ANSWER_CALLTREE_CLOCKS_H

#include "dftracerd/query.h"

/* A host, and from when to when it has events. */
struct clock_host {
    struct value name;
    int64_t from_ns, to_ns;
    uint64_t events;
    __int128 distance_ns; /* of clocks_apart: from the others, below 0 = before them */
};

/* Hosts that meet in time, one with the next, belong together; those which have most events
 * together are right, of several such the first. Moves the hosts that meet none of these to the
 * front, by name; returns how many. `closed`: an event may be at to_ns, and hosts that meet there
 * do; else it is the end of their last window. */
size_t clocks_apart(struct clock_host *hosts, size_t count, bool closed);

#endif
