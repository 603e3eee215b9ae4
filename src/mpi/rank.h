/* rank.h - a process of a job: the links of its index, and the start and end of the job.
 *
 * Used by:   the programs in this folder.
 * Threads:   rank_join, rank_wait and rank_leave: the main thread.
 */
#ifndef DFTRACERD_MPI_RANK_H
#define DFTRACERD_MPI_RANK_H

#include "cluster/cluster.h"
#include "daemon/daemon.h"

#include <semaphore.h>

struct rank {
    struct cluster *cluster;
    struct daemon_ranks ranks;
    pthread_rwlock_t lock; /* guards `index`: locked for writing while it is opened and closed */
    struct index *index;
    /* NULL, or why there is no index: the first request of rank 0 ends the job with this message */
    char *index_error;
    sem_t ended;          /* posted when rank 0 has ended */
    atomic_uint received; /* number of messages and requests */
};

/* Joins the job, and removes the arguments of MPI. Returns 0, or the exit status after printing a
 * message. */
int rank_join(struct rank *r, int *argc, char ***argv);
/* Starts receiving messages and requests. */
void rank_start(struct rank *r);
static inline bool rank_is_first(const struct rank *r)
{
    return r->ranks.links.rank == 0;
}
void rank_end_all(struct rank *r); /* on rank 0: lets all ranks leave */
void rank_wait(struct rank *r);    /* on other ranks: waits for that */
void rank_leave(struct rank *r);

/* worker.c: runs a rank other than 0, from the arguments of the daemon to the end of the job: its
 * index reads files for rank 0. */
void rank_work(struct rank *r, int argc, char **argv);
/* Like rank_work, with parsed options. `choose` sets s->index_path. */
struct rank_place {
    int (*choose)(struct daemon_site *s, const struct options *o, unsigned rank, void *arg,
                  struct err *err);
    void *arg;
};
void rank_serve(struct rank *r, const struct options *o, const struct rank_place *place);
/* Waits for the end of the job without an index. `rc`, `err`: why there is none, or 0. */
void rank_idle(struct rank *r, int rc, const struct err *err);
/* Opens a runner for requests inside the process; it borrows `s`. */
int rank_open_runner(const struct daemon_site *s, const struct options *o, struct err *err,
                     struct http_runner **ret);

#endif
