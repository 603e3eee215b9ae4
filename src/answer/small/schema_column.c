/* schema_column.c - types, rows, minimum and maximum, and distinct values of a column. */
#include "answer/small/schema.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>

/* ---- hashes: integers of 64 bits and equal doubles have the same ----------------------------- */

static uint64_t mix_hash(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

static uint64_t hash_i64(int64_t v)
{
    return mix_hash((uint64_t)v + 0x9e3779b97f4a7c15u);
}

int seen_i64(struct column_seen *c, int64_t value, struct budget *b)
{
    return distinct_add(&c->distinct, hash_i64(value), b);
}

static int seen_f64(struct column_seen *c, double value, struct budget *b)
{
    union {
        double d;
        uint64_t bits;
    } u = {.d = value};

    if (value >= -0x1p63 && value < 0x1p63 && value == floor(value))
        return seen_i64(c, (int64_t)value, b);
    return distinct_add(&c->distinct, mix_hash(u.bits ^ 0x5851f42d4c957f2du), b);
}

/* Times are in microseconds: those without a fraction are integers. */
int seen_time(struct column_seen *c, int64_t value, bool nano, struct budget *b)
{
    if (nano && value % 1000 != 0) {
        c->types |= SCHEMA_FLOAT;
        return distinct_add(&c->distinct, mix_hash((uint64_t)value ^ 0x14057b7ef767814fu), b);
    }
    c->types |= SCHEMA_INT;
    return distinct_add(&c->distinct, hash_i64(nano ? value / 1000 : value), b);
}

/* ---- minimum and maximum --------------------------------------------------------------------- */

static int keep_value(struct value *to, struct buf *copy, const struct value *v)
{
    bool text = v->type == VALUE_TEXT || v->type == VALUE_JSON;

    *to = *v;
    if (!text)
        return 0;
    buf_clear(copy);
    buf_append(copy, v->text.ptr, v->text.len);
    to->text = (struct text){copy->data, copy->len};
    return copy->error;
}

int extent_add(struct seen_extent *e, const struct value *v)
{
    int rc = 0;

    if (e->min.type == VALUE_NULL || value_cmp(v, &e->min) < 0)
        rc = keep_value(&e->min, &e->min_text, v);
    if (rc == 0 && (e->max.type == VALUE_NULL || value_cmp(v, &e->max) > 0))
        rc = keep_value(&e->max, &e->max_text, v);
    return rc;
}

static int extent_merge(struct seen_extent *e, const struct seen_extent *other)
{
    int rc = 0;

    if (other->min.type != VALUE_NULL) {
        rc = extent_add(e, &other->min);
        rc = rc < 0 ? rc : extent_add(e, &other->max);
    }
    return rc;
}

static void extent_done(struct seen_extent *e)
{
    buf_done(&e->min_text);
    buf_done(&e->max_text);
}

/* ---- one value of a dictionary --------------------------------------------------------------- */

int seen_entry(struct column_seen *c, const struct column_entry *e, struct budget *b)
{
    struct value v = {.type = VALUE_TEXT, .text = e->text};
    int rc = 0;

    switch (e->type) {
    case TRACE_INT:
        c->types |= SCHEMA_INT;
        v = (struct value){.type = VALUE_INT, .i = e->i};
        rc = extent_add(&c->numbers, &v);
        return rc < 0 ? rc : seen_i64(c, e->i, b);
    case TRACE_DOUBLE:
        c->types |= SCHEMA_FLOAT;
        v = (struct value){.type = VALUE_DOUBLE, .d = e->d};
        rc = extent_add(&c->numbers, &v);
        return rc < 0 ? rc : seen_f64(c, e->d, b);
    case TRACE_BIG:
        c->types |= SCHEMA_INT;
        v.type = VALUE_JSON;
        rc = extent_add(&c->numbers, &v);
        return rc < 0 ? rc : distinct_add(&c->distinct, mix_hash(text_hash(e->text) + 1), b);
    case TRACE_BOOL:
        c->types |= SCHEMA_BOOL;
        v = (struct value){.type = VALUE_BOOL, .i = e->i};
        rc = extent_add(&c->bools, &v);
        return rc < 0 ? rc : distinct_add(&c->distinct, mix_hash((uint64_t)e->i + 0x1234567u), b);
    case TRACE_TEXT:
        c->types |= SCHEMA_STRING;
        rc = extent_add(&c->texts, &v);
        return rc < 0 ? rc : distinct_add(&c->distinct, text_hash(e->text), b);
    default: /* arrays and {} have no order */
        c->types |= SCHEMA_JSON;
        return distinct_add(&c->distinct, mix_hash(text_hash(e->text) + 2), b);
    }
}

static void seen_done(struct column_seen *c, struct budget *b)
{
    extent_done(&c->numbers);
    extent_done(&c->bools);
    extent_done(&c->texts);
    distinct_done(&c->distinct, b);
}

static int seen_merge(struct column_seen *c, const struct column_seen *other, struct budget *b)
{
    c->types |= other->types;
    c->rows += other->rows;
    int rc = extent_merge(&c->numbers, &other->numbers);
    rc = rc < 0 ? rc : extent_merge(&c->bools, &other->bools);
    rc = rc < 0 ? rc : extent_merge(&c->texts, &other->texts);
    return rc < 0 ? rc : distinct_merge(&c->distinct, &other->distinct, b);
}

/* ---- all columns ----------------------------------------------------------------------------- */

int columns_init(struct columns_seen *cs, struct budget *b)
{
    *cs = (struct columns_seen){.paths = intern_new(), .budget = b};
    return cs->paths ? 0 : -ENOMEM;
}

void columns_done(struct columns_seen *cs)
{
    for (uint32_t i = 0; cs->paths && i < cs->columns.count; i++) {
        struct column_seen *c = cs->columns.at[i];
        if (!c)
            continue;
        seen_done(c, cs->budget);
        budget_release(cs->budget, sizeof(*c));
        free(c);
    }
    vec_done(&cs->columns);
    intern_free(cs->paths);
    *cs = (struct columns_seen){0};
}

int columns_find(struct columns_seen *cs, struct text path, struct column_seen **ret)
{
    int64_t id = intern_add(cs->paths, path);

    if (id < 0 || vec_extend(&cs->columns, (size_t)id + 1) < 0)
        return -ENOMEM;
    struct column_seen **c = &cs->columns.at[id];
    if (!*c) {
        int rc = budget_charge(cs->budget, sizeof(**c));
        if (rc < 0)
            return rc;
        *c = calloc(1, sizeof(**c));
        if (!*c) {
            budget_release(cs->budget, sizeof(**c));
            return -ENOMEM;
        }
    }
    *ret = *c;
    return 0;
}

int columns_merge(struct columns_seen *cs, const struct columns_seen *other)
{
    int rc = 0;

    for (uint32_t i = 0; rc == 0 && i < other->columns.count; i++) {
        struct column_seen *c;
        if (!other->columns.at[i])
            continue;
        rc = columns_find(cs, intern_text(other->paths, i), &c);
        rc = rc < 0 ? rc : seen_merge(c, other->columns.at[i], cs->budget);
    }
    return rc;
}
