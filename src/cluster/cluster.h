/* cluster.h - the processes of one MPI job, and messages between them. The only caller of MPI.
 *
 * Processes are called ranks, and are numbered from 0. A message is any bytes; messages from one
 * rank to another arrive in the order in which they were sent. A request has an answer. Several
 * requests are answered at a time, in any order, so one that reads the disk does not delay others.
 *
 * May use:   base, MPI.       Used by: mpi.
 * Threads:   cluster_join, cluster_start and cluster_leave: the main thread. All others: any
 *            thread. The module has one thread for all calls of MPI, one for messages, and a pool
 *            of 2 to 8 threads for requests. The MPI thread sleeps. It is woken by the threads of
 *            its rank and by other ranks of its node; it polls for messages of other nodes, at
 *            least every 1 ms.
 * Memory:    bytes are copied. Messages that were sent are freed. Received messages wait in memory
 *            for their handler: nothing limits a sender that is faster than the handlers.
 * Errors:    MPI cannot survive the death of a process: the job ends. A failed call of MPI, or no
 *            memory for what arrives, ends it too, and so does a process that is stopped (by a
 *            debugger, for example) for 8 seconds. The last line that the process writes to
 *            standard error is then "rank R on HOST: reason".
 * Caveat:    a request handler may request something from other ranks only if their handlers do not
 *            do the same in turn: all threads could wait for each other.
 */
#ifndef DFTRACERD_CLUSTER_CLUSTER_H
#define DFTRACERD_CLUSTER_CLUSTER_H

#include "dftracerd/base.h"

struct cluster;

struct cluster_handler {
    /* A message has arrived. Called by one thread, in the order of arrival; may block. */
    void (*message)(void *arg, unsigned from, struct text bytes);
    /* A request has arrived. Appends the answer, which is empty at first. Called by several threads
     * at a time, and by the caller of cluster_request if that is the same rank. Returns 0, or a
     * negative error that cluster_request returns. */
    int (*request)(void *arg, unsigned from, struct text bytes, struct buf *answer);
    void *arg;
};

/* Joins the job: MPI_Init_thread. Without mpirun, it is a job of one rank. Removes the arguments of
 * MPI. Collective. Returns -ENOTSUP if the MPI library does not support threads. */
int cluster_join(int *argc, char ***argv, struct err *err, struct cluster **ret); /* *new* */
unsigned cluster_rank(const struct cluster *c); /* rank of this process */
unsigned cluster_size(const struct cluster *c); /* number of ranks */
/* Returns the name of a rank's node; borrowed until cluster_leave. */
const char *cluster_host(const struct cluster *c, unsigned rank);

/* Starts receiving messages and requests; earlier ones have waited. The functions are called until
 * cluster_leave returns. After an error, only cluster_leave and cluster_abort may follow. Returns
 * -ENOMEM or -EAGAIN (no thread). */
int cluster_start(struct cluster *c, const struct cluster_handler *handler, struct err *err);

/* Queues a copy of the message. `to` may be this rank; then it does not pass through MPI. Returns
 * -ENOMEM, or -EPIPE once this rank is leaving. */
int cluster_send(struct cluster *c, unsigned to, struct text bytes);
/* Sends a request and waits for the answer, which is appended. `to` may be this rank; then the
 * calling thread runs the handler. Returns the error of the handler (then nothing is appended);
 * -ENOMEM; or -EPIPE once this rank is leaving, or if the other one is leaving without having
 * started. */
int cluster_request(struct cluster *c, unsigned to, struct text bytes, struct buf *answer);

/* Sends a request to other ranks, without waiting. *request becomes owned by the module, on errors
 * too. `answered` is called once for each rank, by the MPI thread, so it must not block; it may
 * steal the answer. rc is as returned by cluster_request. Returns -ENOMEM or -EPIPE if nothing was
 * sent. */
int cluster_request_all(struct cluster *c, const unsigned *to, unsigned count, struct buf *request,
                        void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                        void *arg);

/* Leaves the job: MPI_Finalize. Collective: returns when all ranks have called it, their
 * requests have been answered, and all messages have been handled. Meanwhile requests of
 * other ranks are still answered. Frees c (may be NULL). */
void cluster_leave(struct cluster *c);
/* Ends all processes of the job after writing a line "rank R on HOST: WHY". */
_Noreturn void cluster_abort(struct cluster *c, const char *why);

#endif
