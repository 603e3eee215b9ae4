/* values.c - converts a value to the type of its Arrow column. */
#include "format/arrow/columns.h"
#include "format/writer/value_text.h"

#include <errno.h>
#include <math.h>

bool value_is_null(const struct value *v)
{
    return v->type == VALUE_NULL || (v->type == VALUE_DOUBLE && !isfinite(v->d));
}

/* Stores a time in nanoseconds, or any other number rounded. Returns false for other types, and for
 * numbers far beyond 64 bits. */
static bool whole_of(const struct value *v, bool time, __int128 *ret)
{
    const int unit = time ? 1000 : 1;

    switch (v->type) {
    case VALUE_INT:
        *ret = (__int128)v->i * unit;
        return true;
    case VALUE_UINT:
        *ret = (__int128)v->u * unit;
        return true;
    case VALUE_TIME:
    case VALUE_WIDE:
        *ret = v->wide;
        return true;
    case VALUE_DOUBLE:
        *ret = fabs(v->d) < 1e20 ? (__int128)rint(v->d * unit) : 0;
        return fabs(v->d) < 1e20;
    default:
        return false;
    }
}

bool value_has_fraction(const struct value *v)
{
    __int128 ns;

    if (v->type == VALUE_TIME && v->wide == (int64_t)v->wide) /* a division of 128 bits is slow */
        return (int64_t)v->wide % 1000 != 0;
    return whole_of(v, true, &ns) && ns % 1000 != 0;
}

/* `nano`: times are stored in ns, else in us. */
static bool double_of(const struct value *v, bool nano, uint64_t *ret)
{
    __int128 n;
    double d = v->d;

    if (v->type == VALUE_TIME) {
        bool negative = v->wide < 0;
        __int128 size = negative ? -v->wide : v->wide;
        if (nano || size > UINT64_MAX || !num_make_double((uint64_t)size, -3, negative, &d))
            d = (double)v->wide / (nano ? 1 : 1000);
    } else if (v->type == VALUE_DOUBLE) {
        d = nano ? d * 1000 : d;
    } else if (whole_of(v, nano, &n)) {
        d = (double)n;
    } else {
        return false;
    }
    memcpy(ret, &d, sizeof(d));
    return true;
}

struct text arrow_text(struct arrow_rows *r, const struct value *v)
{
    if (v->type == VALUE_TEXT || v->type == VALUE_JSON)
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

int arrow_bits(struct arrow_rows *r, size_t column, const struct value *v, uint64_t *ret)
{
    const struct table_column *spec = &r->specs[column];
    bool time = spec->unit == UNIT_US, known;
    int64_t code;
    __int128 n;

    *ret = 0;
    if (value_is_null(v))
        return 1;
    switch (r->types[column].type) {
    case ARROW_TEXT:
        code = arrow_code(&r->columns[column], arrow_text(r, v));
        *ret = (uint64_t)code;
        return code < 0 ? (int)code : r->scratch.error;
    case ARROW_DOUBLE:
        known = double_of(v, time && r->nano, ret);
        break;
    case ARROW_INT64:
        while (spec->choices[*ret + 1] && !text_eq(v->text, text_of(spec->choices[*ret])))
            ++*ret;
        return 0;
    default:
        known = whole_of(v, time, &n);
        n = !known ? 0 : time && !r->nano ? n / 1000 : n;
        known = known && n >= 0 && n <= UINT64_MAX;
        *ret = (uint64_t)n;
    }
    *ret = known ? *ret : 0;
    return !known;
}

int arrow_keys_begin(struct arrow_rows *r, size_t column, const struct vector *codes)
{
    struct arrow_keys *k = &r->columns[column].keys;

    if (k->dictionary == codes->dictionary)
        return 0;
    k->count = codes->code_count;
    if (k->count > k->cap) {
        size_t more = (k->count - k->cap) * (sizeof(*k->bits) + sizeof(*k->states));
        int rc = charge_add(&r->charge, more);
        uint64_t *bits = rc < 0 ? NULL : realloc(k->bits, k->count * sizeof(*bits));
        k->bits = bits ? bits : k->bits;
        uint8_t *states = bits ? realloc(k->states, k->count) : NULL;
        k->states = states ? states : k->states;
        if (!bits || !states)
            return rc < 0 ? rc : -ENOMEM;
        k->cap = k->count;
    }
    if (k->count)
        memset(k->states, KEY_NEW, k->count);
    k->nulls = k->all = false;
    k->dictionary = codes->dictionary;
    return 0;
}

void arrow_keys_forget(struct arrow_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->columns[i].keys.dictionary = UINT64_MAX;
}
