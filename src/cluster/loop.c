/* loop.c - the MPI thread: it polls, pauses, and ends the job in order.
 *
 * A rank that leaves first waits until it has no more messages to send and no request without an
 * answer. Then all ranks sum up, without blocking, how many messages each was sent; the sum also
 * shows that no request is on its way. When a rank has received and handled its number of messages,
 * it enters a barrier. */
#include "cluster/transport.h"

#include <stdlib.h>
#include <sys/prctl.h>

/* If nothing happened, the thread pauses: for long, if all events ring its bell. That is so on one
 * node, where the receiver of a transfer rings for the sender whenever it polls. Receivers, ranks
 * of several nodes, and ranks that leave pause for a quarter of the time since the last event,
 * within limits. */
#define PAUSE_MIN_NS 20000
#define PAUSE_BUSY_NS 50000
#define PAUSE_IDLE_NS 1000000
#define PAUSE_RUNG_NS 20000000
#define STUCK_NS 5000000000ll

enum phase { WORKING, COUNTING, DRAINING, BARRIER, DONE };

/* The steps in which all ranks leave. */
struct leaving {
    enum phase phase;
    MPI_Request mpi;
    uint64_t expected; /* number of messages to this rank */
};

static bool is_complete(struct cluster *c, struct leaving *l)
{
    int done = 0;

    mpi_check(c, MPI_Test(&l->mpi, &done, MPI_STATUS_IGNORE), "MPI_Test");
    return done;
}

static bool is_drained(struct cluster *c, const struct leaving *l)
{
    return c->received == l->expected && atomic_load(&c->unhandled) == 0 && !c->sends &&
           !c->receives && outbox_is_closed(c);
}

/* Makes one step towards the end, if possible. Returns whether it did. */
static bool leave_step(struct cluster *c, struct leaving *l)
{
    switch (l->phase) {
    case WORKING:
        if (!outbox_is_closed(c))
            return false;
        alive_leave(c);
        mpi_check(c,
                  MPI_Ireduce_scatter_block(c->sent, &l->expected, 1, MPI_UINT64_T, MPI_SUM,
                                            c->comm, &l->mpi),
                  "MPI_Ireduce_scatter_block");
        break;
    case COUNTING:
    case BARRIER:
        if (!is_complete(c, l))
            return false;
        break;
    case DRAINING:
        if (!is_drained(c, l))
            return false;
        mpi_check(c, MPI_Ibarrier(c->comm, &l->mpi), "MPI_Ibarrier");
        break;
    case DONE:
        return false;
    }
    l->phase++;
    return true;
}

static bool all_events_ring(const struct cluster *c, enum phase phase)
{
    return c->on_one_node && phase == WORKING && !c->receives;
}

static int64_t pause_ns(const struct cluster *c, enum phase phase, int64_t quiet_ns)
{
    bool busy = (c->sends || c->receives) && quiet_ns < STUCK_NS;
    int64_t max = busy ? PAUSE_BUSY_NS : PAUSE_IDLE_NS, pause = quiet_ns / 4;

    if (all_events_ring(c, phase))
        return c->sends ? PAUSE_IDLE_NS : PAUSE_RUNG_NS;
    if (pause < PAUSE_MIN_NS)
        return PAUSE_MIN_NS;
    return pause < max ? pause : max;
}

/* Waits until the next poll, unless something happened. */
static void pause_thread(struct cluster *c, enum phase phase, bool progressed)
{
    int64_t now = clock_mono_ns();

    if (progressed)
        c->active_ns = now;
    else
        bell_wait(c->bells[c->rank], pause_ns(c, phase, now - c->active_ns));
    if (atomic_load_explicit(&c->aborting, memory_order_relaxed))
        MPI_Abort(c->comm, EXIT_FAILURE);
}

void transport_run(struct cluster *c)
{
    struct leaving leaving = {.phase = WORKING, .mpi = MPI_REQUEST_NULL};

    prctl(PR_SET_TIMERSLACK, 1); /* ns: pauses are short; usually 50,000 are added */
    while (leaving.phase != DONE) {
        bool progressed = bell_was_rung(c->bells[c->rank]);
        progressed |= sends_step(c);
        progressed |= receives_step(c);
        progressed |= leave_step(c, &leaving);
        alive_step(c);
        pause_thread(c, leaving.phase, progressed);
    }
}
