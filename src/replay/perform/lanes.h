/* lanes.h - assigns the calls of each (host, pid, tid) of the trace, its lane, to a process and a
 * thread of the replay.
 *
 * Each lane has a thread of its own, as long as there are fewer than REPLAY_LANES_MAX; further
 * lanes share these. With --processes the threads of a (host, pid) are in a process of their own,
 * so there a process has at least one thread.
 * Threads: the planning thread. Lanes are in shared memory: the threads that perform operations
 * read them.
 */
#ifndef DFTRACERD_REPLAY_PERFORM_LANES_H
#define DFTRACERD_REPLAY_PERFORM_LANES_H

#include "dftracerd/replay.h"
#include "dftracerd/vec.h"

#include "replay/shared/shared.h"

struct lane {
    struct text host; /* host in the trace */
    int64_t pid, tid;
    uint32_t process; /* number of its (host, pid) */
    uint32_t runner;  /* number of its thread, below LANES_RUNNERS_MAX */
    /* begin and end of the current outermost call; used by the planning thread */
    int64_t outer_ns, outer_end_ns;
};

enum { LANES_RUNNERS_MAX = REPLAY_LANES_MAX + REPLAY_PROCESSES_MAX };

struct lanes {
    struct shared *shared;
    bool processes;              /* --processes */
    struct intern *keys, *names; /* keys of lanes; names of their processes */
    VEC(struct lane *) lanes;
    VEC(uint32_t) first_runner; /* first runner of each process, + 1 */
    uint32_t runners;           /* number of runners in use */
    uint64_t sharing;           /* number of lanes without a thread of their own */
};
int lanes_init(struct lanes *l, struct shared *s, bool processes);
void lanes_done(struct lanes *l);
/* Returns NULL without memory. */
struct lane *lanes_find(struct lanes *l, struct text host, int64_t pid, int64_t tid);
/* Prepares the second reading of the input. */
void lanes_reset(struct lanes *l);
uint32_t lanes_count(const struct lanes *l);
uint32_t lanes_processes(const struct lanes *l);

#endif
