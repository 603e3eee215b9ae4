/* num_parse.c - decimal text to numbers. Always '.' as point, whatever the locale. */
#include "dftracerd/base.h"
#include "base/num_pow10.h"

#include <errno.h>
#include <locale.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- integers -------------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

int num_parse_u64(struct text t, uint64_t *ret)
{
    uint64_t value = 0;
    bool fits = true;

    if (t.len == 0)
        return -EINVAL;
    for (size_t i = 0; i < t.len; i++) {
        if (!is_digit(t.ptr[i]))
            return -EINVAL;
        fits = fits && !__builtin_mul_overflow(value, 10, &value) &&
               !__builtin_add_overflow(value, (uint64_t)(t.ptr[i] - '0'), &value);
    }
    if (!fits)
        return -ERANGE;
    *ret = value;
    return 0;
}

/* Applies the sign; -ERANGE beyond int64. */
static int signed_of(uint64_t magnitude, bool negative, int64_t *ret)
{
    if (magnitude > (uint64_t)INT64_MAX + negative)
        return -ERANGE;
    *ret = (int64_t)(negative ? -magnitude : magnitude);
    return 0;
}

int num_parse_i64(struct text t, int64_t *ret)
{
    bool negative = t.len > 0 && t.ptr[0] == '-';
    uint64_t magnitude;
    int rc = num_parse_u64((struct text){t.ptr + negative, t.len - negative}, &magnitude);

    return rc < 0 ? rc : signed_of(magnitude, negative, ret);
}

/* ---- the parts of a decimal number ----------------------------------------------------------- */

/* value = (-1)^negative * 0.d1d2d3... * 10^point; the digits d are the `count` digits from `first`
 * on, without the decimal point; the first one is not 0. count = 0: zero. */
struct decimal {
    bool negative;
    const char *first;
    size_t count;
    int64_t point;
};

/* Larger exponents always give 0 or a value out of range. */
enum { EXPONENT_LIMIT = 1000000000 };

static size_t digits_at(struct text t, size_t at)
{
    size_t n = 0;

    while (at + n < t.len && is_digit(t.ptr[at + n]))
        n++;
    return n;
}

/* Reads an exponent such as "e-12" at `at`. Returns its length, or 0 if there is none. */
static size_t scan_exponent(struct text t, size_t at, int64_t *ret)
{
    size_t begin = at + 1;

    if (at >= t.len || (t.ptr[at] != 'e' && t.ptr[at] != 'E'))
        return 0;
    bool negative = begin < t.len && t.ptr[begin] == '-';
    if (begin < t.len && (t.ptr[begin] == '-' || t.ptr[begin] == '+'))
        begin++;
    size_t n = digits_at(t, begin);
    int64_t value = 0;
    for (size_t i = 0; i < n && value < EXPONENT_LIMIT; i++)
        value = value * 10 + (t.ptr[begin + i] - '0');
    *ret = negative ? -value : value;
    return n ? begin + n - at : 0;
}

static void skip_leading_zeros(struct decimal *d)
{
    while (d->count > 0 && (*d->first == '0' || *d->first == '.')) {
        if (*d->first == '0') {
            d->count--;
            d->point--;
        }
        d->first++;
    }
}

/* Reads a JSON number at the beginning of the text. Returns its length, or 0 if there is none. */
static size_t scan_decimal(struct text t, struct decimal *ret)
{
    size_t at = t.len > 0 && t.ptr[0] == '-';
    size_t whole = digits_at(t, at), fraction = 0;
    int64_t exponent = 0;

    if (whole == 0 || (whole > 1 && t.ptr[at] == '0'))
        return 0;
    struct decimal d = {.negative = at == 1, .first = t.ptr + at};
    at += whole;
    if (at < t.len && t.ptr[at] == '.')
        fraction = digits_at(t, at + 1);
    if (fraction > 0)
        at += 1 + fraction;
    at += scan_exponent(t, at, &exponent);
    d.count = whole + fraction;
    d.point = (int64_t)whole + exponent;
    skip_leading_zeros(&d);
    *ret = d;
    return at;
}

/* Returns true if any digit from number `from` on is not 0. */
static bool has_digit(const struct decimal *d, size_t from)
{
    const char *p = d->first;

    for (size_t i = 0; i < d->count; p++) {
        if (*p == '.')
            continue;
        if (i >= from && *p != '0')
            return true;
        i++;
    }
    return false;
}

/* ---- scaled integers ------------------------------------------------------------------------- */

/* Returns the first `n` digits (padded with zeros) as a number, and the digit after them. */
static uint64_t leading_digits(const struct decimal *d, size_t n, int *ret_next)
{
    const char *p = d->first;
    uint64_t value = 0;
    size_t i = 0;

    *ret_next = 0;
    for (; i < d->count; p++) {
        if (*p == '.')
            continue;
        if (i == n) {
            *ret_next = *p - '0';
            return value;
        }
        value = value * 10 + (uint64_t)(*p - '0');
        i++;
    }
    for (; i < n; i++)
        value *= 10;
    return value;
}

/* Sets *ret to d * 10^scale, half to even; -ERANGE beyond int64. */
static int scale_decimal(const struct decimal *d, int scale, int64_t *ret)
{
    int64_t point = d->point + scale;
    int next = 0;

    if (d->count == 0 || point < 0) {
        *ret = 0;
        return 0;
    }
    if (point > 19) /* at least 10^19 */
        return -ERANGE;
    uint64_t value = leading_digits(d, (size_t)point, &next);
    if (next > 5 || (next == 5 && (value % 2 == 1 || has_digit(d, (size_t)point + 1))))
        value++;
    return signed_of(value, d->negative, ret);
}

int num_parse_scaled(struct text t, int scale, int64_t *ret, bool *ret_exact)
{
    struct decimal d;

    if (scan_decimal(t, &d) != t.len || t.len == 0)
        return -EINVAL;
    int64_t point = d.point + scale;
    *ret_exact = d.count == 0 || (point >= 0 && !has_digit(&d, (size_t)point));
    return scale_decimal(&d, scale, ret);
}

/* ---- numbers with units ---------------------------------------------------------------------- */

struct unit {
    const char *name;
    uint64_t factor;
};

static const struct unit durations[] = {
    {"ns", 1},
    {"us", 1000},
    {"\xC2\xB5s", 1000}, /* micro sign */
    {"\xCE\xBCs", 1000}, /* Greek mu */
    {"ms", 1000000},
    {"s", 1000000000},
    {"sec", 1000000000},
    {"m", UINT64_C(60) * 1000000000},
    {"min", UINT64_C(60) * 1000000000},
    {"h", UINT64_C(3600) * 1000000000},
    {"d", UINT64_C(86400) * 1000000000},
    {NULL, 0},
};

/* A single letter and ...iB are powers of 1024, ...B powers of 1000, as in GNU tools. Any case. */
static const struct unit sizes[] = {
    {"", 1},
    {"B", 1},
    {"k", 1 << 10},
    {"KiB", 1 << 10},
    {"kB", 1000},
    {"M", 1 << 20},
    {"MiB", 1 << 20},
    {"MB", 1000000},
    {"G", 1 << 30},
    {"GiB", 1 << 30},
    {"GB", 1000000000},
    {"T", UINT64_C(1) << 40},
    {"TiB", UINT64_C(1) << 40},
    {"TB", UINT64_C(1000000000000)},
    {NULL, 0},
};

/* Returns a / 10^9, half to even. */
static __int128 divide_by_billion(__int128 a)
{
    const __int128 billion = 1000000000;
    __int128 whole = a / billion, rest = a % billion;

    rest = rest < 0 ? -rest : rest;
    if (2 * rest > billion || (2 * rest == billion && whole % 2 != 0))
        whole += a < 0 ? -1 : 1;
    return whole;
}

/* Sets *ret to d * factor, half to even. Powers of ten in the factor are added to the scale, so
 * "0.1s" is exact; the rest (36 for an hour, 2^20 for a MiB) is multiplied with nine more decimals
 * if these fit. */
static int multiply_decimal(const struct decimal *d, uint64_t factor, int64_t *ret)
{
    int64_t value;
    int scale = 0;

    while (factor % 10 == 0 && factor > 0) {
        factor /= 10;
        scale++;
    }
    bool decimals = factor > 1 && scale_decimal(d, scale + 9, &value) == 0;
    int rc = decimals ? 0 : scale_decimal(d, scale, &value);
    if (rc < 0)
        return rc;
    __int128 product = (__int128)value * (__int128)factor;
    if (decimals)
        product = divide_by_billion(product);
    if (product > INT64_MAX || product < INT64_MIN)
        return -ERANGE;
    *ret = (int64_t)product;
    return 0;
}

int num_parse_duration(struct text t, int64_t bare_unit_ns, int64_t *ret_ns)
{
    struct decimal d;
    size_t len = scan_decimal(t, &d);

    if (len == 0)
        return -EINVAL;
    struct text name = {t.ptr + len, t.len - len};
    if (name.len == 0)
        return bare_unit_ns > 0 ? multiply_decimal(&d, (uint64_t)bare_unit_ns, ret_ns) : -EINVAL;
    for (const struct unit *unit = durations; unit->name; unit++) {
        if (text_eq(name, text_of(unit->name)))
            return multiply_decimal(&d, unit->factor, ret_ns);
    }
    return -EINVAL;
}

int num_parse_bytes(struct text t, uint64_t *ret)
{
    struct decimal d;
    size_t len = scan_decimal(t, &d);
    int64_t bytes;

    if (len == 0 || d.negative)
        return -EINVAL;
    struct text name = {t.ptr + len, t.len - len};
    for (const struct unit *unit = sizes; unit->name; unit++) {
        if (!text_eq_nocase(name, text_of(unit->name)))
            continue;
        int rc = multiply_decimal(&d, unit->factor, &bytes);
        if (rc == 0)
            *ret = (uint64_t)bytes;
        return rc;
    }
    return -EINVAL;
}

/* ---- doubles --------------------------------------------------------------------------------- */

static double make_double(uint64_t fraction, uint64_t exponent, bool negative)
{
    uint64_t stored = fraction & ((UINT64_C(1) << 52) - 1); /* without the leading 1 */
    uint64_t bits = (uint64_t)negative << 63 | exponent << 52 | stored;
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Eisel-Lemire (Daniel Lemire, "Number parsing at a gigabyte per second", 2021). False in the rare
 * cases where 128 bits do not decide the rounding, and for subnormal and infinite results. */
static bool eisel_lemire(uint64_t digits, int exponent, bool negative, double *ret)
{
    const uint64_t *power = num_pow10[exponent - POW10_MIN];
    int zeros = __builtin_clzll(digits);
    uint64_t man = digits << zeros;
    uint64_t binary = (uint64_t)((217706 * (int64_t)exponent >> 16) + 64 + 1023 - zeros);
    unsigned __int128 x = (unsigned __int128)man * power[0];
    uint64_t high = (uint64_t)(x >> 64), low = (uint64_t)x;

    if ((high & 0x1FF) == 0x1FF && low + man < man) {
        unsigned __int128 y = (unsigned __int128)man * power[1];
        unsigned __int128 merged = x + (y >> 64);
        high = (uint64_t)(merged >> 64);
        low = (uint64_t)merged;
        if ((high & 0x1FF) == 0x1FF && low + 1 == 0 && (uint64_t)y + man < man)
            return false;
    }
    uint64_t top = high >> 63;
    uint64_t fraction = high >> (top + 9);
    binary -= 1 ^ top;
    if (low == 0 && (high & 0x1FF) == 0 && (fraction & 3) == 1)
        return false;
    fraction = (fraction + (fraction & 1)) >> 1;
    if (fraction >> 53) {
        fraction >>= 1;
        binary++;
    }
    if (binary - 1 >= 0x7FF - 1)
        return false;
    *ret = make_double(fraction, binary, negative);
    return true;
}

bool num_make_double(uint64_t digits, int exponent, bool negative, double *ret)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                    1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};

    if (digits == 0) {
        *ret = negative ? -0.0 : 0.0;
        return true;
    }
    /* Both operands exact, so the one rounding is the right one. */
    if (digits <= UINT64_C(1) << 53 && exponent >= -22 && exponent <= 22) {
        double value = (double)digits;
        value = exponent < 0 ? value / powers[-exponent] : value * powers[exponent];
        *ret = negative ? -value : value;
        return true;
    }
    if (exponent < POW10_MIN || exponent > 308)
        return false;
    return eisel_lemire(digits, exponent, negative, ret);
}

static locale_t c_locale;

static void create_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

/* The C library parses what the fast paths cannot: many digits, subnormal numbers, overflow. A
 * number halfway between two doubles has at most 768 digits, so of further digits it only matters
 * whether all of them are 0. */
static int parse_by_library(const struct decimal *d, double *ret)
{
    enum { DIGITS = 800 };
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    char text[DIGITS + 40] = "-0.";
    size_t len = strlen(text);

    pthread_once(&once, create_c_locale);
    if (!c_locale)
        return -ENOMEM;
    for (size_t i = 0, n = 0; n < d->count && n < DIGITS; i++) {
        if (d->first[i] == '.')
            continue;
        text[len++] = d->first[i];
        n++;
    }
    snprintf(text + len, sizeof(text) - len, "%se%lld", has_digit(d, DIGITS) ? "1" : "",
             (long long)d->point);
    double value = strtod_l(text + !d->negative, NULL, c_locale);
    if (!isfinite(value))
        return -ERANGE;
    *ret = value;
    return 0;
}

int num_parse_double(struct text t, double *ret)
{
    struct decimal d;
    int next;

    if (scan_decimal(t, &d) != t.len || t.len == 0)
        return -EINVAL;
    if (d.count == 0) {
        *ret = d.negative ? -0.0 : 0.0;
        return 0;
    }
    if (d.count <= 19 && d.point > -400 && d.point < 400) {
        uint64_t digits = leading_digits(&d, d.count, &next);
        if (num_make_double(digits, (int)d.point - (int)d.count, d.negative, ret))
            return 0;
    }
    return parse_by_library(&d, ret);
}
