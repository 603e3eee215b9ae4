/* order.h - files that other ranks read (index/ranks/ranks.h).
 *
 *   order.c   rank 0: sends orders, and handles their results as those of its own workers
 *   serve.c   the other ranks: an order becomes a run; its results go to rank 0 when the values of
 *             their chunks have been committed
 *   wire.c    orders and results as bytes
 *   divided.c a large file that one rank reads and several scan
 *   help.c    a rank that scans such chunks
 *
 * The rank that reads a chunk acquires its credits, which are returned when rank 0 has applied the
 * result: so bytes in flight are limited. Rank 0 receives everything but the values of the chunk.
 *
 * Used by: ingest; index. Threads: see each function.
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
/* What one rank scans of a divided file. */
struct divided_rank {
    uint64_t share, given; /* bytes of the file; bytes of its text that were sent so far */
    uint32_t chunks, out;  /* chunks sent; chunks not scanned yet, under ingest.lock */
};
struct order {
    struct order *next; /* next in ingest.orders */
    uint32_t number;
    struct run *run; /* owns the order */
    bool finish;     /* see struct reader */
    /* rank 0 */
    unsigned rank; /* the rank that reads */
    uint32_t kept;
    bool cancelled; /* the rank has been notified */
    /* results of all ranks; expected: UINT64_MAX until the end has arrived */
    uint64_t results, expected;
    /* the other rank */
    bool begun;
    bool helps, ended; /* another rank reads; it has reached the end */
    struct entry entry;
    struct arena strings;
    struct trace_checkpoint from; /* start of reading if `resumed` */
    bool resumed;
    uint64_t skip_to, served;     /* served: number of chunks that the writer has processed */
    struct result *end;           /* kept until the writer has processed all chunks */
    struct divided_rank *divided; /* one for each rank; NULL: this rank scans all chunks */
    unsigned divided_count;
};
void order_free(struct order *o); /* run.c; NULL-safe */

/* ---- wire.c; structs go as they are in memory: all ranks run one program --------------------- */

void order_encode(const struct reader *r, const struct order *o, struct buf *out);
/* Decodes an order and creates its run. *new*; returns 0, ERR_CORRUPT or -ENOMEM. */
int order_decode(struct index *ix, struct rec *in, struct order **ret);
/* Encodes a result without its value. */
void result_encode(struct index *ix, const struct result *r, struct buf *out);
/* Decodes a result, with text ids of `in->ids`. *new*; returns 0, ERR_CORRUPT or -ENOMEM. */
int result_decode(struct index *ix, struct run *run, struct rec *in, struct result **ret);

/* ---- order.c: rank 0 ------------------------------------------------------------------------- */

/* Sends the run to the rank that the reader serves. On success, the reader no longer owns the
 * run. */
int order_begin(struct reader *r);
void order_remove(struct ingest *in, struct order *o); /* from ingest.orders */
/* Returns whether the rank has enough orders. Under index.lock. */
bool order_is_full(struct ingest *in, unsigned rank);
/* Handles a result, in the thread of messages. */
void order_result(struct index *ix, unsigned rank, struct rec *message);
/* Sends a message with an order and a number; retries until there is memory for it. */
void order_send(struct index *ix, unsigned rank, enum rank_message kind, uint32_t order,
                uint64_t number);
/* Returns credits to the rank after its result has been applied. */
void order_return_credits(struct index *ix, unsigned rank, size_t credits);
/* Returns NULL if there is none, or ingest stops. */
struct order *order_find(struct ingest *in, uint32_t number);
/* Decodes a result, and waits for memory if necessary: no result may be lost. Returns NULL if
 * ingest stops. */
struct result *order_decode_result(struct ingest *in, struct order *o, struct rec *message);
/* Counts a result of the order. The last one ends the order. */
void order_count_result(struct ingest *in, struct order *o);
/* Makes all ranks delete this garbage, too. */
void orders_forget(struct index *ix, const struct garbage *g);
/* Ends all orders after readers and workers have stopped and no more messages can arrive. */
void orders_stop(struct ingest *in);

/* ---- serve.c: the other ranks ---------------------------------------------------------------- */

/* Handles a message of rank 0, in the thread of messages. */
void order_receive(struct index *ix, struct rec *message);
/* Adds an order for a file that this rank reads, or only helps to scan. */
void order_add(struct index *ix, const struct rec *message, bool helps);
void order_cancel(struct index *ix, struct rec *message);
void order_forget(struct index *ix, const struct garbage *g);
void order_keep(struct index *ix, struct rec *message);
/* Returns a run to be read, under index.lock. NULL: there is none. */
struct run *order_next(struct ingest *in);
/* Reads the whole file of the order, in a reader. */
void order_read(struct reader *r);
/* Called by the writer: adds a result to the batch; handles the end of a commit (`error`: it
 * failed); deletes what rank 0 has forgotten. */
void serve_result(struct writer *w, struct result *r);
void serve_committed(struct writer *w, int error);
void serve_forgotten(struct writer *w);

/* ---- divided.c: the rank that reads ---------------------------------------------------------- */

/* Sends a chunk to the rank that is to scan it, and frees the result. Called by a reader. Returns
 * false if this rank scans the chunk. */
bool divided_send(struct reader *r, struct result *result);
/* Reports the end of the file to the other ranks. Called by a reader. */
void divided_end(struct reader *r);
uint64_t divided_sent(const struct order *o); /* number of chunks that other ranks scan */
/* Handles the message that another rank has scanned a chunk, in the thread of messages. */
void divided_scanned(struct index *ix, unsigned from, struct rec *message);

/* ---- help.c: a rank that helps, rank 0 among them -------------------------------------------- */

/* Handle messages of the rank that reads, in the thread of messages: the order; a chunk; the
 * end. */
void help_begin(struct index *ix, struct rec *message);
void help_text(struct index *ix, unsigned from, struct rec *message);
void help_end(struct index *ix, struct rec *message);
/* Reports that the text of r has been scanned. Called by the writer. */
void help_scanned(struct index *ix, struct result *r);
/* Ends all such orders after the workers have stopped. */
void help_stop(struct ingest *in);

#endif
