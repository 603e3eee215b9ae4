/* rank.c - a process of an MPI job, as part of an index that is spread over all of them. */
#include "mpi/rank.h"

#include <errno.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_BYTES = 32 << 20 }; /* blocks of malloc up to this size are kept */
/* seconds without a message after which memory is returned to the system */
enum { IDLE_S = 5 };
/* a message of this byte: rank 0 has ended; all other messages are for the index */
enum { JOB_ENDED = 0xff };

/* ---- links of the index ---------------------------------------------------------------------- */

static int link_send(void *arg, unsigned to, struct text message)
{
    return cluster_send(((struct rank *)arg)->cluster, to, message);
}

static int link_request(void *arg, unsigned to, struct text request, struct buf *answer)
{
    return cluster_request(((struct rank *)arg)->cluster, to, request, answer);
}

static int link_request_all(void *arg, const unsigned *to, unsigned count, struct buf *request,
                            void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                            void *answered_arg)
{
    return cluster_request_all(((struct rank *)arg)->cluster, to, count, request, answered,
                               answered_arg);
}

static const char *link_host(void *arg, unsigned rank)
{
    return cluster_host(((struct rank *)arg)->cluster, rank);
}

static void link_set_index(void *arg, struct index *ix)
{
    struct rank *r = arg;

    pthread_rwlock_wrlock(&r->lock);
    r->index = ix;
    pthread_rwlock_unlock(&r->lock);
}

/* ---- messages and requests ------------------------------------------------------------------- */

static void on_message(void *arg, unsigned from, struct text bytes)
{
    struct rank *r = arg;

    atomic_fetch_add(&r->received, 1);
    if (bytes.len == 1 && (uint8_t)*bytes.ptr == JOB_ENDED) {
        sem_post(&r->ended);
        return;
    }
    pthread_rwlock_rdlock(&r->lock);
    if (r->index)
        index_receive(r->index, from, bytes);
    pthread_rwlock_unlock(&r->lock);
}

static int on_request(void *arg, unsigned from, struct text bytes, struct buf *answer)
{
    struct rank *r = arg;

    atomic_fetch_add(&r->received, 1);
    if (r->index_error)
        cluster_abort(r->cluster, r->index_error);
    pthread_rwlock_rdlock(&r->lock);
    int rc = r->index ? index_answer(r->index, from, bytes, answer) : -EPIPE;
    pthread_rwlock_unlock(&r->lock);
    return rc;
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Returns the number of ranks on this node. */
static unsigned count_on_node(const struct cluster *c)
{
    const char *here = cluster_host(c, cluster_rank(c));
    unsigned count = 0;

    for (unsigned i = 0; i < cluster_size(c); i++)
        count += strcmp(cluster_host(c, i), here) == 0;
    return count;
}

/* The MPI library starts threads, which must not receive the signals that the daemon waits for. */
static int join_job(struct rank *r, int *argc, char ***argv, struct err *err)
{
    sigset_t before;

    signals_block(&before);
    int rc = cluster_join(argc, argv, err, &r->cluster);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return rc;
}

/* Messages of megabytes are allocated and freed all the time. Malloc keeps their memory until the
 * process is idle: otherwise the system would clear the pages each time. */
static void keep_memory(void)
{
    mallopt(M_MMAP_THRESHOLD, KEPT_BYTES);
    mallopt(M_TRIM_THRESHOLD, 2 * KEPT_BYTES);
}

int rank_join(struct rank *r, int *argc, char ***argv)
{
    struct err err = {0};

    *r = (struct rank){0};
    keep_memory();
    if (join_job(r, argc, argv, &err) < 0) {
        fprintf(stderr, "%s: %s\n", (*argv)[0], err.text);
        err_done(&err);
        return 1;
    }
    r->ranks = (struct daemon_ranks){.links = {.rank = cluster_rank(r->cluster),
                                               .count = cluster_size(r->cluster),
                                               .send = link_send,
                                               .request = link_request,
                                               .request_all = link_request_all,
                                               .arg = r,
                                               .host = link_host},
                                     .on_node = count_on_node(r->cluster),
                                     .receive = link_set_index,
                                     .arg = r};
    pthread_rwlock_init(&r->lock, NULL);
    sem_init(&r->ended, 0, 0);
    return 0;
}

void rank_start(struct rank *r)
{
    const struct cluster_handler handler = {on_message, on_request, r};
    struct err err = {0};

    if (cluster_start(r->cluster, &handler, &err) < 0)
        cluster_abort(r->cluster, err.text);
}

void rank_end_all(struct rank *r)
{
    const char ended = (char)JOB_ENDED;

    for (unsigned i = 1; i < r->ranks.links.count; i++)
        while (cluster_send(r->cluster, i, (struct text){&ended, 1}) == -ENOMEM)
            nanosleep(&(struct timespec){0, 10000000}, NULL);
}

void rank_wait(struct rank *r)
{
    unsigned seen = 0, trimmed = 0, now;
    struct timespec until;

    clock_gettime(CLOCK_REALTIME, &until);
    do {
        now = atomic_load(&r->received);
        if (now == seen && now != trimmed) {
            trimmed = now;
#ifdef __GLIBC__
            malloc_trim(0);
#endif
        }
        seen = now;
        until.tv_sec += IDLE_S;
    } while (sem_timedwait(&r->ended, &until) < 0);
}

void rank_leave(struct rank *r)
{
    cluster_leave(r->cluster);
    free(r->index_error);
    sem_destroy(&r->ended);
    pthread_rwlock_destroy(&r->lock);
}
