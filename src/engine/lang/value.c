/* value.c - the order of values in answers. */
#include "engine/lang/exact.h"
#include "dftracerd/query.h"

#include <errno.h>
#include <math.h>

int value_rank(const struct value *v)
{
    switch (v->type) {
    case VALUE_NULL:
        return 0;
    case VALUE_DOUBLE:
        return isfinite(v->d) ? 1 : 0;
    case VALUE_INT:
    case VALUE_UINT:
    case VALUE_WIDE:
    case VALUE_TIME:
        return 1;
    case VALUE_BOOL:
        return 2;
    case VALUE_TEXT:
        return VALUE_RANK_TEXT;
    case VALUE_JSON:
        break;
    }
    bool digits = v->text.len > 0 && (v->text.ptr[0] == '-' || is_ascii_digit(v->text.ptr[0]));
    return digits ? 1 : VALUE_RANK_TEXT + 1;
}

bool value_milli(const struct value *v, __int128 *ret)
{
    switch (v->type) {
    case VALUE_INT:
        *ret = (__int128)v->i * 1000;
        return true;
    case VALUE_UINT:
        *ret = (__int128)v->u * 1000;
        return true;
    case VALUE_WIDE:
        return !__builtin_mul_overflow(v->wide, (__int128)1000, ret);
    case VALUE_TIME:
        *ret = v->wide;
        return true;
    default:
        return false;
    }
}

/* Converts a value to a number. Wide values that do not fit use `digits` as memory for their
 * text. */
static struct number number_of(const struct value *v, char *digits)
{
    struct number n = {.type = NUMBER_DOUBLE, .d = v->type == VALUE_DOUBLE ? v->d : 0};

    if (v->type == VALUE_JSON)
        return number_of_digits(v->text);
    if (v->type == VALUE_TIME && v->wide % 1000 != 0) {
        n.d = (double)v->wide / 1000;
        return n;
    }
    if (v->type == VALUE_DOUBLE)
        return n;
    __int128 whole = v->type == VALUE_INT ? v->i : v->type == VALUE_UINT ? (__int128)v->u : v->wide;
    if (v->type == VALUE_TIME)
        whole /= 1000;
    size_t len = num_format_i128(whole, digits);
    return number_of_digits((struct text){digits, len});
}

double value_double(const struct value *v, double fallback)
{
    switch (v->type) {
    case VALUE_INT:
        return (double)v->i;
    case VALUE_UINT:
        return (double)v->u;
    case VALUE_WIDE:
        return (double)v->wide;
    case VALUE_TIME:
        return (double)v->wide / 1000;
    case VALUE_DOUBLE:
        return v->d;
    default:
        return fallback;
    }
}

static int cmp_numbers(const struct value *a, const struct value *b)
{
    char digits_a[64], digits_b[64];
    __int128 x, y;

    if (value_milli(a, &x) && value_milli(b, &y))
        return (x > y) - (x < y);
    struct number m = number_of(a, digits_a), n = number_of(b, digits_b);
    return number_cmp(&m, &n);
}

int value_cmp(const struct value *a, const struct value *b)
{
    int rank = value_rank(a), other_rank = value_rank(b);

    if (rank != other_rank)
        return rank < other_rank ? -1 : 1;
    switch (rank) {
    case 0:
        return 0;
    case 1:
        return cmp_numbers(a, b);
    case 2:
        return (a->i > b->i) - (a->i < b->i);
    default:
        return text_cmp(a->text, b->text);
    }
}

int value_keep_text(struct arena *arena, struct value *v)
{
    if (v->type != VALUE_TEXT && v->type != VALUE_JSON)
        return 0;
    const char *copy = arena_strdup(arena, v->text);
    if (!copy)
        return -ENOMEM;
    v->text.ptr = copy;
    return 0;
}
