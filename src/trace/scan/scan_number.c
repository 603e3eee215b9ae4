/* scan_number.c - parses numbers byte by byte: those of the tolerant parser and of numeric text,
 * and fractions and exponents, which are rare. */
#include "trace/scan/scan.h"
#include "trace/scan/scan_number.h"

static bool is_digit(char c)
{
    return (unsigned char)(c - '0') < 10;
}

const char *scan_number_fraction(const char *p)
{
    if (*p == '.') {
        p++;
        if (!is_digit(*p))
            return NULL;
        while (is_digit(*p))
            p++;
    }
    if ((*p | 0x20) == 'e') {
        p++;
        if (*p == '+' || *p == '-')
            p++;
        if (!is_digit(*p))
            return NULL;
        while (is_digit(*p))
            p++;
    }
    return p;
}

static const char *skip_digits(const char *p, const char *end)
{
    while (p < end && is_digit(*p))
        p++;
    return p;
}

/* Computes the value of the digits [p, end). */
static void integer_value(const char *p, const char *end, struct scan_number *ret)
{
    ret->mag = 0;
    ret->big = end - p > 19;
    for (; p < end && !ret->big; p++)
        ret->mag = ret->mag * 10 + (uint64_t)(*p - '0'); /* 19 digits fit 64 bits */
    if (ret->mag > (uint64_t)INT64_MAX + ret->negative)
        ret->big = true;
}

size_t scan_number_prefix(const char *start, const char *end, struct scan_number *ret)
{
    const char *p = start, *digits, *q;

    ret->ptr = start;
    ret->negative = p < end && *p == '-';
    p += ret->negative;
    if (p >= end || !is_digit(*p))
        return 0;
    digits = p;
    p = *p == '0' ? p + 1 : skip_digits(p, end);
    integer_value(digits, p, ret);
    ret->integral = true;
    if (p + 1 < end && *p == '.' && is_digit(p[1])) {
        ret->integral = false;
        p = skip_digits(p + 1, end);
    }
    if (p < end && (*p | 0x20) == 'e') {
        q = p + 1;
        if (q < end && (*q == '+' || *q == '-'))
            q++;
        if (q < end && is_digit(*q)) {
            ret->integral = false;
            p = skip_digits(q, end);
        }
    }
    ret->len = (uint32_t)(p - start);
    return ret->len;
}
