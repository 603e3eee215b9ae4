/* order.h - files that other ranks read (index/ranks/ranks.h).
 *
 *   order.c   rank 0: gives orders, and takes their results as those of its own workers
 *   serve.c   the other ranks: an order becomes a run; its results go to rank 0 when the values of
 *             their chunks have been committed
 *   wire.c    orders and results as bytes
 *
 * A chunk's credits, taken by the rank that reads it, are free again when rank 0 has taken the
 * result: so what is in flight is bounded, and rank 0 has of it what is no value.
 *
 * Used by:   ingest; index. Threads: as said.
 */
#ifndef DFTRACERD_INDEX_INGEST_ORDER_H
#define DFTRACERD_INDEX_INGEST_ORDER_H

#include "index/catalog/catalog.h"
#include "index/ingest/flow.h"
#include "index/ingest/garbage.h"
#include "index/ingest/run.h"

struct reader;
struct writer;
struct order {
    struct order *next; /* of ingest.orders */
    uint32_t number;
    struct run *run; /* which owns the order */
    bool finish;     /* as the reader's */
    /* rank 0 */
    unsigned rank, home;
    uint32_t kept;
    bool cancelled; /* and the rank knows */
    /* the other rank */
    bool begun;
    struct entry entry;
    struct arena strings;
    struct trace_checkpoint from; /* where reading goes on, if `resumed` */
    bool resumed;
    uint64_t skip_to, served; /* chunks that the writer has had */
    struct result *end;       /* kept back until it has had all */
};
void order_free(struct order *o); /* run.c; NULL is fine */

/* ---- wire.c; structs go as they are in memory: all ranks run one program --------------------- */

void order_put(const struct reader *r, const struct order *o, struct buf *out);
/* Makes the run, too. *new*; 0, ERR_CORRUPT, -ENOMEM. */
int order_take(struct index *ix, struct rec *in, struct order **ret);
/* Without the value. */
void result_put(struct index *ix, const struct result *r, struct buf *out);
/* Numbers of texts are those of `in->ids`. *new*; 0, ERR_CORRUPT, -ENOMEM. */
int result_take(struct index *ix, struct run *run, struct rec *in, struct result **ret);

/* ---- order.c: rank 0 ------------------------------------------------------------------------- */

/* The reader's rank is to do the rest. On success the run is no longer the reader's. */
int order_give(struct reader *r);
void order_unlist(struct ingest *in, struct order *o); /* it is no longer among ingest.orders */
/* Whether the rank has as much to do as it should know of. Under index.lock. */
bool order_is_full(struct ingest *in, unsigned rank);
/* By the thread of messages. */
void order_result(struct index *ix, unsigned rank, struct rec *message);
/* The result has been taken. */
void order_taken(struct index *ix, const struct order *o, size_t credits);
/* 0 where the run is read here. */
static inline uint16_t order_home(const struct run *r)
{
    return r->order ? (uint16_t)r->order->home : 0;
}
/* All ranks delete it, too. */
void orders_forget(struct index *ix, const struct garbage *g);
/* Readers have stopped, and no messages come any more: what was ordered ends. */
void orders_stop(struct ingest *in);

/* ---- serve.c: the other ranks ---------------------------------------------------------------- */

/* Messages of rank 0, by the thread of messages. */
void order_receive(struct index *ix, struct rec *message);
void order_cancel(struct index *ix, struct rec *message);
void order_forget(struct index *ix, const struct garbage *g);
void order_keep(struct index *ix, struct rec *message);
/* A run to be read, under index.lock. NULL: there is none. */
struct run *order_next(struct ingest *in);
/* By a reader: all of it. */
void order_read(struct reader *r);
/* The writer: a result is put into the batch; the batch has been committed, or has failed with
 * `error`; what rank 0 has forgotten is deleted. */
void serve_result(struct writer *w, struct result *r);
void serve_committed(struct writer *w, int error);
void serve_forgotten(struct writer *w);

#endif
