/* cache.h - whole answers, kept by what they depend on; and identical requests that share one
 * computation.
 *
 * A request asks with its key before it is opened. It gets the answer, or leads: it computes and
 * must settle; or joins: it is called when the leader has settled; or goes alone, because such an
 * answer takes more than a moment to make. Who leads or goes alone may gather what it sends, and
 * have it kept in the end. Keys belong to a generation of an index. The first request of a newer
 * one throws all older answers of that index away: nobody will ask for them again.
 * Threads:  any; no call is made under the cache's lock, which is a leaf.
 * Memory:   answers are counted as long as anybody has them, so `bytes` bounds them also while slow
 *           clients take what others have pushed out; half as much again may be gathered. A place
 *           belongs to its request and must have left or be settled before it goes.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_CACHE_H
#define DFTRACERD_HTTP_EXCHANGE_CACHE_H

#include "dftracerd/base.h"

/* of all answers with what surrounds them, unless configured; the least recently used leave */
#define CACHE_BYTES (64u << 20)
#define CACHE_SHARE 8 /* an answer may have so much of it */

/* The body with its content coding, and what the headers tell of it besides the request. Immutable.
 */
struct cache_answer {
    atomic_uint refs;
    struct cache_bytes *counted; /* where it is, while it is kept or was; NULL */
    size_t len;
    char *data;
    char content_type[96];
    bool incomplete;
};
/* *new*, one reference; takes the body (and leaves it empty) unless it returns NULL: no memory. */
struct cache_answer *cache_answer_new(struct buf *body, const char *content_type, bool incomplete);
struct cache_answer *cache_answer_ref(struct cache_answer *a);
void cache_answer_release(struct cache_answer *a); /* NULL-safe */

#define CACHE_INDEXES_MAX 32 /* of one process */
struct cache_key {
    struct hash128 hash;
    uint64_t generation;
    unsigned index;
};

/* A request's place in a computation. Zero-initialise; `call`, `budget` and `limit_ns` are set
 * before it asks. */
struct cache_flight;
struct cache_place {
    /* To one that joined, once: the answer (borrowed), or NULL when it has to compute by itself. */
    void (*call)(struct cache_place *p, struct cache_answer *answer);
    struct budget *budget; /* of a leader: stopped when nobody wants the answer any more */
    int64_t limit_ns; /* of a leader: its deadline once others wait, too (not its client's own) */
    struct cache_flight *flight; /* the rest is the cache's */
    struct cache_place *prev, *next;
    bool leads, left;
    bool gathers; /* told with LEAD and ALONE: its answer may be kept in the end */
};

enum cache_turn { CACHE_HIT, CACHE_LEAD, CACHE_JOIN, CACHE_ALONE };

struct cache;
struct cache *cache_new(size_t bytes); /* *new* or NULL */
void cache_free(struct cache *c);      /* NULL-safe; all places must be out of it */
/* *ret_answer: a new reference with CACHE_HIT. Without memory: CACHE_ALONE. */
enum cache_turn cache_lookup(struct cache *c, const struct cache_key *key, struct cache_place *p,
                             struct cache_answer **ret_answer);
/* Only looks: the answer (a new reference) or NULL. */
struct cache_answer *cache_find(struct cache *c, const struct cache_key *key);
/* The leader's result: kept. Those that joined (NULL: nobody, or p does not lead) must be given it,
 * or another one, by cache_deliver. NULL: they go on by themselves, and if `too_long` so will later
 * ones with the same key. */
struct cache_place *cache_settle(struct cache *c, struct cache_place *p,
                                 struct cache_answer *answer, bool too_long);
void cache_deliver(struct cache_place *joined, struct cache_answer *answer);
/* An answer that was gathered; NULL: it was longer than cache_longest, so nobody need gather it
 * again. */
void cache_keep(struct cache *c, const struct cache_key *key, struct cache_answer *answer);
size_t cache_longest(const struct cache *c); /* bytes of an answer that is kept */
/* So much more is gathered; false: there is no room, for all that gather together. cache_gathered
 * gives it back. */
bool cache_gather(struct cache *c, size_t bytes);
void cache_gathered(struct cache *c, size_t bytes);
/* Its client is gone, or was answered otherwise. One that joined is not called any more
 * (*ret_joined: it was still there). When nobody is left that wants the answer, the leader's budget
 * is cancelled. True: nobody (else) waits for the work of p; also where p has no place. */
bool cache_leave(struct cache *c, struct cache_place *p, bool *ret_joined);

struct cache_counts {
    uint64_t hits, misses, joined, bytes, entries;
};
void cache_counts(struct cache *c, struct cache_counts *ret);

#endif
