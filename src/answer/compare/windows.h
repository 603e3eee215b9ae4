/* windows.h - events and durations by thread and window.
 *
 * Used by:   windows.c, windows_scan.c, windows_told.c.
 * Path:      windows_scan.c: one struct windows a worker -> windows.c adds them up ->
 *            windows_told.c: peaks of groups, and the processes, threads and clocks of the side.
 * Threads:   each struct windows belongs to one thread. Memory: charged to the budget of the
 *            request.
 */
#ifndef DFTRACERD_ANSWER_COMPARE_WINDOWS_H
#define DFTRACERD_ANSWER_COMPARE_WINDOWS_H

#include "answer/calltree/clocks.h"
#include "answer/compare/compare.h"

enum { PLACES = 3 }; /* host, pid, tid: keys of a thread behind those of its group */

struct window {
    __int128 dur;              /* their sum; of which unit: nano */
    int64_t number;            /* floor(ts / interval) */
    uint64_t events, measured; /* measured: those with a duration */
    uint32_t thread;
    bool nano;
};
/* The window of a thread's last event: a line of the cache. */
struct present {
    struct window now;
    int64_t from_ns; /* its begin; of far windows it means nothing */
    uint64_t rows;   /* of the thread in all, also those without a time */
};
/* Of one worker, and in the end of all. */
struct windows {
    struct side_windows *job;
    struct group_map threads;
    struct window *all;
    struct present *present; /* by thread; of no events: none yet */
    struct window *before;   /* the other window that it was in last */
    uint32_t *group;         /* by thread: its number in the scan of the side */
    uint32_t count, cap, present_cap, before_cap, group_cap, grouped;
    struct charge charge;
    bool far, skip; /* of the chunk: times beyond 64 bits of ns; no event is wanted */
    uint32_t thread[SCAN_BATCH];
};
struct side_windows {
    struct node_work *work;
    struct side *side;
    const struct source *keys[GROUP_KEYS_MAX], *time; /* time: ts; of one window for all 0 */
    unsigned width;
    uint64_t window_ns;            /* UINT64_MAX: one window */
    int64_t first, last;           /* numbers of windows that are wanted */
    struct windows *sum;           /* NULL: of no worker yet */
    struct group_table at[PLACES]; /* hosts, processes, threads that were told */
    struct clock_host *hosts;      /* by number in at[0] */
    struct group_peaks {
        struct moments_f64 of[PEAKS];
    } * peaks; /* by number of the group */
    uint32_t host_cap, peak_cap;
    struct charge charge;
};

/* Room for `count` on lines of the cache, charged to *c; what is new is 0. The size times 256
 * fills lines. 0, ERR_MEMORY_LIMIT, -ENOMEM. */
int windows_grow(struct charge *c, void **array, uint32_t *cap, uint32_t count, size_t size);
/* windows_scan.c: of a worker, as struct scan_sink wants them. */
int windows_new(void *job, void **ret);
void windows_free(struct windows *w);
int windows_chunk(void *w, struct scan_chunk *c);
int windows_batch(void *w, struct scan_batch *b);
int windows_with_groups(void *w, struct scan_batch *b, struct group_table *groups, uint32_t *group);
/* Also counts the rows of the groups (NULL: nobody asks). */
int windows_end(void *job, void *w, const struct groups_of_set *groups, bool failed);
int64_t windows_number(const struct side_windows *job, __int128 ns);
/* windows_told.c */
/* By thread and number, each once. */
int windows_order(struct windows *w);
/* Of windows in order: peaks of the groups, and who was there. Fails before it changes what cannot
 * be told twice. */
int windows_tell(struct windows *w);
/* After all windows: processes, threads, and hosts whose clocks differ, into the side's meta. */
int windows_tell_places(struct side_windows *job);

#endif
