/* scan.c - converts the rows of chunks to items, then groups these by thread. */
#include "answer/calltree/items.h"
#include "engine/derived/batch_times.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct worker {
    struct call_tree *tree;
    struct group_map lanes, tuples;
    VEC(struct call_item) items; /* of the chunk */
    struct item_part *parts;
    uint64_t events, other_phases, untimed; /* see call_tree_totals */
    uint64_t x_key, other_key; /* ph of the last row that was X, and of one that was not */
    uint32_t lane[SCAN_BATCH], tuple[SCAN_BATCH];
};

/* ---- workers --------------------------------------------------------------------------------- */

static int worker_begin(struct group_worker *group)
{
    struct call_tree *t = ((const struct item_job *)group->grouping->arg)->tree;
    struct worker *w = group->own = calloc(1, sizeof(*w));

    if (!w)
        return -ENOMEM;
    w->tree = t;
    w->items.budget = t->budget;
    w->x_key = w->other_key = QUERY_KEY_NULL;
    group_map_init(&w->lanes, t->lane_keys, 3, 0, t->budget);
    group_map_init(&w->tuples, t->tuple_keys, 2 + t->group_count, 0, t->budget);
    return 0;
}

/* Adds keys of a worker. to[i]: the number of key i in `all`. */
static int add_keys(struct group_table *all, const struct group_table *own, uint32_t *to)
{
    for (uint32_t i = 0; i < own->count; i++) {
        int64_t group = group_table_add(all, group_table_keys(own, i));
        if (group < 0)
            return (int)group;
        to[i] = (uint32_t)group;
        int rc = i % 4096 ? 0 : budget_check(all->budget);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int hand_over_parts(struct item_job *job, struct worker *w)
{
    struct call_tree *t = w->tree;
    struct item_numbers *n;
    int rc = item_numbers_new(job, w->lanes.table.count, w->tuples.table.count, &n);

    rc = rc < 0 ? rc : add_keys(&t->lanes_found, &w->lanes.table, n->lane);
    rc = rc < 0 ? rc : add_keys(&t->tuples_found, &w->tuples.table, n->tuple);
    for (struct item_part *p; rc == 0 && (p = w->parts);) {
        w->parts = p->next;
        p->numbers = n;
        items_add(job, p);
    }
    t->totals.events += w->events;
    t->totals.other_phases += w->other_phases;
    t->totals.untimed += w->untimed;
    return rc;
}

static int worker_end(struct group_worker *group, bool failed)
{
    struct item_job *job = group->grouping->arg;
    struct worker *w = group->own;
    int rc = failed || !w ? 0 : hand_over_parts(job, w);

    if (!w)
        return rc;
    for (struct item_part *p; (p = w->parts);) {
        w->parts = p->next;
        items_free(w->tree, p);
    }
    group_map_done(&w->lanes);
    group_map_done(&w->tuples);
    vec_done(&w->items);
    free(w);
    return rc;
}

static int chunk_begin(struct group_worker *group, struct scan_chunk *c)
{
    struct worker *w = group->own;
    int rc = group_map_chunk(&w->lanes, c);

    w->items.count = 0;
    return rc < 0 ? rc : group_map_chunk(&w->tuples, c);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Columns of the current batch. */
struct item_columns {
    struct batch_times times;
    const uint64_t *ph, *id_valid;
    const int64_t *id;
    bool mixed_id; /* `id` has several types, so values are read one by one */
};

static bool is_x(struct worker *w, uint64_t key)
{
    struct value v;

    if (key == w->x_key && key != QUERY_KEY_NULL)
        return true;
    if (key == w->other_key)
        return false;
    query_key_value(w->tree->query, key, &v);
    bool x =
        (v.type == VALUE_TEXT && text_eq(v.text, TEXT("X"))) || (v.type == VALUE_INT && v.i == 1);
    *(x ? &w->x_key : &w->other_key) = key;
    return x;
}

/* Sets the times of an item. Returns false if the event cannot be nested. */
static bool read_times(const struct batch_times *t, uint32_t row, struct call_item *i)
{
    int64_t dur;

    if (!batch_is_valid(t->ts_valid, row) || !batch_is_valid(t->dur_valid, row))
        return false;
    return !__builtin_mul_overflow(t->ts[row], t->ts_nano ? 1 : 1000, &i->ts) &&
           i->ts != INT64_MIN &&
           !__builtin_mul_overflow(t->dur[row], t->dur_nano ? 1 : 1000, &dur) && dur >= 0 &&
           !__builtin_add_overflow(i->ts, dur, &i->te);
}

static int64_t id_of(struct worker *w, struct scan_batch *b, const struct item_columns *c,
                     uint32_t row)
{
    if (c->mixed_id) {
        struct value v = batch_value(b, w->tree->id, row);
        return v.type == VALUE_INT ? v.i : CALL_NO_ID;
    }
    return batch_is_valid(c->id_valid, row) ? c->id[row] : CALL_NO_ID;
}

static int add_batch(struct group_worker *group, struct scan_batch *b)
{
    struct worker *w = group->own;
    const struct call_tree *t = w->tree;
    struct item_columns c = {.times = batch_times(b, t->ts, t->dur),
                             .ph = batch_keys(b, t->ph),
                             .mixed_id = scan_shape(b->chunk, t->id) == SHAPE_MIXED};
    c.id = batch_i64(b, t->id, &c.id_valid, NULL);
    int rc = group_map_batch(&w->lanes, b, w->lane);

    rc = rc < 0 ? rc : group_map_batch(&w->tuples, b, w->tuple);
    rc = rc < 0 ? rc : vec_reserve(&w->items, b->count);
    if (rc < 0)
        return rc;
    w->events += b->count;
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        struct call_item *i = &w->items.at[w->items.count];
        if (!is_x(w, c.ph[row])) {
            w->other_phases++;
        } else if (!read_times(&c.times, row, i)) {
            w->untimed++;
        } else {
            i->lane = w->lane[j];
            i->tuple = w->tuple[j];
            i->id = id_of(w, b, &c, row);
            w->items.count++;
        }
    }
    return 0;
}

static int chunk_end(struct group_worker *group, struct scan_chunk *c)
{
    struct worker *w = group->own;
    struct item_part *p;

    if (w->items.count == 0)
        return 0;
    int rc = items_new(w->tree, (uint32_t)w->items.count, &p);
    if (rc < 0)
        return rc;
    memcpy(p->items, w->items.at, p->count * sizeof(*p->items));
    p->position = c->position;
    p->next = w->parts;
    w->parts = p;
    return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static int compare_lanes(const void *a, const void *b, void *arg)
{
    const struct call_lane *x = a, *y = b;
    int cmp = value_cmp(&x->host, &y->host);

    (void)arg;
    cmp = cmp ? cmp : value_cmp(&x->pid, &y->pid);
    return cmp ? cmp : value_cmp(&x->tid, &y->tid);
}

/* Sorts the threads. *ret_to: the new number of each thread in lanes_found, *new*. Meanwhile,
 * `first` is its number there. */
static int order_lanes(struct call_tree *t, uint32_t **ret_to)
{
    uint32_t n = t->lanes_found.count;

    t->lanes = arena_alloc(&t->arena, (n + 1) * sizeof(*t->lanes));
    if (!t->lanes)
        return -ENOMEM;
    t->lane_count = n;
    for (uint32_t i = 0; i < n; i++) {
        const uint64_t *keys = group_table_keys(&t->lanes_found, i);
        struct call_lane *l = &t->lanes[i];
        query_key_value(t->query, keys[0], &l->host);
        query_key_value(t->query, keys[1], &l->pid);
        query_key_value(t->query, keys[2], &l->tid);
        l->first = i;
        if (t->clips)
            within_spans_of(t->query, keys, &l->covered);
    }
    int rc = sort_items(t->lanes, n, sizeof(*t->lanes), compare_lanes, NULL, t->budget);
    if (rc < 0)
        return rc;
    uint32_t *to = *ret_to = malloc((n + 1) * sizeof(*to));
    for (uint32_t i = 0; to && i < n; i++)
        to[t->lanes[i].first] = i;
    return to ? 0 : -ENOMEM;
}

static int compare_parts(const void *a, const void *b)
{
    const struct item_part *x = *(struct item_part *const *)a, *y = *(struct item_part *const *)b;

    return x->position < y->position ? -1 : x->position > y->position;
}

/* Sorts the parts by chunk. */
static int order_parts(struct item_job *job)
{
    struct item_part **list = malloc((job->part_count + 1) * sizeof(*list)), **next = &job->first;
    size_t n = 0;

    if (!list)
        return -ENOMEM;
    for (struct item_part *p = job->first; p; p = p->next)
        list[n++] = p;
    qsort(list, n, sizeof(*list), compare_parts);
    for (size_t i = 0; i < n; i++) {
        *next = list[i];
        next = &list[i]->next;
    }
    *next = NULL;
    free(list);
    return 0;
}

/* Moves the items to those of their thread, in the order of chunks, and frees each part that is
 * empty. Memory of `t->items` is charged part by part: pages that were not written to occupy
 * none. */
static int move_items(struct item_job *job)
{
    struct call_tree *t = job->tree;
    uint64_t at = 0;
    int rc;

    for (uint32_t i = 0; i < t->lane_count; at += t->lanes[i++].count)
        t->lanes[i].first = at;
    t->item_bytes = at * sizeof(*t->items);
    t->items = call_map(NULL, t->item_bytes, &rc);
    if (!t->items)
        return rc;
    for (uint32_t i = 0; i < t->lane_count; i++)
        t->lanes[i].count = 0;
    while (job->first && (rc = budget_check(t->budget)) == 0) {
        struct item_part *p = job->first;
        rc = charge_add(&t->charge, p->count * sizeof(*p->items));
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < p->count; i++) {
            struct call_lane *l = &t->lanes[p->items[i].lane];
            t->items[l->first + l->count++] = p->items[i];
        }
        job->first = p->next;
        items_free(t, p);
    }
    return rc;
}

static int gather_items(struct item_job *job)
{
    struct call_tree *t = job->tree;
    uint32_t *lane_of = NULL;
    int rc = t->totals.in_tree > UINT32_MAX ? ERR_ROW_LIMIT : order_lanes(t, &lane_of);

    rc = rc < 0 ? rc : order_parts(job);
    for (struct item_part *p = job->first; p && rc == 0; p = p->next) {
        const struct item_numbers *n = p->numbers;
        for (uint32_t i = 0; i < p->count; i++) {
            p->items[i].lane = lane_of[n->lane[p->items[i].lane]];
            p->items[i].tuple = n->tuple[p->items[i].tuple];
            t->lanes[p->items[i].lane].count++;
        }
        rc = budget_check(t->budget);
    }
    rc = rc < 0 ? rc : move_items(job);
    if (rc == 0) {
        /* Threads without items are removed. */
        uint32_t kept = 0;
        for (uint32_t i = 0; i < t->lane_count; i++) {
            if (t->lanes[i].count)
                t->lanes[kept++] = t->lanes[i];
        }
        t->lane_count = kept;
        t->totals.threads = kept;
    }
    free(lane_of);
    return rc;
}

int call_tree_scan(struct call_tree *t, struct err *err)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .chunk_begin = chunk_begin,
                                             .batch = add_batch,
                                             .chunk_end = chunk_end,
                                             .worker_end = worker_end,
                                             .put = items_put,
                                             .take = items_take};
    struct item_job job = {.tree = t};
    const struct grouping g = {
        .query = t->query, .budget = t->budget, .hooks = &hooks, .arg = &job, .spreads = true};
    struct groups *found = NULL;
    int rc = groups_scan(&g, &found, err);

    groups_free(found);
    rc = rc < 0 ? rc : gather_items(&job);
    item_job_done(&job);
    return rc;
}
