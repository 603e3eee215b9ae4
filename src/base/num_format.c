/* num_format.c - numbers to decimal text. Always '.' as point, whatever the locale. */
#include "dftracerd/base.h"
#include "base/num_pow10.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- integers -------------------------------------------------------------------------------- */

static const char pairs[] = "0001020304050607080910111213141516171819"
                            "2021222324252627282930313233343536373839"
                            "4041424344454647484950515253545556575859"
                            "6061626364656667686970717273747576777879"
                            "8081828384858687888990919293949596979899";

enum { U64_DIGITS = 20, U128_DIGITS = 39 };

/* Writes the digits so that they end before `end`; returns where they begin. */
static char *digits_before(uint64_t value, char *end)
{
    while (value >= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (value % 100), 2);
        value /= 100;
    }
    if (value >= 10) {
        end -= 2;
        memcpy(end, pairs + 2 * value, 2);
    } else {
        *--end = (char)('0' + value);
    }
    return end;
}

/* The same for 128 bits, 19 digits at a time. */
static char *digits_before128(unsigned __int128 value, char *end)
{
    const uint64_t limb = UINT64_C(10000000000000000000);

    while (value > UINT64_MAX) {
        char *limb_begin = end - 19;
        char *begin = digits_before((uint64_t)(value % limb), end);
        memset(limb_begin, '0', (size_t)(begin - limb_begin));
        end = limb_begin;
        value /= limb;
    }
    return digits_before((uint64_t)value, end);
}

static size_t copy_number(bool negative, const char *begin, const char *end, char *out)
{
    size_t len = (size_t)(end - begin);

    if (negative)
        *out++ = '-';
    memcpy(out, begin, len);
    out[len] = '\0';
    return len + negative;
}

/* ---- 64 bits --------------------------------------------------------------------------------- */

/* Eight digits at a time, as bytes of a word: Paul Khuong, "How to print integers really fast",
 * 2017. */

enum { EIGHT_DIGITS = 100000000 };

/* value < 10^8; the first digit is the lowest byte. Each step halves the digits of a lane:
 * quotients by multiplication that are exact for 4 digits (10486 / 2^20) and for 2 (103 / 2^10). */
static inline uint64_t eight_digits(uint32_t value)
{
    uint64_t fours = value / 10000 | (uint64_t)(value % 10000) << 32;
    uint64_t high = fours * 10486 >> 20 & 0x0000007F0000007F;
    uint64_t twos = high | (fours - 100 * high) << 16;
    uint64_t tens = twos * 103 >> 10 & 0x000F000F000F000F;

    return tens | (twos - 10 * tens) << 8;
}

static size_t put_head(uint32_t value, char *out)
{
    uint64_t digits = eight_digits(value);
    unsigned zeros = value ? (unsigned)__builtin_ctzll(digits) / 8 : 7;

    digits = (digits | 0x3030303030303030) >> zeros * 8;
    memcpy(out, &digits, sizeof(digits));
    return 8 - zeros;
}

static size_t put_eight(uint32_t value, char *out)
{
    uint64_t digits = eight_digits(value) | 0x3030303030303030;

    memcpy(out, &digits, sizeof(digits));
    return 8;
}

size_t num_format_u64(uint64_t value, char *out)
{
    size_t len;

    if (value < EIGHT_DIGITS) {
        len = put_head((uint32_t)value, out);
    } else {
        uint64_t high = value / EIGHT_DIGITS;
        len = high < EIGHT_DIGITS ? put_head((uint32_t)high, out)
                                  : put_head((uint32_t)(high / EIGHT_DIGITS), out);
        if (high >= EIGHT_DIGITS)
            len += put_eight((uint32_t)(high % EIGHT_DIGITS), out + len);
        len += put_eight((uint32_t)(value % EIGHT_DIGITS), out + len);
    }
    out[len] = '\0';
    return len;
}

static size_t put_i64(bool negative, uint64_t magnitude, char *out)
{
    if (negative)
        *out = '-';
    return negative + num_format_u64(magnitude, out + negative);
}

size_t num_format_i64(int64_t value, char *out)
{
    return put_i64(value < 0, value < 0 ? -(uint64_t)value : (uint64_t)value, out);
}

static unsigned __int128 magnitude128(__int128 value)
{
    return value < 0 ? -(unsigned __int128)value : (unsigned __int128)value;
}

size_t num_format_i128(__int128 value, char *out)
{
    char digits[U128_DIGITS], *end = digits + sizeof(digits);

    return copy_number(value < 0, digits_before128(magnitude128(value), end), end, out);
}

static size_t put_thousandths(unsigned thousandths, size_t len, char *out)
{
    if (thousandths == 0)
        return len;
    out[len++] = '.';
    out[len++] = (char)('0' + thousandths / 100);
    memcpy(out + len, pairs + 2 * (thousandths % 100), 2);
    len += 2;
    while (out[len - 1] == '0')
        len--;
    out[len] = '\0';
    return len;
}

size_t num_format_milli128(__int128 value, char *out)
{
    unsigned __int128 magnitude = magnitude128(value);
    char digits[U128_DIGITS], *end = digits + sizeof(digits);
    size_t len = copy_number(value < 0, digits_before128(magnitude / 1000, end), end, out);

    return put_thousandths((unsigned)(magnitude % 1000), len, out);
}

size_t num_format_milli(int64_t value, char *out)
{
    uint64_t magnitude = value < 0 ? -(uint64_t)value : (uint64_t)value;
    size_t len = put_i64(value < 0, magnitude / 1000, out);

    return put_thousandths((unsigned)(magnitude % 1000), len, out);
}

/* ---- doubles: Schubfach (Raffaello Giulietti, "The Schubfach way to render doubles", 2020) */

struct decimal {
    uint64_t digits;
    int exponent; /* value = digits * 10^exponent */
};

/* The upper 64 bits of g * x, with the lowest bit set when anything is below them. */
static uint64_t round_to_odd(unsigned __int128 g, uint64_t x)
{
    uint64_t low_high = (uint64_t)(((unsigned __int128)(uint64_t)g * x) >> 64);
    unsigned __int128 high = (unsigned __int128)(uint64_t)(g >> 64) * x + low_high;

    return (uint64_t)(high >> 64) | ((uint64_t)high > 1);
}

/* Schubfach needs 10^k rounded up; the table has it truncated. */
static unsigned __int128 pow10_above(int k)
{
    const uint64_t *entry = num_pow10[k - POW10_MIN];
    bool exact = k >= 0 && k <= 55; /* 5^55 is the last power below 2^128 */

    return (((unsigned __int128)entry[0] << 64) | entry[1]) + !exact;
}

/* Returns the shortest decimal that reads back as c * 2^q, the nearest of these. */
static struct decimal shortest_decimal(uint64_t c, int q, bool lower_is_closer)
{
    bool even = c % 2 == 0;
    /* floor(log10(2^q)), or of 3/4 of it, and floor(log2(10^-k)): exact in the range of doubles */
    int k = (q * 1262611 - (lower_is_closer ? 524031 : 0)) >> 22;
    int h = q + ((-k * 1741647) >> 19) + 1;
    unsigned __int128 g = pow10_above(-k);

    uint64_t lower = round_to_odd(g, (4 * c - 2 + lower_is_closer) << h) + !even;
    uint64_t value = round_to_odd(g, (4 * c) << h);
    uint64_t upper = round_to_odd(g, (4 * c + 2) << h) - !even;

    uint64_t s = value / 4;
    if (s >= 10) {
        uint64_t tens = s / 10;
        bool down = lower <= 40 * tens, up = 40 * tens + 40 <= upper;
        if (down != up)
            return (struct decimal){tens + up, k + 1};
    }
    bool down = lower <= 4 * s, up = 4 * s + 4 <= upper;
    if (down != up)
        return (struct decimal){s + up, k};
    uint64_t middle = 4 * s + 2;
    bool round_up = value > middle || (value == middle && s % 2 == 1);
    return (struct decimal){s + round_up, k};
}

static struct decimal decimal_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, sizeof(bits));
    uint64_t fraction = bits & ((UINT64_C(1) << 52) - 1);
    int biased = (int)(bits >> 52 & 0x7FF);
    if (biased == 0)
        return shortest_decimal(fraction, 1 - 1075, false);
    return shortest_decimal(fraction | UINT64_C(1) << 52, biased - 1075,
                            fraction == 0 && biased > 1);
}

/* ---- doubles: the text ----------------------------------------------------------------------- */

/* Numbers outside of these limits are written with an exponent. */
enum { PLAIN_INTEGER_DIGITS = 21, PLAIN_LEADING_ZEROS = 6 };

/* `point`: number of digits before the decimal point. */
static size_t put_decimal(const char *digits, int count, int point, char *out)
{
    char *p = out;

    if (point >= count && point <= PLAIN_INTEGER_DIGITS) { /* 1200 */
        memcpy(p, digits, (size_t)count);
        memset(p + count, '0', (size_t)(point - count));
        p += point;
    } else if (point > 0 && point < count) { /* 1.25 */
        memcpy(p, digits, (size_t)point);
        p[point] = '.';
        memcpy(p + point + 1, digits + point, (size_t)(count - point));
        p += count + 1;
    } else if (point <= 0 && -point < PLAIN_LEADING_ZEROS) { /* 0.0125 */
        memcpy(p, "0.", 2);
        memset(p + 2, '0', (size_t)-point);
        memcpy(p + 2 - point, digits, (size_t)count);
        p += 2 - point + count;
    } else { /* 1.25e-9 */
        *p++ = digits[0];
        if (count > 1) {
            *p++ = '.';
            memcpy(p, digits + 1, (size_t)(count - 1));
            p += count - 1;
        }
        *p++ = 'e';
        p += num_format_i64(point - 1, p);
    }
    *p = '\0';
    return (size_t)(p - out);
}

/* Times in us have at most three decimals. Decimal texts of up to 15 digits are different doubles,
 * so the text found here is the shortest. */
static bool is_few_decimals(double value, int64_t *ret_thousandths)
{
    double thousandths = rint(value * 1000);

    if (fabs(thousandths) >= 1e15 || thousandths / 1000 != value)
        return false;
    *ret_thousandths = (int64_t)thousandths;
    return true;
}

size_t num_format_double(double value, char *out)
{
    char digits[U64_DIGITS], *end = digits + sizeof(digits);
    size_t sign = 0;
    int64_t thousandths;

    assert(isfinite(value));
    if (value == floor(value) && fabs(value) < 9007199254740992.0)
        return num_format_i64((int64_t)value, out); /* also makes 0 of -0 */
    if (is_few_decimals(value, &thousandths))
        return num_format_milli(thousandths, out);
    if (value < 0) {
        *out++ = '-';
        sign = 1;
        value = -value;
    }
    struct decimal decimal = decimal_of(value);
    while (decimal.digits % 10 == 0) {
        decimal.digits /= 10;
        decimal.exponent++;
    }
    char *begin = digits_before(decimal.digits, end);
    int count = (int)(end - begin);
    return sign + put_decimal(begin, count, count + decimal.exponent, out);
}
