/* bell.c - how the MPI thread sleeps. Each rank has a bell in memory that all ranks of its node share:
 * its own threads ring it, and ranks of the node that have sent it something. So it need not poll
 * often, but for ranks of other nodes. */
#include "cluster/transport.h"

#include <linux/futex.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Open MPI aligns shared memory to 8 bytes. */
struct bell {
    atomic_uint rung; /* the word of the futex */
    atomic_uint sleeping;
    char padding[56]; /* the next bell is on another cache line */
};

void bell_ring(struct bell *b)
{
    if (atomic_exchange(&b->rung, 1) == 0 && atomic_load(&b->sleeping))
        syscall(SYS_futex, &b->rung, FUTEX_WAKE, 1, NULL, NULL, 0);
}

bool bell_answer(struct bell *b)
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

/* ---- shared memory --------------------------------------------------------------------------- */

/* Fills in the bells of the ranks on this node. */
static void find_bells(struct cluster *c, MPI_Comm node, int here)
{
    int own = (int)c->rank, unit;
    MPI_Aint bytes;

    int *ranks = calloc((size_t)here, sizeof(*ranks));
    if (!ranks)
        out_of_memory(c, (size_t)here * sizeof(*ranks), "a list");
    mpi_check(c, MPI_Allgather(&own, 1, MPI_INT, ranks, 1, MPI_INT, node), "MPI_Allgather");
    for (int i = 0; i < here; i++) {
        int rc = MPI_Win_shared_query(c->window, i, &bytes, &unit, &c->bells[ranks[i]]);
        mpi_check(c, rc, "MPI_Win_shared_query");
    }
    free(ranks);
}

void bells_open(struct cluster *c)
{
    struct bell *own = NULL;
    MPI_Comm node;
    int here, rc;

    rc = MPI_Comm_split_type(c->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    mpi_check(c, rc, "MPI_Comm_split_type");
    mpi_check(c, MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(c, MPI_Comm_size(node, &here), "MPI_Comm_size");
    rc = MPI_Win_allocate_shared(sizeof(*own), 1, MPI_INFO_NULL, node, &own, &c->window);
    mpi_check(c, rc, "MPI_Win_allocate_shared");
    *own = (struct bell){0};
    mpi_check(c, MPI_Barrier(node), "MPI_Barrier");
    find_bells(c, node, here);
    c->on_one_node = (unsigned)here == c->size;
    MPI_Comm_free(&node);
}

void bells_close(struct cluster *c)
{
    MPI_Win_free(&c->window);
}
