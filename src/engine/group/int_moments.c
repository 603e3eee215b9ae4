/* int_moments.c - sums of integers of one group: in 64 bits, and moments for larger sums. */
#include "engine/group/groups.h"

#include <errno.h>
#include <stdlib.h>

/* Sets *ret to the moments in groups.large, which are added if there are none yet. */
static int large_moments(struct groups *f, struct int_moments *c, struct moments **ret)
{
    if (c->more >> 1 == 0) {
        int rc = vec_extend(&f->large, f->large.count + 1);
        if (rc < 0)
            return rc;
        c->more |= (uint32_t)f->large.count << 1;
    }
    *ret = &f->large.at[(c->more >> 1) - 1];
    return 0;
}

static void to_part(const struct int_moments *c, struct moments_part *ret)
{
    *ret = (struct moments_part){
        .count = c->count, .min = c->min, .max = c->max, .sum = c->sum, .squares = c->squares};
}

/* Moves the sums to groups.large. */
static int int_moments_fold(struct groups *f, struct int_moments *c)
{
    struct moments_part part;

    if (c->count == 0)
        return 0;
    struct moments *m;
    int rc = large_moments(f, c, &m);
    if (rc < 0)
        return rc;
    to_part(c, &part);
    moments_add_part(m, &part, c->more & 1);
    *c = (struct int_moments){.min = INT64_MAX, .max = INT64_MIN, .more = c->more};
    return 0;
}

int int_moments_add(struct groups *f, struct int_moments *c, int64_t value, bool nano)
{
    int rc = int_moments_fold(f, c);

    if (rc < 0)
        return rc;
    c->more = (c->more & ~1u) | nano;
    if (int_moments_add_quickly(c, value, nano))
        return 0;
    struct moments *m;
    rc = large_moments(f, c, &m);
    if (rc < 0)
        return rc;
    moments_add(m, value, nano);
    return 0;
}

int int_moments_add_many(struct groups *f, struct int_moments *c, uint64_t n, int64_t sum,
                         int64_t min, int64_t max, bool nano)
{
    struct moments m = {.count = n, .nano = nano, .sum = sum, .min = min, .max = max};
    struct moments *into;
    int rc = large_moments(f, c, &into);

    if (rc < 0)
        return rc;
    moments_merge(into, &m);
    return 0;
}

void int_moments_expand(const struct groups *f, const struct int_moments *c, struct moments *ret)
{
    struct moments_part part;

    if (c->more >> 1 == 0) {
        *ret = (struct moments){0};
        if (c->count)
            *ret = (struct moments){.count = c->count,
                                    .nano = c->more & 1,
                                    .sum = c->sum,
                                    .squares = c->squares,
                                    .min = c->min,
                                    .max = c->max};
        return;
    }
    *ret = f->large.at[(c->more >> 1) - 1];
    if (c->count == 0)
        return;
    to_part(c, &part);
    moments_add_part(ret, &part, c->more & 1);
}

static bool merge_quickly(struct int_moments *c, const struct int_moments *other)
{
    uint64_t squares;

    if (c->count == 0)
        c->more = (c->more & ~1u) | (other->more & 1);
    if (((c->more ^ other->more) & 1) || c->count + other->count > MOMENTS_COUNT_MAX ||
        __builtin_add_overflow(c->squares, other->squares, &squares))
        return false;
    c->squares = squares;
    c->sum += other->sum;
    c->min = other->min < c->min ? other->min : c->min;
    c->max = other->max > c->max ? other->max : c->max;
    c->count += other->count;
    return true;
}

bool int_moments_merge_quickly(struct int_moments *c, const struct int_moments *other)
{
    return other->more >> 1 == 0 && (other->count == 0 || merge_quickly(c, other));
}

int int_moments_merge(struct groups *f, struct int_moments *c, const struct groups *from,
                      const struct int_moments *other)
{
    struct moments_part part;
    bool done = other->count == 0 || merge_quickly(c, other);

    if (done && other->more >> 1 == 0)
        return 0;
    struct moments *m;
    int rc = large_moments(f, c, &m);
    if (rc < 0)
        return rc;
    if (!done) {
        to_part(other, &part);
        moments_add_part(m, &part, other->more & 1);
    }
    if (other->more >> 1)
        moments_merge(m, &from->large.at[(other->more >> 1) - 1]);
    return 0;
}
