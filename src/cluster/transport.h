/* transport.h - private to cluster: packets on their way, and what the files of the module share.
 *
 * A packet is a message, a request or an answer: its bytes, and a trailer after them. (A trailer,
 * as the answer that a handler has written then needs no copy.) Packets up to PIECE_BYTES are one
 * MPI message; larger ones are several, in order.
 *
 * A packet belongs to one place at a time: the outbox, a peer's queue, the list of sends or
 * receives, a job of a pool, or an ask.
 */
#ifndef DFTRACERD_CLUSTER_TRANSPORT_H
#define DFTRACERD_CLUSTER_TRANSPORT_H

#include "cluster/cluster.h"

#include <mpi.h>
#include <pthread.h>

#define PIECE_BYTES ((size_t)256 << 20) /* a count of MPI is an int */

enum packet_kind { PACKET_MESSAGE, PACKET_REQUEST, PACKET_ANSWER };

/* The tag of an MPI message. What is in order waits for earlier MPI messages that are in order. */
enum packet_tag {
    TAG_ANY_ORDER = 1, /* a whole request or answer */
    TAG_IN_ORDER,      /* a whole message, or the last piece of a large packet */
    TAG_PIECE,         /* a piece; more follow */
};

struct trailer {
    uint64_t asks; /* the address of the struct asks, used only by the rank that sent the request */
    int32_t status; /* of an answer: 0 or an error */
    uint32_t kind;
};

struct packet {
    struct packet *next;
    struct cluster *cluster;
    MPI_Request mpi;
    unsigned peer; /* to, or from */
    int tag;       /* of a receive */
    bool arrived;  /* of a receive */
    bool waits;    /* of a send: it was not complete at once */
    char *bytes;
    unsigned *uses; /* packets that share the bytes; NULL: there is one */
    size_t len;     /* with the trailer */
    size_t sent;    /* up to and with the piece that is being sent */
};

/* Of the MPI thread. */
struct peer {
    struct packet *first, *last; /* to be sent */
    unsigned sending;            /* packets */
    bool in_pieces;              /* the last of these is large: no other is sent beside it */
    unsigned waits;              /* the round of receives in which something in order is missing */
    struct buf pieces;           /* of a large packet */
};

struct cluster {
    MPI_Comm comm;
    unsigned rank, size;
    char (*hosts)[MPI_MAX_PROCESSOR_NAME];
    struct cluster_handler handler;
    struct pool *messages, *requests; /* NULL: not started */
    atomic_size_t unhandled;          /* messages that the pool has */

    MPI_Win window;
    struct bell **bells; /* of each rank; NULL: it is on another node */
    bool on_one_node;    /* all ranks are */
    atomic_bool aborting;

    pthread_mutex_t lock; /* of what follows */
    struct packet *outbox, **outbox_end;
    size_t asks; /* answers to come */
    bool has_thread, leaving;
    pthread_t thread;

    /* Of the MPI thread: */
    struct peer *peers;
    struct packet *sends, **sends_end, *receives, **receives_end;
    unsigned receive_count, receive_round;
    uint64_t *sent, received; /* messages: to each rank, and from all */
    int64_t active_ns;        /* when something last happened */
};

/* ---- fail.c ---------------------------------------------------------------------------------- */

/* Aborts the job if a call of MPI failed. */
void mpi_check(struct cluster *c, int rc, const char *call);
_Noreturn void out_of_memory(struct cluster *c, size_t bytes, const char *what);

/* ---- bell.c ---------------------------------------------------------------------------------- */

/* In memory that all ranks of a node share. Rings for the MPI thread of one of them: its own
 * threads ring it, and ranks that have sent it something. So it need not poll often, but for ranks
 * of other nodes. Open MPI aligns this memory to 8 bytes. */
struct bell {
    atomic_uint rung; /* the word of the futex */
    atomic_uint sleeping;
    char padding[56]; /* the next bell is on another cache line */
};
void bell_ring(struct bell *b);
void bell_ring_peer(struct cluster *c, unsigned peer); /* if it is on this node */
bool bell_answer(struct bell *b);                      /* whether it was rung since the last call */
/* Until it is rung, or has been since bell_answer. */
void bell_wait(struct bell *b, int64_t longest_ns);

/* ---- node.c, collective ---------------------------------------------------------------------- */

void bells_open(struct cluster *c);
void bells_close(struct cluster *c);

/* ---- packet.c -------------------------------------------------------------------------------- */

/* *new*, or NULL */
struct packet *packet_new(struct cluster *c, unsigned peer, struct text bytes, struct trailer t);
/* A list of packets of the same bytes, which it takes, on errors too. *new*, or NULL */
struct packet *packets_new(struct cluster *c, const unsigned *peers, unsigned count,
                           struct buf *bytes, struct trailer t);
void packets_free(struct packet *list);
void packet_free(struct packet *p);
struct trailer packet_trailer(const struct packet *p);
struct text packet_text(const struct packet *p); /* without the trailer; borrowed */
/* Turns a request into its answer, without the need of memory. Leaves *answer empty. */
void packet_answer(struct packet *p, int status, struct buf *answer);

/* ---- outbox.c -------------------------------------------------------------------------------- */

/* Takes the packet and wakes the MPI thread. */
void outbox_add(struct packet *p);
/* The same for a list that a caller of the module sends, and `asks` answers to come; the packets
 * stay the caller's on -EPIPE. */
int outbox_add_new(struct packet *list, unsigned asks);
struct packet *outbox_take(struct cluster *c); /* all, a list */
/* What was queued has been taken, no ask waits, and no caller can add more. */
bool outbox_is_closed(struct cluster *c);

/* ---- request.c ------------------------------------------------------------------------------- */

void request_answered(struct packet *p); /* takes the packet */

/* ---- deliver.c, send.c, receive.c: the MPI thread -------------------------------------------- */

void deliver(struct packet *p); /* takes a packet that has arrived */
/* Each returns whether something happened. */
bool sends_step(struct cluster *c);
bool receives_step(struct cluster *c);

/* ---- loop.c ---------------------------------------------------------------------------------- */

/* What the MPI thread does, until all ranks leave. */
void transport_run(struct cluster *c);

#endif
