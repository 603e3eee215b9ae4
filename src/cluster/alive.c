/* alive.c - ends the job when a rank has died or hangs. mpirun does so by itself when a process
 * dies, srun only with --kill-on-bad-exit. Rank 0 and each other rank send each other a packet
 * every second; any packet shows that its sender is alive. Silence is counted in seconds in which
 * this thread ran, so a job that is suspended as a whole continues. */
#include "cluster/transport.h"

#include <stdio.h>

#define ALIVE_NS 1000000000ll
#define SILENT_MAX 7 /* seconds */

static bool is_watched(const struct cluster *c, unsigned rank)
{
    return rank != c->rank && (rank == 0 || c->rank == 0);
}

/* Returns false without memory. */
static bool send_alive(struct cluster *c, unsigned to, bool leaves)
{
    struct trailer t = {.kind = PACKET_ALIVE, .status = leaves};
    struct buf none = {0};
    struct packet *p = packets_new(c, &to, 1, &none, t);

    if (!p)
        return false;
    c->sent[to]++;
    packet_send(c, p);
    return true;
}

static void check_peer(struct cluster *c, unsigned rank)
{
    struct peer *peer = &c->peers[rank];
    char why[MPI_MAX_PROCESSOR_NAME + 100];

    if (!peer->heard || peer->leaves || ++peer->silent <= SILENT_MAX)
        return;
    snprintf(why, sizeof(why), "rank %u on %s does not answer", rank, c->hosts[rank]);
    cluster_abort(c, why);
}

void alive_step(struct cluster *c)
{
    int64_t now = clock_mono_ns();

    if (now - c->alive_ns < ALIVE_NS)
        return;
    c->alive_ns = now;
    for (unsigned i = 0; i < c->size; i++) {
        if (!is_watched(c, i))
            continue;
        check_peer(c, i);
        if (!c->has_left)
            send_alive(c, i, false);
    }
}

void alive_leave(struct cluster *c)
{
    c->has_left = true;
    for (unsigned i = 0; i < c->size; i++)
        if (is_watched(c, i) && !send_alive(c, i, true))
            out_of_memory(c, sizeof(struct packet), "a packet");
}
