/* module: base; paths */
#include "check.h"
#include "dftracerd/base.h"
#include "base/num_pow10.h"
#include "failing_malloc.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>

/* xorshift64*: the same numbers on every run */
static uint64_t random_state = 88172645463325252u;

static uint64_t random_u64(void)
{
    random_state ^= random_state >> 12;
    random_state ^= random_state << 25;
    random_state ^= random_state >> 27;
    return random_state * UINT64_C(2685821657736338717);
}

static double double_of_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

static void parses_integers(void)
{
    static const struct {
        const char *text;
        int rc;
        int64_t value;
    } cases[] = {
        {"0", 0, 0},
        {"-0", 0, 0},
        {"007", 0, 7},
        {"42", 0, 42},
        {"-42", 0, -42},
        {"9223372036854775807", 0, INT64_MAX},
        {"-9223372036854775808", 0, INT64_MIN},
        {"9223372036854775808", -ERANGE, 0},
        {"-9223372036854775809", -ERANGE, 0},
        {"99999999999999999999999999", -ERANGE, 0},
        {"99999999999999999999999999x", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"-", -EINVAL, 0},
        {"+1", -EINVAL, 0},
        {" 1", -EINVAL, 0},
        {"1 ", -EINVAL, 0},
        {"1.0", -EINVAL, 0},
        {"--1", -EINVAL, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 0;
        if (!CHECK_INT(num_parse_i64(text_of(cases[i].text), &value), cases[i].rc) ||
            !CHECK_INT(value, cases[i].value))
            printf("  with \"%s\"\n", cases[i].text);
    }
    uint64_t u = 0;
    CHECK_INT(num_parse_u64(TEXT("18446744073709551615"), &u), 0);
    CHECK(u == UINT64_MAX);
    u = 5;
    CHECK_INT(num_parse_u64(TEXT("18446744073709551616"), &u), -ERANGE);
    CHECK_INT(num_parse_u64(TEXT("-1"), &u), -EINVAL);
    CHECK(u == 5);
}

static void formats_integers(void)
{
    char out[48];

    CHECK_INT(num_format_i64(0, out), 1);
    CHECK_STR(out, "0");
    CHECK_INT(num_format_i64(INT64_MIN, out), 20);
    CHECK_STR(out, "-9223372036854775808");
    CHECK_INT(num_format_u64(UINT64_MAX, out), 20);
    CHECK_STR(out, "18446744073709551615");
    uint64_t power = 1;
    for (int digits = 1; digits <= 19; digits++, power *= 10) {
        char want[32];
        for (int64_t d = -1; d <= 1; d++) {
            snprintf(want, sizeof(want), "%" PRId64, (int64_t)power + d);
            num_format_i64((int64_t)power + d, out);
            CHECK_STR(out, want);
        }
    }
}

/* All of four digits, and of each length some; the C library's are the right ones. */
static void formats_many_integers(void)
{
    uint64_t state = 1;
    char out[24], want[24];

    for (unsigned i = 0; i < 300000; i++) {
        state = state * 6364136223846793005ull + 1442695040888963407ull;
        uint64_t value = i < 10000 ? i * 10001ull : i < 20000 ? i - 10000 : state >> state % 64;
        snprintf(want, sizeof(want), "%" PRIu64, value);
        if (!CHECK_INT(num_format_u64(value, out), strlen(want)) || !CHECK_STR(out, want))
            return;
    }
}

static void formats_128_bits(void)
{
    char out[48];
    const __int128 max = (__int128)(~(unsigned __int128)0 >> 1);
    const __int128 e19 = (__int128)UINT64_C(10000000000000000000);

    num_format_i128(0, out);
    CHECK_STR(out, "0");
    CHECK_INT(num_format_i128(max, out), 39);
    CHECK_STR(out, "170141183460469231731687303715884105727");
    CHECK_INT(num_format_i128(-max - 1, out), 40);
    CHECK_STR(out, "-170141183460469231731687303715884105728");
    num_format_i128(e19 * 2, out);
    CHECK_STR(out, "20000000000000000000");
    num_format_i128(e19 * e19 / 1000, out);
    CHECK_STR(out, "100000000000000000000000000000000000");
    num_format_i128(-e19 - 1, out);
    CHECK_STR(out, "-10000000000000000001");
}

static void formats_thousandths(void)
{
    static const struct {
        int64_t value;
        const char *want;
    } cases[] = {
        {0, "0"},
        {1, "0.001"},
        {-1, "-0.001"},
        {10, "0.01"},
        {100, "0.1"},
        {-500, "-0.5"},
        {1500, "1.5"},
        {2000, "2"},
        {-2000, "-2"},
        {119687, "119.687"},
        {1000010, "1000.01"},
        {INT64_MAX, "9223372036854775.807"},
        {INT64_MIN, "-9223372036854775.808"},
    };
    char out[48];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        CHECK_INT(num_format_milli(cases[i].value, out), strlen(cases[i].want));
        CHECK_STR(out, cases[i].want);
    }
    num_format_milli128(-(__int128)INT64_MAX * 1000, out);
    CHECK_STR(out, "-9223372036854775807");
    const __int128 min = -(__int128)(~(unsigned __int128)0 >> 1) - 1;
    num_format_milli128(min, out);
    CHECK_STR(out, "-170141183460469231731687303715884105.728");
}

static void formats_doubles(void)
{
    static const struct {
        double value;
        const char *want;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "0"},
        {1, "1"},
        {-1.5, "-1.5"},
        {0.1, "0.1"},
        {0.3, "0.3"},
        {0.1 + 0.2, "0.30000000000000004"},
        {1.0 / 3, "0.3333333333333333"},
        {2.0 / 3, "0.6666666666666666"},
        {119.68612670898438, "119.68612670898438"},
        {100, "100"},
        {1e5, "100000"},
        {9007199254740991.0, "9007199254740991"},
        {9007199254740992.0, "9007199254740992"},
        {9007199254740993.0, "9007199254740992"},
        {1e20, "100000000000000000000"},
        {1e21, "1e21"},
        {1.5e21, "1.5e21"},
        {123456789012345680000.0, "123456789012345680000"},
        {1e-6, "0.000001"},
        {1.25e-6, "0.00000125"},
        {1e-7, "1e-7"},
        {-1.25e-7, "-1.25e-7"},
        {1e22, "1e22"},
        {1e23, "1e23"},
        {5e-324, "5e-324"},
        {1e-323, "1e-323"},
        {DBL_MIN, "2.2250738585072014e-308"},
        {DBL_MAX, "1.7976931348623157e308"},
        {-DBL_MAX, "-1.7976931348623157e308"},
        /* powers of two, whose lower neighbour is nearer than the upper one */
        {0x1p-44, "5.684341886080802e-14"},
        {0x1p-1022, "2.2250738585072014e-308"},
        {0x1p60, "1152921504606847000"},
        {9.5367431640625e-07, "9.5367431640625e-7"},
        {4.35, "4.35"},
        {2e-3, "0.002"},
    };
    char out[32];

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        size_t len = num_format_double(cases[i].value, out);
        CHECK_STR(out, cases[i].want);
        CHECK_INT(len, strlen(out));
    }
}

/* Digits of a decimal text, without sign, point, exponent and zeros at either end. */
static size_t significant_digits(const char *text)
{
    size_t n = 0, zeros = 0;

    for (; *text && *text != 'e'; text++) {
        if (*text == '0' && n > 0)
            zeros++;
        if (*text >= '1' && *text <= '9') {
            n += zeros + 1;
            zeros = 0;
        }
    }
    return n;
}

/* The C library's way to the shortest text: slow, and beyond doubt. */
static size_t shortest_digits(double value)
{
    char text[40];

    for (int precision = 1; precision < 17; precision++) {
        snprintf(text, sizeof(text), "%.*e", precision - 1, value);
        if (strtod(text, NULL) == value)
            return significant_digits(text);
    }
    return 17;
}

static void check_round_trip(double value, bool shortest)
{
    char out[32];
    double back = 0;
    size_t len = num_format_double(value, out);

    if (strtod(out, NULL) != value)
        check_fail(__FILE__, __LINE__, "%.17g became %s", value, out);
    if (num_parse_double((struct text){out, len}, &back) != 0 || back != value)
        check_fail(__FILE__, __LINE__, "%s was read as %.17g", out, back);
    if (shortest && significant_digits(out) > shortest_digits(value))
        check_fail(__FILE__, __LINE__, "%.17g: %s is not the shortest", value, out);
    /* among texts of that length, the nearest */
    char nearest[40];
    int digits = (int)significant_digits(out);
    snprintf(nearest, sizeof(nearest), "%.*e", digits > 0 ? digits - 1 : 0, value);
    if (shortest && strtod(nearest, NULL) == value &&
        significant_digits(nearest) == (size_t)digits &&
        strtold(nearest, NULL) != strtold(out, NULL))
        check_fail(__FILE__, __LINE__, "%s is not the nearest to %.20g", out, value);
}

static void doubles_round_trip(void)
{
    for (int i = 0; i < 200000; i++) {
        double value = double_of_bits(random_u64());
        if (isfinite(value))
            check_round_trip(value, i % 20 == 0);
        value = double_of_bits(random_u64() & ((UINT64_C(1) << 52) - 1)); /* subnormal */
        check_round_trip(value, i % 100 == 0);
        value = (double)(random_u64() >> (random_u64() % 64)) / 1000;
        check_round_trip(value, i % 20 == 0);
        value = (double)(random_u64() % 1000000) / (double)(random_u64() % 1000 + 1);
        check_round_trip(value, i % 20 == 0);
    }
    for (uint64_t exponent = 1; exponent < 2047; exponent++) {
        for (int64_t d = -2; d <= 2; d++)
            check_round_trip(fabs(double_of_bits((exponent << 52) + (uint64_t)d)), d == 0);
    }
}

static void parses_doubles(void)
{
    static const char *const good[] = {
        "0",
        "-0",
        "1",
        "-1",
        "0.5",
        "1e5",
        "1E5",
        "1e+5",
        "1e-5",
        "123.456e7",
        "1e308",
        "1.7976931348623157e308",
        "5e-324",
        "4.9e-324",
        "2.4703282292062328e-324",
        "2.2250738585072011e-308",
        "2.2250738585072012e-308",
        "9007199254740993",
        "9007199254740992.5",
        "9007199254740993.00000000000000000000000000000000001",
        "179769313486231580793728971405303415079934132710037826936173778980444968292764750946649017"
        "977587207096330286416692887910946555547851940402630657488671505820681908902000708383676273"
        "854845817711531764475730270069855571366959622842914819860834936475292719074168444365510704"
        "342711559699508093042880177904174497791",
        "0.00000000000000000000000000000000000000000000000000000000000000000000000000000000000001",
        "1e-400",
        "0e999999999999",
        "1e-99999999999999999999",
        "7.038531e-26",
        "1448997445238699",
        "8.589934592000000000e9",
        "6929495644600919.5",
        "3.7e22",
        "1e23",
        "8.5e22",
    };
    static const char *const bad[] = {"",    "-",   "+1",   ".5",   "1.",   "1.e5", "01",
                                      "1e",  "1e+", "0x10", "nan",  "inf",  "1 ",   " 1",
                                      "-01", "1_0", "--1",  "1e5x", "1..2", "1.2.3"};
    double value;

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        CHECK_INT(num_parse_double(text_of(good[i]), &value), 0);
        if (value != strtod(good[i], NULL))
            check_fail(__FILE__, __LINE__, "%s was read as %.17g", good[i], value);
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (num_parse_double(text_of(bad[i]), &value) != -EINVAL)
            check_fail(__FILE__, __LINE__, "\"%s\" was accepted", bad[i]);
    }
    CHECK_INT(num_parse_double(TEXT("1e309"), &value), -ERANGE);
    CHECK_INT(num_parse_double(TEXT("-1.7976931348623159e308"), &value), -ERANGE);
    CHECK_INT(num_parse_double(TEXT("1e99999999999999999999"), &value), -ERANGE);
}

static void parses_random_doubles(void)
{
    char text[80];
    double value = 0;

    for (int i = 0; i < 200000; i++) {
        int exponent = (int)(random_u64() % 700) - 360;
        snprintf(text, sizeof(text), "%" PRIu64 ".%" PRIu64 "e%d",
                 random_u64() >> random_u64() % 64, random_u64() >> random_u64() % 64, exponent);
        double want = strtod(text, NULL);
        int rc = num_parse_double(text_of(text), &value);
        if (isinf(want) ? rc != -ERANGE : rc != 0 || value != want)
            check_fail(__FILE__, __LINE__, "%s was read as %.17g (%d)", text, value, rc);
    }
}

/* Digits beyond those of any double decide whether a number is halfway between two. */
static void parses_long_doubles(void)
{
    char text[1400];
    double value = 0;

    for (int i = 0; i < 20000; i++) {
        int len = 24 + (int)(random_u64() % 1300), point = (int)(random_u64() % 20);
        bool zeros = random_u64() % 2;
        for (int k = 0; k < len; k++)
            text[k] = zeros && k > 15 && k < len - 1 ? '0' : (char)('0' + random_u64() % 10);
        text[0] = '9';
        text[point + 1] = point ? '.' : '7';
        snprintf(text + len, sizeof(text) - (size_t)len, "e%d", (int)(random_u64() % 700) - 360);
        double want = strtod(text, NULL);
        int rc = num_parse_double(text_of(text), &value);
        if (isinf(want) ? rc != -ERANGE : rc != 0 || value != want)
            check_fail(__FILE__, __LINE__, "%s was read as %.17g (%d)", text, value, rc);
    }
    memset(text, '0', sizeof(text));
    memcpy(text, "9007199254740993.", 17);
    text[1200] = '\0';
    CHECK(num_parse_double(text_of(text), &value) == 0 && value == 9007199254740992.0);
    text[1199] = '1';
    CHECK(num_parse_double(text_of(text), &value) == 0 && value == 9007199254740994.0);
}

/* Memory that is short must not look like a number that is none. */
static void parses_without_memory(void)
{
    double value = 0;

    for (unsigned n = 0; failing_malloc_next(n); n++) {
        int rc = num_parse_double(
            TEXT("0.12345678901234567890123456789012345678901234567890123456789012345678901"),
            &value);
        failing_malloc_stop();
        CHECK_INT(rc, 0);
    }
}

static void makes_doubles(void)
{
    double value;

    CHECK(num_make_double(0, 5, true, &value) && value == 0 && signbit(value));
    CHECK(num_make_double(125, -2, true, &value) && value == -1.25);
    CHECK(num_make_double(UINT64_MAX, 0, false, &value) && value == 18446744073709551615.0);
    CHECK(num_make_double(17976931348623157u, 292, false, &value) && value == DBL_MAX);
    CHECK(!num_make_double(1, 309, false, &value));
    CHECK(!num_make_double(1, -400, false, &value));
    CHECK(!num_make_double(5, -324, false, &value)); /* subnormal: left to the slow way */
    CHECK(!num_make_double(UINT64_MAX, 308, false, &value));
}

static void scales(void)
{
    static const struct {
        const char *text;
        int scale;
        int rc;
        int64_t value;
        bool exact;
    } cases[] = {
        {"119.68612670898438", 3, 0, 119686, false},
        {"0", 3, 0, 0, true},
        {"-0.0", 3, 0, 0, true},
        {"0e5", 3, 0, 0, true},
        {"5", 0, 0, 5, true},
        {"5.0", 0, 0, 5, true},
        {"5.000", 3, 0, 5000, true},
        {"0.5", 0, 0, 0, false},
        {"1.5", 0, 0, 2, false},
        {"2.5", 0, 0, 2, false},
        {"-2.5", 0, 0, -2, false},
        {"-3.5", 0, 0, -4, false},
        {"2.50000000000000000000000000000000000001", 0, 0, 3, false},
        {"0.49999999999999999999", 0, 0, 0, false},
        {"0.05", 0, 0, 0, false},
        {"0.0005", 3, 0, 0, false},
        {"0.0015", 3, 0, 2, false},
        {"0.00050001", 3, 0, 1, false},
        {"1e3", 0, 0, 1000, true},
        {"1.2345e3", 0, 0, 1234, false},
        {"1.2345e4", 0, 0, 12345, true},
        {"12345e-2", 0, 0, 123, false},
        {"12300e-2", 0, 0, 123, true},
        {"1e-3", 3, 0, 1, true},
        {"100", -2, 0, 1, true},
        {"150", -2, 0, 2, false},
        {"250", -2, 0, 2, false},
        {"9223372036854775807", 0, 0, INT64_MAX, true},
        {"-9223372036854775808", 0, 0, INT64_MIN, true},
        {"9223372036854775807.4", 0, 0, INT64_MAX, false},
        {"9223372036854775807.5", 0, -ERANGE, 0, false},
        {"-9223372036854775808.5", 0, 0, INT64_MIN, false},
        {"-9223372036854775808.6", 0, -ERANGE, 0, false},
        {"9999999999999999999", 0, -ERANGE, 0, false},
        {"9223372036854775.808", 3, -ERANGE, 0, false},
        {"9223372036854775.807", 3, 0, INT64_MAX, true},
        {"1e19", 0, -ERANGE, 0, false},
        {"1e999999999999999999999", 0, -ERANGE, 0, false},
        {"1e-999999999999999999999", 0, 0, 0, false},
        {"0.0000000000000000000000000001e28", 0, 0, 1, true},
        {"1.", 0, -EINVAL, 0, false},
        {"", 0, -EINVAL, 0, false},
        {"12a", 0, -EINVAL, 0, false},
        {"1e", 0, -EINVAL, 0, false},
        {"\"1\"", 0, -EINVAL, 0, false},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t value = 0;
        bool exact = false;
        int rc = num_parse_scaled(text_of(cases[i].text), cases[i].scale, &value, &exact);
        if (rc != cases[i].rc || (rc == 0 && (value != cases[i].value || exact != cases[i].exact)))
            check_fail(__FILE__, __LINE__, "%s at %d: %d, %" PRId64 ", %d", cases[i].text,
                       cases[i].scale, rc, value, exact);
    }
}

static void parses_durations(void)
{
    static const struct {
        const char *text;
        int64_t bare;
        int rc;
        int64_t want;
    } cases[] = {
        {"250us", 0, 0, 250000},
        {"10ms", 1000, 0, 10000000},
        {"5s", 1000, 0, 5000000000},
        {"7ns", 1000, 0, 7},
        {"1.5s", 0, 0, 1500000000},
        {"1.5", 1000, 0, 1500},
        {"12", 1000000, 0, 12000000},
        {"12", 0, -EINVAL, 0},
        {"2m", 0, 0, 120000000000},
        {"0.5min", 0, 0, 30000000000},
        {"1.5h", 0, 0, 5400000000000},
        {"2d", 0, 0, 172800000000000},
        {"1e3us", 0, 0, 1000000},
        {"3\xC2\xB5s", 0, 0, 3000},
        {"0.1ns", 0, 0, 0},
        {"-5ms", 0, 0, -5000000},
        {"-0.5min", 0, 0, -30000000000},
        {"292y", 0, -EINVAL, 0},
        {"10 ms", 0, -EINVAL, 0},
        {"ms", 1, -EINVAL, 0},
        {"", 1, -EINVAL, 0},
        {"106751d", 0, 0, 9223286400000000000},
        {"106752d", 0, -ERANGE, 0},
        {"9223372036854775807", 1, 0, INT64_MAX},
        {"9223372036854775807", 1000, -ERANGE, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ns = 0;
        int rc = num_parse_duration(text_of(cases[i].text), cases[i].bare, &ns);
        if (rc != cases[i].rc || ns != cases[i].want)
            check_fail(__FILE__, __LINE__, "%s: %d, %" PRId64, cases[i].text, rc, ns);
    }
}

static void parses_sizes(void)
{
    static const struct {
        const char *text;
        int rc;
        uint64_t want;
    } cases[] = {
        {"100", 0, 100},
        {"100B", 0, 100},
        {"4MiB", 0, 4 << 20},
        {"4MB", 0, 4000000},
        {"4mib", 0, 4 << 20},
        {"512k", 0, 512 << 10},
        {"512K", 0, 512 << 10},
        {"512kB", 0, 512000},
        {"1.5GiB", 0, UINT64_C(3) << 29},
        {"0.5k", 0, 512},
        {"2T", 0, UINT64_C(2) << 40},
        {"1TB", 0, UINT64_C(1000000000000)},
        {"-1", -EINVAL, 0},
        {"4 MB", -EINVAL, 0},
        {"4MiBs", -EINVAL, 0},
        {"MB", -EINVAL, 0},
        {"", -EINVAL, 0},
        {"8388607T", 0, UINT64_C(8388607) << 40},
        {"8388608T", -ERANGE, 0},
        {"1e30", -ERANGE, 0},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        uint64_t bytes = 0;
        int rc = num_parse_bytes(text_of(cases[i].text), &bytes);
        if (rc != cases[i].rc || bytes != cases[i].want)
            check_fail(__FILE__, __LINE__, "%s: %d, %" PRIu64, cases[i].text, rc, bytes);
    }
}

/* ---- the table of powers --------------------------------------------------------------------- */

/* 10^k by long arithmetic: limbs of 32 bits, lowest first. */
enum { LIMBS = 44 };

static void multiply_by_ten(uint32_t *limbs)
{
    uint64_t carry = 0;

    for (int i = 0; i < LIMBS; i++) {
        carry += (uint64_t)limbs[i] * 10;
        limbs[i] = (uint32_t)carry;
        carry >>= 32;
    }
}

static unsigned top_bit(const uint32_t *limbs)
{
    for (unsigned i = LIMBS; i-- > 0;) {
        if (limbs[i])
            return i * 32 + 31 - (unsigned)__builtin_clz(limbs[i]);
    }
    return 0;
}

static unsigned bit(const uint32_t *limbs, unsigned i)
{
    return limbs[i / 32] >> i % 32 & 1;
}

static unsigned __int128 top_128(const uint32_t *limbs)
{
    unsigned __int128 value = 0;
    unsigned top = top_bit(limbs);

    for (unsigned i = 0; i < 128; i++)
        value = value << 1 | (i <= top ? bit(limbs, top - i) : 0);
    return value;
}

/* Whether reciprocal * 10^k reaches the power of two that was divided by 10^k to get it. */
static bool reaches_one(const uint32_t *power, unsigned __int128 reciprocal)
{
    uint32_t product[LIMBS + 5] = {0};

    for (int j = 0; j < 4; j++) {
        uint64_t factor = (uint32_t)(reciprocal >> (32 * j)), carry = 0;
        for (int i = 0; i < LIMBS; i++) {
            carry += factor * power[i] + product[i + j];
            product[i + j] = (uint32_t)carry;
            carry >>= 32;
        }
        product[LIMBS + j] += (uint32_t)carry;
    }
    unsigned top = top_bit(power) + 128;
    for (unsigned i = LIMBS + 5; i-- > 0;) {
        if (product[i] == 0)
            continue;
        return i * 32 + 31 - (unsigned)__builtin_clz(product[i]) >= top;
    }
    return false;
}

static unsigned __int128 table_entry(int k)
{
    const uint64_t *entry = num_pow10[k - POW10_MIN];

    return (unsigned __int128)entry[0] << 64 | entry[1];
}

static void table_of_powers(void)
{
    uint32_t power[LIMBS] = {1};

    for (int k = 0; k <= -POW10_MIN; k++) {
        if (k <= POW10_MAX && table_entry(k) != top_128(power))
            check_fail(__FILE__, __LINE__, "10^%d is wrong", k);
        /* m = floor(2^s / 10^k): m * 10^k < 2^s <= (m + 1) * 10^k */
        if (k > 0 &&
            (reaches_one(power, table_entry(-k)) || !reaches_one(power, table_entry(-k) + 1)))
            check_fail(__FILE__, __LINE__, "10^-%d is wrong", k);
        multiply_by_ten(power);
    }
}

static const struct check_test tests[] = {
    {"parses_integers", parses_integers},
    {"formats_integers", formats_integers},
    {"formats_many_integers", formats_many_integers},
    {"formats_128_bits", formats_128_bits},
    {"formats_thousandths", formats_thousandths},
    {"formats_doubles", formats_doubles},
    {"doubles_round_trip", doubles_round_trip},
    {"parses_doubles", parses_doubles},
    {"parses_random_doubles", parses_random_doubles},
    {"parses_long_doubles", parses_long_doubles},
    {"parses_without_memory", parses_without_memory},
    {"makes_doubles", makes_doubles},
    {"scales", scales},
    {"parses_durations", parses_durations},
    {"parses_sizes", parses_sizes},
    {"table_of_powers", table_of_powers},
    {NULL, NULL},
};
CHECK_MAIN(tests)
