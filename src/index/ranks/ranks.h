/* ranks.h - an index that is spread over several processes: links to the other processes.
 *
 *   rank 0                              another rank
 *   reader: checks a file  --order->  reader, scanners
 *                                       writer: commits the chunks' values,
 *   writer: commits the rest <-result- and reports the chunks
 *   a request opens a chunk  --chunk->  store
 *
 * A rank is a process of this job. A home is a store, identified by a permanent number: the store
 * of rank 0 has the uuids of the others, so a chunk is found whatever rank the process of its store
 * has this time.
 *
 * May use:   base, store. Used by: catalog, ingest, index.
 * Threads:   any, unless noted otherwise.
 */
#ifndef DFTRACERD_INDEX_RANKS_RANKS_H
#define DFTRACERD_INDEX_RANKS_RANKS_H

#include "dftracerd/index.h"
#include "index/store/checkpoint_record.h"
#include "index/store/text_ids.h"

/* First byte of a message. */
enum rank_message {
    RANK_KEEP,    /* to a rank: files whose chunks it keeps; it deletes all others */
    RANK_ORDER,   /* to a rank: read a file */
    RANK_CANCEL,  /* to a rank: cancel an order */
    RANK_CREDITS, /* to a rank: credits of a result that was applied */
    RANK_FORGET,  /* to a rank: delete a chunk, or all chunks of a file */
    RANK_STOP,    /* to a rank: cancel a scan, by its number */
    RANK_ERROR,   /* to rank 0: why indexing stopped at the rank; 0: it continues */
    RANK_RESULT,  /* to rank 0: a chunk of an order, or its end */
    /* from the rank that reads a divided file to those that scan it: */
    RANK_HELP,     /* the order */
    RANK_TEXT,     /* the text of a chunk */
    RANK_TEXT_END, /* that was the last chunk */
    RANK_SCANNED,  /* back: a chunk has been scanned */
};
/* First byte of a request. */
enum rank_request {
    RANK_HELLO,        /* uuid of the store, and its texts */
    RANK_CHUNK,        /* the value of a chunk */
    RANK_SCAN,         /* result of a request in the chunks of the rank */
    RANK_KNOWN_FILES,  /* which files of a snapshot the rank has already: a byte for each */
    RANK_ADD_SNAPSHOT, /* a snapshot, with the files that the rank lacks */
    RANK_CHECKPOINT    /* to rank 0: checkpoint before a position in the text of a file */
};

struct ranks;
struct ranks *ranks_new(const struct index_ranks *links);     /* *new* or NULL */
void ranks_free(struct ranks *r);                             /* NULL-safe */
unsigned ranks_count(const struct ranks *r);                  /* 1 if this process is alone */
unsigned ranks_own(const struct ranks *r);                    /* rank of this process */
bool ranks_is_first(const struct ranks *r);                   /* rank 0 of several */
const char *ranks_host(const struct ranks *r, unsigned rank); /* NULL: unknown */
/* Sends a message, and frees it. Returns 0, its error, or that of struct index_ranks.send. */
int ranks_send(struct ranks *r, unsigned to, struct buf *message);
/* Sends a message that has only a number. */
int ranks_send_number(struct ranks *r, unsigned to, enum rank_message kind, int64_t number);
int ranks_request(struct ranks *r, unsigned to, const struct buf *request, struct buf *answer);
/* The request becomes owned by the callee; see request_all of struct index_ranks. */
int ranks_request_all(struct ranks *r, const unsigned *to, unsigned count, struct buf *request,
                      void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                      void *arg);

/* Records why indexing stopped at a rank; 0: it continues. */
void ranks_set_error(struct ranks *r, unsigned rank, int error);
/* Returns the first such error, and the host of its rank; 0 if there is none. */
int ranks_error(const struct ranks *r, const char **ret_host);

/* ---- homes ----------------------------------------------------------------------------------- */

/* The home of a rank, and the rank that has a home now, 0: none. Set before other threads exist. */
unsigned ranks_home(const struct ranks *r, unsigned rank);
unsigned ranks_at(const struct ranks *r, unsigned home);
void ranks_set_home(struct ranks *r, unsigned rank, unsigned home);

/* ---- texts ----------------------------------------------------------------------------------- */

/* Decodes texts of another rank, which later messages refer to by its ids. Called in the thread of
 * messages. */
int ranks_decode_texts(struct ranks *r, unsigned rank, struct texts *here, struct rec *message);
/* Number of snapshots that a rank keeps, because requests continue with the one they began with. */
enum { RANK_SNAPSHOTS = 4 };
/* What was sent to another rank, and confirmed by it. */
struct rank_sent {
    uint32_t texts;                     /* texts of this process with ids below this */
    uint64_t snapshots[RANK_SNAPSHOTS]; /* serials, the latest first; 0: none */
};
/* Lock and unlock what was sent to a rank. */
struct rank_sent *ranks_send_begin(struct ranks *r, unsigned rank);
void ranks_send_end(struct ranks *r, unsigned rank);
const struct text_ids *ranks_ids(const struct ranks *r, unsigned rank); /* borrowed */

/* ---- chunks and checkpoints (remote_chunk.c) ------------------------------------------------- */

/* A cache of chunk values and checkpoints of other ranks, with up to `bytes` of memory. *new* or
 * NULL. */
struct remote_cache;
struct remote_cache *remote_cache_new(struct ranks *r, uint64_t bytes);
void remote_cache_free(struct remote_cache *c); /* NULL-safe */
/* The value of a chunk of another rank, valid until remote_chunk_release. */
struct remote_chunk {
    struct kv_key key; /* the kind of the request, and the key in the store */
    struct buf value;
    unsigned references; /* under the lock of the cache; includes that of the cache */
};
/* Returns 0, -ENOENT, ERR_CORRUPT, ERR_STORE (no rank has it), -ENOMEM or -EPIPE. */
int remote_chunk_open(struct remote_cache *cache, unsigned home, const struct kv_key *key,
                      struct remote_chunk **ret);
void remote_chunk_release(struct remote_cache *cache, struct remote_chunk *c);
/* Like checkpoint_copy, from rank 0, which has all checkpoints. `from`: start of the chunk that
 * contains the text. Also returns -EPIPE. */
int remote_checkpoint(struct remote_cache *cache, uint32_t file, uint64_t from,
                      uint64_t text_offset, struct trace_checkpoint *ret);
/* Answer such requests, on the rank that has the data. */
int remote_chunk_answer(struct kv *kv, struct rec *request, struct buf *answer);
int remote_checkpoint_answer(struct kv *kv, struct rec *request, struct buf *answer);

#endif
