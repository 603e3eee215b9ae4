/* summary.c - creates, merges and stores counts, moments and sketches by (class, cat, name) and by
 * thread. */
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

/* What summary_new returns: the public part comes first. */
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

static void publish_lists(struct summary_full *f)
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
    publish_lists(a);
    publish_lists(b);
}

static atomic_uint names_max = SUMMARY_NAMES_MAX;

void summary_limit_names(uint32_t count)
{
    names_max = count;
}

int summary_coarsen(struct summary *s, enum summary_detail detail)
{
    int rc = 0;

    if (s->detail >= detail)
        return 0;
    struct summary *coarse = summary_new();
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

static struct summary_name *get_name(struct summary *s, uint8_t class, uint32_t cat, uint32_t name,
                                     uint32_t max)
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
    if (s->name_count >= max && s->detail < SUMMARY_BY_CLASS)
        return summary_coarsen(s, s->detail + 1) < 0 ? NULL : get_name(s, class, cat, name, max);
    key.duration_sketch = sketch_new();
    if (!key.duration_sketch || vec_reserve(&f->names, 1) < 0 ||
        hash_index_add(&f->name_index, hash, s->name_count) < 0) {
        sketch_free(key.duration_sketch);
        return NULL;
    }
    f->names.at[f->names.count++] = key;
    publish_lists(f);
    return &s->names[s->name_count - 1];
}

struct summary_name *summary_get_name(struct summary *s, uint8_t class, uint32_t cat, uint32_t name)
{
    return get_name(s, class, cat, name, names_max);
}

struct summary_thread *summary_get_thread(struct summary *s, const struct summary_thread *key)
{
    struct summary_full *f = (struct summary_full *)s;
    uint64_t hash = hash_index_mix(hash_index_mix((uint64_t)key->pid, (uint64_t)key->tid),
                                   (uint64_t)key->host << 8 | key->class << 1 | key->host_is_hash);

    for (struct hash_match m = hash_index_find(&f->thread_index, hash);
         hash_index_next(&f->thread_index, &m);)
        if (summary_same_thread(&s->threads[m.position], key) &&
            s->threads[m.position].own_name == key->own_name)
            return &s->threads[m.position];
    if (vec_push(&f->threads, *key) < 0)
        return NULL;
    f->threads.at[s->thread_count].count = 0;
    if (hash_index_add(&f->thread_index, hash, s->thread_count) < 0)
        return NULL;
    publish_lists(f);
    return &s->threads[s->thread_count - 1];
}

int summary_add_name(struct summary *s, const struct summary_name *from)
{
    struct summary_name *to = summary_get_name(s, from->class, from->cat, from->name);

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
    for (uint32_t i = 0; i < other->name_count; i++)
        if (summary_add_name(into, &other->names[i]) < 0)
            return -ENOMEM;
    for (uint32_t i = 0; i < other->thread_count; i++) {
        struct summary_thread *to = summary_get_thread(into, &other->threads[i]);
        if (!to)
            return -ENOMEM;
        to->count += other->threads[i].count;
    }
    for (int i = 0; i < 4; i++) {
        struct summary_class *to = &into->classes[i];
        const struct summary_class *from = &other->classes[i];
        to->count += from->count;
        if (from->has_time)
            times_widen(&to->has_time, &to->min_ts, &to->max_te, from->min_ts, from->max_te);
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

/* Returns the only process that a thread without a host can belong to, or NULL. */
static const struct index_process *find_process(const struct summary_thread *t,
                                                const struct index_file *f)
{
    return t->host == INDEX_NO_TEXT && t->pid != INT64_MIN
               ? process_find_single(f->processes, f->by_pid, f->process_count, t->pid)
               : NULL;
}

static int add_resolved(struct summary *to, const struct summary_thread *t,
                        const struct index_process *process)
{
    struct summary_thread key = *t;

    if (process) {
        key.host = process->host;
        key.host_is_hash = process->host_is_hash;
    }
    struct summary_thread *added = summary_get_thread(to, &key);
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
    publish_lists(a);
    publish_lists(b);
}

int summary_resolve_hosts(struct summary *s, const struct index_file *f)
{
    bool any = false;
    int rc = 0;

    for (uint32_t i = 0; i < s->thread_count && !any; i++)
        any = find_process(&s->threads[i], f) != NULL;
    if (!any)
        return 0;
    struct summary *resolved = summary_new();
    if (!resolved)
        return -ENOMEM;
    for (uint32_t i = 0; i < s->thread_count && rc == 0; i++)
        rc = add_resolved(resolved, &s->threads[i], find_process(&s->threads[i], f));
    if (rc == 0)
        swap_threads(s, resolved);
    summary_free(resolved);
    return rc;
}

/* ---- stored form ----------------------------------------------------------------------------- */

#define OBJECT struct moments
static const struct record_field moments_fields[] = {FIELD(count, .max = 1ull << 40),
                                                     FIELD_IF(count, 6),
                                                     FIELD(nano),
                                                     FIELD(sum),
                                                     FIELD(squares),
                                                     FIELD(squares_high),
                                                     FIELD(min),
                                                     FIELD(max),
                                                     {0}};
#undef OBJECT

/* The histogram and the sketch follow these fields. */
#define OBJECT struct summary_name
const struct record_field summary_name_fields[] = {FIELD(class, .max = 3),
                                                   FIELD_TEXT_ID(cat),
                                                   FIELD_TEXT_ID(name),
                                                   FIELD(count),
                                                   FIELD_STRUCT(duration, moments_fields),
                                                   {0}};
#undef OBJECT

#define OBJECT struct summary_thread
const struct record_field summary_thread_fields[] = {FIELD_BITS(2),
                                                     FIELD(host_is_hash, .bits = 1),
                                                     FIELD(class, .max = 3),
                                                     FIELD_TEXT_ID(host),
                                                     FIELD(pid),
                                                     FIELD(tid),
                                                     FIELD(count),
                                                     {0}};
#undef OBJECT

#define OBJECT struct summary_class
const struct record_field summary_class_fields[] = {
    FIELD(count), FIELD(has_time), FIELD_IF(has_time, 2), FIELD(min_ts), FIELD(max_te), {0}};
#undef OBJECT

/* Values that no trace can have would overflow in sums. */
static bool moments_are_plausible(const struct moments *m)
{
    const __int128 max = (__int128)1 << 74, count = (__int128)m->count;

    return m->min >= -max && m->min <= m->max && m->max <= max && m->sum >= m->min * count &&
           m->sum <= m->max * count;
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
        record_encode(summary_name_fields, &s->names[i], texts, out);
        encode_histogram(&s->names[i].histogram, out);
        sketch_encode(s->names[i].duration_sketch, out);
    }
    rec_put_u(out, s->thread_count);
    for (uint32_t i = 0; i < s->thread_count; i++)
        record_encode(summary_thread_fields, &s->threads[i], texts, out);
    for (int i = 0; i < 4; i++)
        record_encode(summary_class_fields, &s->classes[i], texts, out);
}

static int decode_name(struct rec *r, struct texts *texts, struct summary *s)
{
    struct summary_name stored = {0};
    struct sketch *sketch = NULL;

    record_decode(summary_name_fields, r, texts, NULL, &stored);
    decode_histogram(r, &stored.histogram);
    if (r->bad || !moments_are_plausible(&stored.duration))
        return r->no_memory ? -ENOMEM : ERR_CORRUPT;
    /* The stored summary may have been made when more memory was available. */
    struct summary_name *n = get_name(s, stored.class, stored.cat, stored.name, SUMMARY_NAMES_MAX);
    ssize_t used = n ? sketch_decode(r->ptr, (size_t)(r->end - r->ptr), &sketch) : -ENOMEM;
    if (used < 0)
        return (int)used;
    r->ptr += used;
    sketch_free(n->duration_sketch);
    n->count = stored.count;
    n->duration = stored.duration;
    n->histogram = stored.histogram;
    n->duration_sketch = sketch;
    return 0;
}

static int decode_thread(struct rec *r, struct texts *texts, struct summary *s)
{
    struct summary_thread stored = {0};

    record_decode(summary_thread_fields, r, texts, NULL, &stored);
    if (r->bad)
        return rec_error(r);
    struct summary_thread *t = summary_get_thread(s, &stored);
    if (!t)
        return -ENOMEM;
    t->count = stored.count;
    return 0;
}

int summary_decode(struct rec *r, struct texts *texts, struct summary **ret)
{
    struct summary *s = summary_new();
    int rc = 0;

    if (!s)
        return -ENOMEM;
    s->detail = (enum summary_detail)rec_choice(r, SUMMARY_BY_CLASS);
    uint64_t names = rec_count(r, 4);
    r->bad = r->bad || names > SUMMARY_NAMES_MAX;
    for (uint64_t n = names; n > 0 && rc == 0; n--)
        rc = r->bad ? ERR_CORRUPT : decode_name(r, texts, s);
    for (uint64_t n = rc ? 0 : rec_count(r, 4); n > 0 && rc == 0; n--)
        rc = decode_thread(r, texts, s);
    for (int i = 0; i < 4 && rc == 0; i++)
        record_decode(summary_class_fields, r, texts, NULL, &s->classes[i]);
    if (rc == 0 && r->bad)
        rc = ERR_CORRUPT;
    if (rc) {
        summary_free(s);
        return rc;
    }
    *ret = s;
    return 0;
}
