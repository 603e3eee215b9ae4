/* doubles.c - moments of doubles by group. */
#include "engine/group/doubles.h"
#include "engine/derived/keys.h"
#include "engine/group/encode.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- moments --------------------------------------------------------------------------------- */

void float_moments_add(struct float_moments *f, double value)
{
    double n1 = (double)f->m.count, n = n1 + 1, delta = value - f->m.mean, part = delta / n;
    double term = delta * part * n1;

    f->m4 +=
        term * part * part * (n * n - 3 * n + 3) + 6 * part * part * f->m.m2 - 4 * part * f->m3;
    f->m3 += term * part * (n - 2) - 3 * part * f->m.m2;
    moments_f64_add(&f->m, value);
}

void float_moments_merge(struct float_moments *f, const struct float_moments *other)
{
    double a = (double)f->m.count, b = (double)other->m.count, n = a + b;
    double d = other->m.mean - f->m.mean, dn = d / n;

    if (b == 0)
        return;
    if (a == 0) {
        *f = *other;
        return;
    }
    f->m4 += other->m4 + d * dn * dn * dn * a * b * (a * a - a * b + b * b) +
             6 * dn * dn * (a * a * other->m.m2 + b * b * f->m.m2) +
             4 * dn * (a * other->m3 - b * f->m3);
    f->m3 += other->m3 + d * dn * dn * a * b * (a - b) + 3 * dn * (a * other->m.m2 - b * f->m.m2);
    moments_f64_merge(&f->m, &other->m);
}

struct float_moments *entry_float_moments(struct doubles_entry *e)
{
    const struct shifted_sums s = e->shifted;

    if (e->has_moments)
        return &e->float_moments;
    e->has_moments = true;
    e->float_moments = (struct float_moments){0};
    if (s.count == 0)
        return &e->float_moments;
    double n = (double)s.count, m2 = s.squares - s.offsets * s.offsets / n;
    e->float_moments.m = (struct moments_f64){.count = s.count,
                                              .mean = s.shift + s.offsets / n,
                                              .m2 = m2 > 0 ? m2 : 0,
                                              .min = s.min,
                                              .max = s.max,
                                              .sum = s.sum};
    return &e->float_moments;
}

/* ---- the doubles of a scan ------------------------------------------------------------------- */

int doubles_init(struct group_doubles *d, const struct grouping *g)
{
    *d = (struct group_doubles){.set = calloc(g->set_count + 1, sizeof(*d->set))};
    if (!d->set)
        return -ENOMEM;
    d->set_count = g->set_count;
    for (unsigned i = 0; i < g->set_count; i++) {
        group_table_init(&d->set[i].table, g->sets[i].width, g->limit, g->budget);
        d->set[i].acc_count = g->sets[i].acc_count;
        d->set[i].float_moments.budget = g->budget;
    }
    return 0;
}

void doubles_done(struct group_doubles *d)
{
    for (unsigned i = 0; i < d->set_count; i++) {
        vec_done(&d->set[i].float_moments);
        group_table_done(&d->set[i].table);
    }
    free(d->set);
    *d = (struct group_doubles){0};
}

const struct float_moments *doubles_find(const struct set_doubles *s, const uint64_t *keys,
                                         unsigned acc)
{
    int64_t group = s->float_moments.count ? group_table_find(&s->table, keys) : -ENOENT;

    return group < 0 ? NULL : doubles_at(s, group, acc);
}

int64_t doubles_add(struct set_doubles *s, const uint64_t *keys)
{
    int64_t group = group_table_add(&s->table, keys);
    int rc = group < 0 ? (int)group
                       : vec_extend(&s->float_moments, (size_t)s->table.count * s->acc_count);

    return rc < 0 ? rc : group;
}

/* ---- the doubles of a chunk ------------------------------------------------------------------ */

struct doubles_part {
    uint32_t count;
    struct doubles_entry *entries;
    uint64_t *keys; /* for each entry as many as its set has */
};

/* Returns NULL without memory. The caller sets the keys. */
static struct doubles_part *part_new(const struct doubles_entry *entries, size_t count, size_t keys)
{
    size_t entry_bytes = count * sizeof(*entries);
    struct doubles_part *p = malloc(sizeof(*p) + entry_bytes + keys * sizeof(uint64_t));

    if (!p)
        return NULL;
    *p = (struct doubles_part){(uint32_t)count, (struct doubles_entry *)(p + 1),
                               (uint64_t *)((char *)(p + 1) + entry_bytes)};
    memcpy(p->entries, entries, entry_bytes);
    return p;
}

int doubles_detach(struct group_worker *w, struct doubles_part **ret)
{
    size_t count = w->entries.count, keys = 0;

    *ret = NULL;
    for (size_t i = 0; i < count; i++) {
        entry_float_moments(&w->entries.at[i]);
        keys += w->found->set[w->entries.at[i].set].map.width;
    }
    if (count == 0)
        return 0;
    struct doubles_part *p = part_new(w->entries.at, count, keys);
    if (!p)
        return -ENOMEM;
    uint64_t *to = p->keys;
    for (size_t i = 0; i < count; i++) {
        struct doubles_entry *e = &w->entries.at[i];
        struct groups_of_set *s = &w->found->set[e->set];
        group_map_keys(&s->map, e->group, to);
        to += s->map.width;
        s->accs[e->acc].doubles_at.at[e->group] = 0;
    }
    w->entries.count = 0;
    *ret = p;
    return 0;
}

/* Writes each entry as it is in memory, and its keys by value. */
int doubles_encode(const struct grouping *g, const struct doubles_part *p, struct buf *out)
{
    const uint64_t *keys = p ? p->keys : NULL;

    for (uint32_t i = 0; p && i < p->count; i++) {
        unsigned width = g->sets[p->entries[i].set].width;
        buf_append(out, &p->entries[i], sizeof(p->entries[i]));
        for (unsigned k = 0; k < width; k++)
            key_encode(g->query, *keys++, out);
    }
    return out->error;
}

int doubles_decode(const struct grouping *g, struct text bytes, struct doubles_part **ret)
{
    struct rec r = rec_of(bytes);
    VEC(struct doubles_entry) entries = {.budget = g->budget};
    VEC(uint64_t) keys = {.budget = g->budget};
    struct doubles_entry e;
    int rc = 0;

    *ret = NULL;
    while (rc == 0 && r.ptr < r.end) {
        bool valid = rec_array(&r, &e, sizeof(e)) && e.set < g->set_count &&
                     e.acc < g->sets[e.set].acc_count;
        rc = valid ? vec_push(&entries, e) : ERR_CORRUPT;
        for (unsigned k = 0; rc == 0 && k < g->sets[e.set].width; k++) {
            uint64_t key;
            rc = key_decode(g->query, &r, &key);
            rc = rc == 0 && r.bad ? ERR_CORRUPT : rc;
            rc = rc < 0 ? rc : vec_push(&keys, key);
        }
    }
    if (rc == 0 && entries.count) {
        *ret = part_new(entries.at, entries.count, keys.count);
        rc = *ret ? 0 : -ENOMEM;
    }
    if (rc == 0 && keys.count)
        memcpy((*ret)->keys, keys.at, keys.count * sizeof(*keys.at));
    vec_done(&entries);
    vec_done(&keys);
    return rc;
}

static int put_entry(const struct grouping *g, struct group_doubles *d,
                     const struct doubles_entry *e, const uint64_t *keys)
{
    uint64_t translated[GROUP_KEYS_MAX];
    int rc = g->translate_keys ? g->translate_keys(g->arg, keys, translated) : 0;
    int64_t group =
        rc < 0 ? rc : doubles_add(&d->set[e->set], g->translate_keys ? translated : keys);

    if (group >= 0)
        float_moments_merge(doubles_at(&d->set[e->set], group, e->acc), &e->float_moments);
    return group < 0 ? (int)group : 0;
}

int doubles_merge(const struct grouping *g, struct group_doubles *d, struct doubles_part *p,
                  bool failed)
{
    const uint64_t *keys = p ? p->keys : NULL;
    int rc = 0;

    for (uint32_t i = 0; p && !failed && i < p->count && rc == 0; i++) {
        rc = put_entry(g, d, &p->entries[i], keys);
        rc = rc < 0 || i % 1024 ? rc : budget_check(g->budget);
        keys += g->sets[p->entries[i].set].width;
    }
    free(p);
    return rc;
}
