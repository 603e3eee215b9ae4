/* order.h - files that other ranks read (index/ranks/ranks.h).
 *
 *   order.c   rank 0: gives orders, and takes their results as those of its own workers
 *   serve.c   the other ranks: an order becomes a run; its results go to rank 0 when the values of
 *             their chunks have been committed
 *   wire.c    orders and results as bytes
 *   divided.c a large file that one rank reads and several scan
 *   help.c    one that scans for it
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
#include "index/ranks/ranks.h"

struct reader;
struct writer;
/* Who scans a file that several ranks scan. */
struct divided_rank {
    uint64_t share, given; /* bytes: of the file, of its text so far */
    uint32_t chunks, out;  /* that it was given; that are not scanned yet, under ingest.lock */
};
struct order {
    struct order *next; /* of ingest.orders */
    uint32_t number;
    struct run *run; /* which owns the order */
    bool finish;     /* as the reader's */
    /* rank 0 */
    unsigned rank; /* that reads */
    uint32_t kept;
    bool cancelled;             /* and the rank knows */
    uint64_t results, expected; /* of all ranks; expected: UINT64_MAX until the end has come */
    /* the other rank */
    bool begun;
    bool helps, ended; /* another rank reads, and is at the end */
    struct entry entry;
    struct arena strings;
    struct trace_checkpoint from; /* where reading goes on, if `resumed` */
    bool resumed;
    uint64_t skip_to, served;     /* chunks that the writer has had */
    struct result *end;           /* kept back until it has had all */
    struct divided_rank *divided; /* of all ranks; none: this one scans all */
    unsigned divided_count;
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
/* A message about an order, and a number; again until there is memory for it. */
void order_send(struct index *ix, unsigned rank, enum rank_message kind, uint32_t order,
                uint64_t number);
/* Its result has been taken. */
void order_taken(struct index *ix, unsigned rank, size_t credits);
/* NULL: there is none, or ingest stops. */
struct order *order_find(struct ingest *in, uint32_t number);
/* Waits for memory where there is none: no result may be lost. NULL: ingest stops. */
struct result *order_take_result(struct ingest *in, struct order *o, struct rec *message);
/* There is one more of its results: the last one ends the order. */
void order_count(struct ingest *in, struct order *o);
/* All ranks delete it, too. */
void orders_forget(struct index *ix, const struct garbage *g);
/* Readers and workers have stopped, and no messages come any more: what was ordered ends. */
void orders_stop(struct ingest *in);

/* ---- serve.c: the other ranks ---------------------------------------------------------------- */

/* Messages of rank 0, by the thread of messages. */
void order_receive(struct index *ix, struct rec *message);
/* To be read here, or only to be helped with. */
void order_enlist(struct index *ix, const struct rec *message, bool helps);
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

/* ---- divided.c: the rank that reads ---------------------------------------------------------- */

/* By a reader: another rank is to scan the chunk, and r is gone. False: this one is. */
bool divided_hand(struct reader *r, struct result *result);
/* By a reader: there are no more. */
void divided_end(struct reader *r);
uint64_t divided_handed(const struct order *o); /* chunks that others scan */
/* By the thread of messages: another rank has scanned a chunk. */
void divided_back(struct index *ix, unsigned from, struct rec *message);

/* ---- help.c: a rank that helps, rank 0 among them -------------------------------------------- */

/* Messages of the rank that reads, by their thread: the order; a chunk; there are no more. */
void help_begin(struct index *ix, struct rec *message);
void help_text(struct index *ix, unsigned from, struct rec *message);
void help_end(struct index *ix, struct rec *message);
/* The writer: the text of r is scanned. */
void help_scanned(struct index *ix, struct result *r);
/* Workers have stopped: orders end, whatever their readers do. */
void help_stop(struct ingest *in);

#endif
