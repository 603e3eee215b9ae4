/* tally.c - the loops over values of groups. */
#include "engine/group/tally.h"

#include <errno.h>

/* Values below this can be squared and summed 2^32 times within 128 bits; others go the slow way.
 */
#define ORDINARY (1ll << 47)

void tally_init(struct tally *t)
{
    memset(t, 0, sizeof(*t));
    t->part.min = INT64_MAX;
    t->part.max = INT64_MIN;
}

int tally_fold(struct sample_memory *m, struct tally *t)
{
    if (t->part.count == 0)
        return 0;
    if (!t->more)
        t->more = sample_alloc(m, sizeof(*t->more));
    if (!t->more)
        return m->error;
    moments_add_part(t->more, &t->part, t->sample.part_nano);
    memset(&t->part, 0, sizeof(t->part));
    t->part.min = INT64_MAX;
    t->part.max = INT64_MIN;
    return 0;
}

static inline void part_add(struct moments_part *p, int64_t v)
{
    p->count++;
    p->min = v < p->min ? v : p->min;
    p->max = v > p->max ? v : p->max;
    p->sum += v;
    p->squares += (unsigned __int128)((__int128)v * v);
}

/* Whether all values are ordinary; one pass without branches. */
static bool all_ordinary(const int64_t *v, uint32_t n)
{
    int64_t bits = 0;

    for (uint32_t i = 0; i < n; i++)
        bits |= v[i] ^ (v[i] >> 63);
    return bits < ORDINARY;
}

static int turn_unit(struct sample_memory *m, struct tally *t, bool nano)
{
    int rc = tally_fold(m, t);

    t->sample.part_nano = nano;
    return rc;
}

static int add_huge(struct sample_memory *m, struct tally *all, const uint32_t *group,
                    const int64_t *v, uint32_t n, bool nano)
{
    for (uint32_t i = 0; i < n; i++) {
        struct tally *t = &all[group ? group[i] : 0];
        if (!t->more)
            t->more = sample_alloc(m, sizeof(*t->more));
        if (!t->more)
            return m->error;
        moments_add(t->more, v[i], nano);
        int rc = sample_add_i64(m, &t->sample, v[i], nano);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int add_to_one(struct sample_memory *m, struct tally *t, const int64_t *v, uint32_t n,
                      bool nano)
{
    struct moments_part p = t->part;

    for (uint32_t i = 0; i < n; i++)
        part_add(&p, v[i]);
    t->part = p;
    for (uint32_t i = 0; i < n; i++) {
        int rc = sample_add_i64(m, &t->sample, v[i], nano);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static inline __attribute__((always_inline)) int
add_to_groups(struct sample_memory *m, struct tally *all, const uint32_t *group, const int64_t *v,
              uint32_t n, bool nano)
{
    for (uint32_t i = 0; i < n; i++) {
        struct tally *t = &all[group[i]];
        int rc = 0;
        if (__builtin_expect(t->sample.part_nano != nano, 0))
            rc = turn_unit(m, t, nano);
        part_add(&t->part, v[i]);
        rc = rc < 0 ? rc : sample_add_i64(m, &t->sample, v[i], nano);
        if (__builtin_expect(rc < 0, 0))
            return rc;
    }
    return 0;
}

int tally_add_i64(struct sample_memory *m, struct tally *all, const uint32_t *group,
                  const int64_t *v, uint32_t n, bool nano)
{
    if (!all_ordinary(v, n))
        return add_huge(m, all, group, v, n, nano);
    if (group)
        return nano ? add_to_groups(m, all, group, v, n, true)
                    : add_to_groups(m, all, group, v, n, false);
    int rc = all->sample.part_nano != nano ? turn_unit(m, all, nano) : 0;
    return rc < 0 ? rc : add_to_one(m, all, v, n, nano);
}

void tally_moments(const struct tally *t, struct moments *ret)
{
    memset(ret, 0, sizeof(*ret));
    if (t->more)
        *ret = *t->more;
    if (t->part.count)
        moments_add_part(ret, &t->part, t->sample.part_nano);
}

int tally_merge(struct sample_memory *m, struct tally *into, const struct tally *from)
{
    struct moments other;

    tally_moments(from, &other);
    if (other.count) {
        int rc = tally_fold(m, into);
        if (rc == 0 && !into->more && !(into->more = sample_alloc(m, sizeof(*into->more))))
            rc = m->error;
        if (rc < 0)
            return rc;
        moments_merge(into->more, &other);
    }
    return sample_merge(m, &into->sample, &from->sample);
}

void chunk_f64_moments(const struct chunk_f64 *c, struct moments_f64 *ret)
{
    double n = (double)c->count, m2 = c->squares - c->offsets * c->offsets / n;

    *ret = (struct moments_f64){.count = c->count,
                                .mean = c->shift + c->offsets / n,
                                .m2 = m2 > 0 ? m2 : 0,
                                .min = c->min,
                                .max = c->max,
                                .sum = c->sum};
}
