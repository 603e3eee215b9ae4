/* module: http; threads */
/* The response cache: which answers are kept and evicted, and which requests compute, wait,
 * continue alone or are stopped. */
#include "check.h"
#include "http/exchange/cache.h"

#include <pthread.h>
#include <unistd.h>

static struct cache_key key_of(uint64_t n, uint64_t generation)
{
    return (struct cache_key){{n * 0x9E3779B97F4A7C15u, n}, generation};
}

static struct cache_answer *answer_of(size_t len, char c)
{
    struct buf body = {0};
    char *room = buf_reserve(&body, len + 1);
    if (!room)
        abort();
    memset(room, c, len);
    body.len = len;
    struct cache_answer *a = cache_answer_new(&body, "text/plain", false);
    CHECK(!a || !body.data);
    buf_done(&body);
    return a;
}

static void put(struct cache *c, struct cache_key key, size_t len, char text)
{
    struct budget budget = {0};
    struct cache_place p = {.budget = &budget};
    struct cache_answer *a = answer_of(len, text), *got;
    CHECK_INT(cache_lookup(c, &key, &p, &got), CACHE_LEAD);
    cache_deliver(cache_settle(c, &p, a, !a), a);
    cache_answer_release(a);
}

/* Returns the first byte of the answer, or 0 if it is not there. */
static char look(struct cache *c, struct cache_key key)
{
    struct cache_answer *a = cache_find(c, &key);
    char first = a ? a->data[0] : 0;
    cache_answer_release(a);
    return first;
}

static struct cache_counts counts(struct cache *c)
{
    struct cache_counts n;
    cache_counts(c, &n);
    return n;
}

static void keeps_answers(void)
{
    struct cache *c = cache_new(1 << 20);
    put(c, key_of(1, 5), 10, 'a');
    put(c, key_of(2, 5), 10, 'b');
    CHECK_INT(look(c, key_of(1, 5)), 'a');
    CHECK_INT(look(c, key_of(2, 5)), 'b');
    CHECK_INT(look(c, key_of(3, 5)), 0);
    CHECK_INT(counts(c).entries, 2);
    CHECK_INT(counts(c).hits, 2);
    CHECK_INT(counts(c).misses, 2);
    /* An answer that is in use stays valid. */
    struct cache_key one = key_of(1, 5);
    struct cache_answer *a = cache_find(c, &one);
    cache_free(c);
    CHECK(a && a->len == 10 && memcmp(a->data, "aaaaaaaaaa", 10) == 0);
    CHECK_STR(a->content_type, "text/plain");
    cache_answer_release(a);
}

static void generations_pass(void)
{
    struct cache *c = cache_new(1 << 20);
    put(c, key_of(1, 5), 10, 'a');
    CHECK_INT(look(c, key_of(1, 6)), 0);
    CHECK_INT(counts(c).entries, 0);
    CHECK_INT(counts(c).bytes, 0);
    put(c, key_of(1, 5), 10, 'a'); /* of an old generation: computed, not kept */
    CHECK_INT(counts(c).entries, 0);
    put(c, key_of(1, 6), 10, 'b');
    CHECK_INT(look(c, key_of(1, 6)), 'b');
    cache_free(c);
}

/* Generations of one index do not affect answers of another. */
static void indexes_apart(void)
{
    struct cache *c = cache_new(1 << 20);
    struct cache_key mine = key_of(1, 5), other = key_of(2, 900);
    other.index = CACHE_INDEXES_MAX - 1;
    put(c, mine, 10, 'a');
    put(c, other, 10, 'b');
    CHECK_INT(look(c, mine), 'a');
    other.generation++;
    CHECK_INT(look(c, other), 0);
    CHECK_INT(counts(c).entries, 1);
    mine.generation++;
    CHECK_INT(look(c, mine), 0);
    CHECK_INT(counts(c).entries, 0);
    cache_free(c);
}

/* 100 KiB hold nine answers of 10 KiB with their overhead. */
static void the_unused_leave(void)
{
    struct cache *c = cache_new(100 << 10);
    for (uint64_t i = 0; i < 9; i++)
        put(c, key_of(i, 1), 10 << 10, (char)('a' + i));
    CHECK_INT(counts(c).entries, 9);
    CHECK_INT(look(c, key_of(0, 1)), 'a');
    put(c, key_of(9, 1), 10 << 10, 'j');
    CHECK_INT(look(c, key_of(1, 1)), 0);
    CHECK_INT(look(c, key_of(0, 1)), 'a');
    CHECK_INT(look(c, key_of(2, 1)), 'c');
    CHECK(counts(c).bytes <= 100 << 10);
    cache_free(c);
}

/* A later request for an answer that was too long runs alone at once. */
static void too_long(void)
{
    struct cache *c = cache_new(CACHE_BYTES);
    struct cache_place p = {0};
    struct cache_answer *got;
    struct cache_key key = key_of(1, 1);
    CHECK_INT(cache_longest(c), 8 << 20);
    put(c, key, cache_longest(c), 'a');
    CHECK_INT(look(c, key), 'a');
    key = key_of(2, 1);
    put(c, key, cache_longest(c) + 1, 'b');
    CHECK_INT(look(c, key), 0);
    CHECK_INT(cache_lookup(c, &key, &p, &got), CACHE_LEAD);
    cache_deliver(cache_settle(c, &p, NULL, true), NULL);
    CHECK_INT(cache_lookup(c, &key, &p, &got), CACHE_ALONE);
    CHECK(p.copies);
    cache_keep(c, &key, NULL);
    CHECK_INT(cache_lookup(c, &key, &p, &got), CACHE_ALONE);
    CHECK(!p.copies);
    cache_free(c);
}

/* A request that runs alone may have its answer kept at the end. */
static void gathered(void)
{
    struct cache *c = cache_new(1 << 20);
    struct cache_place p = {0};
    struct cache_answer *got, *a = answer_of(100 << 10, 'g');
    struct cache_key key = key_of(1, 1), past = key_of(2, 0);
    CHECK_INT(cache_lookup(c, &key, &p, &got), CACHE_LEAD);
    cache_deliver(cache_settle(c, &p, NULL, true), NULL);
    CHECK_INT(look(c, key), 0);
    cache_keep(c, &key, a);
    CHECK_INT(look(c, key), 'g');
    cache_keep(c, &key, NULL); /* another one found it too long, but it is not */
    CHECK_INT(look(c, key), 'g');
    CHECK_INT(counts(c).entries, 1);
    cache_answer_release(a);
    a = answer_of(10, 'p');
    cache_keep(c, &past, a);
    CHECK_INT(look(c, past), 0);
    cache_answer_release(a);
    CHECK(cache_reserve(c, 512 << 10));
    CHECK(!cache_reserve(c, 1));
    cache_unreserve(c, 512 << 10);
    CHECK(cache_reserve(c, 1));
    cache_unreserve(c, 1);
    cache_free(c);
}

/* An evicted answer that is still in use counts against the limit. */
static void the_slow_are_counted(void)
{
    struct cache *c = cache_new(800 << 10);
    struct cache_answer *slow[8];
    for (uint64_t i = 0; i < 7; i++) {
        struct cache_key key = key_of(i, 1);
        put(c, key, 100 << 10, 'a');
        slow[i] = cache_find(c, &key);
        CHECK(slow[i] != NULL);
    }
    size_t before = counts(c).bytes;
    put(c, key_of(8, 1), 99 << 10, 'b');
    CHECK_INT(look(c, key_of(8, 1)), 0);
    CHECK(counts(c).bytes <= before);
    CHECK(counts(c).bytes >= 700 << 10);
    for (int i = 0; i < 7; i++)
        cache_answer_release(slow[i]);
    CHECK_INT(counts(c).bytes, 0);
    put(c, key_of(9, 1), 100 << 10, 'c');
    CHECK_INT(look(c, key_of(9, 1)), 'c');
    cache_free(c);
}

/* ---- flights --------------------------------------------------------------------------------- */

struct guest {
    struct cache_place place;
    struct budget budget;
    int called;
    char first; /* of the answer */
};

static void called(struct cache_place *p, struct cache_answer *answer)
{
    struct guest *g = (struct guest *)p;
    g->called++;
    g->first = answer ? answer->data[0] : 0;
}

static enum cache_turn request(struct cache *c, struct cache_key key, struct guest *g)
{
    struct cache_answer *got = NULL;
    *g = (struct guest){.place = {.call = called, .budget = &g->budget, .limit_ns = 1000}};
    atomic_store(&g->budget.deadline_ns, 10);
    enum cache_turn turn = cache_lookup(c, &key, &g->place, &got);
    cache_answer_release(got);
    return turn;
}

static void one_computes_for_all(void)
{
    struct cache *c = cache_new(1 << 20);
    struct guest g[4], other, late;
    CHECK_INT(request(c, key_of(1, 1), &g[0]), CACHE_LEAD);
    CHECK_INT(atomic_load(&g[0].budget.deadline_ns), 10);
    for (int i = 1; i < 4; i++)
        CHECK_INT(request(c, key_of(1, 1), &g[i]), CACHE_JOIN);
    CHECK_INT(atomic_load(&g[0].budget.deadline_ns), 1000);  /* no longer that of its own client */
    CHECK_INT(request(c, key_of(1, 2), &other), CACHE_LEAD); /* another generation */
    CHECK_INT(counts(c).joined, 3);
    bool joined;
    CHECK(cache_leave(c, &g[2].place, &joined) && joined);
    CHECK(!cache_leave(c, &g[0].place, &joined) && !joined); /* the others still want it */
    struct cache_answer *a = answer_of(3, 'x');
    cache_deliver(cache_settle(c, &g[0].place, a, false), a);
    cache_answer_release(a);
    CHECK(g[1].called == 1 && g[1].first == 'x' && g[3].called == 1 && g[3].first == 'x');
    CHECK(!g[0].called && !g[2].called);
    CHECK(!atomic_load(&g[0].budget.cancelled));
    CHECK(cache_leave(c, &g[0].place, &joined) && !joined);
    CHECK(cache_leave(c, &g[1].place, &joined) && !joined);
    cache_deliver(cache_settle(c, &other.place, NULL, false), NULL);
    CHECK_INT(request(c, key_of(1, 2), &late), CACHE_LEAD); /* a failure is not remembered */
    cache_deliver(cache_settle(c, &late.place, NULL, false), NULL);
    cache_free(c);
}

static void they_continue_alone(void)
{
    struct cache *c = cache_new(1 << 20);
    struct guest g[3];
    request(c, key_of(1, 1), &g[0]);
    CHECK_INT(request(c, key_of(1, 1), &g[1]), CACHE_JOIN);
    CHECK_INT(request(c, key_of(1, 1), &g[2]), CACHE_JOIN);
    cache_deliver(cache_settle(c, &g[0].place, NULL, true), NULL);
    cache_deliver(cache_settle(c, &g[0].place, NULL, true), NULL); /* once only */
    CHECK(g[1].called == 1 && !g[1].first && g[2].called == 1 && !g[2].first);
    cache_free(c);
}

/* The work stops when the last request that wants it has left. */
static void nobody_wants_it(void)
{
    struct cache *c = cache_new(1 << 20);
    struct guest g[3];
    bool joined;
    request(c, key_of(1, 1), &g[0]);
    request(c, key_of(1, 1), &g[1]);
    request(c, key_of(1, 1), &g[2]);
    CHECK(!cache_leave(c, &g[0].place, &joined));
    CHECK(!cache_leave(c, &g[0].place, &joined));
    cache_leave(c, &g[1].place, &joined);
    CHECK(!atomic_load(&g[0].budget.cancelled));
    cache_leave(c, &g[2].place, &joined);
    CHECK(joined);
    CHECK_INT(atomic_load(&g[0].budget.cancelled), ERR_CANCELLED);
    cache_deliver(cache_settle(c, &g[0].place, NULL, false), NULL);
    CHECK(!g[1].called && !g[2].called);
    cache_free(c);
}

/* ---- many threads ---------------------------------------------------------------------------- */

struct storm {
    struct cache *cache;
    atomic_int computed, answered, alone;
};
struct visitor {
    struct cache_place place;
    struct budget budget;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int outcome; /* 1 an answer, 2 runs alone */
    uint64_t wanted, got;
};

static void wake_visitor(struct cache_place *p, struct cache_answer *answer)
{
    struct visitor *v = (struct visitor *)p;
    pthread_mutex_lock(&v->lock);
    v->outcome = answer ? 1 : 2;
    if (answer)
        memcpy(&v->got, answer->data, sizeof v->got);
    pthread_cond_signal(&v->changed);
    pthread_mutex_unlock(&v->lock);
}

/* Some leaders fail, some visitors leave, generations pass: each answer is the right one, and no
 * visitor waits forever. */
static void visit(struct storm *s, struct visitor *v, unsigned n)
{
    uint64_t generation = 1 + n / 500, number = n / 4 % 7;
    struct cache_key key = key_of(number, generation);
    struct cache_answer *got = NULL;
    bool joined;
    v->place = (struct cache_place){.call = wake_visitor, .budget = &v->budget};
    v->outcome = 0;
    v->wanted = generation * 100 + number;
    enum cache_turn turn = cache_lookup(s->cache, &key, &v->place, &got);
    if (turn == CACHE_HIT) {
        memcpy(&v->got, got->data, sizeof v->got);
        v->outcome = 1;
    } else if (turn == CACHE_LEAD) {
        struct buf body = {0};
        buf_append(&body, &v->wanted, sizeof v->wanted);
        got = n % 5 ? cache_answer_new(&body, "x/y", false) : NULL;
        buf_done(&body);
        cache_deliver(cache_settle(s->cache, &v->place, got, n % 35 == 0), got);
        atomic_fetch_add(&s->computed, 1);
    } else if (turn == CACHE_JOIN && n % 11 == 0) {
        cache_leave(s->cache, &v->place, &joined);
        if (joined)
            return;
    }
    cache_answer_release(got);
    if (turn != CACHE_JOIN && turn != CACHE_HIT)
        return;
    pthread_mutex_lock(&v->lock);
    while (!v->outcome)
        pthread_cond_wait(&v->changed, &v->lock);
    pthread_mutex_unlock(&v->lock);
    CHECK(v->outcome == 2 || v->got == v->wanted);
    atomic_fetch_add(v->outcome == 1 ? &s->answered : &s->alone, 1);
}

static void *visitor_main(void *arg)
{
    struct storm *s = arg;
    struct visitor v = {.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER};
    for (unsigned n = 0; n < 4000; n++)
        visit(s, &v, n);
    return NULL;
}

static void all_get_on(void)
{
    struct storm s = {.cache = cache_new(64 << 10)};
    pthread_t threads[8];
    for (int i = 0; i < 8; i++)
        if (pthread_create(&threads[i], NULL, visitor_main, &s) != 0)
            abort();
    for (int i = 0; i < 8; i++)
        pthread_join(threads[i], NULL);
    CHECK(atomic_load(&s.computed) > 0 && atomic_load(&s.answered) > 0);
    cache_free(s.cache);
}

static const struct check_test tests[] = {
    {"keeps_answers", keeps_answers},
    {"generations_pass", generations_pass},
    {"indexes_apart", indexes_apart},
    {"the_unused_leave", the_unused_leave},
    {"too_long", too_long},
    {"gathered", gathered},
    {"the_slow_are_counted", the_slow_are_counted},
    {"one_computes_for_all", one_computes_for_all},
    {"they_continue_alone", they_continue_alone},
    {"nobody_wants_it", nobody_wants_it},
    {"all_get_on", all_get_on},
    {NULL, NULL},
};
CHECK_MAIN(tests)
