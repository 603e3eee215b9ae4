/* cluster.c - joins and leaves the job. */
#include "cluster/transport.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

#define REQUEST_THREADS_MIN 2
#define REQUEST_THREADS_MAX 8

unsigned cluster_rank(const struct cluster *c)
{
    return c->rank;
}

unsigned cluster_size(const struct cluster *c)
{
    return c->size;
}

const char *cluster_host(const struct cluster *c, unsigned rank)
{
    return c->hosts[rank];
}

/* ---- joining --------------------------------------------------------------------------------- */

static void free_cluster(struct cluster *c)
{
    pthread_mutex_destroy(&c->lock);
    free(c->hosts);
    free(c->peers);
    free(c->bells);
    free(c->sent);
    free(c);
}

/* Returns NULL without memory. */
static struct cluster *new_cluster(unsigned rank, unsigned size)
{
    struct cluster *c = calloc(1, sizeof(*c));

    if (!c)
        return NULL;
    pthread_mutex_init(&c->lock, NULL);
    c->rank = rank;
    c->size = size;
    c->outbox_end = &c->outbox;
    c->sends_end = &c->sends;
    c->receives_end = &c->receives;
    c->hosts = calloc(size, sizeof(c->hosts[0]));
    c->peers = calloc(size, sizeof(c->peers[0]));
    c->bells = calloc(size, sizeof(c->bells[0]));
    c->sent = calloc(size, sizeof(c->sent[0]));
    if (!c->hosts || !c->peers || !c->bells || !c->sent) {
        free_cluster(c);
        return NULL;
    }
    return c;
}

/* Creates a communicator of its own, whose errors are returned, and exchanges the names of
 * nodes. */
static void connect_ranks(struct cluster *c)
{
    char *own = c->hosts[c->rank];
    int len;

    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    mpi_check(c, MPI_Get_processor_name(own, &len), "MPI_Get_processor_name");
    mpi_check(c, MPI_Comm_dup(MPI_COMM_WORLD, &c->comm), "MPI_Comm_dup");
    mpi_check(c, MPI_Comm_set_errhandler(c->comm, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
    mpi_check(c,
              MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, c->hosts, sizeof(c->hosts[0]),
                            MPI_CHAR, c->comm),
              "MPI_Allgather");
    bells_open(c);
}

int cluster_join(int *argc, char ***argv, struct err *err, struct cluster **ret)
{
    int level = 0, rank = 0, size = 0;

    /* Open MPI must not start a process of the launcher for a job of one rank. */
    setenv("OMPI_MCA_ess_singleton_isolated", "1", 0);
    /* Open MPI yields in each poll if there are more ranks than cores; this module's thread sleeps
     * itself. */
    setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
    MPI_Init_thread(argc, argv, MPI_THREAD_SERIALIZED, &level); /* aborts the process on failure */
    if (level < MPI_THREAD_SERIALIZED) {
        MPI_Finalize();
        return err_set(err, -ENOTSUP,
                       "the MPI library does not support threads (MPI_THREAD_SERIALIZED)");
    }
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    struct cluster *c = new_cluster((unsigned)rank, (unsigned)size);
    if (!c) { /* otherwise the other ranks would wait for this one */
        fprintf(stderr, "rank %d: no memory to join a job of %d ranks\n", rank, size);
        MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        exit(EXIT_FAILURE);
    }
    c->comm = MPI_COMM_WORLD;
    connect_ranks(c);
    *ret = c;
    return 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

static void *mpi_thread(void *arg)
{
    transport_run(arg);
    return NULL;
}

static int start_thread(struct cluster *c)
{
    sigset_t before;

    signals_block(&before);
    pthread_mutex_lock(&c->lock);
    int rc = pthread_create(&c->thread, NULL, mpi_thread, c);
    c->has_thread = rc == 0;
    pthread_mutex_unlock(&c->lock);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (rc == 0)
        pthread_setname_np(c->thread, "mpi");
    return -rc;
}

static void stop_pools(struct cluster *c)
{
    pool_free(c->messages);
    pool_free(c->requests);
    c->messages = c->requests = NULL;
}

int cluster_start(struct cluster *c, const struct cluster_handler *handler, struct err *err)
{
    unsigned threads = cpu_count();

    threads = threads < REQUEST_THREADS_MIN ? REQUEST_THREADS_MIN : threads;
    threads = threads > REQUEST_THREADS_MAX ? REQUEST_THREADS_MAX : threads;
    c->handler = *handler;
    int rc = pool_new(1, "mpi-message", &c->messages);
    rc = rc ? rc : pool_new(threads, "mpi-request", &c->requests);
    rc = rc ? rc : start_thread(c);
    if (rc == 0)
        return 0;
    stop_pools(c);
    return err_set(err, rc, "cannot start the threads of MPI: %s", err_text(rc));
}

/* ---- leaving --------------------------------------------------------------------------------- */

void cluster_leave(struct cluster *c)
{
    if (!c)
        return;
    pthread_mutex_lock(&c->lock);
    c->leaving = true;
    bool has_thread = c->has_thread;
    pthread_mutex_unlock(&c->lock);
    bell_ring(c->bells[c->rank]);
    if (has_thread)
        pthread_join(c->thread, NULL);
    else /* other ranks may still send messages to this one */
        transport_run(c);
    stop_pools(c);
    bells_close(c);
    MPI_Comm_free(&c->comm);
    MPI_Finalize();
    free_cluster(c);
}
