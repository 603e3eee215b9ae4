/* cells.c - what objects of a group have in each column of the window. */
#include "answer/timeline/found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t parts_bytes(const struct timeline_plan *plan)
{
    return (plan->columns + 1ul) * sizeof(struct timeline_part);
}

int timeline_make_parts(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group)
{
    struct timeline_cells *cells = &f->cells.at[group];
    int rc = cells->parts ? 0 : charge_add(&f->charge, parts_bytes(plan));

    if (rc < 0 || cells->parts)
        return rc;
    cells->parts = calloc(plan->columns + 1ul, sizeof(*cells->parts));
    return cells->parts ? 0 : -ENOMEM;
}

void timeline_found_done(struct timeline_found *f)
{
    for (size_t i = 0; i < f->cells.count; i++)
        free(f->cells.at[i].parts);
    vec_done(&f->cells);
    free(f->picks.picks);
    vec_done(&f->slices.items);
    vec_done(&f->slices.chunks);
    charge_done(&f->charge);
    memset(f, 0, sizeof(*f));
}

/* ---- objects --------------------------------------------------------------------------------- */

void timeline_add_wide(uint64_t step, struct timeline_part *parts, uint32_t column,
                       unsigned __int128 ns)
{
    unsigned __int128 sum = parts[column].busy + ns;

    if (sum > UINT64_MAX) {
        parts[column].cover += (int32_t)(sum / step);
        parts[column + 1].cover -= (int32_t)(sum / step);
        sum %= step;
    }
    parts[column].busy = (uint64_t)sum;
}

/* What ends behind the window is cut there, so the last column has no room for it. */
static void move_pen(const struct timeline_plan *p, struct timeline_cells *cells, uint32_t column)
{
    uint64_t offset = column * p->step, rest = (uint64_t)p->to - (uint64_t)p->from - offset;
    uint64_t room = rest < p->step ? rest + 1 : p->step;

    cells->begin = (uint64_t)p->from + offset;
    cells->room = room < TIMELINE_NS_PLAIN ? room : TIMELINE_NS_PLAIN;
    cells->at = &cells->parts[column];
    __builtin_prefetch(cells->at + 64 / sizeof(*cells->at), 1); /* the next line: time goes on */
}

int timeline_add(struct timeline_found *f, const struct timeline_plan *p, uint32_t group,
                 int64_t ts, int64_t te)
{
    struct timeline_cells *cells = &f->cells.at[group];
    int64_t first = ts < p->from ? p->from : ts > p->to ? p->to : ts;
    int64_t last = te < first ? first : te > p->to ? p->to : te;
    uint64_t from = (uint64_t)first - (uint64_t)p->from, ns = (uint64_t)last - (uint64_t)first;
    uint32_t a = timeline_column(p, from), b = a;
    uint64_t room = p->step - (from - a * p->step);
    int rc = timeline_make_parts(f, p, group);

    if (rc < 0)
        return rc;
    cells->parts[a].count++;
    if (ts < p->from)
        cells->parts[p->columns].count++;
    if (ns < room) {
        timeline_add_busy(p->step, cells->parts, a, ns);
    } else {
        b = timeline_column(p, from + ns);
        timeline_add_busy(p->step, cells->parts, a, room);
        timeline_add_busy(p->step, cells->parts, b, from + ns - b * p->step);
        cells->parts[a + 1].cover++;
        cells->parts[b].cover--;
        cells->touched |= timeline_block(p, a + 1) | timeline_block(p, b);
    }
    cells->touched |= timeline_block(p, a);
    move_pen(p, cells, b);
    return 0;
}

void timeline_take_out(struct timeline_found *f, const struct timeline_plan *p, uint32_t group,
                       int64_t ts, int64_t te, bool back)
{
    struct timeline_part *parts = f->cells.at[group].parts;
    int64_t first = ts < p->from ? p->from : ts > p->to ? p->to : ts;
    int64_t last = te < first ? first : te > p->to ? p->to : te;
    uint64_t from = (uint64_t)first - (uint64_t)p->from, ns = (uint64_t)last - (uint64_t)first;
    uint32_t a = timeline_column(p, from), b = timeline_column(p, from + ns);
    uint64_t room = p->step - (from - a * p->step), rest = from + ns - b * p->step;
    int sign = back ? 1 : -1;

    f->cells.at[group].touched |= timeline_block(p, a) | timeline_block(p, b);
    parts[a].count += (uint32_t)sign;
    if (a == b) {
        parts[a].busy += back ? ns : -ns;
        return;
    }
    parts[a].busy += back ? room : -room;
    parts[b].busy += back ? rest : -rest;
    parts[a + 1].cover += sign;
    parts[b].cover -= sign;
    f->cells.at[group].touched |= timeline_block(p, a + 1);
}

/* ---- workers --------------------------------------------------------------------------------- */

int timeline_take(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group,
                  struct timeline_found *own, uint32_t i)
{
    int rc = vec_extend(&f->cells, group + (size_t)1);
    int64_t cover = 0; /* timeline_add_wide marks no block behind the one at hand */

    if (rc < 0)
        return rc;
    struct timeline_part *to = f->cells.at[group].parts, *from = own->cells.at[i].parts;
    if (!to) {
        f->cells.at[group].parts = from;
        f->cells.at[group].touched = own->cells.at[i].touched;
        own->cells.at[i].parts = NULL;
        f->charge.bytes += parts_bytes(plan);
        own->charge.bytes -= parts_bytes(plan);
        return 0;
    }
    f->cells.at[group].touched |= own->cells.at[i].touched;
    to[plan->columns].count += from[plan->columns].count;
    for (uint32_t c = 0; c < plan->columns; c++) {
        if (timeline_skips(plan, &own->cells.at[i], cover, &c))
            continue;
        timeline_add_busy(plan->step, to, c, from[c].busy);
        to[c].count += from[c].count;
        to[c].cover += from[c].cover;
        cover += from[c].cover;
    }
    return 0;
}
