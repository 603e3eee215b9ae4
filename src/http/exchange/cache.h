/* cache.h - the response cache: whole answers, keyed by what they depend on; and request
 * coalescing: identical requests share one computation.
 *
 * A request calls cache_lookup with its key before it is opened. It gets the answer (HIT); or
 * leads: it computes the answer and must settle; or joins: it is called when the leader has
 * settled; or runs alone, because such an answer takes more than a moment to compute. A request
 * that leads or runs alone may copy what it sends, and pass it to cache_keep at the end. Keys
 * belong to a generation of an index. The first request of a newer generation drops all older
 * answers of that index, because no later request can use them.
 * Threads:  any; no call is made under the cache's lock, which is a leaf.
 * Memory:   answers are counted as long as there are references, so `bytes` limits them also while
 *           slow clients read evicted ones; copies may use half as much again. A place
 *           belongs to its request, which must leave or settle it before it is freed.
 */
#ifndef DFTRACERD_HTTP_EXCHANGE_CACHE_H
#define DFTRACERD_HTTP_EXCHANGE_CACHE_H

#include "dftracerd/base.h"

/* Default size of all answers with their overhead; the least recently used are evicted. */
#define CACHE_BYTES (64u << 20)
#define CACHE_SHARE 8 /* an answer may take at most this part of the cache: one eighth */

/* The body with its content coding, and the headers that the request does not determine. Immutable.
 */
struct cache_answer {
    atomic_uint refs;
    struct cache_bytes *counted; /* the counter that includes it, while it is kept or was; NULL */
    size_t len;
    char *data;
    char content_type[96];
    bool incomplete;
};
/* Returns *new* with one reference; the body is *stolen*, and empty then. Returns NULL, and leaves
 * the body, if there is no memory. */
struct cache_answer *cache_answer_new(struct buf *body, const char *content_type, bool incomplete);
struct cache_answer *cache_answer_ref(struct cache_answer *a);
void cache_answer_release(struct cache_answer *a); /* NULL-safe */

#define CACHE_INDEXES_MAX 32 /* of one process */
struct cache_key {
    struct hash128 hash;
    uint64_t generation;
    unsigned index;
};

/* A request's place in a computation. Zero-initialise; set `call`, `budget` and `limit_ns` before
 * cache_lookup. */
struct cache_flight;
struct cache_place {
    /* Called once if the request joined, with the answer (borrowed), or NULL if it has to compute
     * by itself. */
    void (*call)(struct cache_place *p, struct cache_answer *answer);
    struct budget *budget; /* of a leader: cancelled when no request wants the answer any more */
    int64_t limit_ns; /* of a leader: its deadline once others wait, too (not its own client's) */
    struct cache_flight *flight; /* the cache's own from here on */
    struct cache_place *prev, *next;
    bool leads, left;
    bool copies; /* set with LEAD and ALONE: its answer may be kept at the end */
};

enum cache_turn { CACHE_HIT, CACHE_LEAD, CACHE_JOIN, CACHE_ALONE };

struct cache;
struct cache *cache_new(size_t bytes); /* *new* or NULL */
void cache_free(struct cache *c);      /* NULL-safe; all places must have left */
/* With CACHE_HIT, *ret_answer is a new reference. Returns CACHE_ALONE if there is no memory. */
enum cache_turn cache_lookup(struct cache *c, const struct cache_key *key, struct cache_place *p,
                             struct cache_answer **ret_answer);
/* Returns the answer (a new reference), which counts as a hit and as used, or NULL. Starts no
 * computation and joins none. */
struct cache_answer *cache_find(struct cache *c, const struct cache_key *key);
/* Settles the leader's flight and keeps its answer. Returns the places that joined (NULL if there
 * are none, or p does not lead): they must be given this or another answer by cache_deliver; with
 * NULL they compute by themselves, and if `too_long` so will later requests with the same key. */
struct cache_place *cache_settle(struct cache *c, struct cache_place *p,
                                 struct cache_answer *answer, bool too_long);
void cache_deliver(struct cache_place *joined, struct cache_answer *answer);
/* Keeps an answer that was gathered. NULL: it was longer than cache_longest, so that no later
 * request copies it again. */
void cache_keep(struct cache *c, const struct cache_key *key, struct cache_answer *answer);
size_t cache_longest(const struct cache *c); /* bytes of the longest answer that is kept */
/* Reserves bytes for a copy; returns false if all requests that copy have used up the space.
 * cache_unreserve gives them back. */
bool cache_reserve(struct cache *c, size_t bytes);
void cache_unreserve(struct cache *c, size_t bytes);
/* Removes a place whose client is gone or was answered otherwise. If it had joined, it will not be
 * called any more (*ret_joined: it had not been called). When no request wants the answer any more,
 * the leader's budget is cancelled. Returns true if no other request waits for the work of p, or p
 * has no place. */
bool cache_leave(struct cache *c, struct cache_place *p, bool *ret_joined);

struct cache_counts {
    uint64_t hits, misses, joined, bytes, entries;
};
void cache_counts(struct cache *c, struct cache_counts *ret);

#endif
