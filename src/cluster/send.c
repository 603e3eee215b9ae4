/* send.c - packets to other ranks: a few at a time to each, the others wait in its queue. */
#include "cluster/transport.h"

/* Packets that are sent to a peer at a time: few, so that a small request need not wait for a large
 * answer, and MPI need not buffer much. */
#define SENDS_MAX 8

/* Sends the size of a large packet first, so that the receiver needs no copy of pieces. */
static void send_piece(struct cluster *c, struct packet *p)
{
    bool large = p->len > PIECE_BYTES;
    size_t left = p->len - p->sent, len = left < PIECE_BYTES ? left : PIECE_BYTES;
    const void *bytes = p->bytes + p->sent;
    int tag = len < left                                          ? TAG_PIECE
              : large || packet_trailer(p).kind == PACKET_MESSAGE ? TAG_IN_ORDER
                                                                  : TAG_ANY_ORDER;

    if (large && !p->announced) {
        p->announced = true;
        bytes = &p->len;
        len = sizeof(p->len);
        tag = TAG_SIZE;
    } else {
        p->sent += len;
    }
    int rc = MPI_Isend(bytes, (int)len, MPI_BYTE, (int)p->peer, tag, c->comm, &p->mpi);
    mpi_check(c, rc, "MPI_Isend");
    bell_ring_peer(c, p->peer);
}

void packet_send(struct cluster *c, struct packet *p)
{
    c->peers[p->peer].sending++;
    send_piece(c, p);
    p->next = NULL;
    *c->sends_end = p;
    c->sends_end = &p->next;
}

static void send_queued(struct cluster *c, struct peer *to)
{
    while (to->first && to->sending < SENDS_MAX && !to->in_pieces) {
        struct packet *p = to->first;
        to->first = p->next;
        to->in_pieces = p->len > PIECE_BYTES;
        packet_send(c, p);
    }
}

static void queue_packet(struct cluster *c, struct packet *p)
{
    struct peer *to = &c->peers[p->peer];

    p->next = NULL;
    if (to->first)
        to->last->next = p;
    else
        to->first = p;
    to->last = p;
    send_queued(c, to);
}

static bool queue_outbox(struct cluster *c)
{
    struct packet *p = outbox_take(c), *next;
    bool any = p != NULL;

    for (; p; p = next) {
        next = p->next;
        if (packet_trailer(p).kind == PACKET_MESSAGE)
            c->sent[p->peer]++;
        if (p->peer == c->rank)
            packet_deliver(p);
        else
            queue_packet(c, p);
    }
    return any;
}

/* Sends the next piece if the last one has been sent. Returns whether the whole packet has been
 * sent. */
static bool send_continue(struct cluster *c, struct packet *p)
{
    int done = 0;

    mpi_check(c, MPI_Test(&p->mpi, &done, MPI_STATUS_IGNORE), "MPI_Test");
    if (!done || p->sent == p->len)
        return done;
    send_piece(c, p);
    return false;
}

bool sends_step(struct cluster *c)
{
    bool progressed = queue_outbox(c);

    for (struct packet **at = &c->sends, *p; (p = *at);) {
        if (!send_continue(c, p)) {
            p->delayed = true;
            at = &p->next;
            continue;
        }
        if (p->delayed) /* MPI may have queued it until now, so the peer has to poll */
            bell_ring_peer(c, p->peer);
        struct peer *to = &c->peers[p->peer];
        *at = p->next;
        if (!*at)
            c->sends_end = at;
        to->sending--;
        to->in_pieces = to->in_pieces && p->len <= PIECE_BYTES;
        packet_free(p);
        send_queued(c, to);
        progressed = true;
    }
    return progressed;
}
