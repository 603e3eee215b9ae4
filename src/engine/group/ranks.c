/* ranks.c - sorts the distinct keys of a column by their values: whole numbers and times by a radix
 * sort, others by comparisons. */
#include "engine/group/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEYS_CHECKED = 1 << 14 }; /* keys between two checks of the budget */

int rows_radix(const struct row_id *from, struct row_id *to, size_t n, unsigned shift,
               unsigned bits, struct budget *b)
{
    const uint64_t mask = ((uint64_t)1 << bits) - 1;
    uint32_t at[1 << RADIX_BITS], sum = 0;
    int rc = 0;

    memset(at, 0, (mask + 1) * sizeof(*at));
    for (size_t i = 0; i < n; i++)
        at[from[i].word >> shift & mask]++;
    if (at[from[0].word >> shift & mask] == n)
        return 0;
    for (unsigned v = 0; v <= mask; v++) {
        uint32_t count = at[v];
        at[v] = sum;
        sum += count;
    }
    for (size_t i = 0; i < n && rc == 0; i++) {
        rc = b && budget_check_is_due(i, n) ? budget_check(b) : 0;
        to[at[from[i].word >> shift & mask]++] = from[i];
    }
    return rc < 0 ? rc : 1;
}

/* Words are in the order of the values, but different values may have the same word. */
static int compare_values(const void *a, const void *b, void *arg)
{
    const struct row_id *x = a, *y = b;
    const struct value *values = arg;

    if (x->word != y->word)
        return x->word < y->word ? -1 : 1;
    return value_cmp(&values[x->group], &values[y->group]);
}

static size_t common_start(struct text a, struct text b)
{
    size_t n = 0, max = a.len < b.len ? a.len : b.len;

    while (n < max && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

/* Returns the first bytes of a text after the prefix that all texts have in common. Values that are
 * sorted before texts get 0, those after them UINT64_MAX. */
static uint64_t word_of(const struct value *v, size_t common)
{
    uint64_t word = 0;

    if (v->type != VALUE_TEXT)
        return value_rank(v) < VALUE_RANK_TEXT ? 0 : UINT64_MAX;
    for (size_t i = common; i < common + 8; i++)
        word = word << 8 | (i < v->text.len ? (unsigned char)v->text.ptr[i] : 0);
    return word;
}

static int read_values(struct query *q, const struct group_table *distinct, struct value *values,
                       struct row_id *items)
{
    const struct value *text = NULL;
    size_t common = SIZE_MAX;
    int rc = 0;

    for (uint32_t i = 0; i < distinct->count && rc == 0; i++) {
        query_key_value(q, *group_table_keys(distinct, i), &values[i]);
        rc = i % KEYS_CHECKED ? 0 : budget_check(query_budget(q));
        if (values[i].type != VALUE_TEXT)
            continue;
        text = text ? text : &values[i];
        struct text start = {text->text.ptr, text->text.len < common ? text->text.len : common};
        common = common_start(start, values[i].text);
    }
    for (uint32_t i = 0; i < distinct->count && rc == 0; i++) {
        items[i] = (struct row_id){.word = word_of(&values[i], common), .group = i};
        rc = i % KEYS_CHECKED ? 0 : budget_check(query_budget(q));
    }
    return rc;
}

static int sort_values(struct query *q, const struct group_table *distinct, struct row_id *items)
{
    struct value *values = large_realloc(NULL, (distinct->count + 1) * sizeof(*values));
    int rc = values ? read_values(q, distinct, values, items) : -ENOMEM;

    if (rc == 0)
        rc = sort_items(items, distinct->count, sizeof(*items), compare_values, values,
                        query_budget(q));
    large_free(values);
    return rc;
}

/* A key as a number: see value_milli. */
struct key_number {
    bool null;
    __int128 value;
};

/* Returns false if the key is neither null nor a whole number or a time. */
static bool read_key_number(struct query *q, const struct group_table *distinct, uint32_t i,
                            struct key_number *ret)
{
    struct value v;

    query_key_value(q, *group_table_keys(distinct, i), &v);
    *ret = (struct key_number){.null = v.type == VALUE_NULL};
    return ret->null || value_milli(&v, &ret->value);
}

/* Converts whole numbers, times and null to words: null to 0, the smallest of the others to 1.
 * Returns -EDOM if there are other values, or their range is too large. */
static int make_words(struct query *q, const struct group_table *distinct, struct row_id *items,
                      uint64_t *ret_max)
{
    struct key_number w, min = {.null = true}, max = {.null = true};
    __int128 span;

    for (uint32_t i = 0; i < distinct->count; i++) {
        int rc = i % KEYS_CHECKED ? 0 : budget_check(query_budget(q));
        if (rc < 0 || !read_key_number(q, distinct, i, &w))
            return rc < 0 ? rc : -EDOM;
        if (!w.null && (min.null || w.value < min.value))
            min = w;
        if (!w.null && (max.null || w.value > max.value))
            max = w;
    }
    if (__builtin_sub_overflow(max.value, min.value, &span) || span >= UINT64_MAX)
        return -EDOM;
    for (uint32_t i = 0; i < distinct->count; i++) {
        int rc = i % KEYS_CHECKED ? 0 : budget_check(query_budget(q));
        if (rc < 0)
            return rc;
        read_key_number(q, distinct, i, &w);
        items[i] = (struct row_id){w.null ? 0 : (uint64_t)(w.value - min.value) + 1, 0, i};
    }
    *ret_max = (uint64_t)span + 1;
    return 0;
}

/* Sorts the numbers of the keys by their values. Returns the half of `items` that has the
 * result. */
static struct row_id *sort_keys(struct query *q, const struct group_table *distinct,
                                struct row_id *items, int *rc)
{
    struct row_id *now = items, *next = items + distinct->count;
    uint64_t max = 0;

    *rc = make_words(q, distinct, items, &max);
    if (*rc == -EDOM)
        *rc = sort_values(q, distinct, items);
    for (unsigned shift = 0; *rc == 0 && shift < 64 && max >> shift && distinct->count > 1;
         shift += 8) {
        int moved = rows_radix(now, next, distinct->count, shift, 8, query_budget(q));
        if (moved > 0) {
            struct row_id *swap = now;
            now = next;
            next = swap;
        }
        *rc = moved < 0 ? moved : budget_check(query_budget(q));
    }
    return now;
}

int rank_keys(struct query *q, const struct group_table *distinct, uint32_t *rank, uint64_t *keys)
{
    struct row_id *items = large_realloc(NULL, 2 * (size_t)distinct->count * sizeof(*items));
    int rc = items ? 0 : -ENOMEM;
    const struct row_id *sorted = items ? sort_keys(q, distinct, items, &rc) : NULL;

    for (uint32_t i = 0; i < distinct->count && rc == 0; i++) {
        rc = i % KEYS_CHECKED ? 0 : budget_check(query_budget(q));
        rank[sorted[i].group] = i;
        if (keys)
            keys[i] = *group_table_keys(distinct, sorted[i].group);
    }
    large_free(items);
    return rc;
}
