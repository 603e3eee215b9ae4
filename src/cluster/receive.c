/* receive.c - packets from other ranks: several are received at a time. They are delivered when
 * they are complete; ordered packets one after the other. */
#include "cluster/transport.h"

#include <stdlib.h>

#define RECEIVES_MAX 64
#define ALONE_BYTES 4000 /* MPI sends up to this size without waiting for the receiver */

static struct packet *new_receive(struct cluster *c, const MPI_Status *status)
{
    int len = 0;

    mpi_check(c, MPI_Get_count(status, MPI_BYTE, &len), "MPI_Get_count");
    struct packet *p = calloc(1, sizeof(*p));
    char *bytes = malloc((size_t)len);
    if (!p || !bytes)
        out_of_memory(c, (size_t)len, "a packet");
    large_advise(bytes, (size_t)len);
    p->cluster = c;
    p->peer = (unsigned)status->MPI_SOURCE;
    p->tag = status->MPI_TAG;
    p->bytes = bytes;
    p->len = (size_t)len;
    return p;
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
    if (!some)
        return false;
    struct packet *p = new_receive(c, &status);
    int rc = MPI_Imrecv(p->bytes, (int)p->len, MPI_BYTE, &message, &p->mpi);
    mpi_check(c, rc, "MPI_Imrecv");
    *c->receives_end = p;
    c->receives_end = &p->next;
    c->receive_count++;
    return true;
}

/* Adds a piece to those before it, without a copy if it is the first. */
static void add_piece(struct buf *pieces, struct packet *p)
{
    if (!pieces->data) {
        *pieces = (struct buf){.data = p->bytes, .len = p->len, .cap = p->len};
        p->bytes = NULL;
        return;
    }
    buf_append(pieces, p->bytes, p->len);
    if (pieces->error)
        out_of_memory(p->cluster, pieces->len + p->len, "a packet");
}

static void handle_arrival(struct cluster *c, struct packet *p)
{
    struct peer *from = &c->peers[p->peer];
    struct buf *pieces = &from->pieces;

    from->heard = true;
    from->silent = 0;
    if (p->tag == TAG_PIECE) {
        add_piece(pieces, p);
        packet_free(p);
        return;
    }
    if (p->tag == TAG_IN_ORDER && pieces->data) {
        add_piece(pieces, p);
        free(p->bytes);
        p->bytes = pieces->data;
        p->len = pieces->len;
        *pieces = (struct buf){0};
    }
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
