/* scan_time.c - converts decimal text to scaled integers exactly: ts and dur. */
#include <errno.h>

#include "trace/scan/scan.h"

enum { EXPONENT_MAX = 1 << 26 }; /* more than the longest line has digits */

struct decimal {
    const char *digits, *end; /* digits with at most one '.' among them */
    bool negative;
    int64_t exponent; /* of the number without its decimal point */
};

static void decimal_split(const char *p, size_t len, struct decimal *d)
{
    const char *end = p + len, *q;
    int64_t exponent = 0;
    bool minus;

    d->negative = *p == '-';
    p += d->negative;
    for (q = p; q < end && (*q | 0x20) != 'e'; q++)
        ;
    d->digits = p;
    d->end = q;
    if (q < end) {
        q++;
        minus = *q == '-';
        q += *q == '-' || *q == '+';
        for (; q < end; q++)
            exponent = exponent < EXPONENT_MAX ? exponent * 10 + (*q - '0') : exponent;
        exponent = minus ? -exponent : exponent;
    }
    for (q = p; q < d->end && *q != '.'; q++)
        ;
    if (q < d->end)
        exponent -= d->end - q - 1;
    d->exponent = exponent;
}

/* Digits before the decimal place are accumulated, the first one after it decides the rounding, the
 * others break ties. */
int scan_scaled(const char *p, size_t len, int scale, int64_t *ret, bool *ret_exact)
{
    struct decimal d;
    unsigned __int128 value = 0;
    const unsigned __int128 limit = (unsigned __int128)1 << 64;
    int64_t count, kept, i = 0;
    int first = 0;
    bool rest = false;

    decimal_split(p, len, &d);
    count = d.end - d.digits - (memchr(d.digits, '.', (size_t)(d.end - d.digits)) ? 1 : 0);
    kept = count + d.exponent + scale;
    for (const char *q = d.digits; q < d.end; q++) {
        if (*q == '.')
            continue;
        if (i < kept && value < limit)
            value = value * 10 + (unsigned)(*q - '0');
        else if (i == kept)
            first = *q - '0';
        else if (i > kept)
            rest = rest || *q != '0';
        i++;
    }
    for (; i < kept && value && value < limit; i++)
        value *= 10;
    *ret_exact = first == 0 && !rest;
    if (first > 5 || (first == 5 && (rest || (value & 1))))
        value++;
    if (value > (unsigned __int128)INT64_MAX + d.negative)
        return -ERANGE;
    *ret = d.negative ? (int64_t)(0 - (uint64_t)value) : (int64_t)value;
    return 0;
}

int scan_time(const char *p, size_t len, enum trace_unit unit, int64_t *ret, uint8_t *ret_nano)
{
    static const int micros[] = {[TRACE_US] = 0, [TRACE_MS] = 3, [TRACE_SEC] = 6};
    bool exact;

    *ret_nano = unit == TRACE_NS;
    if (unit == TRACE_NS)
        return scan_scaled(p, len, 0, ret, &exact);
    if (scan_scaled(p, len, micros[unit], ret, &exact) < 0)
        return -ERANGE;
    if (exact)
        return 0;
    if (scan_scaled(p, len, micros[unit] + 3, ret, &exact) < 0)
        return -ERANGE;
    *ret_nano = *ret % 1000 != 0;
    if (!*ret_nano)
        *ret /= 1000;
    return 0;
}
