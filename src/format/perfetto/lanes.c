/* lanes.c - slices of one thread that would overlap partly go to further lanes, which are
 * threads to Perfetto. */
#include "format/perfetto/aggregate.h"

#include <stdlib.h>

static int compare_items(const void *a, const void *b, void *arg)
{
    const struct perfetto_item *x = a, *y = b;

    (void)arg;
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

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct perfetto_item *x = a, *y = b;

    (void)arg;
    return (x->row > y->row) - (x->row < y->row);
}

/* 1: it fits. */
static int fits(struct perfetto_open *o, __int128 from, __int128 to)
{
    while (o->depth && o->to[o->depth - 1] <= from)
        o->depth--;
    if (o->depth == PERFETTO_DEPTH || (o->depth && o->to[o->depth - 1] < to))
        return 0;
    if (o->depth == o->cap) {
        unsigned cap = o->cap ? o->cap * 2 : 8;
        __int128 *grown = realloc(o->to, cap * sizeof(*grown));
        if (!grown)
            return -ENOMEM;
        o->to = grown;
        o->cap = cap;
    }
    o->to[o->depth++] = to;
    return 1;
}

static void sink(struct perfetto_single *heap, size_t count, size_t at)
{
    for (size_t child; (child = 2 * at + 1) < count; at = child) {
        child += child + 1 < count && heap[child + 1].to < heap[child].to;
        if (heap[at].to <= heap[child].to)
            return;
        struct perfetto_single other = heap[at];
        heap[at] = heap[child];
        heap[child] = other;
    }
}

static int grow_heap(struct perfetto_thread *t)
{
    size_t more = t->heap_cap ? t->heap_cap : 64, bytes = more * sizeof(*t->heap);
    int rc = t->heap_count < t->heap_cap ? 0 : budget_charge(t->budget, bytes);

    if (rc < 0 || t->heap_count < t->heap_cap)
        return rc;
    t->charged += bytes;
    struct perfetto_single *grown = realloc(t->heap, (t->heap_cap + more) * sizeof(*grown));
    if (!grown)
        return -ENOMEM;
    t->heap = grown;
    t->heap_cap += more;
    return 0;
}

/* A lane for a slice that fits into none of the first ones. */
static int place_alone(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret)
{
    if (t->heap_count && t->heap[0].to <= from) {
        *ret = t->heap[0].lane;
        t->heap[0].to = to;
        sink(t->heap, t->heap_count, 0);
        return 0;
    }
    int rc = grow_heap(t);
    if (rc < 0)
        return rc;
    size_t at = t->heap_count++;
    for (; at && t->heap[(at - 1) / 2].to > to; at = (at - 1) / 2)
        t->heap[at] = t->heap[(at - 1) / 2];
    *ret = t->count++;
    t->heap[at] = (struct perfetto_single){to, *ret};
    return 0;
}

int perfetto_find_lane(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret)
{
    uint32_t lanes = t->count < PERFETTO_NESTED ? t->count : PERFETTO_NESTED;

    for (uint32_t lane = 0; lane < lanes; lane++) {
        int rc = fits(&t->nested[lane], from, to);
        *ret = lane;
        if (rc)
            return rc < 0 ? rc : 0;
    }
    if (lanes == PERFETTO_NESTED)
        return place_alone(t, from, to, ret);
    *ret = t->count++;
    int rc = fits(&t->nested[lanes], from, to);
    return rc < 0 ? rc : 0;
}

void perfetto_thread_done(struct perfetto_thread *t)
{
    for (uint32_t i = 0; i < PERFETTO_NESTED; i++)
        free(t->nested[i].to);
    if (t->budget)
        budget_release(t->budget, t->charged);
    free(t->heap);
    *t = (struct perfetto_thread){.budget = t->budget};
}

static int add_lane(struct perfetto *p, const struct perfetto_item *i, unsigned number)
{
    size_t cap = p->lane_cap;
    int rc = perfetto_grow(p, (void **)&p->lanes, sizeof(*p->lanes), p->lane_count, cap, &cap);

    p->lane_cap = (uint32_t)cap;
    if (rc == 0)
        p->lanes[p->lane_count++] = (struct perfetto_lane){i->process, i->tid, i->tid, number};
    return rc;
}

/* Lanes of the slices of one thread. */
static int lanes_of_thread(struct perfetto *p, struct perfetto_item *items, size_t n)
{
    struct perfetto_thread t = {.budget = p->budget};
    uint32_t first = p->lane_count;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t known = t.count;
        rc = i % 4096 ? 0 : budget_check(p->budget);
        rc = rc < 0 ? rc : perfetto_find_lane(&t, items[i].from, items[i].to, &items[i].lane);
        if (rc == 0 && t.count > known)
            rc = add_lane(p, &items[i], known);
        items[i].lane += first;
    }
    perfetto_thread_done(&t);
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

/* The first lane of a thread has its tid where that is one; the others get numbers that no thread
 * has. */
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
    if (p->item_count == 0)
        return 0;
    int rc = sort_items(p->items, p->item_count, sizeof(*p->items), compare_items, NULL, p->budget);
    for (size_t i = 0, n; i < p->item_count && rc == 0; i += n) {
        for (n = 1; i + n < p->item_count; n++) {
            if (p->items[i + n].process != p->items[i].process ||
                p->items[i + n].tid != p->items[i].tid)
                break;
        }
        rc = lanes_of_thread(p, p->items + i, n);
    }
    if (rc == 0)
        rc = sort_items(p->items, p->item_count, sizeof(*p->items), compare_rows, NULL, p->budget);
    return rc < 0 ? rc : name_lanes(p);
}
