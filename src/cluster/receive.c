/* receive.c - packets from other ranks: several are received at a time. They are delivered when
 * they are complete; ordered packets one after the other. */
#include "cluster/transport.h"

#include <stdlib.h>

#define RECEIVES_MAX 64
#define ALONE_BYTES 4000 /* MPI sends up to this size without waiting for the receiver */

/* Allocates memory for a large packet. Its size has arrived with its announcement. */
static void receive_size(struct cluster *c, unsigned peer, MPI_Message *message)
{
    struct peer *from = &c->peers[peer];
    int rc =
        MPI_Mrecv(&from->large_len, sizeof(from->large_len), MPI_BYTE, message, MPI_STATUS_IGNORE);

    mpi_check(c, rc, "MPI_Mrecv");
    from->large_begun = 0;
    from->large = malloc(from->large_len);
    if (!from->large)
        out_of_memory(c, from->large_len, "a packet");
    large_advise(from->large, from->large_len);
}

/* Returns where the bytes of a packet or piece are received. The last piece becomes the packet. */
static char *receive_memory(struct cluster *c, struct packet *p)
{
    struct peer *from = &c->peers[p->peer];

    if (p->tag == TAG_ANY_ORDER || !from->large) {
        p->bytes = malloc(p->len);
        if (!p->bytes)
            out_of_memory(c, p->len, "a packet");
        large_advise(p->bytes, p->len);
        return p->bytes;
    }
    char *to = from->large + from->large_begun;
    from->large_begun += p->len;
    if (p->tag == TAG_IN_ORDER) {
        p->bytes = from->large;
        p->len = from->large_len;
        from->large = NULL;
    }
    return to;
}

static void begin_receive(struct cluster *c, const MPI_Status *status, MPI_Message *message)
{
    struct packet *p = calloc(1, sizeof(*p));
    int len = 0;

    mpi_check(c, MPI_Get_count(status, MPI_BYTE, &len), "MPI_Get_count");
    if (!p)
        out_of_memory(c, sizeof(*p), "a packet");
    p->cluster = c;
    p->peer = (unsigned)status->MPI_SOURCE;
    p->tag = status->MPI_TAG;
    p->len = (size_t)len;
    char *to = receive_memory(c, p);
    mpi_check(c, MPI_Imrecv(to, len, MPI_BYTE, message, &p->mpi), "MPI_Imrecv");
    *c->receives_end = p;
    c->receives_end = &p->next;
    c->receive_count++;
}

/* Begins to receive the next announced packet, if there is one. MPI_Improbe first checks, then
 * makes progress: only a second call finds what has just arrived. */
static bool receive_next(struct cluster *c)
{
    MPI_Message message;
    MPI_Status status;
    int some = 0;

    for (int i = 0; i < 2 && !some; i++) {
        int rc = MPI_Improbe(MPI_ANY_SOURCE, MPI_ANY_TAG, c->comm, &some, &message, &status);
        mpi_check(c, rc, "MPI_Improbe");
    }
    if (some && status.MPI_TAG == TAG_SIZE)
        receive_size(c, (unsigned)status.MPI_SOURCE, &message);
    else if (some)
        begin_receive(c, &status, &message);
    return some;
}

static void handle_arrival(struct cluster *c, struct packet *p)
{
    c->peers[p->peer].heard = true;
    c->peers[p->peer].silent = 0;
    if (p->tag == TAG_PIECE)
        packet_free(p);
    else
        packet_deliver(p);
}

/* Returns whether the packet has arrived, as have the ordered ones of its sender before it. */
static bool receive_is_complete(struct cluster *c, struct packet *p)
{
    struct peer *from = &c->peers[p->peer];
    bool in_order = p->tag != TAG_ANY_ORDER;
    int done = p->arrived;

    if (!done)
        mpi_check(c, MPI_Test(&p->mpi, &done, MPI_STATUS_IGNORE), "MPI_Test");
    p->arrived = done;
    if (p->len > ALONE_BYTES)
        bell_ring_peer(c, p->peer);
    if (p->arrived && !(in_order && from->blocked_round == c->receive_round))
        return true;
    if (in_order)
        from->blocked_round = c->receive_round;
    return false;
}

bool receives_step(struct cluster *c)
{
    bool progressed = false;

    while (c->receive_count < RECEIVES_MAX && receive_next(c))
        progressed = true;
    c->receive_round++;
    for (struct packet **at = &c->receives, *p; (p = *at);) {
        if (!receive_is_complete(c, p)) {
            at = &p->next;
            continue;
        }
        *at = p->next;
        if (!*at)
            c->receives_end = at;
        c->receive_count--;
        handle_arrival(c, p);
        progressed = true;
    }
    return progressed;
}
