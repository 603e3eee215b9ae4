/* cache.c - a hash table of answers, ordered by last use, and a list of computations under way. */
#include "http/exchange/cache.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BUCKETS 8192u
#define OVERHEAD 256 /* bytes of an entry: struct, allocations, its part of the table */

/* An entry without an answer records that such answers take longer than one step, so that nobody
 * waits for one. */
struct entry {
    struct hash128 hash;
    struct cache_answer *answer;
    unsigned index;
    bool hopeless; /* too long to be kept at all */
    struct entry *chain;
    struct entry *older, *newer; /* by use */
};
struct cache_flight {
    struct cache_key key;
    struct cache_place *leader;
    struct cache_place *joined;
    struct cache_flight *next;
};
/* Bytes of the kept answers, and of evicted ones that are still being sent. It may outlive the
 * cache. */
struct cache_bytes {
    atomic_uint refs;
    atomic_size_t used, reserved;
};
struct cache {
    pthread_mutex_t lock;
    size_t bytes_max, count;
    struct cache_bytes *bytes;
    uint64_t generations[CACHE_INDEXES_MAX]; /* the latest generation of each index */
    struct entry *oldest, *newest;
    struct cache_flight *flights; /* few: at most one for each query that runs or waits */
    uint64_t hits, misses, joined;
    struct entry *buckets[BUCKETS];
};

/* ---- answers --------------------------------------------------------------------------------- */

struct cache_answer *cache_answer_new(struct buf *body, const char *content_type, bool incomplete)
{
    size_t type = strlen(content_type) + 1;
    if (body->error || type > sizeof((struct cache_answer){0}).content_type)
        return NULL;
    struct cache_answer *a = calloc(1, sizeof *a);
    if (!a)
        return NULL;
    atomic_init(&a->refs, 1);
    a->incomplete = incomplete;
    memcpy(a->content_type, content_type, type);
    a->len = body->len;
    char *tight = body->len ? realloc(body->data, body->len) : NULL;
    a->data = tight ? tight : body->data;
    *body = (struct buf){0};
    return a;
}

struct cache_answer *cache_answer_ref(struct cache_answer *a)
{
    atomic_fetch_add(&a->refs, 1);
    return a;
}

static void bytes_release(struct cache_bytes *b)
{
    if (b && atomic_fetch_sub(&b->refs, 1) == 1)
        free(b);
}

void cache_answer_release(struct cache_answer *a)
{
    if (!a || atomic_fetch_sub(&a->refs, 1) > 1)
        return;
    if (a->counted)
        atomic_fetch_sub(&a->counted->used, sizeof *a + a->len);
    bytes_release(a->counted);
    free(a->data);
    free(a);
}

/* ---- entries: under the lock ----------------------------------------------------------------- */

static bool is_same_hash(struct hash128 a, struct hash128 b)
{
    return a.low == b.low && a.high == b.high;
}

static struct entry **slot_of(struct cache *c, struct hash128 hash)
{
    struct entry **slot = &c->buckets[hash.low % BUCKETS];
    while (*slot && !is_same_hash((*slot)->hash, hash))
        slot = &(*slot)->chain;
    return slot;
}

static void link_newest(struct cache *c, struct entry *e)
{
    e->newer = NULL;
    e->older = c->newest;
    *(c->newest ? &c->newest->newer : &c->oldest) = e;
    c->newest = e;
}

static void unlink_use(struct cache *c, struct entry *e)
{
    *(e->older ? &e->older->newer : &c->oldest) = e->newer;
    *(e->newer ? &e->newer->older : &c->newest) = e->older;
}

static void drop_entry(struct cache *c, struct entry *e)
{
    *slot_of(c, e->hash) = e->chain;
    unlink_use(c, e);
    atomic_fetch_sub(&c->bytes->used, OVERHEAD);
    c->count--;
    cache_answer_release(e->answer);
    free(e);
}

/* Returns false if the key's generation is older than the present one. */
static bool enter_generation(struct cache *c, const struct cache_key *key)
{
    uint64_t *now = &c->generations[key->index];
    if (key->generation > *now) {
        for (struct entry *e = c->oldest, *newer; e; e = newer) {
            newer = e->newer;
            if (e->index == key->index)
                drop_entry(c, e);
        }
        *now = key->generation;
    }
    return key->generation == *now;
}

static struct entry *use_entry(struct cache *c, const struct cache_key *key)
{
    struct entry *e = enter_generation(c, key) ? *slot_of(c, key->hash) : NULL;
    if (e && e != c->newest) {
        unlink_use(c, e);
        link_newest(c, e);
    }
    return e;
}

static bool make_space(struct cache *c, size_t bytes)
{
    while (c->oldest && atomic_load(&c->bytes->used) + bytes > c->bytes_max)
        drop_entry(c, c->oldest);
    return atomic_load(&c->bytes->used) + bytes <= c->bytes_max;
}

/* Returns the entry of a key of the present generation, *new* if there is none; NULL if there is no
 * space or the generation is an old one. */
static struct entry *entry_of(struct cache *c, const struct cache_key *key)
{
    if (!enter_generation(c, key))
        return NULL;
    struct entry *e = *slot_of(c, key->hash);
    if (e || !make_space(c, OVERHEAD) || !(e = calloc(1, sizeof *e)))
        return e;
    e->hash = key->hash;
    e->index = key->index;
    *slot_of(c, key->hash) = e;
    link_newest(c, e);
    atomic_fetch_add(&c->bytes->used, OVERHEAD);
    c->count++;
    return e;
}

static void keep_answer(struct cache *c, const struct cache_key *key, struct cache_answer *answer)
{
    struct entry *present = enter_generation(c, key) ? *slot_of(c, key->hash) : NULL;
    if (present && present->answer)
        return;
    bool fits = !answer || (answer->len <= cache_longest(c) &&
                            make_space(c, 2 * OVERHEAD + sizeof *answer + answer->len));
    struct entry *e = fits ? entry_of(c, key) : NULL;
    if (!e || !answer)
        return;
    e->answer = cache_answer_ref(answer);
    atomic_fetch_add(&c->bytes->used, sizeof *answer + answer->len);
    answer->counted = c->bytes;
    atomic_fetch_add(&c->bytes->refs, 1);
}

/* ---- flights: under the lock ----------------------------------------------------------------- */

static struct cache_flight *find_flight(struct cache *c, const struct cache_key *key)
{
    struct cache_flight *f = c->flights;
    while (f && !(f->key.generation == key->generation && is_same_hash(f->key.hash, key->hash)))
        f = f->next;
    return f;
}

static bool lead_flight(struct cache *c, const struct cache_key *key, struct cache_place *p)
{
    struct cache_flight *f = calloc(1, sizeof *f);
    if (!f)
        return false;
    *f = (struct cache_flight){.key = *key, .leader = p, .next = c->flights};
    c->flights = f;
    p->flight = f;
    p->leads = true;
    return true;
}

/* The leader works for other clients, too, from now on: its own client's limit no longer applies.
 */
static void join_flight(struct cache_flight *f, struct cache_place *p)
{
    p->flight = f;
    p->next = f->joined;
    if (f->joined)
        f->joined->prev = p;
    f->joined = p;
    struct budget *b = f->leader->budget;
    if (atomic_load(&b->deadline_ns) < f->leader->limit_ns)
        atomic_store(&b->deadline_ns, f->leader->limit_ns);
}

static void leave_flight(struct cache_place *p)
{
    *(p->prev ? &p->prev->next : &p->flight->joined) = p->next;
    if (p->next)
        p->next->prev = p->prev;
    p->flight = NULL;
}

/* Ends p's flight, and returns the list of requests that joined it. */
static struct cache_place *end_flight(struct cache *c, struct cache_place *p)
{
    struct cache_flight *f = p->flight, **slot = &c->flights;
    struct cache_place *joined = f->joined;
    while (*slot != f)
        slot = &(*slot)->next;
    *slot = f->next;
    for (struct cache_place *j = joined; j; j = j->next)
        j->flight = NULL;
    free(f);
    p->flight = NULL;
    return joined;
}

/* ---- public functions ------------------------------------------------------------------------ */

struct cache *cache_new(size_t bytes)
{
    struct cache *c = calloc(1, sizeof *c);
    if (!c || !(c->bytes = calloc(1, sizeof *c->bytes)))
        return free(c), NULL;
    atomic_init(&c->bytes->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    c->bytes_max = bytes;
    return c;
}

void cache_free(struct cache *c)
{
    if (!c)
        return;
    while (c->oldest)
        drop_entry(c, c->oldest);
    bytes_release(c->bytes);
    pthread_mutex_destroy(&c->lock);
    free(c);
}

struct cache_answer *cache_find(struct cache *c, const struct cache_key *key)
{
    pthread_mutex_lock(&c->lock);
    struct entry *e = use_entry(c, key);
    struct cache_answer *a = e && e->answer ? cache_answer_ref(e->answer) : NULL;
    c->hits += a != NULL;
    pthread_mutex_unlock(&c->lock);
    return a;
}

enum cache_turn cache_lookup(struct cache *c, const struct cache_key *key, struct cache_place *p,
                             struct cache_answer **ret_answer)
{
    enum cache_turn turn = CACHE_ALONE;
    pthread_mutex_lock(&c->lock);
    struct entry *e = use_entry(c, key);
    struct cache_flight *f = e ? NULL : find_flight(c, key);
    if (e && e->answer) {
        *ret_answer = cache_answer_ref(e->answer);
        turn = CACHE_HIT;
    } else if (f) {
        join_flight(f, p);
        turn = CACHE_JOIN;
    } else if (!e && lead_flight(c, key, p)) {
        turn = CACHE_LEAD;
    }
    p->copies = !e || !e->hopeless;
    c->hits += turn == CACHE_HIT;
    c->joined += turn == CACHE_JOIN;
    c->misses += turn == CACHE_LEAD || turn == CACHE_ALONE;
    pthread_mutex_unlock(&c->lock);
    return turn;
}

struct cache_place *cache_settle(struct cache *c, struct cache_place *p,
                                 struct cache_answer *answer, bool too_long)
{
    struct cache_place *joined = NULL;
    pthread_mutex_lock(&c->lock);
    if (p->leads && p->flight) {
        if (answer || too_long)
            keep_answer(c, &p->flight->key, answer);
        joined = end_flight(c, p);
    }
    pthread_mutex_unlock(&c->lock);
    return joined;
}

void cache_deliver(struct cache_place *joined, struct cache_answer *answer)
{
    while (joined) {
        struct cache_place *j = joined;
        joined = j->next;
        j->call(j, answer);
    }
}

void cache_keep(struct cache *c, const struct cache_key *key, struct cache_answer *answer)
{
    pthread_mutex_lock(&c->lock);
    keep_answer(c, key, answer);
    struct entry *e = answer ? NULL : entry_of(c, key);
    if (e && !e->answer)
        e->hopeless = true;
    pthread_mutex_unlock(&c->lock);
}

size_t cache_longest(const struct cache *c)
{
    return c->bytes_max / CACHE_SHARE;
}

bool cache_reserve(struct cache *c, size_t bytes)
{
    if (atomic_fetch_add(&c->bytes->reserved, bytes) + bytes <= c->bytes_max / 2)
        return true;
    cache_unreserve(c, bytes);
    return false;
}

void cache_unreserve(struct cache *c, size_t bytes)
{
    atomic_fetch_sub(&c->bytes->reserved, bytes);
}

bool cache_leave(struct cache *c, struct cache_place *p, bool *ret_joined)
{
    bool alone = true;
    *ret_joined = false;
    pthread_mutex_lock(&c->lock);
    struct cache_flight *f = p->flight;
    if (f && p->leads) {
        p->left = true;
        alone = !f->joined;
    } else if (f) {
        leave_flight(p);
        *ret_joined = true;
        if (!f->joined && f->leader->left)
            budget_cancel(f->leader->budget, ERR_CANCELLED);
    }
    pthread_mutex_unlock(&c->lock);
    return alone;
}

void cache_counts(struct cache *c, struct cache_counts *ret)
{
    pthread_mutex_lock(&c->lock);
    *ret = (struct cache_counts){c->hits, c->misses, c->joined, atomic_load(&c->bytes->used),
                                 c->count};
    pthread_mutex_unlock(&c->lock);
}
