/* clocks.h - finds hosts whose clocks differ, for /compare and /call-tree.
 *
 * Used by:   answer/calltree, answer/compare.
 */
#ifndef DFTRACERD_ANSWER_CALLTREE_CLOCKS_H
#define DFTRACERD_ANSWER_CALLTREE_CLOCKS_H

#include "dftracerd/query.h"

/* A host, and the time of its first and last event. */
struct clock_host {
    struct value name;
    int64_t from_ns, to_ns;
    uint64_t events;
    __int128 distance_ns; /* set by clocks_apart: distance from the others, below 0 = earlier */
};

/* Hosts whose times overlap, directly or through others, form a cluster. The clocks of the cluster
 * with the most events, of several the first, are taken as right. Moves all other hosts to the
 * front, sorted by name, and returns their number. `closed`: an event may be at to_ns, so hosts
 * that share only this time overlap; else to_ns is the end of the last window. */
size_t clocks_apart(struct clock_host *hosts, size_t count, bool closed);

#endif
