/* colors.c - where a column has more values than may be told: numbers are put together by
 * powers of two, of others the most frequent ones stay, and the rest is one color. One more scan
 * counts them, in which chunks of numbers are passed over as long as there is nothing else. Or
 * those stay that were chosen. */
#include "answer/timeline/lanes.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- how many objects each value has --------------------------------------------------------- */

struct census {
    const struct timeline_plan *plan;
    const struct source *color;
    struct group_table values;
    VEC(uint64_t) counts; /* by group */
    bool numbers;         /* are counted, too */
    atomic_bool passed;   /* over some of them */
};
struct counter {
    struct census *census;
    struct group_map map;
    VEC(uint64_t) counts;
    uint32_t group[SCAN_BATCH];
};

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    struct census *census = arg;
    struct counter *c = calloc(1, sizeof(*c));
    (void)number;

    if (!c)
        return -ENOMEM;
    c->census = census;
    c->counts.budget = census->plan->budget;
    group_map_init(&c->map, &census->color, 1, 0, census->plan->budget);
    *ret_state = c;
    return 0;
}

static int chunk_begin(void *state, struct scan_chunk *chunk)
{
    struct counter *c = state;
    enum scan_shape shape = scan_shape(chunk, c->census->color);

    if (c->census->numbers ||
        (shape != SHAPE_INT && shape != SHAPE_TIME && shape != SHAPE_DOUBLE && shape != SHAPE_NULL))
        return group_map_chunk(&c->map, chunk);
    atomic_store(&c->census->passed, true);
    return ERR_END;
}

static int batch(void *state, struct scan_batch *b)
{
    struct counter *c = state;
    const uint64_t *valid = batch_valid(b, c->census->plan->ts);
    int rc = group_map_batch(&c->map, b, c->group);

    rc = rc < 0 ? rc : vec_extend(&c->counts, c->map.table.count);
    for (uint32_t j = 0; j < b->count && rc == 0; j++)
        c->counts.at[c->group[j]] += batch_is_valid(valid, batch_row(b, j));
    return rc;
}

static int merge(struct census *census, const struct counter *c)
{
    int rc = 0;

    for (uint32_t i = 0; i < c->map.table.count && i < c->counts.count && rc == 0; i++) {
        if (c->counts.at[i] == 0)
            continue;
        int64_t value = group_table_add(&census->values, group_table_keys(&c->map.table, i));
        rc = value < 0 ? (int)value : vec_extend(&census->counts, (size_t)value + 1);
        if (rc == 0)
            census->counts.at[value] += c->counts.at[i];
    }
    return rc;
}

static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    struct census *census = arg;
    struct counter *c = state;
    int rc = failed ? 0 : merge(census, c);
    (void)number;

    group_map_done(&c->map);
    vec_done(&c->counts);
    free(c);
    return rc;
}

static int count_values(struct census *census, struct err *err)
{
    struct scan_sink sink = {.arg = census,
                             .gathers = true,
                             .worker_begin = worker_begin,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .worker_end = worker_end};

    return scan_run(census->plan->query, &sink, err);
}

static bool are_numbers(const struct census *census)
{
    for (uint32_t i = 0; i < census->values.count; i++) {
        uint64_t key = *group_table_keys(&census->values, i);
        int bin;
        if (key != QUERY_KEY_NULL && !query_key_bin(census->plan->query, key, &bin))
            return false;
    }
    return true;
}

/* ---- those that stay ------------------------------------------------------------------------- */

struct ranked {
    uint64_t count, key;
    struct value value;
};

/* By count; of those that have the same, by value. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return value_cmp(&x->value, &y->value);
}

/* The first `most`, of twice as many that there is room for. */
static int rank_values(const struct census *census, struct ranked *best, uint32_t most)
{
    struct query *q = census->plan->query;
    uint32_t n = 0;
    bool full = false;

    for (uint32_t i = 0; i < census->values.count; i++) {
        struct ranked r = {
            census->counts.at[i], *group_table_keys(&census->values, i), {.type = VALUE_NULL}};
        int rc = i % 4096 ? 0 : budget_check(census->plan->budget);
        if (rc < 0)
            return rc;
        if (r.key == QUERY_KEY_NULL || (full && r.count < best[most - 1].count))
            continue;
        query_key_value(q, r.key, &r.value);
        if (full && compare_ranked(&best[most - 1], &r) < 0)
            continue;
        best[n++] = r;
        if (n < 2 * most)
            continue;
        qsort(best, n, sizeof(*best), compare_ranked);
        n = most;
        full = true;
    }
    qsort(best, n, sizeof(*best), compare_ranked);
    return (int)(n < most ? n : most);
}

static int keep_most_frequent(struct timeline *t, const struct census *census, uint32_t most)
{
    struct ranked *best = calloc(2ul * most, sizeof(*best));
    int n = best ? rank_values(census, best, most) : -ENOMEM, rc = n < 0 ? n : 0;

    t->others = census->values.count;
    for (uint32_t i = 0; i < census->values.count; i++)
        t->others -= *group_table_keys(&census->values, i) == QUERY_KEY_NULL;
    for (int i = 0; i < n && rc == 0; i++) {
        int64_t added = group_table_add(&t->kept, &best[i].key);
        rc = added < 0 ? (int)added : 0;
        t->others--;
    }
    free(best);
    return rc < 0 ? rc : group_table_place(&t->kept);
}

int timeline_fold_colors(struct timeline *t, uint32_t most, struct err *err)
{
    struct timeline_plan *p = &t->plan;
    const struct source **color = &p->keys[p->width - 1];
    struct census census = {.plan = p, .color = *color, .counts = {.budget = p->budget}};
    int rc;

    do {
        group_table_init(&census.values, 1, 0, p->budget);
        atomic_store(&census.passed, false);
        rc = count_values(&census, err);
        t->bins = rc == 0 && are_numbers(&census);
        if (rc == 0 && !t->bins && !atomic_load(&census.passed))
            rc = keep_most_frequent(t, &census, most);
        group_table_done(&census.values);
        vec_done(&census.counts);
        census.numbers = true;
    } while (rc == 0 && !t->bins && atomic_load(&census.passed));
    return rc < 0 ? rc : query_source_folded(p->query, *color, t->bins ? NULL : &t->kept, color);
}

/* ---- those that were chosen ------------------------------------------------------------------ */

static int key_of_microseconds(struct query *q, const struct value *v, uint64_t *ret)
{
    if (v->type == VALUE_INT)
        return key_of_time(q, v->i, false, ret);
    return fabs(v->d) < 9e15 ? key_of_time(q, llround(v->d * 1000), true, ret)
                             : key_of_f64(q, v->d, ret);
}

/* As scans give it. */
static int key_of_chosen(struct query *q, const struct source *s, const struct value *v,
                         uint64_t *ret)
{
    if (source_is_time(s) && (v->type == VALUE_INT || v->type == VALUE_DOUBLE))
        return key_of_microseconds(q, v, ret);
    if (v->type == VALUE_INT)
        return key_of_i64(q, v->i, ret);
    if (v->type == VALUE_DOUBLE)
        return key_of_f64(q, v->d, ret);
    if (v->type == VALUE_BOOL)
        return key_of_bool(v->i, ret);
    struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = v->text};
    return key_of_entry(q, &e, ret);
}

int timeline_choose_colors(struct timeline *t, const struct value *values, size_t count)
{
    struct timeline_plan *p = &t->plan;
    const struct source **color = &p->keys[p->width - 1];
    uint64_t key;
    int rc = 0;

    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = key_of_chosen(p->query, *color, &values[i], &key);
        int64_t added = rc < 0 ? rc : group_table_add(&t->kept, &key);
        rc = added < 0 ? (int)added : 0;
    }
    rc = rc < 0 ? rc : group_table_place(&t->kept);
    return rc < 0 ? rc : query_source_folded(p->query, *color, &t->kept, color);
}

/* ---- what is told of a color ----------------------------------------------------------------- */

/* An integer where it is one of 64 bits. */
static struct value power_of_two(int exponent)
{
    if (exponent < 63)
        return (struct value){.type = VALUE_INT, .i = (int64_t)1 << exponent};
    return (struct value){.type = VALUE_DOUBLE, .d = ldexp(1, exponent)};
}

void timeline_tell_color(const struct timeline *t, uint64_t key, const struct value *value,
                         struct timeline_color *ret)
{
    static const struct value null = {.type = VALUE_NULL}, zero = {.type = VALUE_INT};

    *ret = (struct timeline_color){.value = *value};
    ret->is_others = key == QUERY_KEY_OTHERS;
    ret->others = ret->is_others ? t->others : 0;
    if (!t->bins || key == QUERY_KEY_NULL || key == QUERY_KEY_OTHERS)
        return;
    ret->is_bin = true;
    ret->value = value->i < 0 ? null : value->i == 0 ? zero : power_of_two((int)value->i - 1);
    ret->below = value->i < 0 ? zero : value->i < 1024 ? power_of_two((int)value->i) : null;
}
