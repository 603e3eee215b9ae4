/* cells.c - the cells of a group: one for each column of the window. */
#include "answer/timeline/found.h"
#include "engine/group/encode.h"

#include <errno.h>
#include <stdlib.h>

/* ---- memory ---------------------------------------------------------------------------------- */

static size_t parts_bytes(const struct timeline_plan *p)
{
    return (p->columns + 1ul) * sizeof(struct timeline_part);
}

int timeline_make_parts(const struct timeline_plan *p, struct timeline_cells *cells)
{
    int rc = cells->parts ? 0 : budget_charge(p->budget, parts_bytes(p));

    if (rc < 0 || cells->parts)
        return rc;
    cells->parts = calloc(1, parts_bytes(p));
    if (cells->parts)
        return 0;
    budget_release(p->budget, parts_bytes(p));
    return -ENOMEM;
}

static void cells_free(const struct grouping *g, void *slot)
{
    const struct timeline_found *f = g->arg;
    struct timeline_cells *cells = slot;

    if (cells->parts)
        budget_release(f->plan->budget, parts_bytes(f->plan));
    free(cells->parts);
    cells->parts = NULL;
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

/* Objects are cut at the end of the window, so no time remains after the last column. */
static void cells_select_column(const struct timeline_plan *p, struct timeline_cells *cells,
                                uint32_t column)
{
    uint64_t offset = column * p->step, rest = (uint64_t)p->to - (uint64_t)p->from - offset;
    uint64_t room = rest < p->step ? rest + 1 : p->step;

    cells->begin = (uint64_t)p->from + offset;
    cells->room = room < TIMELINE_NS_PLAIN ? room : TIMELINE_NS_PLAIN;
    cells->at = &cells->parts[column];
    __builtin_prefetch(cells->at + 64 / sizeof(*cells->at),
                       1); /* the next cache line: times mostly ascend */
}

int timeline_add(const struct timeline_plan *p, struct timeline_cells *cells, int64_t ts,
                 int64_t te)
{
    int64_t first = ts < p->from ? p->from : ts > p->to ? p->to : ts;
    int64_t last = te < first ? first : te > p->to ? p->to : te;
    uint64_t from = (uint64_t)first - (uint64_t)p->from, ns = (uint64_t)last - (uint64_t)first;
    uint32_t a = timeline_column(p, from), b = a;
    uint64_t room = p->step - (from - a * p->step);
    int rc = timeline_make_parts(p, cells);

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
    cells_select_column(p, cells, b);
    return 0;
}

void timeline_subtract(const struct timeline_plan *p, struct timeline_cells *cells, int64_t ts,
                       int64_t te, bool back)
{
    struct timeline_part *parts = cells->parts;
    int64_t first = ts < p->from ? p->from : ts > p->to ? p->to : ts;
    int64_t last = te < first ? first : te > p->to ? p->to : te;
    uint64_t from = (uint64_t)first - (uint64_t)p->from, ns = (uint64_t)last - (uint64_t)first;
    uint32_t a = timeline_column(p, from), b = timeline_column(p, from + ns);
    uint64_t room = p->step - (from - a * p->step), rest = from + ns - b * p->step;
    int sign = back ? 1 : -1;

    cells->touched |= timeline_block(p, a) | timeline_block(p, b);
    parts[a].count += (uint32_t)sign;
    if (a == b) {
        parts[a].busy += back ? ns : -ns;
        return;
    }
    parts[a].busy += back ? room : -room;
    parts[b].busy += back ? rest : -rest;
    parts[a + 1].cover += sign;
    parts[b].cover -= sign;
    cells->touched |= timeline_block(p, a + 1);
}

/* ---- workers --------------------------------------------------------------------------------- */

static void add_parts(const struct timeline_plan *p, struct timeline_cells *to,
                      const struct timeline_cells *from)
{
    int64_t cover = 0; /* timeline_add_wide touches no block after the current one */

    to->touched |= from->touched;
    to->parts[p->columns].count += from->parts[p->columns].count;
    for (uint32_t c = 0; c < p->columns; c++) {
        if (timeline_skips(p, from, cover, &c))
            continue;
        timeline_add_busy(p->step, to->parts, c, from->parts[c].busy);
        to->parts[c].count += from->parts[c].count;
        to->parts[c].cover += from->parts[c].cover;
        cover += from->parts[c].cover;
    }
}

/* If the group has no parts yet, it takes those of the other one. */
static int cells_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                       const void *other, pthread_mutex_t *shared)
{
    const struct timeline_found *f = into->grouping->arg;
    struct timeline_cells *to = slot, *own = (void *)other;
    (void)acc;
    (void)from;
    (void)shared;

    to->untimed += own->untimed;
    if (to->parts && own->parts) {
        add_parts(f->plan, to, own);
    } else if (own->parts) {
        to->parts = own->parts;
        to->touched = own->touched;
        own->parts = NULL;
    }
    return 0;
}

/* Objects without ts, and the parts, if there are any: later scans need none. */
static int cells_encode(struct groups_encoder *e, unsigned set, unsigned acc)
{
    const struct timeline_found *f = e->from->grouping->arg;
    const struct groups_of_set *s = &e->from->set[set];

    for (uint32_t g = 0; g < s->ready; g++) {
        const struct timeline_cells *cells = group_slot(s, g, acc);
        rec_put_u(e->out, cells->untimed);
        rec_put_u(e->out, cells->parts && !e->later);
        rec_put_u(e->out, cells->touched);
        if (cells->parts && !e->later)
            buf_append(e->out, cells->parts, parts_bytes(f->plan));
    }
    return e->out->error;
}

static int cells_decode(struct groups_decoder *d, unsigned set, unsigned acc)
{
    const struct timeline_found *f = d->into->grouping->arg;
    const struct groups_of_set *s = &d->into->set[set];
    int rc = 0;

    for (uint32_t g = 0; g < s->ready && rc == 0; g++) {
        struct timeline_cells *cells = group_slot(s, g, acc);
        cells->untimed = rec_u(&d->rec);
        bool has_parts = rec_choice(&d->rec, 1);
        cells->touched = rec_u(&d->rec);
        if (!has_parts)
            continue;
        rc = timeline_make_parts(f->plan, cells);
        if (rc == 0)
            rec_array(&d->rec, cells->parts, parts_bytes(f->plan));
    }
    return rc;
}

const struct acc_kind timeline_acc_cells = {.size = sizeof(struct timeline_cells),
                                            .free = cells_free,
                                            .merge = cells_merge,
                                            .encode = cells_encode,
                                            .decode = cells_decode};
