/* lanes.c - assigns slices of one thread that would partly overlap to further lanes, which are
 * threads for Perfetto. */
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

/* Adds the slice to the lane if it fits. Returns 1 if so, 0 if not, or an error. */
static int add_to_lane(struct perfetto_open *o, __int128 from, __int128 to)
{
    while (o->to.count && o->to.at[o->to.count - 1] <= from)
        o->to.count--;
    if (o->to.count == PERFETTO_DEPTH || (o->to.count && o->to.at[o->to.count - 1] < to))
        return 0;
    return vec_push(&o->to, to) < 0 ? -ENOMEM : 1;
}

/* Restores the order of the heap after the end at `at` has grown. */
static void sift_down(struct perfetto_single *heap, size_t count, size_t at)
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

/* Finds a lane for a slice that fits into none of the first ones. */
static int find_single_lane(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret)
{
    struct perfetto_single *heap = t->heap.at;

    if (t->heap.count && heap[0].to <= from) {
        *ret = heap[0].lane;
        heap[0].to = to;
        sift_down(heap, t->heap.count, 0);
        return 0;
    }
    int rc = vec_reserve(&t->heap, 1);
    if (rc < 0)
        return rc;
    heap = t->heap.at;
    size_t at = t->heap.count++;
    for (; at && heap[(at - 1) / 2].to > to; at = (at - 1) / 2)
        heap[at] = heap[(at - 1) / 2];
    *ret = t->count++;
    heap[at] = (struct perfetto_single){to, *ret};
    return 0;
}

int perfetto_find_lane(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret)
{
    uint32_t lanes = t->count < PERFETTO_NESTED ? t->count : PERFETTO_NESTED;

    for (uint32_t lane = 0; lane < lanes; lane++) {
        int rc = add_to_lane(&t->nested[lane], from, to);
        *ret = lane;
        if (rc)
            return rc < 0 ? rc : 0;
    }
    if (lanes == PERFETTO_NESTED)
        return find_single_lane(t, from, to, ret);
    *ret = t->count++;
    int rc = add_to_lane(&t->nested[lanes], from, to);
    return rc < 0 ? rc : 0;
}

void perfetto_thread_done(struct perfetto_thread *t)
{
    for (uint32_t i = 0; i < PERFETTO_NESTED; i++)
        vec_done(&t->nested[i].to);
    vec_done(&t->heap);
    t->count = 0;
}

/* Assigns lanes to the slices of one thread. */
static int lanes_of_thread(struct perfetto *p, struct perfetto_item *items, size_t n)
{
    struct perfetto_thread t = {.heap.budget = p->budget};
    uint32_t first = (uint32_t)p->lanes.count;
    int rc = 0;

    for (size_t i = 0; i < n && rc == 0; i++) {
        uint32_t known = t.count;
        rc = i % 4096 ? 0 : budget_check(p->budget);
        rc = rc < 0 ? rc : perfetto_find_lane(&t, items[i].from, items[i].to, &items[i].lane);
        if (rc == 0 && t.count > known)
            rc = vec_push(&p->lanes, {items[i].process, items[i].tid, items[i].tid, known});
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

/* The first lane of a thread keeps its tid if that is valid; the others get numbers that no thread
 * has. */
static int name_lanes(struct perfetto *p)
{
    uint32_t *order = malloc((p->lanes.count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->lanes.count; i++) {
        order[i] = i;
        if (perfetto_is_id(p->lanes.at[i].tid) && p->lanes.at[i].tid >= next)
            next = p->lanes.at[i].tid + 1;
    }
    qsort_r(order, p->lanes.count, sizeof(*order), compare_lanes, p->lanes.at);
    for (uint32_t i = 0; i < p->lanes.count; i++) {
        struct perfetto_lane *l = &p->lanes.at[order[i]];
        if (l->number > 0 || !perfetto_is_id(l->tid))
            l->written_tid = next++;
    }
    free(order);
    return 0;
}

int perfetto_make_lanes(struct perfetto *p)
{
    if (p->items.count == 0)
        return 0;
    int rc = sort_items(p->items.at, p->items.count, sizeof(*p->items.at), compare_items, NULL,
                        p->budget);
    for (size_t i = 0, n; i < p->items.count && rc == 0; i += n) {
        for (n = 1; i + n < p->items.count; n++) {
            if (p->items.at[i + n].process != p->items.at[i].process ||
                p->items.at[i + n].tid != p->items.at[i].tid)
                break;
        }
        rc = lanes_of_thread(p, p->items.at + i, n);
    }
    if (rc == 0)
        rc = sort_items(p->items.at, p->items.count, sizeof(*p->items.at), compare_rows, NULL,
                        p->budget);
    return rc < 0 ? rc : name_lanes(p);
}
