/* quantile.c - parses "0.999" and "99.9" to exact fractions, so that different percentiles have
 * different names. */
#include "engine/group/quantile.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>

enum { DECIMALS = 15 };

/* Parses a decimal number and multiplies it by 10^decimals; digits beyond these must be 0. */
static bool parse_decimal(struct text t, unsigned decimals, uint64_t *ret)
{
    uint64_t value = 0;
    unsigned after = 0, digits = 0;
    bool dot = false;

    for (size_t i = 0; i < t.len; i++) {
        if (t.ptr[i] == '.' && !dot) {
            dot = true;
            continue;
        }
        if (!isdigit((unsigned char)t.ptr[i]))
            return false;
        digits++;
        if (dot && after == decimals) {
            if (t.ptr[i] != '0')
                return false;
            continue;
        }
        if (value > (UINT64_MAX - 9) / 10)
            return false;
        value = value * 10 + (uint64_t)(t.ptr[i] - '0');
        after += dot;
    }
    for (; after < decimals; after++) {
        if (value > UINT64_MAX / 10)
            return false;
        value *= 10;
    }
    *ret = value;
    return digits > 0;
}

int quantile_parse(struct arena *arena, struct text t, unsigned of, struct quantile *ret)
{
    const uint64_t whole = 1000000000000000, percent = whole / 100;
    char name[48];

    if (!parse_decimal(t, of == 100 ? DECIMALS - 2 : DECIMALS, &ret->part) || ret->part > whole)
        return -EINVAL;
    ret->whole = whole;
    int len =
        snprintf(name, sizeof(name), "p%llu.%013llu", (unsigned long long)(ret->part / percent),
                 (unsigned long long)(ret->part % percent));
    while (name[len - 1] == '0')
        len--;
    len -= name[len - 1] == '.';
    ret->name = arena_strdup(arena, (struct text){name, (size_t)len});
    return ret->name ? 0 : -ENOMEM;
}
