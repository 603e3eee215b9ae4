/* colors.c - reduces the number of colors if a column has more values than requested: numbers are
 * grouped by powers of two; of other values the most frequent ones are kept, and the rest is one
 * color. An additional scan counts the values of chunks that do not consist of numbers; if it finds
 * some, and skipped a chunk, another one counts all. If the request chooses values, those are kept,
 * without a scan. */
#include "answer/timeline/lanes.h"
#include "engine/derived/keys.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- number of objects of each value --------------------------------------------------------- */

struct value_counts {
    const struct timeline_plan *plan;
    const struct source *color;
    struct group_set set;
    struct grouping grouping;
    struct groups *values;
    bool numbers; /* numbers are counted, too */
    /* Some numbers were skipped. Ranks do not send it, so the scan does not spread. */
    atomic_bool skipped_numbers;
};

static int chunk_begin(struct group_worker *w, struct scan_chunk *chunk)
{
    struct value_counts *value_counts = w->grouping->arg;
    enum scan_shape shape = scan_shape(chunk, value_counts->color);

    if (value_counts->numbers ||
        (shape != SHAPE_INT && shape != SHAPE_TIME && shape != SHAPE_DOUBLE && shape != SHAPE_NULL))
        return 0;
    atomic_store(&value_counts->skipped_numbers, true);
    return ERR_END;
}

/* Objects without a time are not drawn. */
static int count_timed(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    const struct value_counts *value_counts = w->grouping->arg;
    const struct groups_of_set *s = &w->found->set[set];
    const uint64_t *valid = batch_valid(b, value_counts->plan->ts);

    for (uint32_t j = 0; j < b->count; j++)
        *group_count(s, w->group[j]) += batch_is_valid(valid, batch_row(b, j));
    return 0;
}

static int count_values(struct value_counts *value_counts, struct err *err)
{
    static const struct group_hooks hooks = {.chunk_begin = chunk_begin};

    value_counts->set =
        (struct group_set){.keys = &value_counts->color, .width = 1, .add = count_timed};
    value_counts->grouping = (struct grouping){.query = value_counts->plan->query,
                                               .budget = value_counts->plan->budget,
                                               .set_count = 1,
                                               .sets = &value_counts->set,
                                               .hooks = &hooks,
                                               .arg = value_counts};
    return groups_scan(&value_counts->grouping, &value_counts->values, err);
}

static uint32_t value_count(const struct value_counts *value_counts)
{
    return value_counts->values->set[0].map.table.count;
}

/* Returns the key of a value; *ret_count: the number of its events. */
static uint64_t value_key(const struct value_counts *value_counts, uint32_t value,
                          uint64_t *ret_count)
{
    const struct groups_of_set *s = &value_counts->values->set[0];

    *ret_count = *group_count(s, value);
    return *group_table_keys(&s->map.table, value);
}

static bool are_numbers(const struct value_counts *value_counts)
{
    for (uint32_t i = 0; i < value_count(value_counts); i++) {
        uint64_t count, key = value_key(value_counts, i, &count);
        int bin;
        if (count && key != QUERY_KEY_NULL && !query_key_bin(value_counts->plan->query, key, &bin))
            return false;
    }
    return true;
}

/* ---- values that are kept -------------------------------------------------------------------- */

struct ranked {
    uint64_t count, key;
    struct value value;
};

/* Compares by count, descending, then by value. */
static int compare_ranked(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return value_cmp(&x->value, &y->value);
}

/* Finds the first max_colors values; `best` has space for twice that number. */
static int rank_values(const struct value_counts *value_counts, struct ranked *best,
                       uint32_t max_colors)
{
    struct query *q = value_counts->plan->query;
    uint32_t n = 0;
    bool full = false;

    for (uint32_t i = 0; i < value_count(value_counts); i++) {
        struct ranked r = {.value = {.type = VALUE_NULL}};
        r.key = value_key(value_counts, i, &r.count);
        int rc = i % 4096 ? 0 : budget_check(value_counts->plan->budget);
        if (rc < 0)
            return rc;
        if (r.count == 0 || r.key == QUERY_KEY_NULL ||
            (full && r.count < best[max_colors - 1].count))
            continue;
        query_key_value(q, r.key, &r.value);
        if (full && compare_ranked(&best[max_colors - 1], &r) < 0)
            continue;
        best[n++] = r;
        if (n < 2 * max_colors)
            continue;
        qsort(best, n, sizeof(*best), compare_ranked);
        n = max_colors;
        full = true;
    }
    qsort(best, n, sizeof(*best), compare_ranked);
    return (int)(n < max_colors ? n : max_colors);
}

static int keep_frequent(struct timeline *t, const struct value_counts *value_counts,
                         uint32_t max_colors)
{
    struct ranked *best = calloc(2ul * max_colors, sizeof(*best));
    int n = best ? rank_values(value_counts, best, max_colors) : -ENOMEM, rc = n < 0 ? n : 0;

    t->others = 0;
    for (uint32_t i = 0; i < value_count(value_counts); i++) {
        uint64_t count, key = value_key(value_counts, i, &count);
        t->others += count && key != QUERY_KEY_NULL;
    }
    for (int i = 0; i < n && rc == 0; i++) {
        int64_t added = group_table_add(&t->kept, &best[i].key);
        rc = added < 0 ? (int)added : 0;
        t->others--;
    }
    free(best);
    return rc < 0 ? rc : group_table_place(&t->kept);
}

int timeline_fold_colors(struct timeline *t, uint32_t max_colors, struct err *err)
{
    struct timeline_plan *p = &t->plan;
    const struct source **color = &p->keys[p->width - 1];
    struct value_counts value_counts = {.plan = p, .color = *color};
    int rc;

    do {
        atomic_store(&value_counts.skipped_numbers, false);
        rc = count_values(&value_counts, err);
        t->bins = rc == 0 && are_numbers(&value_counts);
        if (rc == 0 && !t->bins && !atomic_load(&value_counts.skipped_numbers))
            rc = keep_frequent(t, &value_counts, max_colors);
        groups_free(value_counts.values);
        value_counts.numbers = true;
    } while (rc == 0 && !t->bins && atomic_load(&value_counts.skipped_numbers));
    return rc < 0 ? rc : query_source_folded(p->query, *color, t->bins ? NULL : &t->kept, color);
}

/* ---- values chosen by the request ------------------------------------------------------------ */

static int key_of_microseconds(struct query *q, const struct value *v, uint64_t *ret)
{
    if (v->type == VALUE_INT)
        return key_of_time(q, v->i, false, ret);
    return fabs(v->d) < 9e15 ? key_of_time(q, llround(v->d * 1000), true, ret)
                             : key_of_f64(q, v->d, ret);
}

/* Returns the key of a value as scans have it. */
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

/* ---- description of a color ------------------------------------------------------------------ */

/* Returns an integer if it fits into 64 bits. */
static struct value power_of_two(int exponent)
{
    if (exponent < 63)
        return (struct value){.type = VALUE_INT, .i = (int64_t)1 << exponent};
    return (struct value){.type = VALUE_DOUBLE, .d = ldexp(1, exponent)};
}

void timeline_color_set(const struct timeline *t, uint64_t key, const struct value *value,
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
