/* summary.c - counts, moments and sketches by (class, cat, name) and by thread: made, merged,
 * stored. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

/* What summary_new gives: the public part first. */
struct summary_full {
    struct summary pub;
    VEC(struct summary_name) names;
    VEC(struct summary_thread) threads;
    struct hash_index name_index, thread_index;
};

struct summary *summary_new(void)
{
    struct summary_full *f = calloc(1, sizeof *f);

    return f ? &f->pub : NULL;
}

void summary_free(struct summary *s)
{
    struct summary_full *f = (struct summary_full *)s;

    if (!f)
        return;
    for (uint32_t i = 0; i < s->name_count; i++)
        sketch_free(s->names[i].duration_sketch);
    vec_done(&f->names);
    vec_done(&f->threads);
    hash_index_done(&f->name_index);
    hash_index_done(&f->thread_index);
    free(f);
}

static void publish(struct summary_full *f)
{
    f->pub.names = f->names.at;
    f->pub.name_count = (uint32_t)f->names.count;
    f->pub.threads = f->threads.at;
    f->pub.thread_count = (uint32_t)f->threads.count;
}

#define SWAP(a, b) \
    do { \
        __typeof__(a) swapped = a; \
        a = b; \
        b = swapped; \
    } while (0)

static void swap_names(struct summary *x, struct summary *y)
{
    struct summary_full *a = (struct summary_full *)x, *b = (struct summary_full *)y;

    SWAP(x->detail, y->detail);
    SWAP(a->names, b->names);
    SWAP(a->name_index, b->name_index);
    publish(a);
    publish(b);
}

static atomic_uint names_most = SUMMARY_NAMES_MAX;

void summary_limit_names(uint32_t count)
{
    names_most = count;
}

int summary_coarsen(struct summary *s, enum summary_detail detail)
{
    struct summary *coarse;
    int rc = 0;

    if (s->detail >= detail)
        return 0;
    coarse = summary_new();
    if (!coarse)
        return -ENOMEM;
    coarse->detail = detail;
    for (uint32_t i = 0; i < s->name_count && rc == 0; i++)
        rc = summary_add_name(coarse, &s->names[i]);
    if (rc == 0)
        swap_names(s, coarse);
    summary_free(coarse);
    return rc;
}

static struct summary_name *name_of(struct summary *s, uint8_t class, uint32_t cat, uint32_t name,
                                    uint32_t most)
{
    struct summary_full *f = (struct summary_full *)s;
    struct summary_name key = {
        .class = class,
        .cat = s->detail < SUMMARY_BY_CLASS ? cat : INDEX_NO_TEXT,
        .name = s->detail < SUMMARY_BY_CATEGORY ? name : INDEX_NO_TEXT,
    };
    uint64_t hash = hash_index_mix((uint64_t) class << 32 | key.cat, key.name);

    for (struct hash_match m = hash_index_find(&f->name_index, hash);
         hash_index_next(&f->name_index, &m);) {
        struct summary_name *n = &s->names[m.position];

        if (n->class == class && n->cat == key.cat && n->name == key.name)
            return n;
    }
    if (s->name_count >= most && s->detail < SUMMARY_BY_CLASS)
        return summary_coarsen(s, s->detail + 1) < 0 ? NULL : name_of(s, class, cat, name, most);
    key.duration_sketch = sketch_new();
    if (!key.duration_sketch || vec_reserve(&f->names, 1) < 0 ||
        hash_index_add(&f->name_index, hash, s->name_count) < 0) {
        sketch_free(key.duration_sketch);
        return NULL;
    }
    f->names.at[f->names.count++] = key;
    publish(f);
    return &s->names[s->name_count - 1];
}

struct summary_name *summary_name_of(struct summary *s, uint8_t class, uint32_t cat, uint32_t name)
{
    return name_of(s, class, cat, name, names_most);
}

struct summary_thread *summary_thread_of(struct summary *s, const struct summary_thread *key)
{
    struct summary_full *f = (struct summary_full *)s;
    uint64_t hash = hash_index_mix(hash_index_mix((uint64_t)key->pid, (uint64_t)key->tid),
                                   (uint64_t)key->host << 8 | key->class << 1 | key->host_is_hash);

    for (struct hash_match m = hash_index_find(&f->thread_index, hash);
         hash_index_next(&f->thread_index, &m);)
        if (summary_same_thread(&s->threads[m.position], key))
            return &s->threads[m.position];
    if (vec_push(&f->threads, *key) < 0)
        return NULL;
    f->threads.at[s->thread_count].count = 0;
    if (hash_index_add(&f->thread_index, hash, s->thread_count) < 0)
        return NULL;
    publish(f);
    return &s->threads[s->thread_count - 1];
}

int summary_add_name(struct summary *s, const struct summary_name *from)
{
    struct summary_name *to = summary_name_of(s, from->class, from->cat, from->name);

    if (!to)
        return -ENOMEM;
    to->count += from->count;
    moments_merge(&to->duration, &from->duration);
    histogram_merge(&to->histogram, &from->histogram);
    return sketch_merge(to->duration_sketch, from->duration_sketch);
}

int summary_merge(struct summary *into, const struct summary *other)
{
    if (summary_coarsen(into, other->detail) < 0)
        return -ENOMEM;
    for (uint32_t i = 0; i < other->name_count; i++) {
        if (summary_add_name(into, &other->names[i]) < 0)
            return -ENOMEM;
    }
    for (uint32_t i = 0; i < other->thread_count; i++) {
        struct summary_thread *to = summary_thread_of(into, &other->threads[i]);

        if (!to)
            return -ENOMEM;
        to->count += other->threads[i].count;
    }
    for (int i = 0; i < 4; i++) {
        struct summary_class *to = &into->classes[i];
        const struct summary_class *from = &other->classes[i];

        to->count += from->count;
        if (!from->has_time)
            continue;
        if (!to->has_time || from->min_ts < to->min_ts)
            to->min_ts = from->min_ts;
        if (!to->has_time || from->max_te > to->max_te)
            to->max_te = from->max_te;
        to->has_time = true;
    }
    return 0;
}

struct summary *summary_clone(const struct summary *s)
{
    struct summary *copy = summary_new();

    if (copy && summary_merge(copy, s) < 0) {
        summary_free(copy);
        copy = NULL;
    }
    return copy;
}

/* Of a thread that tells no host: the only process that it can be of, or NULL. */
static const struct index_process *process_of(const struct summary_thread *t,
                                              const struct index_file *f)
{
    return t->host == INDEX_NO_TEXT && t->pid != INT64_MIN
               ? process_only(f->processes, f->by_pid, f->process_count, t->pid)
               : NULL;
}

/* 0 or -ENOMEM. */
static int add_settled(struct summary *to, const struct summary_thread *t,
                       const struct index_process *process)
{
    struct summary_thread key = *t, *added;

    if (process) {
        key.host = process->host;
        key.host_is_hash = process->host_is_hash;
    }
    added = summary_thread_of(to, &key);
    if (!added)
        return -ENOMEM;
    added->count += t->count;
    return 0;
}

static void swap_threads(struct summary *x, struct summary *y)
{
    struct summary_full *a = (struct summary_full *)x, *b = (struct summary_full *)y;

    SWAP(a->threads, b->threads);
    SWAP(a->thread_index, b->thread_index);
    publish(a);
    publish(b);
}

int summary_settle_hosts(struct summary *s, const struct index_file *f)
{
    struct summary *settled;
    bool any = false;
    int rc = 0;

    for (uint32_t i = 0; i < s->thread_count && !any; i++)
        any = process_of(&s->threads[i], f) != NULL;
    if (!any)
        return 0;
    settled = summary_new();
    if (!settled)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->thread_count && rc == 0; i++)
        rc = add_settled(settled, &s->threads[i], process_of(&s->threads[i], f));
    if (rc == 0)
        swap_threads(s, settled);
    summary_free(settled);
    return rc;
}

/* ---- stored form ----------------------------------------------------------------------------- */

static void encode_moments(const struct moments *m, struct buf *out)
{
    rec_put_u(out, m->count);
    if (m->count == 0)
        return;
    rec_put_u(out, m->nano);
    rec_put_i128(out, m->sum);
    rec_put_i128(out, (__int128)m->squares);
    rec_put_u(out, m->squares_high);
    rec_put_i128(out, m->min);
    rec_put_i128(out, m->max);
}

/* What no trace can have would overflow when it is added up. */
static bool are_plausible(const struct moments *m)
{
    const __int128 most = (__int128)1 << 74, count = (__int128)m->count;

    return m->min >= -most && m->min <= m->max && m->max <= most && m->sum >= m->min * count &&
           m->sum <= m->max * count;
}

static void decode_moments(struct rec *r, struct moments *m)
{
    m->count = rec_choice(r, 1ull << 40);
    if (m->count == 0)
        return;
    m->nano = rec_u(r) != 0;
    m->sum = rec_i128(r);
    m->squares = (unsigned __int128)rec_i128(r);
    m->squares_high = rec_u(r);
    m->min = rec_i128(r);
    m->max = rec_i128(r);
    r->bad = r->bad || !are_plausible(m);
}

static void encode_histogram(const struct histogram *h, struct buf *out)
{
    unsigned used = 0;

    for (unsigned i = 0; i < HISTOGRAM_BINS; i++)
        used += h->count[i] > 0;
    rec_put_u(out, used);
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
        if (h->count[i]) {
            rec_put_u(out, i);
            rec_put_u(out, h->count[i]);
        }
    }
}

static void decode_histogram(struct rec *r, struct histogram *h)
{
    for (uint64_t used = rec_count(r, 2); used > 0 && !r->bad; used--) {
        uint64_t bin = rec_u(r);

        if (bin >= HISTOGRAM_BINS)
            r->bad = true;
        else
            h->count[bin] = rec_u(r);
    }
}

void summary_encode(const struct summary *s, const struct texts *texts, struct buf *out)
{
    rec_put_u(out, s->detail);
    rec_put_u(out, s->name_count);
    for (uint32_t i = 0; i < s->name_count; i++) {
        const struct summary_name *n = &s->names[i];

        rec_put_u(out, n->class);
        texts_put_ref(texts, out, n->cat);
        texts_put_ref(texts, out, n->name);
        rec_put_u(out, n->count);
        encode_moments(&n->duration, out);
        encode_histogram(&n->histogram, out);
        sketch_encode(n->duration_sketch, out);
    }
    rec_put_u(out, s->thread_count);
    for (uint32_t i = 0; i < s->thread_count; i++) {
        const struct summary_thread *t = &s->threads[i];

        rec_put_u(out, t->class << 1 | t->host_is_hash);
        texts_put_ref(texts, out, t->host);
        rec_put_i(out, t->pid);
        rec_put_i(out, t->tid);
        rec_put_u(out, t->count);
    }
    for (int i = 0; i < 4; i++) {
        rec_put_u(out, s->classes[i].count);
        rec_put_u(out, s->classes[i].has_time);
        if (s->classes[i].has_time) {
            rec_put_i128(out, s->classes[i].min_ts);
            rec_put_i128(out, s->classes[i].max_te);
        }
    }
}

static int decode_name(struct rec *r, struct texts *texts, struct summary *s)
{
    uint8_t class = (uint8_t)rec_u(r);
    uint32_t cat = texts_get_ref(texts, r), name = texts_get_ref(texts, r);
    /* As it was stored, perhaps when more memory could be used. */
    struct summary_name *n = name_of(s, class, cat, name, SUMMARY_NAMES_MAX);
    struct sketch *sketch = NULL;
    ssize_t used;

    if (!n)
        return -ENOMEM;
    n->count = rec_u(r);
    decode_moments(r, &n->duration);
    decode_histogram(r, &n->histogram);
    if (r->bad || class > 3)
        return ERR_CORRUPT;
    used = sketch_decode(r->ptr, (size_t)(r->end - r->ptr), &sketch);
    if (used < 0)
        return (int)used;
    r->ptr += used;
    sketch_free(n->duration_sketch);
    n->duration_sketch = sketch;
    return 0;
}

static int decode_thread(struct rec *r, struct texts *texts, struct summary *s)
{
    uint64_t head = rec_u(r);
    struct summary_thread key = {.class = (uint8_t)(head >> 1), .host_is_hash = head & 1}, *t;

    key.host = texts_get_ref(texts, r);
    key.pid = rec_i(r);
    key.tid = rec_i(r);
    if (r->bad || key.class > 3)
        return ERR_CORRUPT;
    t = summary_thread_of(s, &key);
    if (!t)
        return -ENOMEM;
    t->count = rec_u(r);
    return 0;
}

int summary_decode(struct rec *r, struct texts *texts, struct summary **ret)
{
    struct summary *s = summary_new();
    int rc = s ? 0 : -ENOMEM;

    if (!s)
        return rc;
    s->detail = (enum summary_detail)rec_choice(r, SUMMARY_BY_CLASS);
    uint64_t names = rec_count(r, 4);
    r->bad = r->bad || names > SUMMARY_NAMES_MAX;
    for (uint64_t n = names; n > 0 && rc == 0; n--)
        rc = r->bad ? ERR_CORRUPT : decode_name(r, texts, s);
    for (uint64_t n = rc ? 0 : rec_count(r, 4); n > 0 && rc == 0; n--)
        rc = decode_thread(r, texts, s);
    for (int i = 0; i < 4 && rc == 0; i++) {
        s->classes[i].count = rec_u(r);
        s->classes[i].has_time = rec_u(r) != 0;
        if (s->classes[i].has_time) {
            s->classes[i].min_ts = rec_i128(r);
            s->classes[i].max_te = rec_i128(r);
        }
    }
    if (rc == 0 && r->bad)
        rc = ERR_CORRUPT;
    if (rc) {
        summary_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}
