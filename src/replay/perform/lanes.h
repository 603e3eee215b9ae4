/* lanes.h - which process and thread of the replay perform the calls of a (host, pid, tid) of the
 * trace.
 *
 * Each has a thread of its own, as long as there are fewer than REPLAY_LANES_MAX; further ones
 * share these. With --processes the threads of a (host, pid) are in a process of their own, so
 * there a process has at least one thread.
 * Threads: the planning thread. Lanes are in shared memory: whoever performs an operation reads
 * them.
 */
#ifndef DFTRACERD_REPLAY_PERFORM_LANES_H
#define DFTRACERD_REPLAY_PERFORM_LANES_H

#include "dftracerd/replay.h"
#include "dftracerd/vec.h"

#include "replay/shared/shared.h"

struct lane {
    struct text host; /* of the trace */
    int64_t pid, tid;
    uint32_t process;     /* number of its (host, pid) */
    uint32_t runner;      /* number of its thread, below LANES_RUNNERS_MAX */
    int64_t outer_end_ns; /* of the planning thread: the end of the outermost call at hand */
};

enum { LANES_RUNNERS_MAX = REPLAY_LANES_MAX + REPLAY_PROCESSES_MAX };

struct lanes {
    struct shared *shared;
    bool processes;              /* --processes */
    struct intern *keys, *names; /* of lanes, and of their processes */
    VEC(struct lane *) lanes;
    VEC(uint32_t) first_runner; /* of a process, + 1 */
    uint32_t runners;           /* numbers that are in use */
    uint64_t sharing;           /* lanes without a thread of their own */
};
int lanes_init(struct lanes *l, struct shared *s, bool processes);
void lanes_done(struct lanes *l);
/* NULL: no memory. */
struct lane *lanes_find(struct lanes *l, struct text host, int64_t pid, int64_t tid);
/* For the second time. */
void lanes_again(struct lanes *l);
uint32_t lanes_count(const struct lanes *l);
uint32_t lanes_processes(const struct lanes *l);

#endif
