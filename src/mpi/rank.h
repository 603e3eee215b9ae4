/* rank.h - a process of a job as links of an index, and the ends of the job.
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
    pthread_rwlock_t lock; /* of `index`: written when it is opened and closed */
    struct index *index;
    char *failed; /* why there is no index: rank 0's first request ends the job with it; or NULL */
    sem_t over;   /* rank 0 has ended */
    atomic_uint received; /* messages and requests */
};

/* Joins the job, and takes the arguments of MPI out. 0, or the exit status after a message. */
int rank_join(struct rank *r, int *argc, char ***argv);
/* Messages and requests come from now on. */
void rank_start(struct rank *r);
static inline bool rank_is_first(const struct rank *r)
{
    return r->ranks.links.rank == 0;
}
/* Rank 0: all may leave. The others: waits for that. */
void rank_end_all(struct rank *r);
void rank_wait(struct rank *r);
/* Nothing comes to the index any more, and what has come is answered. */
void rank_rest(struct rank *r);
void rank_leave(struct rank *r);

/* worker.c: what a rank other than 0 does, from the arguments of the daemon to the end of the job:
 * its index reads files for rank 0. */
void rank_work(struct rank *r, int argc, char **argv);
/* The same, with the options read. `choose` sets s->index_path. */
struct rank_place {
    int (*choose)(struct served *s, const struct options *o, unsigned rank, void *arg,
                  struct err *err);
    void *arg;
};
void rank_serve(struct rank *r, const struct options *o, const struct rank_place *place);
/* For requests inside the process; `s` is borrowed by the runner. */
int rank_open_runner(const struct served *s, const struct options *o, struct err *err,
                     struct http_runner **ret);

#endif
