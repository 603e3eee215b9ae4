/* fine.c - moments of doubles by group. */
#include "answer/aggregate/fine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void fine_add(struct fine *f, double value, bool shape)
{
    if (shape) {
        double n1 = (double)f->m.count, n = n1 + 1, delta = value - f->m.mean, part = delta / n;
        double term = delta * part * n1;
        f->m4 +=
            term * part * part * (n * n - 3 * n + 3) + 6 * part * part * f->m.m2 - 4 * part * f->m3;
        f->m3 += term * part * (n - 2) - 3 * part * f->m.m2;
    }
    moments_f64_add(&f->m, value);
}

void fine_merge(struct fine *f, const struct fine *other)
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

int fine_grow(const struct aggregate_plan *p, struct aggregate_fine *d, unsigned set,
              uint32_t count)
{
    d->fine[set].budget = p->budget;
    return vec_extend(&d->fine[set], (size_t)count * p->measure_count);
}

const struct fine *fine_find(const struct aggregate_plan *p, const struct aggregate_fine *d,
                             unsigned set, const uint64_t *keys, unsigned measure)
{
    int64_t group = d->fine[set].count ? group_table_find(&d->table[set], keys) : -ENOENT;

    return group < 0 ? NULL : fine_at(p, d, set, group, measure);
}

void fine_done(struct aggregate_fine *d)
{
    for (unsigned set = 0; set < SETS; set++) {
        vec_done(&d->fine[set]);
        if (d->table[set].budget)
            group_table_done(&d->table[set]);
    }
    memset(d, 0, sizeof(*d));
}
