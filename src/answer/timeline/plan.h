/* plan.h - the plan of /timeline: the window, its columns, and the keys of lanes and colors.
 *
 * Used by:   all files of answer/timeline. Written by timeline.c and colors.c only.
 * Threads:   read-only during a scan. Memory: sources are those of the query.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_PLAN_H
#define DFTRACERD_ANSWER_TIMELINE_PLAN_H

#include "dftracerd/timeline.h"
#include "engine/scan/scan.h"

enum { TIMELINE_KEYS_MAX = 16 };

struct timeline_plan {
    struct query *query;
    struct budget *budget;
    const struct source *ts, *dur, *keys[TIMELINE_KEYS_MAX + 1], *names[2];
    unsigned width;        /* number of keys, including the color */
    uint32_t events;       /* number of longest objects wanted */
    bool slices, overlaps; /* slices are wanted; objects that reach into the window are in it */
    uint32_t colors_max;   /* with more, timeline_scan fails; 0: unlimited */
    int64_t from, to;
    uint64_t step;
    double columns_per_ns; /* 1 / step */
    unsigned step_bits;    /* step is 1 << step_bits; 0: no power of two */
    uint32_t columns;
    unsigned block; /* 64 blocks of 2^block columns; the last ones may not exist */
    int density;    /* set of densities from which chunks may be answered; negative: none */
};
/* Returns the column at `offset` ns from the window's begin, inside the window. The product with
 * the inverse differs from offset / step by one at most. */
static inline uint32_t timeline_column(const struct timeline_plan *p, uint64_t offset)
{
    if (p->step_bits > 0)
        return (uint32_t)(offset >> p->step_bits);
    uint32_t c = (uint32_t)(int64_t)((double)offset * p->columns_per_ns);
    if (c >= p->columns) /* the product with step might overflow */
        c = p->columns - 1;
    uint64_t begin = c * p->step, less = begin > offset;
    begin -= less ? p->step : 0;
    return (uint32_t)(c - less + (offset - begin >= p->step));
}
static inline uint64_t timeline_block(const struct timeline_plan *p, uint32_t column)
{
    return (uint64_t)1 << (column >> p->block);
}

#endif
