/* ranks.c - the different keys of a column in the order of their values: by radix where they
 * are whole numbers or times, by comparing them where they are not. */
#include "engine/group/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED = 1 << 14 }; /* keys until it is asked again whether they are still wanted */

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
        rc = b && pass_looks(i, n) ? budget_check(b) : 0;
        to[at[from[i].word >> shift & mask]++] = from[i];
    }
    return rc < 0 ? rc : 1;
}

/* By the word first, which is in the order of the values. */
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
    size_t n = 0, most = a.len < b.len ? a.len : b.len;

    while (n < most && a.ptr[n] == b.ptr[n])
        n++;
    return n;
}

/* Of a text: its bytes after those that all texts begin with. 0 of what comes before texts, all
 * bits of what comes after them. */
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
        rc = i % LOOKED ? 0 : budget_check(query_budget(q));
        if (values[i].type != VALUE_TEXT)
            continue;
        text = text ? text : &values[i];
        struct text start = {text->text.ptr, text->text.len < common ? text->text.len : common};
        common = common_start(start, values[i].text);
    }
    for (uint32_t i = 0; i < distinct->count && rc == 0; i++) {
        items[i] = (struct row_id){.word = word_of(&values[i], common), .group = i};
        rc = i % LOOKED ? 0 : budget_check(query_budget(q));
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

struct whole {
    bool null;
    __int128 value;
};

/* False: neither null nor whole. */
static bool key_whole(struct query *q, const struct group_table *distinct, uint32_t i,
                      struct whole *ret)
{
    struct value v;

    query_key_value(q, *group_table_keys(distinct, i), &v);
    *ret = (struct whole){.null = v.type == VALUE_NULL};
    return ret->null || value_whole(&v, &ret->value);
}

/* Whole numbers, times and null as words: 0 is null, the least of the others is 1. -EDOM: some are
 * something else, or too far apart. */
static int make_words(struct query *q, const struct group_table *distinct, struct row_id *items,
                      uint64_t *ret_most)
{
    struct whole w, least = {.null = true}, most = {.null = true};
    __int128 span;

    for (uint32_t i = 0; i < distinct->count; i++) {
        int rc = i % LOOKED ? 0 : budget_check(query_budget(q));
        if (rc < 0 || !key_whole(q, distinct, i, &w))
            return rc < 0 ? rc : -EDOM;
        if (!w.null && (least.null || w.value < least.value))
            least = w;
        if (!w.null && (most.null || w.value > most.value))
            most = w;
    }
    if (__builtin_sub_overflow(most.value, least.value, &span) || span >= UINT64_MAX)
        return -EDOM;
    for (uint32_t i = 0; i < distinct->count; i++) {
        int rc = i % LOOKED ? 0 : budget_check(query_budget(q));
        if (rc < 0)
            return rc;
        key_whole(q, distinct, i, &w);
        items[i] = (struct row_id){w.null ? 0 : (uint64_t)(w.value - least.value) + 1, 0, i};
    }
    *ret_most = (uint64_t)span + 1;
    return 0;
}

/* The keys' numbers in the order of their values, in what it returns: one half of `items`. */
static struct row_id *sort_keys(struct query *q, const struct group_table *distinct,
                                struct row_id *items, int *rc)
{
    struct row_id *now = items, *other = items + distinct->count;
    uint64_t most = 0;

    *rc = make_words(q, distinct, items, &most);
    if (*rc == -EDOM)
        *rc = sort_values(q, distinct, items);
    for (unsigned shift = 0; *rc == 0 && shift < 64 && most >> shift && distinct->count > 1;
         shift += 8) {
        int moved = rows_radix(now, other, distinct->count, shift, 8, query_budget(q));
        if (moved > 0) {
            struct row_id *swap = now;
            now = other;
            other = swap;
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
        rc = i % LOOKED ? 0 : budget_check(query_budget(q));
        rank[sorted[i].group] = i;
        if (keys)
            keys[i] = *group_table_keys(distinct, sorted[i].group);
    }
    large_free(items);
    return rc;
}
