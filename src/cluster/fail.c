/* fail.c - the end of the job, with the reason. */
#include "cluster/transport.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define ABORT_SECONDS 5 /* time that the MPI thread has to end the job */

static void write_reason(const struct cluster *c, const char *why)
{
    char line[1024];
    int len = snprintf(line, sizeof(line), "rank %u on %s: %s\n", c->rank, c->hosts[c->rank], why);

    if (len >= (int)sizeof(line)) {
        len = sizeof(line);
        line[len - 1] = '\n';
    }
    if (len > 0 && write(STDERR_FILENO, line, (size_t)len) < 0)
        return; /* standard error is closed */
}

/* If the caller is not the MPI thread, wakes that to abort the job, and returns true. */
static bool wake_to_abort(struct cluster *c)
{
    pthread_mutex_lock(&c->lock);
    bool other = c->has_thread && !pthread_equal(c->thread, pthread_self());
    pthread_mutex_unlock(&c->lock);
    if (other) {
        atomic_store(&c->aborting, true);
        bell_ring(c->bells[c->rank]);
    }
    return other;
}

void cluster_abort(struct cluster *c, const char *why)
{
    write_reason(c, why);
    if (wake_to_abort(c))
        sleep(ABORT_SECONDS);
    else
        MPI_Abort(c->comm, EXIT_FAILURE);
    _exit(EXIT_FAILURE); /* mpirun then ends the others */
}

void mpi_check(struct cluster *c, int rc, const char *call)
{
    char text[MPI_MAX_ERROR_STRING] = "", why[MPI_MAX_ERROR_STRING + 64];
    int len = 0;

    if (rc == MPI_SUCCESS)
        return;
    MPI_Error_string(rc, text, &len);
    snprintf(why, sizeof(why), "%s failed: %s", call, text);
    cluster_abort(c, why);
}

void out_of_memory(struct cluster *c, size_t bytes, const char *what)
{
    char why[200];

    snprintf(why, sizeof(why), "no memory for %s of %zu bytes", what, bytes);
    cluster_abort(c, why);
}
