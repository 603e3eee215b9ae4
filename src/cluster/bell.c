/* bell.c - the MPI thread sleeps on a bell, and is woken by its own process and by others of its
 * node. */
#include "cluster/transport.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

void bell_ring(struct bell *b)
{
    if (atomic_exchange(&b->rung, 1) == 0 && atomic_load(&b->sleeping))
        syscall(SYS_futex, &b->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

void bell_ring_peer(struct cluster *c, unsigned peer)
{
    if (c->bells[peer])
        bell_ring(c->bells[peer]);
}

bool bell_was_rung(struct bell *b)
{
    return atomic_load_explicit(&b->rung, memory_order_relaxed) && atomic_exchange(&b->rung, 0);
}

void bell_wait(struct bell *b, int64_t longest_ns)
{
    const struct timespec longest = {longest_ns / 1000000000, longest_ns % 1000000000};

    atomic_store(&b->sleeping, 1);
    if (atomic_load(&b->rung) == 0)
        syscall(SYS_futex, &b->rung, FUTEX_WAIT, 0, &longest, NULL, 0);
    atomic_store(&b->sleeping, 0);
}
