/* scan_number.h - parses numbers in strictly valid text, eight digits at a time. */
#ifndef DFTRACERD_TRACE_SCAN_SCAN_NUMBER_H
#define DFTRACERD_TRACE_SCAN_SCAN_NUMBER_H

#include "trace/scan/scan.h"

/* x: eight bytes of text, the first in the lowest byte. Returns how many digits it begins with
 * (0-8). Borrows and carries only reach bytes after the first byte that is no digit. */
static inline unsigned number_digits(uint64_t x)
{
    uint64_t other = ((x + 0x4646464646464646u) | (x - 0x3030303030303030u)) & 0x8080808080808080u;

    return other ? (unsigned)__builtin_ctzll(other) >> 3 : 8;
}

/* Converts eight digit values 0-9, the first one in the lowest byte, to a number. */
static inline uint64_t number_fold(uint64_t x)
{
    x = x * 10 + (x >> 8);
    return ((x & 0x000000FF000000FFu) * 0x000F424000000064u +
            ((x >> 16) & 0x000000FF000000FFu) * 0x0000271000000001u) >>
           32;
}

/* Converts the first `n` (1-8) bytes of x, which are digits. */
static inline uint64_t number_part(uint64_t x, unsigned n)
{
    return number_fold((x - 0x3030303030303030u) << (64 - 8 * n));
}

static const uint64_t number_pow10[] = {1,      10,      100,      1000,     10000,
                                        100000, 1000000, 10000000, 100000000};

/* Parses a run of digits. Returns how many there are (0: none). Sets *ret to their value. If there
 * are more than 19, sets *ret_big, and *ret is meaningless. number_scan checks the range of int64.
 */
static always_inline unsigned number_integer(const char *p, uint64_t *ret, bool *ret_big)
{
    uint64_t x = load8(p);
    unsigned n = number_digits(x), total = n;
    uint64_t value;

    *ret_big = false;
    if (n < 8) {
        *ret = n ? number_part(x, n) : 0;
        return n;
    }
    value = number_part(x, 8);
    x = load8(p + 8);
    n = number_digits(x);
    total += n;
    if (n)
        value = value * number_pow10[n] + number_part(x, n);
    if (unlikely(n == 8)) {
        for (; (unsigned char)(p[total] - '0') < 10; total++) {
            if (total >= 19) /* 20 digits and more never fit int64 */
                *ret_big = true;
            else
                value = value * 10 + (uint64_t)(p[total] - '0');
        }
    }
    *ret = value;
    return total;
}

/* Parses a strictly valid JSON number. Returns the position after it, or NULL.
 * Integers outside of int64 are big. */
static always_inline const char *number_scan(const char *p, struct scan_number *ret)
{
    const char *digits;
    unsigned n;

    ret->ptr = p;
    ret->negative = *p == '-';
    digits = p + ret->negative;
    n = number_integer(digits, &ret->mag, &ret->big);
    if (unlikely(n == 0 || (*digits == '0' && n > 1)))
        return NULL;
    p = digits + n;
    ret->integral = true;
    if (unlikely(*p == '.' || (*p | 0x20) == 'e')) {
        ret->integral = false;
        p = scan_number_fraction(p);
        if (!p)
            return NULL;
    } else if (unlikely(ret->mag > INT64_MAX)) {
        ret->big = ret->big || !ret->negative || ret->mag > (uint64_t)1 << 63;
    }
    ret->len = (uint32_t)(p - ret->ptr);
    return p;
}

static inline int64_t number_signed(const struct scan_number *n)
{
    return n->negative ? (int64_t)(0 - n->mag) : (int64_t)n->mag;
}

#endif
