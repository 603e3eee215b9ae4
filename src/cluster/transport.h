/* transport.h - private to cluster: packets, and declarations that the files of the module share.
 *
 * A packet is a message, a request or an answer: its bytes, and a trailer after them. (A trailer,
 * as the answer that a handler has written then needs no copy.) Packets up to PIECE_BYTES are one
 * MPI message; larger ones are several, in order: their size, then pieces.
 *
 * A packet belongs to one owner at a time: the outbox, a peer's queue, the list of sends or
 * receives, a job of a pool, or a request.
 */
#ifndef DFTRACERD_CLUSTER_TRANSPORT_H
#define DFTRACERD_CLUSTER_TRANSPORT_H

#include "cluster/cluster.h"

#include <mpi.h>
#include <pthread.h>

/* Far below the limit of MPI's counts (int): the MPI thread may stay in a call of MPI until a whole
 * piece is copied. */
#define PIECE_BYTES ((size_t)16 << 20)

enum packet_kind { PACKET_MESSAGE, PACKET_REQUEST, PACKET_ANSWER, PACKET_ALIVE };

/* The tag of an MPI message. An ordered message waits for earlier ordered messages. */
enum packet_tag {
    TAG_ANY_ORDER = 1, /* a whole request or answer */
    TAG_IN_ORDER,      /* a whole message, or the last piece of a large packet */
    TAG_SIZE,          /* the length of a large packet (size_t), whose pieces follow */
    TAG_PIECE,         /* a piece; more follow */
};

struct trailer {
    /* address of the struct pending, used only by the rank that sent the request */
    uint64_t pending;
    int32_t status; /* an answer: 0 or an error; PACKET_ALIVE: 1 if it is the last one */
    uint32_t kind;
};

struct packet {
    struct packet *next;
    struct cluster *cluster;
    MPI_Request mpi;
    unsigned peer; /* receiver or sender */
    int tag;       /* of a received packet */
    bool arrived;  /* the packet has been received */
    bool delayed;  /* a send that was not complete at once */
    char *bytes;
    unsigned *uses; /* number of packets that share the bytes; NULL: one */
    size_t len;     /* with the trailer */
    size_t sent;    /* bytes up to the end of the piece that is being sent */
    bool announced; /* TAG_SIZE has been sent */
};

/* The state of another rank; used by the MPI thread only. */
struct peer {
    struct packet *first, *last; /* queue of packets to be sent */
    unsigned sending;            /* number of packets that are being sent */
    /* the last of these is large: no other is sent beside it, except PACKET_ALIVE */
    bool in_pieces;
    unsigned blocked_round; /* last round of receives in which an ordered packet was missing */
    char *large;            /* memory for a large packet whose pieces arrive; NULL: none */
    size_t large_len, large_begun; /* its bytes; those of pieces whose receive has begun */
    bool heard, leaves;            /* a packet has arrived; it sends no more PACKET_ALIVE */
    unsigned silent;               /* seconds since the last packet arrived */
};

struct cluster {
    MPI_Comm comm;
    unsigned rank, size;
    char (*hosts)[MPI_MAX_PROCESSOR_NAME];
    struct cluster_handler handler;
    struct pool *messages, *requests; /* NULL: not started */
    atomic_size_t unhandled;          /* messages in the pool */

    MPI_Win window;
    struct bell **bells; /* one for each rank; NULL if it is on another node */
    bool on_one_node;    /* all ranks are on one node */
    atomic_bool aborting;

    pthread_mutex_t lock; /* guards the next members */
    struct packet *outbox, **outbox_end;
    size_t awaited; /* number of answers that have not arrived */
    bool has_thread, leaving;
    pthread_t thread;

    /* Used by the MPI thread only: */
    struct peer *peers;
    struct packet *sends, **sends_end, *receives, **receives_end;
    unsigned receive_count, receive_round;
    uint64_t *sent, received; /* messages and PACKET_ALIVE: number to each rank, and from all */
    int64_t active_ns;        /* time of the last event */
    int64_t alive_ns;         /* time of the last PACKET_ALIVE */
    bool has_left;            /* the last PACKET_ALIVE has been sent */
};

/* ---- fail.c ---------------------------------------------------------------------------------- */

/* Aborts the job if a call of MPI failed. */
void mpi_check(struct cluster *c, int rc, const char *call);
_Noreturn void out_of_memory(struct cluster *c, size_t bytes, const char *what);

/* ---- bell.c ---------------------------------------------------------------------------------- */

/* A bell is in memory that all ranks of a node share. It wakes the MPI thread of one of them:
 * threads of that rank ring it, and ranks that have sent it a packet. So the thread need not poll
 * often, except for ranks of other nodes. Open MPI aligns this memory to 8 bytes. */
struct bell {
    atomic_uint rung; /* word of the futex */
    atomic_uint sleeping;
    char padding[56]; /* the next bell is on another cache line */
};
void bell_ring(struct bell *b);
/* Does nothing if the peer is on another node. */
void bell_ring_peer(struct cluster *c, unsigned peer);
/* Returns whether it was rung since the last call. */
bool bell_was_rung(struct bell *b);
/* Waits until it is rung, or returns at once if it was rung since bell_was_rung. */
void bell_wait(struct bell *b, int64_t longest_ns);

/* ---- node.c, collective ---------------------------------------------------------------------- */

void bells_open(struct cluster *c);
void bells_close(struct cluster *c);

/* ---- packet.c -------------------------------------------------------------------------------- */

/* Returns a list of packets with the same bytes, which become owned by them, or are freed on
 * failure. *new*, or NULL without memory. */
struct packet *packets_new(struct cluster *c, const unsigned *peers, unsigned count,
                           struct buf *bytes, struct trailer t);
void packets_free(struct packet *list);
void packet_free(struct packet *p);
struct trailer packet_trailer(const struct packet *p);
struct text packet_text(const struct packet *p); /* without the trailer; borrowed */
/* Turns a request into its answer; the error needs no memory. Leaves *answer empty. */
void packet_answer(struct packet *p, int status, struct buf *answer);

/* ---- outbox.c -------------------------------------------------------------------------------- */

/* Adds a packet, which becomes owned by the outbox, and wakes the MPI thread. */
void outbox_add(struct packet *p);
/* Like outbox_add, for a list of packets that require a number of answers. On -EPIPE the caller
 * keeps the packets. */
int outbox_add_new(struct packet *list, unsigned answers);
struct packet *outbox_take(struct cluster *c); /* removes and returns all packets */
/* Returns whether the outbox is empty, all answers have arrived, and no caller can add more. */
bool outbox_is_closed(struct cluster *c);

/* ---- request.c ------------------------------------------------------------------------------- */

void request_answered(struct packet *p); /* frees the packet */

/* ---- deliver.c, send.c, receive.c: the MPI thread -------------------------------------------- */

void packet_deliver(struct packet *p); /* a received one, which becomes owned by its handler */
/* Sends a packet, which becomes owned by the list of sends, before those that are queued. */
void packet_send(struct cluster *c, struct packet *p);
/* Each step returns whether something happened. */
bool sends_step(struct cluster *c);
bool receives_step(struct cluster *c);

/* ---- alive.c: the MPI thread ----------------------------------------------------------------- */

/* To be called all the time. Ends the job if a rank has been silent for too long. */
void alive_step(struct cluster *c);
/* Sends the last PACKET_ALIVE. */
void alive_leave(struct cluster *c);

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* The main function of the MPI thread, until all ranks leave. */
void transport_run(struct cluster *c);

#endif
