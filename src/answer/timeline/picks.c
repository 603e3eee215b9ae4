/* picks.c - the longest objects: twice as many as are wanted are kept, then cut. */
#include "answer/timeline/found.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b)
{
    if (a->dur != b->dur)
        return a->dur > b->dur;
    if (a->ts != b->ts)
        return a->ts < b->ts;
    if (a->file != b->file)
        return a->file < b->file;
    return a->chunk != b->chunk ? a->chunk < b->chunk : a->row < b->row;
}

static void swap(struct timeline_pick *a, struct timeline_pick *b)
{
    struct timeline_pick t = *a;

    *a = *b;
    *b = t;
}

/* Hoare's quickselect: what comes before the one at `most` - 1 stands before it. */
void picks_cut(struct timeline_picks *p)
{
    uint32_t lo = 0, hi = p->count;

    if (p->most == 0 || p->count < p->most)
        return;
    while (hi - lo > 1) {
        uint32_t end = lo;
        swap(&p->picks[lo + (hi - lo) / 2], &p->picks[hi - 1]);
        for (uint32_t i = lo; i + 1 < hi; i++)
            if (pick_before(&p->picks[i], &p->picks[hi - 1]))
                swap(&p->picks[i], &p->picks[end++]);
        swap(&p->picks[end], &p->picks[hi - 1]);
        if (end == p->most - 1)
            break;
        if (end < p->most - 1)
            lo = end + 1;
        else
            hi = end;
    }
    p->count = p->most;
    p->full = true;
    p->least = p->picks[p->most - 1];
}

int picks_init(struct timeline_found *f, const struct timeline_plan *plan, uint32_t most)
{
    size_t bytes = ((size_t)most * 2 + 1) * sizeof(*f->picks.picks);

    f->charge.budget = f->cells.budget = plan->budget;
    int rc = charge_add(&f->charge, bytes);
    if (rc < 0)
        return rc;
    f->picks.most = most;
    f->picks.full = most == 0;
    f->picks.picks = malloc(bytes);
    return f->picks.picks ? 0 : -ENOMEM;
}

bool picks_want(const struct timeline_picks *p, const struct timeline_pick *pick)
{
    return !p->full || (p->most && pick_before(pick, &p->least));
}

void picks_add(struct timeline_picks *p, const struct timeline_pick *pick)
{
    p->picks[p->count++] = *pick;
    if (p->count == p->most * 2)
        picks_cut(p);
}
