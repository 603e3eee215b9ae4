/* windows.h - events and durations by thread and window.
 *
 * Used by:   side.c, windows.c, windows_scan.c, windows_result.c.
 * Path:      windows_scan.c: groups by thread, with an accumulator of windows -> groups_merge
 *            -> windows_result.c: peaks of groups; processes, threads and clocks of the side.
 * Threads:   as engine/group/worker.h. Memory: charged to the budget of the request.
 */
#ifndef DFTRACERD_ANSWER_COMPARE_WINDOWS_H
#define DFTRACERD_ANSWER_COMPARE_WINDOWS_H

#include "answer/calltree/clocks.h"
#include "answer/compare/compare.h"
#include "engine/group/worker.h"

enum { THREAD_KEYS = 3 }; /* host, pid, tid; they follow the keys of the group of a thread */

struct window {
    __int128 dur;              /* sum of durations, in ns if `nano`, else in us */
    int64_t number;            /* floor(ts / interval) */
    uint64_t events, measured; /* measured: those with a duration */
    uint32_t thread;
    bool nano;
};
struct group_peaks {
    struct moments_f64 of[PEAKS];
};
struct side_windows {
    struct node_work *work;
    struct side *side;
    const struct source *keys[GROUP_KEYS_MAX], *time; /* time: ts; with a single window 0 for all */
    uint64_t window_ns;                               /* UINT64_MAX: one window */
    int64_t first, last;                              /* numbers of the first and last window */
    struct group_table found[THREAD_KEYS];            /* hosts, processes, threads */
    VEC(struct clock_host) hosts;                     /* by number in found[0] */
    VEC(struct group_peaks) peaks;                    /* by number of the group */
};

/* windows_scan.c: the state of a worker of the side's scan. */
struct side_worker {
    struct stats_times times;
    bool far;            /* times of the chunk exceed 64 bits of ns */
    bool skip;           /* no event of the chunk is in the windows that are scanned */
    VEC(uint32_t) group; /* by thread: its number in SIDE_GROUPS */
};
/* Returns the set of threads. After windows_flush, the list of its accumulator has the windows:
 * struct window. */
struct group_set windows_set(const struct side_windows *job, unsigned width);
int windows_chunk(struct group_worker *w, struct scan_chunk *c);
int windows_flush(struct group_worker *w);
/* Returns the number of the window that contains the time. */
int64_t windows_number(const struct side_windows *job, __int128 ns);
/* windows_result.c */
/* Adds peaks of the groups, and hosts, processes and threads. If it fails, nothing that must not be
 * added twice was changed. */
int windows_peaks(struct side_windows *job, struct groups_of_set *threads);
/* To be called after all windows were added: sets processes, threads and skewed hosts of
 * side.meta. */
int windows_finish(struct side_windows *job);

#endif
