/* fold.c - sources that group by fewer keys: by powers of two, or by some of the values. */
#include "base/group_table.h"
#include "engine/derived/batch.h"
#include "engine/derived/codes.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <math.h>

/* ---- powers of two --------------------------------------------------------------------------- */

static int bin_of_integer(int64_t value)
{
    return value < 0 ? -1 : value == 0 ? 0 : 64 - __builtin_clzll((uint64_t)value);
}

static int bin_of_double(double value)
{
    int exponent;

    if (value < 1)
        return value < 0 ? -1 : 0;
    (void)frexp(value, &exponent);
    return exponent;
}

/* Negative ns must not become 0 us. */
static int bin_of_time(int64_t value, bool nano)
{
    return bin_of_integer(nano && value >= 0 ? value / 1000 : value);
}

/* For integers beyond 64 bits, whose digits are more precise than a double. */
static bool bin_of_text(struct text t, int *ret)
{
    unsigned __int128 value = 0;
    double number;
    size_t i;

    for (i = 0; i < t.len && i < 38 && t.ptr[i] >= '0' && t.ptr[i] <= '9'; i++)
        value = value * 10 + (unsigned)(t.ptr[i] - '0');
    if (i == t.len && value >> 64) {
        *ret = 64 + bin_of_integer((int64_t)(value >> 64));
        return true;
    }
    if (i == t.len && value > INT64_MAX) {
        *ret = 64;
        return true;
    }
    if (num_parse_double(t, &number) < 0)
        return false;
    *ret = bin_of_double(number);
    return true;
}

static bool bin_of_value(const struct value *v, int *ret)
{
    if (v->type == VALUE_INT)
        *ret = bin_of_integer(v->i);
    else if (v->type == VALUE_TIME)
        *ret = bin_of_integer(v->wide < 0 ? -1 : (int64_t)(v->wide / 1000));
    else if (v->type == VALUE_DOUBLE)
        *ret = bin_of_double(v->d);
    else
        return v->type == VALUE_JSON && bin_of_text(v->text, ret);
    return true;
}

bool query_key_bin(struct query *q, uint64_t key, int *ret)
{
    struct value v;

    switch (key_tag(key)) {
    case KEY_INT:
        *ret = bin_of_integer(key_payload(key));
        return true;
    case KEY_US:
    case KEY_NS:
        *ret = bin_of_time(key_payload(key), key_tag(key) == KEY_NS);
        return true;
    case KEY_STORED:
        query_key_value(q, key, &v);
        return bin_of_value(&v, ret);
    default:
        return false;
    }
}

/* ---- keys and codes -------------------------------------------------------------------------- */

uint64_t fold_key(struct query *q, const struct source *s, uint64_t key)
{
    int bin;

    if (!s->folded || key == QUERY_KEY_NULL)
        return key;
    if (s->kept)
        return group_table_find(s->kept, &key) >= 0 ? key : QUERY_KEY_OTHERS;
    return query_key_bin(q, key, &bin) ? key_make(KEY_INT, bin) : QUERY_KEY_OTHERS;
}

static int bin_of_row(const struct binding *b, int64_t value)
{
    return b->shape == SHAPE_TIME ? bin_of_time(value, b->nano) : bin_of_integer(value);
}

bool fold_has_codes(const struct binding *b)
{
    return b->source->folded && !b->source->kept &&
           (b->shape == SHAPE_INT || b->shape == SHAPE_TIME);
}

int fold_make_codes(struct binding *b)
{
    int first = bin_of_row(b, b->min), last = bin_of_row(b, b->max);
    uint32_t count = (uint32_t)(last - first) + 1;
    uint64_t *keys = scratch_reserve(&b->key_table, (count + 1ul) * sizeof(*keys));

    if (!keys)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++)
        keys[i] = key_make(KEY_INT, first + (int)i);
    keys[count] = QUERY_KEY_NULL;
    b->code_count = count + 1;
    return 0;
}

/* Rows that are not selected may have any value, but need a valid code. */
void fold_batch_codes(struct scan_batch *batch, struct binding *b, uint32_t *out)
{
    int first = bin_of_row(b, b->min);
    const uint64_t *valid;
    const int64_t *values = binding_i64(batch, b, &valid);

    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t code = (uint32_t)(bin_of_row(b, values[i]) - first);
        out[i] = batch_is_valid(valid, i) && code < b->code_count ? code : b->code_count - 1;
    }
}
