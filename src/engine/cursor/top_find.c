/* top_find.c - a scan that keeps the first rows by the values of a column. */
#include "engine/cursor/top_find.h"
#include "engine/cursor/top_survey.h"
#include "engine/group/map.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    SPARE = 64,           /* a worker sorts when it has twice the wanted rows and SPARE more */
    CHECK_ROWS = 1 << 12, /* rows between checks of the budget */
    ROUND_FIRST = 8, /* places of the first round; each round has twice as many as the previous */
    ROUNDS_MAX = 1 << 20, /* if more rows are wanted, all places are scanned in one round */
};

struct finder {
    struct top_order order;
    uint64_t limit;
    struct top_rows *rows; /* of workers that have ended */
    pthread_mutex_t lock;  /* guards boundary */
    struct top_boundary boundary;
    atomic_uint version; /* number of changes of boundary */
    uint8_t *rounds;     /* by position: the round in which it is scanned. NULL: one round */
    uint8_t round;
};
struct find_worker {
    struct finder *finder;
    struct top_filter filter;
    unsigned version; /* of filter.boundary */
    struct top_rows rows;
    struct scratch mask; /* for scan_chunk.wanted */
};

/* ---- sorting --------------------------------------------------------------------------------- */

/* Maps keys of rows to numbers in the order of their values. */
struct ranking {
    struct group_table distinct;
    uint32_t *rank, *order; /* by number of a key; by rank */
    uint64_t *keys;         /* by rank */
    struct charge charge;
};
enum { RANKING_BYTES = 48 }; /* a key: these arrays, and those of rank_keys */

static int add_keys(struct ranking *r, struct top_rows *rows)
{
    for (size_t i = 0; i < rows->list.count; i++) {
        int64_t number = group_table_add(&r->distinct, &rows->list.at[i].key);
        int rc = i % CHECK_ROWS ? 0 : budget_check(r->distinct.budget);
        if (number < 0 || rc < 0)
            return number < 0 ? (int)number : rc;
        rows->list.at[i].order = (uint32_t)number;
    }
    return 0;
}

/* Numbers values from 0 on, equal ones alike. Different keys may have equal values: an integer
 * beyond 64 bits, and a double. */
static int number_values(const struct top_order *o, struct ranking *r)
{
    struct value values[2] = {{.type = VALUE_NULL}, {.type = VALUE_NULL}};
    uint32_t number = 0;

    for (uint32_t i = 0; i < r->distinct.count; i++) {
        struct value *now = &values[i % 2], *before = &values[1 - i % 2];
        int rc = i % CHECK_ROWS ? 0 : budget_check(r->distinct.budget);
        if (rc < 0)
            return rc;
        query_key_value(o->query, r->keys[i], now);
        number += i > 0 && value_cmp(before, now) != 0;
        r->order[i] = value_rank(now) == 0 ? UINT32_MAX
                      : o->descending      ? UINT32_MAX - 1 - number
                                           : number;
    }
    return 0;
}

static int rank_rows(const struct top_order *o, struct ranking *r, struct top_rows *rows)
{
    int rc = add_keys(r, rows);
    size_t n = r->distinct.count;

    rc = rc < 0 ? rc : charge_add(&r->charge, n * RANKING_BYTES);
    if (rc < 0)
        return rc;
    r->rank = malloc((n + 1) * sizeof(*r->rank));
    r->order = malloc((n + 1) * sizeof(*r->order));
    r->keys = malloc((n + 1) * sizeof(*r->keys));
    if (!r->rank || !r->order || !r->keys)
        return -ENOMEM;
    rc = rank_keys(o->query, &r->distinct, r->rank, r->keys);
    rc = rc < 0 ? rc : number_values(o, r);
    for (size_t i = 0; rc == 0 && i < rows->list.count; i++)
        rows->list.at[i].order = r->order[r->rank[rows->list.at[i].order]];
    return rc;
}

static int compare_top_rows(const void *a, const void *b, void *arg)
{
    const struct top_row *x = a, *y = b;
    (void)arg;

    if (x->order != y->order)
        return x->order < y->order ? -1 : 1;
    if (x->position != y->position)
        return x->position < y->position ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/* Sorts the rows, and keeps the first `limit`. */
static int cut_rows(const struct top_order *o, uint64_t limit, struct top_rows *rows)
{
    struct budget *budget = query_budget(o->query);
    struct ranking r = {.charge.budget = budget};
    struct charge copy = {.budget = budget};
    size_t bytes = rows->list.count * sizeof(*rows->list.at);

    if (rows->list.count == 0)
        return 0;
    group_table_init(&r.distinct, 1, UINT32_MAX - 1, budget);
    int rc = rank_rows(o, &r, rows);
    group_table_done(&r.distinct);
    charge_done(&r.charge);
    free(r.rank);
    free(r.order);
    free(r.keys);
    rc = rc < 0 ? rc : charge_add(&copy, bytes);
    if (rc == 0)
        rc = sort_items(rows->list.at, rows->list.count, sizeof(*rows->list.at), compare_top_rows,
                        NULL, budget);
    charge_done(&copy);
    if (rows->list.count > limit)
        rows->list.count = limit;
    return rc;
}

/* ---- the boundary ---------------------------------------------------------------------------- */

static bool is_tighter(const struct top_order *o, const struct top_boundary *boundary,
                       const struct top_boundary *than)
{
    int cmp = than->set ? top_compare(o, &boundary->value, &than->value) : -1;

    return cmp < 0 || (cmp == 0 && boundary->position < than->position);
}

/* The worker has as many rows as are wanted: those behind the last one are of no use to anybody. */
static void tighten_boundary(struct finder *f, const struct top_row *last)
{
    struct top_boundary boundary = {.set = true, .position = last->position};

    query_key_value(f->order.query, last->key, &boundary.value);
    pthread_mutex_lock(&f->lock);
    if (is_tighter(&f->order, &boundary, &f->boundary)) {
        f->boundary = boundary;
        atomic_fetch_add(&f->version, 1);
    }
    pthread_mutex_unlock(&f->lock);
}

/* Returns true, and the boundary, if it has changed since the worker read it. */
static bool read_boundary(struct find_worker *w, struct top_boundary *ret)
{
    struct finder *f = w->finder;

    if (atomic_load_explicit(&f->version, memory_order_relaxed) == w->version)
        return false;
    pthread_mutex_lock(&f->lock);
    *ret = f->boundary;
    w->version = atomic_load(&f->version);
    pthread_mutex_unlock(&f->lock);
    return true;
}

/* ---- the scan -------------------------------------------------------------------------------- */

static bool find_skip(void *arg, size_t position)
{
    const struct finder *f = arg;

    return f->rounds && f->rounds[position] != f->round;
}

static int find_begin(void *arg, unsigned number, void **ret_state)
{
    struct finder *f = arg;
    struct find_worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    w->finder = f;
    w->filter.order = &f->order;
    w->filter.limit = f->limit;
    w->rows.list.budget = query_budget(f->order.query);
    *ret_state = w;
    return 0;
}

/* Before the filter of the query is evaluated. */
static int find_plan(void *state, struct scan_chunk *c)
{
    struct find_worker *w = state;

    read_boundary(w, &w->filter.boundary);
    top_filter_chunk(&w->filter, c);
    return top_filter_plan(&w->filter, &w->mask);
}

static int key_of_value(struct query *q, const struct value *v, uint64_t *ret)
{
    struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = v->text};
    bool whole;

    switch (v->type) {
    case VALUE_INT:
        return key_of_i64(q, v->i, ret);
    case VALUE_BOOL:
        return key_of_bool(v->i, ret);
    case VALUE_TIME:
        whole = v->wide % 1000 == 0;
        return key_of_time(q, (int64_t)(whole ? v->wide / 1000 : v->wide), !whole, ret);
    case VALUE_DOUBLE:
        *ret = QUERY_KEY_NULL;
        return isfinite(v->d) ? key_of_f64(q, v->d, ret) : 0;
    case VALUE_JSON:
        e.type = value_rank(v) < VALUE_RANK_TEXT ? TRACE_BIG : TRACE_JSON;
        return key_of_entry(q, &e, ret);
    case VALUE_TEXT:
        return key_of_entry(q, &e, ret);
    default:
        *ret = QUERY_KEY_NULL;
        return 0;
    }
}

static int add_row(struct find_worker *w, struct scan_batch *b, uint32_t row)
{
    const struct value v = batch_value(b, w->finder->order.by, row);
    struct top_row r = {.position = (uint32_t)b->chunk->position, .row = batch_place(b, row)};
    int rc = key_of_value(w->finder->order.query, &v, &r.key);

    return rc < 0 ? rc : vec_push(&w->rows.list, r);
}

static bool has_enough(const struct find_worker *w)
{
    uint64_t n = w->rows.list.count, limit = w->finder->limit;

    return n >= SPARE && (n - SPARE) / 2 >= limit;
}

static int cut_own(struct find_worker *w)
{
    struct finder *f = w->finder;
    int rc = cut_rows(&f->order, f->limit, &w->rows);
    if (rc == 0)
        tighten_boundary(f, &w->rows.list.at[f->limit - 1]);
    return rc;
}

static int find_batch(void *state, struct scan_batch *b)
{
    struct find_worker *w = state;
    uint16_t rows[SCAN_BATCH + 64];
    struct top_boundary boundary;
    int rc = 0;

    if (read_boundary(w, &boundary))
        top_filter_set_boundary(&w->filter, &boundary);
    uint32_t n = top_filter_batch(&w->filter, b, rows);
    for (uint32_t i = 0; i < n && rc == 0; i++)
        rc = add_row(w, b, rows[i]);
    return rc == 0 && has_enough(w) ? cut_own(w) : rc;
}

static int find_end(void *arg, unsigned number, void *state, bool failed)
{
    struct finder *f = arg;
    struct find_worker *w = state;
    size_t n = w->rows.list.count;
    int rc = failed ? 0 : vec_reserve(&f->rows->list, n);
    (void)number;

    if (!failed && rc == 0 && n > 0) {
        memcpy(f->rows->list.at + f->rows->list.count, w->rows.list.at,
               n * sizeof(*w->rows.list.at));
        f->rows->list.count += n;
    }
    vec_done(&w->rows.list);
    scratch_done(&w->mask);
    free(w);
    return rc;
}

/* ---- rounds ---------------------------------------------------------------------------------- */

static int scan_round(struct finder *f)
{
    struct scan_sink sink = {.arg = f,
                             .gathers = true,
                             .worker_begin = find_begin,
                             .skip = find_skip,
                             .chunk_plan = find_plan,
                             .batch = find_batch,
                             .worker_end = find_end};
    int rc = scan_run(f->order.query, &sink, NULL);

    rc = rc < 0 ? rc : cut_rows(&f->order, f->limit, f->rows);
    if (rc == 0 && f->rows->list.count == f->limit)
        tighten_boundary(f, &f->rows->list.at[f->limit - 1]);
    return rc;
}

/* Place i of the survey; if it has none, nor have those after it. */
static bool may_have_rows(const struct finder *f, const struct top_survey *s, size_t i)
{
    const struct top_place *place = &s->places.at[i];

    return i < s->places.count &&
           (!place->known || top_passes(&f->order, &f->boundary, &place->best, place->position));
}

static int scan_rounds(struct finder *f, const struct top_survey *s)
{
    size_t n = ROUND_FIRST, from = 0;
    int rc = 0;

    while (rc == 0 && may_have_rows(f, s, from)) {
        size_t end = from + n;
        f->round++;
        for (; from < end && may_have_rows(f, s, from); from++)
            f->rounds[s->places.at[from].position] = f->round;
        rc = scan_round(f);
        n *= 2;
    }
    return rc;
}

/* Counts the chunks that no round has scanned. */
static void count_skipped(const struct finder *f, const struct scan_place *places, size_t n)
{
    struct query_counters add = {.chunks_skipped = 0};

    for (size_t i = 0; i < n; i++)
        add.chunks_skipped += f->rounds[i] == 0 && !places[i].continued;
    query_count(f->order.query, &add);
}

static int find_in_rounds(struct finder *f)
{
    const struct scan_place *places;
    size_t n = scan_places(f->order.query, &places);
    struct top_survey survey = {.places.count = 0};

    f->rounds = calloc(n + 1, sizeof(*f->rounds));
    int rc = f->rounds ? top_survey(&f->order, &survey) : -ENOMEM;
    rc = rc < 0 ? rc : scan_rounds(f, &survey);
    if (rc == 0)
        count_skipped(f, places, n);
    top_survey_done(&survey);
    free(f->rounds);
    return rc;
}

int top_find(const struct top_order *o, uint64_t limit, struct top_rows *ret)
{
    struct finder f = {.order = *o, .limit = limit, .rows = ret};

    if (limit == 0)
        return 0;
    pthread_mutex_init(&f.lock, NULL);
    int rc = limit > ROUNDS_MAX ? scan_round(&f) : find_in_rounds(&f);
    pthread_mutex_destroy(&f.lock);
    return rc;
}
