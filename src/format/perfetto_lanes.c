/* perfetto_lanes.c - slices of one thread that would overlap partly go to further lanes, which are threads to Perfetto. */
#include "perfetto_aggregate.h"

#include <stdlib.h>

#define FINE_NS (((int64_t)1 << 42) * 1000) /* below this a double of microseconds tells 1/1000 */
#define LAST_NS 9200000000000000000         /* Perfetto has 63 bits of nanoseconds */

__int128 perfetto_time(__int128 ns, bool up)
{
    ns = ns < 0 ? 0 : ns > LAST_NS ? LAST_NS : ns;
    return ns < FINE_NS ? ns : (ns + (up ? 999 : 0)) / 1000 * 1000;
}

static int compare_items(const void *a, const void *b)
{
    const struct perfetto_item *x = a, *y = b;

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->tid != y->tid)
        return x->tid < y->tid ? -1 : 1;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to > y->to ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

static int compare_rows(const void *a, const void *b)
{
    const struct perfetto_item *x = a, *y = b;

    return (x->row > y->row) - (x->row < y->row);
}

/* The ends of the slices that are open in a lane. */
struct open_slices {
    __int128 *to;
    unsigned depth, cap;
};
/* Lanes of one thread. Slices may nest in the first NESTED of them, which are all tried; the others hold one slice at a
 * time, the one that ends first being on top of a heap: else a million slices that overlap would be compared pairwise. */
enum { NESTED = 64, DEPTH_MAX = 512 }; /* Perfetto counts what is deeper as an error */
struct thread_lanes {
    struct perfetto *p;
    struct open_slices nested[NESTED];
    uint32_t count, first; /* lanes, and the number of the first in the trace */
    struct single {
        __int128 to;
        uint32_t lane;
    } * heap;
    size_t heap_count, heap_cap;
};

/* 1: it fits. */
static int fits(struct open_slices *o, const struct perfetto_item *i)
{
    while (o->depth && o->to[o->depth - 1] <= i->from)
        o->depth--;
    if (o->depth == DEPTH_MAX || (o->depth && o->to[o->depth - 1] < i->to))
        return 0;
    if (o->depth == o->cap) {
        unsigned cap = o->cap ? o->cap * 2 : 8;
        __int128 *grown = realloc(o->to, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        o->to = grown;
        o->cap = cap;
    }
    o->to[o->depth++] = i->to;
    return 1;
}

static int add_lane(struct thread_lanes *t, struct perfetto_item *i)
{
    struct perfetto *p = t->p;
    size_t cap = p->lane_cap;
    int rc = perfetto_grow(p, (void **)&p->lanes, sizeof(*p->lanes), p->lane_count, cap, &cap);

    p->lane_cap = (uint32_t)cap;
    if (rc < 0)
        return rc;
    i->lane = p->lane_count;
    p->lanes[p->lane_count++] = (struct perfetto_lane){i->process, i->tid, i->tid, t->count++};
    return 0;
}

static void sink(struct single *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].to < heap[child].to;
        if (heap[at].to <= heap[child].to)
            return;
        struct single other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

/* A lane for a slice that fits into none of the first ones. */
static int place_alone(struct thread_lanes *t, struct perfetto_item *i)
{
    if (t->heap_count && t->heap[0].to <= i->from) {
        i->lane = t->heap[0].lane;
        t->heap[0].to = i->to;
        sink(t->heap, t->heap_count, 0);
        return 0;
    }
    int rc = perfetto_grow(t->p, (void **)&t->heap, sizeof(*t->heap), t->heap_count, t->heap_cap,
                           &t->heap_cap);
    rc = rc < 0 ? rc : add_lane(t, i);
    if (rc < 0)
        return rc;
    size_t at = t->heap_count++;
    for (; at && t->heap[(at - 1) / 2].to > i->to; at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    t->heap[at] = (struct single){i->to, i->lane};
    return 0;
}

static int place(struct thread_lanes *t, struct perfetto_item *i)
{
    uint32_t lanes = t->count < NESTED ? t->count : NESTED;

    for (uint32_t lane = 0; lane < lanes; lane++) {
        int rc = fits(&t->nested[lane], i);
        i->lane = t->first + lane;
        if (rc)
            return rc < 0 ? rc : 0;
    }
    if (lanes == NESTED)
        return place_alone(t, i);
    int rc = add_lane(t, i);
    rc = rc < 0 ? rc : fits(&t->nested[lanes], i);
    return rc < 0 ? rc : 0;
}

/* Lanes of the slices of one thread. */
static int lanes_of_thread(struct perfetto *p, struct perfetto_item *items, size_t n)
{
    struct thread_lanes t = {.p = p, .first = p->lane_count};
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = i % 4096 ? 0 : budget_check(p->budget);
        rc = rc < 0 ? rc : place(&t, &items[i]);
    }
    for (uint32_t i = 0; i < NESTED; i++)
        free(t.nested[i].to);
    budget_release(p->budget, t.heap_cap * sizeof(*t.heap));
    p->charged -= t.heap_cap * sizeof(*t.heap);
    free(t.heap);
    return rc;
}

static int compare_lanes(const void *a, const void *b, void *arg)
{
    const struct perfetto_lane *all = arg, *x = &all[*(const uint32_t *)a],
                               *y = &all[*(const uint32_t *)b];

    if (x->process != y->process)
        return x->process < y->process ? -1 : 1;
    if (x->number != y->number)
        return x->number < y->number ? -1 : 1;
    return (x->tid > y->tid) - (x->tid < y->tid);
}

/* The first lane of a thread has its tid where that is one; the others get numbers that no thread has. */
static int name_lanes(struct perfetto *p)
{
    uint32_t *order = malloc((p->lane_count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->lane_count; i++) {
        order[i] = i;
        if (p->lanes[i].tid >= next && p->lanes[i].tid < INT32_MAX / 2)
            next = p->lanes[i].tid + 1;
    }
    qsort_r(order, p->lane_count, sizeof(*order), compare_lanes, p->lanes);
    for (uint32_t i = 0; i < p->lane_count; i++) {
        struct perfetto_lane *l = &p->lanes[order[i]];
        if (l->number > 0 || l->tid <= 0 || l->tid >= INT32_MAX / 2)
            l->told = next++;
    }
    free(order);
    return 0;
}

int perfetto_make_lanes(struct perfetto *p)
{
    int rc = 0;

    if (p->item_count == 0)
        return 0;
    qsort(p->items, p->item_count, sizeof(*p->items), compare_items);
    for (size_t i = 0, n; i < p->item_count && rc == 0; i += n) {
        for (n = 1; i + n < p->item_count; n++) {
            if (p->items[i + n].process != p->items[i].process ||
                p->items[i + n].tid != p->items[i].tid)
                break;
        }
        rc = lanes_of_thread(p, p->items + i, n);
    }
    qsort(p->items, p->item_count, sizeof(*p->items), compare_rows);
    return rc < 0 ? rc : name_lanes(p);
}
