/* exact.c - exact comparison of integers, doubles and integers beyond 64 bits. */
#include "engine/lang/exact.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* 10^36, which is printed and read back without loss. */
#define LIMIT ((__int128)1000000000000000000 * 1000000000000000000)

/* ---- reading and writing --------------------------------------------------------------------- */

/* Returns the number of digits at t.ptr[at]. */
static size_t digits_at(struct text t, size_t at)
{
    size_t n = 0;

    while (at + n < t.len && is_ascii_digit(t.ptr[at + n]))
        n++;
    return n;
}

/* Sets *ret_digits to the digits of an integer, without leading zeros. Returns true if the number
 * is negative. */
static bool split_integer(struct text t, struct text *ret_digits)
{
    bool negative = t.len > 0 && t.ptr[0] == '-';

    t = (struct text){t.ptr + negative, t.len - negative};
    while (t.len > 1 && t.ptr[0] == '0')
        t = (struct text){t.ptr + 1, t.len - 1};
    *ret_digits = t;
    return negative;
}

struct number number_of_digits(struct text digits)
{
    struct number n = {.type = NUMBER_INT};
    struct text bare;
    bool negative = split_integer(digits, &bare);
    uint64_t magnitude;

    if (num_parse_u64(bare, &magnitude) == 0 && magnitude <= (uint64_t)INT64_MAX + negative) {
        n.i = (int64_t)(negative ? -magnitude : magnitude);
        return n;
    }
    /* After "-000" the sign cannot be moved to the first digit: a big number keeps its text from
     * the sign on, and cmp_big skips the zeros. */
    n.type = NUMBER_BIG;
    n.big = negative ? digits : bare;
    return n;
}

int number_parse(struct text t, struct number *ret)
{
    size_t at = t.len > 0 && t.ptr[0] == '-', whole = digits_at(t, at);

    if (whole == 0)
        return -EINVAL;
    if (at + whole == t.len) {
        *ret = number_of_digits(t);
        return 0;
    }
    struct number n = {.type = NUMBER_DOUBLE};
    while (whole > 1 && t.ptr[at] == '0') { /* num_parse_double accepts JSON only */
        at++;
        whole--;
    }
    int rc = num_parse_double((struct text){t.ptr + at, t.len - at}, &n.d);
    if (rc < 0)
        return rc;
    if (t.ptr[0] == '-' && n.d != 0)
        n.d = -n.d;
    *ret = n;
    return 0;
}

void number_print(const struct number *n, struct buf *out)
{
    char text[40];
    struct text digits;

    if (n->type == NUMBER_BIG) {
        if (split_integer(n->big, &digits))
            buf_putc(out, '-');
        buf_text(out, digits);
        return;
    }
    size_t len = n->type == NUMBER_INT ? num_format_i64(n->i, text) : num_format_double(n->d, text);
    buf_append(out, text, len);
}

/* ---- comparing ------------------------------------------------------------------------------- */

static int cmp_big(struct text a, struct text b)
{
    struct text x, y;
    bool a_negative = split_integer(a, &x), b_negative = split_integer(b, &y);

    if (a_negative != b_negative)
        return a_negative ? -1 : 1;
    int cmp = x.len == y.len ? memcmp(x.ptr, y.ptr, x.len) : x.len < y.len ? -1 : 1;
    return a_negative ? -cmp : cmp;
}

/* A big number is outside of int64, so its digits matter only for doubles that are outside, too. */
static int cmp_big_double(struct text big, double d)
{
    char digits[DBL_MAX_10_EXP + 8];
    bool negative = big.len > 0 && big.ptr[0] == '-';

    if ((d < 0) != negative || fabs(d) < 0x1p63)
        return negative ? -1 : 1;
    int len = snprintf(digits, sizeof(digits), "%.0f", d);
    return cmp_big(big, (struct text){digits, (size_t)len});
}

static int cmp_int_double(int64_t i, double d)
{
    if (d >= 0x1p63)
        return -1;
    if (d < -0x1p63)
        return 1;
    double whole = floor(d);
    int64_t w = (int64_t)whole;
    if (i != w)
        return i < w ? -1 : 1;
    return d > whole ? -1 : 0;
}

int number_cmp(const struct number *a, const struct number *b)
{
    if (a->type > b->type)
        return -number_cmp(b, a);
    if (b->type == NUMBER_INT)
        return (a->i > b->i) - (a->i < b->i);
    if (a->type == NUMBER_INT && b->type == NUMBER_DOUBLE)
        return cmp_int_double(a->i, b->d);
    if (b->type == NUMBER_DOUBLE)
        return (a->d > b->d) - (a->d < b->d);
    if (a->type == NUMBER_INT)
        return b->big.ptr[0] == '-' ? 1 : -1;
    return a->type == NUMBER_DOUBLE ? -cmp_big_double(b->big, a->d) : cmp_big(a->big, b->big);
}

bool compare_holds(enum compare op, int cmp)
{
    enum { LESS = 1, EQUAL = 2, MORE = 4 };
    static const unsigned char holds[] = {
        [COMPARE_EQ] = EQUAL,        [COMPARE_NE] = LESS | MORE, [COMPARE_LT] = LESS,
        [COMPARE_LE] = LESS | EQUAL, [COMPARE_GT] = MORE,        [COMPARE_GE] = MORE | EQUAL};

    return holds[op] & (cmp < 0 ? LESS : cmp > 0 ? MORE : EQUAL);
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Returns digits * 10^exponent, not negative; `more` is set if a fraction was cut off. */
static struct cut scale_digits(__int128 digits, bool more, int64_t exponent)
{
    struct cut b = {digits, more};

    for (; exponent > 0 && b.floor > 0 && b.floor < LIMIT; exponent--)
        b.floor *= 10;
    for (; exponent < 0 && b.floor > 0; exponent++) {
        b.more = b.more || b.floor % 10 != 0;
        b.floor /= 10;
    }
    if (b.floor > LIMIT)
        b = (struct cut){LIMIT, false};
    return b;
}

static int64_t exponent_at(struct text t, size_t at)
{
    int64_t value = 0;

    if (at >= t.len || (t.ptr[at] != 'e' && t.ptr[at] != 'E'))
        return 0;
    bool negative = ++at < t.len && t.ptr[at] == '-';
    if (at < t.len && (t.ptr[at] == '-' || t.ptr[at] == '+'))
        at++;
    for (; at < t.len && is_ascii_digit(t.ptr[at]) && value < 1000000; at++)
        value = value * 10 + (t.ptr[at] - '0');
    return negative ? -value : value;
}

bool decimal_cut(struct text t, int scale, int64_t factor, struct cut *ret)
{
    bool negative = t.len > 0 && t.ptr[0] == '-', fraction = false, more = false;
    size_t at = negative;
    __int128 digits = 0;
    int64_t exponent = scale;

    if (digits_at(t, at) == 0)
        return false;
    /* 24 digits are kept: their product with 2^40, the largest factor, fits, and no column has more
     * digits. */
    for (; at < t.len && (is_ascii_digit(t.ptr[at]) || (t.ptr[at] == '.' && !fraction)); at++) {
        if (t.ptr[at] == '.') {
            fraction = true;
            continue;
        }
        bool fits = digits < (__int128)1000000000000 * 100000000000;
        if (fits)
            digits = digits * 10 + (t.ptr[at] - '0');
        else
            more = more || t.ptr[at] != '0';
        exponent += !fits - fraction;
    }
    struct cut b = scale_digits(digits * factor, more, exponent + exponent_at(t, at));
    if (negative)
        b.floor = -b.floor - b.more;
    *ret = b;
    return true;
}

struct cut number_cut(const struct number *n)
{
    struct cut b = {n->i, false};

    if (n->type == NUMBER_BIG) {
        (void)decimal_cut(n->big, 0, 1, &b); /* it is a number */
    } else if (n->type == NUMBER_DOUBLE) {
        double whole = floor(n->d);
        b.more = n->d > whole;
        b.floor = whole >= 1e36 ? LIMIT : whole <= -1e36 ? -LIMIT : (__int128)whole;
    }
    return b;
}

struct cut cut_divide(struct cut b, int64_t by)
{
    __int128 q = b.floor / by, r = b.floor % by;

    if (r < 0) {
        q--;
        r += by;
    }
    return (struct cut){q, b.more || r != 0};
}

/* ---- ranges ---------------------------------------------------------------------------------- */

/* Returns true if the range of numbers that pass (for NE: do not pass) is bounded below. */
static bool is_bounded_below(enum compare op)
{
    return op != COMPARE_LT && op != COMPARE_LE;
}

static bool is_bounded_above(enum compare op)
{
    return op != COMPARE_GT && op != COMPARE_GE;
}

struct range range_of(enum compare op, struct cut b)
{
    __int128 lo = is_bounded_below(op) ? b.floor + (op == COMPARE_GT || b.more) : INT64_MIN;
    __int128 hi = is_bounded_above(op) ? b.floor - (op == COMPARE_LT && !b.more) : INT64_MAX;

    if (lo > hi || lo > INT64_MAX || hi < INT64_MIN)
        return (struct range){INT64_MAX, INT64_MIN};
    return (struct range){lo < INT64_MIN ? INT64_MIN : (int64_t)lo,
                          hi > INT64_MAX ? INT64_MAX : (int64_t)hi};
}

double number_double(const struct number *n)
{
    double d = 0;

    if (n->type == NUMBER_DOUBLE)
        return n->d;
    if (n->type == NUMBER_INT)
        return (double)n->i;
    struct text digits;
    bool negative = split_integer(n->big, &digits);
    if (num_parse_double(digits, &d) < 0)
        d = DBL_MAX;
    return negative ? -d : d;
}

struct range_f64 range_f64_of(enum compare op, const struct number *n)
{
    double nearest = number_double(n);
    int cmp = number_cmp(&(struct number){.type = NUMBER_DOUBLE, .d = nearest}, n);
    bool passes = compare_holds(op == COMPARE_NE ? COMPARE_EQ : op, cmp);
    double lo = passes ? nearest : nextafter(nearest, INFINITY);
    double hi = passes ? nearest : nextafter(nearest, -INFINITY);

    if (!passes && is_bounded_below(op) && is_bounded_above(op))
        return (struct range_f64){INFINITY, -INFINITY};
    return (struct range_f64){is_bounded_below(op) ? lo : -INFINITY,
                              is_bounded_above(op) ? hi : INFINITY};
}
