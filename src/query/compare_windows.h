/* compare_windows.h - events and durations by thread and window. Private to compare_windows*.c. */
#ifndef DFTRACERD_QUERY_COMPARE_WINDOWS_H
#define DFTRACERD_QUERY_COMPARE_WINDOWS_H

#include "compare.h"

enum { PLACES = 3 }; /* host, pid, tid: keys of a thread behind those of its group */

struct window {
    int64_t ns; /* its begin */
    uint32_t thread;
    uint64_t events, measured; /* measured: those with a duration */
    int64_t dur;               /* their sum                       */
};
struct present {
    int64_t from_ns[2]; /* of the last window, and of the one before it */
    uint32_t window[2]; /* number + 1, 0 = none yet                     */
};
struct job;
/* Of one worker, and in the end of all. */
struct windows {
    struct job *job;
    struct group_map threads;
    struct window *all;
    struct present *present; /* by thread */
    uint32_t count, cap, present_cap;
    enum { UNIT_NONE, UNIT_MICRO, UNIT_NANO } unit; /* of durations */
    size_t charged;
    uint32_t thread[SCAN_BATCH];
};
struct job {
    struct node_work *work;
    struct side *side;
    const struct source *keys[GROUP_KEYS_MAX], *time; /* time: ts; of one window for all 0 */
    unsigned width;
    uint64_t window_ns;  /* UINT64_MAX: one window                                  */
    struct windows *sum; /* NULL: of no worker yet */
};

/* Room for `count`, charged to w->charged; what is new is 0. 0, ERR_MEMORY_LIMIT, -ENOMEM. */
int windows_grow(struct windows *w, void **array, uint32_t *cap, uint32_t count, size_t size);
/* By thread and begin, each once. -EDOM: the general way must do it. */
int windows_order(struct windows *w);
/* Of windows in order: processes, threads and hosts of the side, then peaks of its groups, which fails before it changes any. */
int windows_tell(struct windows *w);

#endif
