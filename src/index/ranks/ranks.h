/* ranks.h - an index that is spread over several processes: what one of them knows of the others.
 *
 *   rank 0                              another rank
 *   reader: looks at a file  --order->  reader, scanners
 *                                       writer: commits the chunks' values,
 *   writer: commits all else <-result-            and tells what they are
 *   a request opens a chunk  --chunk->  store
 *
 * A rank is a process of this job. A home is a store, by a number that stays: rank 0's store has
 * the uuids of the others, so a chunk is found whatever rank its store's process has this time.
 *
 * May use:   base, store. Used by: catalog, ingest, index.
 * Threads:   any, but for what says otherwise.
 */
#ifndef DFTRACERD_INDEX_RANKS_RANKS_H
#define DFTRACERD_INDEX_RANKS_RANKS_H

#include "dftracerd/index.h"
#include "index/store/checkpoint_record.h"
#include "index/store/text_ids.h"

/* First byte of a message. */
enum rank_message {
    RANK_KEEP,   /* to a rank: files whose chunks it has; it deletes all else */
    RANK_ORDER,  /* to a rank: read a file */
    RANK_CANCEL, /* to a rank: an order */
    RANK_TAKEN,  /* to a rank: a result, whose credits are free again */
    RANK_FORGET, /* to a rank: a chunk, or those of a file */
    RANK_STOP,   /* to a rank: a scan, by its number */
    RANK_ERROR,  /* to rank 0: why indexing stopped there; 0: it goes on */
    RANK_RESULT, /* to rank 0: a chunk of an order, or its end */
    /* from the rank that reads a divided file to those that scan it, too: */
    RANK_HELP,    /* the order */
    RANK_TEXT,    /* the text of a chunk */
    RANK_OVER,    /* that was the last one */
    RANK_SCANNED, /* back: one is scanned */
};
/* First byte of a request. */
enum rank_request {
    RANK_HELLO,     /* which store is it, with which texts? */
    RANK_CHUNK,     /* the value of a chunk */
    RANK_SCAN,      /* what a request finds in the chunks that the rank has */
    RANK_KNOWN,     /* which files of a snapshot are not known? */
    RANK_VIEWS,     /* a snapshot, with these files */
    RANK_CHECKPOINT /* of rank 0: the one before a place in the text of a file */
};

struct ranks;
struct ranks *ranks_new(const struct index_ranks *links);     /* *new* or NULL */
void ranks_free(struct ranks *r);                             /* NULL is fine */
unsigned ranks_count(const struct ranks *r);                  /* 1 where there are none */
unsigned ranks_own(const struct ranks *r);                    /* this process */
bool ranks_is_first(const struct ranks *r);                   /* rank 0, with others */
const char *ranks_host(const struct ranks *r, unsigned rank); /* NULL: unknown */
int ranks_send(struct ranks *r, unsigned to, const struct buf *message); /* or its error */
/* A message of a number alone. */
int ranks_send_number(struct ranks *r, unsigned to, enum rank_message kind, int64_t number);
int ranks_request(struct ranks *r, unsigned to, const struct buf *request, struct buf *answer);
/* Takes the request; see ask_all of struct index_ranks. */
int ranks_request_all(struct ranks *r, const unsigned *to, unsigned count, struct buf *request,
                      void (*answered)(void *arg, unsigned from, int rc, struct buf *answer),
                      void *arg);

/* Why indexing stopped at a rank; 0. */
void ranks_set_error(struct ranks *r, unsigned rank, int error);
/* The first one that there is, and its host. 0: none (or no ranks). */
int ranks_error(const struct ranks *r, const char **ret_host);

/* ---- homes ----------------------------------------------------------------------------------- */

/* The home of a rank, and the rank that has a home now, 0: none. Set before there are others. */
unsigned ranks_home(const struct ranks *r, unsigned rank);
unsigned ranks_at(const struct ranks *r, unsigned home);
void ranks_set_home(struct ranks *r, unsigned rank, unsigned home);

/* ---- texts ----------------------------------------------------------------------------------- */

/* What is said of texts refers to the ids of that rank. By the thread of messages. */
int ranks_take_texts(struct ranks *r, unsigned rank, struct texts *here, struct rec *message);
/* What another rank was told, one thread at a time: the caller changes it when that has arrived. */
enum { RANK_SNAPSHOTS = 4 }; /* that a rank keeps: requests go on with the one they began with */
struct rank_sent {
    uint32_t texts;                     /* those of this process with ids below */
    uint64_t snapshots[RANK_SNAPSHOTS]; /* their serials, the latest first; 0: none */
};
struct rank_sent *ranks_send_begin(struct ranks *r, unsigned rank);
void ranks_send_end(struct ranks *r, unsigned rank);
const struct text_ids *ranks_ids(const struct ranks *r, unsigned rank);

/* ---- chunks and checkpoints (far_chunk.c) ---------------------------------------------------- */

/* What other ranks have of both, of which up to `bytes` are kept in memory. *new* or NULL. */
struct far_cache;
struct far_cache *far_cache_new(struct ranks *r, uint64_t bytes);
void far_cache_free(struct far_cache *c); /* NULL is fine */
/* The value of a chunk that another rank has, until far_chunk_release. */
struct far_chunk {
    struct kv_key key; /* behind the kind of the request */
    struct buf value;
    unsigned references; /* under the lock of the cache, the cache's own among them */
};
/* 0, -ENOENT, ERR_CORRUPT, ERR_STORE: no rank has it; -ENOMEM, -EPIPE. */
int far_chunk_open(struct far_cache *cache, unsigned home, const struct kv_key *key,
                   struct far_chunk **ret);
void far_chunk_release(struct far_cache *cache, struct far_chunk *c);
/* As checkpoint_copy, of rank 0, which has them all. from: where the chunk begins that has the
 * text. Also -EPIPE. */
int far_checkpoint(struct far_cache *cache, uint32_t file, uint64_t from, uint64_t text_offset,
                   struct trace_checkpoint *ret);
/* For the rank that has them. */
int far_chunk_answer(struct kv *kv, struct rec *request, struct buf *answer);
int far_checkpoint_answer(struct kv *kv, struct rec *request, struct buf *answer);

#endif
