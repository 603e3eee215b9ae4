/* arrow_values.c - a value as a column of Arrow has it. */
#include "arrow_columns.h"
#include "value_text.h"

#include <errno.h>
#include <math.h>

bool value_is_text(const struct value *v)
{
    return v->type == VALUE_TEXT || v->type == VALUE_JSON;
}

/* False: it has a fraction. */
bool value_is_whole(const struct value *v, __int128 *ret)
{
    int64_t ns = (int64_t)v->wide;

    *ret = v->type == VALUE_INT ? v->i : v->type == VALUE_UINT ? (__int128)v->u : v->wide;
    if (v->type == VALUE_TIME && ns == v->wide) { /* a division of 128 bits takes long */
        *ret = ns / 1000;
        return ns % 1000 == 0;
    }
    if (v->type == VALUE_TIME) {
        *ret = v->wide / 1000;
        return v->wide % 1000 == 0;
    }
    return v->type != VALUE_DOUBLE;
}

bool value_is_none(const struct value *v)
{
    return v->type == VALUE_NULL || (v->type == VALUE_DOUBLE && !isfinite(v->d));
}

double arrow_double(const struct value *v)
{
    bool negative = v->wide < 0;
    __int128 n;
    double d;

    if (v->type == VALUE_DOUBLE)
        return v->d;
    if (value_is_whole(v, &n))
        return (double)n;
    __int128 size = negative ? -v->wide : v->wide;
    if (size <= UINT64_MAX && num_make_double((uint64_t)size, -3, negative, &d))
        return d;
    return (double)v->wide / 1000;
}

/* A value that is no text, in a column of texts, is told as JSON tells it. */
struct text arrow_text(struct arrow_rows *r, const struct value *v)
{
    if (value_is_text(v))
        return v->text;
    buf_clear(&r->scratch);
    value_json(&r->scratch, v);
    return (struct text){r->scratch.data, r->scratch.len};
}

int64_t arrow_code(struct arrow_staged *c, struct text t)
{
    uint32_t *recent = &c->recent[((uintptr_t)t.ptr >> 3 ^ t.len) % ARROW_RECENT];

    if (*recent < intern_count(c->texts) && text_eq(intern_text(c->texts, *recent), t))
        return *recent;
    int64_t code = intern_add(c->texts, t);
    if (code >= 0)
        *recent = (uint32_t)code;
    return code;
}

static int64_t class_of(struct text t)
{
    return text_eq(t, TEXT("event")) ? 0 : text_eq(t, TEXT("profile")) ? 1 : 2;
}

/* What a batch has of a value that is not null. */
int arrow_bits(struct arrow_rows *r, size_t column, const struct value *v, uint64_t *ret)
{
    struct arrow_staged *c = &r->columns[column];
    int64_t code;
    __int128 n;
    double d;

    switch (r->types[column].type) {
    case ARROW_TEXT:
        code = arrow_code(c, arrow_text(r, v));
        *ret = (uint64_t)code;
        return code < 0 ? (int)code : r->scratch.error;
    case ARROW_BOOL:
        *ret = v->i != 0;
        return 0;
    case ARROW_DOUBLE:
        d = arrow_double(v);
        memcpy(ret, &d, sizeof(d));
        return 0;
    default:
        (void)value_is_whole(v, &n);
        *ret = c->class ? (uint64_t)class_of(v->text) : (uint64_t)n;
        return 0;
    }
}

int arrow_charge(struct arrow_rows *r, size_t bytes)
{
    int rc = budget_charge(r->budget, bytes);

    r->charged += rc < 0 ? 0 : bytes;
    return rc;
}

/* Nothing was met of the part yet. */
int arrow_ranks_begin(struct arrow_rows *r, size_t column, uint64_t part)
{
    const uint64_t *keys;
    struct arrow_ranks *k = &r->columns[column].ranks;

    if (k->part == part)
        return 0;
    k->count = aggregate_part_keys(r->aggregate, part, column, &keys);
    if (k->count > k->cap) {
        size_t more = (k->count - k->cap) * (sizeof(*k->bits) + sizeof(*k->met));
        int rc = arrow_charge(r, more);
        uint64_t *bits = rc < 0 ? NULL : realloc(k->bits, k->count * sizeof(*bits));
        k->bits = bits ? bits : k->bits;
        uint8_t *met = bits ? realloc(k->met, k->count) : NULL;
        k->met = met ? met : k->met;
        if (!bits || !met)
            return rc < 0 ? rc : -ENOMEM;
        k->cap = k->count;
    }
    if (k->count)
        memset(k->met, NOT_MET, k->count);
    k->nulls = k->all = false;
    k->part = part;
    return 0;
}

void arrow_ranks_forget(struct arrow_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->columns[i].ranks.part = UINT64_MAX;
}
