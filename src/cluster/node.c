/* node.c - the bells of the ranks on a node, in memory that they share. */
#include "cluster/transport.h"

#include <stdlib.h>
#include <string.h>

/* Finds the bells of the ranks on this node. */
static void find_bells(struct cluster *c, MPI_Comm node, int count)
{
    int own = (int)c->rank, unit;
    MPI_Aint bytes;

    int *ranks = calloc((size_t)count, sizeof(*ranks));
    if (!ranks)
        out_of_memory(c, (size_t)count * sizeof(*ranks), "a list");
    mpi_check(c, MPI_Allgather(&own, 1, MPI_INT, ranks, 1, MPI_INT, node), "MPI_Allgather");
    for (int i = 0; i < count; i++) {
        int rc = MPI_Win_shared_query(c->window, i, &bytes, &unit, &c->bells[ranks[i]]);
        mpi_check(c, rc, "MPI_Win_shared_query");
    }
    free(ranks);
}

void bells_open(struct cluster *c)
{
    struct bell *own = NULL;
    MPI_Comm node;
    int count;

    int rc = MPI_Comm_split_type(c->comm, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &node);
    mpi_check(c, rc, "MPI_Comm_split_type");
    mpi_check(c, MPI_Comm_set_errhandler(node, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(c, MPI_Comm_size(node, &count), "MPI_Comm_size");
    rc = MPI_Win_allocate_shared(sizeof(*own), 1, MPI_INFO_NULL, node, &own, &c->window);
    mpi_check(c, rc, "MPI_Win_allocate_shared");
    memset(own, 0, sizeof(*own));
    mpi_check(c, MPI_Barrier(node), "MPI_Barrier");
    find_bells(c, node, count);
    c->on_one_node = (unsigned)count == c->size;
    MPI_Comm_free(&node);
}

void bells_close(struct cluster *c)
{
    MPI_Win_free(&c->window);
}
