/* schema_chunk.c - adds the columns of one chunk. If all rows are selected, the directory has
 * the number of rows and the extents, and dictionaries have the distinct values; only numbers
 * are decoded, to count distinct ones. */
#include "answer/small/schema.h"
#include "engine/derived/covered.h"
#include "engine/derived/members.h"
#include "engine/lang/path.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

struct visit {
    struct columns_seen *columns;
    struct scan_chunk *chunk;
    const uint64_t *mask; /* selected rows of the chunk; NULL: all */
    struct column column;
    struct column_seen *seen;
    uint64_t rows[SCAN_WORDS]; /* of the current block: selected and not null */
};

static bool has_row(const struct visit *v, uint32_t i)
{
    return v->rows[i / 64] >> (i % 64) & 1;
}

/* Sets v->rows for a block, and counts these rows. *ret_any: there is one. */
static int set_rows(struct visit *v, uint32_t first, uint32_t n, bool *ret_any)
{
    uint64_t any = 0;

    memset(v->rows, 0xff, sizeof(v->rows));
    if (v->column.nulls) {
        int rc = column_read_valid(v->chunk->view, &v->column, first, n, v->rows);
        if (rc < 0)
            return rc;
    }
    for (uint32_t w = 0; w < SCAN_WORDS; w++) {
        uint32_t left = n > w * 64 ? n - w * 64 : 0;
        v->rows[w] &= left >= 64 ? ~0ull : (1ull << left) - 1;
        if (v->mask)
            v->rows[w] &= left ? v->mask[first / 64 + w] : 0;
        any |= v->rows[w];
        v->seen->rows += (unsigned)__builtin_popcountll(v->rows[w]);
    }
    *ret_any = any != 0;
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static int extent_i64(struct visit *v, int64_t min, int64_t max)
{
    struct column_seen *s = v->seen;
    __int128 unit = v->column.nano ? 1 : 1000;
    struct value a = {.type = VALUE_INT, .i = min}, b = {.type = VALUE_INT, .i = max};
    struct seen_extent *e = v->column.type == COLUMN_BOOL ? &s->bools : &s->numbers;

    if (v->column.type == COLUMN_BOOL)
        a.type = b.type = VALUE_BOOL;
    if (v->column.type == COLUMN_TIME) {
        a = (struct value){.type = VALUE_TIME, .wide = min * unit};
        b = (struct value){.type = VALUE_TIME, .wide = max * unit};
    }
    int rc = extent_add(e, &a);
    return rc < 0 ? rc : extent_add(e, &b);
}

static int add_i64(struct visit *v, int64_t value)
{
    struct budget *b = v->columns->budget;
    struct column_entry e = {.type = TRACE_BOOL, .i = value};

    if (v->column.type == COLUMN_TIME)
        return seen_time(v->seen, value, v->column.nano, b);
    if (v->column.type == COLUMN_BOOL)
        return seen_entry(v->seen, &e, b);
    v->seen->types |= SCHEMA_INT;
    return seen_i64(v->seen, value, b);
}

static int block_i64(struct visit *v, uint32_t first, uint32_t n)
{
    int64_t values[SCAN_BATCH], min = INT64_MAX, max = INT64_MIN, last = 0;
    bool any = false;
    int rc = column_read_i64(v->chunk->view, &v->column, first, n, values);

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (!has_row(v, i) || (any && values[i] == last))
            continue;
        any = true;
        last = values[i];
        min = last < min ? last : min;
        max = last > max ? last : max;
        rc = add_i64(v, last);
    }
    return rc == 0 && any ? extent_i64(v, min, max) : rc;
}

/* A computed column is stored as doubles if any of its values is not whole; whole ones count as
 * integers. */
static int block_f64(struct visit *v, uint32_t first, uint32_t n)
{
    double values[SCAN_BATCH];
    int rc = column_read_f64(v->chunk->view, &v->column, first, n, values);
    bool computed = column_is_computed(v->column.path);
    struct column_entry e;

    for (uint32_t i = 0; rc == 0 && i < n; i++) {
        if (!has_row(v, i))
            continue;
        bool whole = computed && fabs(values[i]) < 0x1p53 && values[i] == floor(values[i]);
        e = (struct column_entry){.type = whole ? TRACE_INT : TRACE_DOUBLE, .d = values[i]};
        if (whole)
            e.i = (int64_t)values[i];
        rc = seen_entry(v->seen, &e, v->columns->budget);
    }
    return rc;
}

static int visit_numbers(struct visit *v)
{
    uint32_t rows = v->chunk->rows;
    int rc = 0;

    for (uint32_t first = 0; rc == 0 && first < rows; first += SCAN_BATCH) {
        uint32_t n = rows - first < SCAN_BATCH ? rows - first : SCAN_BATCH;
        bool any;
        rc = set_rows(v, first, n, &any);
        if (rc < 0 || !any)
            continue;
        rc = v->column.type == COLUMN_DOUBLE ? block_f64(v, first, n) : block_i64(v, first, n);
    }
    return rc;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static int count_codes(struct visit *v, uint32_t *counts)
{
    uint32_t codes[SCAN_BATCH], rows = v->chunk->rows;
    int rc = 0;

    for (uint32_t first = 0; rc == 0 && first < rows; first += SCAN_BATCH) {
        uint32_t n = rows - first < SCAN_BATCH ? rows - first : SCAN_BATCH;
        bool any;
        rc = set_rows(v, first, n, &any);
        if (rc == 0 && any)
            rc = column_read_codes(v->chunk->view, &v->column, first, n, codes);
        for (uint32_t i = 0; rc == 0 && any && i < n; i++)
            if (has_row(v, i) && codes[i] < v->column.entries)
                counts[codes[i]]++;
    }
    return rc;
}

/* Adds {"path":value,...}, the values of columns in @other, which occurs in `rows` rows. */
static int add_other(struct columns_seen *cs, struct text object, uint64_t rows)
{
    struct arena arena = {0};
    struct members m = {object.ptr, object.ptr + object.len, &arena};
    struct text path, value;
    int rc = 0;

    while (rc == 0 && members_next(&m, &path, &value)) {
        struct column_entry e;
        struct column_seen *seen;
        /* A field with the name of a derived column cannot be selected. */
        if (column_is_derived(path) || !members_entry(&m, value, &e))
            continue;
        rc = columns_find(cs, path, &seen);
        if (rc < 0)
            break;
        seen->rows += rows;
        rc = seen_entry(seen, &e, cs->budget);
    }
    rc = rc < 0 ? rc : arena.error;
    arena_done(&arena);
    return rc;
}

/* counts: number of rows by code; NULL: every entry occurs. other: the column is @other. */
static int visit_entries(struct visit *v, const uint32_t *counts, bool other)
{
    int rc = 0;

    for (uint32_t code = 0; rc == 0 && code < v->column.entries; code++) {
        struct column_entry e;
        if (counts && !counts[code])
            continue;
        rc = column_entry(v->chunk->view, &v->column, code, &e);
        if (rc == 0 && other)
            rc = add_other(v->columns, e.text, counts[code]);
        else if (rc == 0)
            rc = seen_entry(v->seen, &e, v->columns->budget);
    }
    return rc;
}

static int visit_dictionary(struct visit *v, bool other)
{
    if (!v->mask && !other) {
        v->seen->rows += v->column.rows - v->column.nulls;
        return visit_entries(v, NULL, false);
    }
    uint32_t *counts = calloc(v->column.entries + 1, sizeof(*counts));
    if (!counts)
        return -ENOMEM;
    int rc = count_codes(v, counts);
    rc = rc < 0 ? rc : visit_entries(v, counts, other);
    free(counts);
    return rc;
}

/* ---- columns --------------------------------------------------------------------------------- */

/* The directory has all facts about a column with a single number. */
static int visit_constant(struct visit *v)
{
    const struct column *c = &v->column;
    struct column_entry e = {.type = TRACE_DOUBLE, .d = c->min_f64};

    v->seen->rows += c->rows - c->nulls;
    if (c->type == COLUMN_DOUBLE)
        return seen_entry(v->seen, &e, v->columns->budget);
    int rc = add_i64(v, c->min);
    return rc < 0 ? rc : extent_i64(v, c->min, c->max);
}

static int visit_column(struct visit *v)
{
    static const struct text other_path = {"@other", 6};
    struct column_seen scratch = {0};
    struct text path = v->column.path;
    bool other = text_eq(path, other_path);
    int rc = 0;

    /* Fields of lines whose name is that of a derived column are hidden; computed ones are not
     * fields of lines. */
    bool hidden =
        text_starts(path, TEXT("@")) || (column_is_derived(path) && !column_is_computed(path));
    if (v->column.nulls >= v->column.rows || (!other && hidden))
        return 0;
    if (other)
        v->seen = &scratch; /* its rows are counted, but not reported */
    else
        rc = columns_find(v->columns, path, &v->seen);
    if (rc < 0)
        return rc;
    if (v->column.type == COLUMN_TEXT || v->column.type == COLUMN_MIXED)
        return visit_dictionary(v, other);
    return v->column.constant && !v->mask ? visit_constant(v) : visit_numbers(v);
}

/* `bytes` is null in some rows in which the stored column is not. */
static int visit_bytes(struct visit *v)
{
    size_t words = (size_t)v->chunk->rows / 64 + 1 + SCAN_WORDS;
    const uint64_t *covered, *all = v->mask;
    int rc = covered_rows(v->chunk->worker, &covered);

    if (rc < 0 || !covered)
        return rc < 0 ? rc : visit_column(v);
    uint64_t *mask = calloc(words, sizeof(*mask));
    if (!mask)
        return -ENOMEM;
    for (size_t i = 0; i < (v->chunk->rows + 63) / 64; i++)
        mask[i] = (all ? all[i] : ~0ull) & ~covered[i];
    v->mask = mask;
    rc = visit_column(v);
    v->mask = all;
    free(mask);
    return rc;
}

int schema_chunk(struct columns_seen *cs, struct scan_chunk *c, const uint64_t *mask)
{
    struct visit v = {.columns = cs, .chunk = c, .mask = mask};
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < chunk_column_count(c->view); i++) {
        chunk_column(c->view, i, &v.column);
        rc = budget_check(cs->budget);
        if (rc == 0)
            rc = text_eq(v.column.path, TEXT("bytes")) ? visit_bytes(&v) : visit_column(&v);
    }
    return rc;
}
