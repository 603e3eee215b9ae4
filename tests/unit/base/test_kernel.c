/* module: base; paths */
/* Kernels of every instruction set give the same bitmaps. */
#include "check.h"
#include "dftracerd/base.h"
#include "dftracerd/kernel.h"

static uint64_t seed = 88172645463325252u;

static uint32_t random_below(uint32_t n)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (uint32_t)((seed >> 11) % n);
}

static bool one_in(uint32_t n)
{
    return random_below(n) == 0;
}

#if defined(__x86_64__)
/* Bit by bit, against both. */
static void deposits_agree(const uint64_t *valid, uint32_t words)
{
    uint64_t bits[66], x[32], y[32], z[32] = {0}, first = random_below(64), at = first;

    for (unsigned i = 0; i < 66; i++)
        bits[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
    for (uint32_t i = 0; i < words * 64; i++) {
        if (!(valid[i / 64] >> i % 64 & 1))
            continue;
        z[i / 64] |= (bits[at / 64] >> at % 64 & 1) << i % 64;
        at++;
    }
    CHECK_INT(kernels_portable.deposit(bits, first, valid, words, x), at);
    CHECK_INT(kernels_avx2.deposit(bits, first, valid, words, y), at);
    CHECK_MEM(x, words * 8, z, words * 8);
    CHECK_MEM(y, words * 8, z, words * 8);
}

static void extracts_agree(const uint64_t *valid, uint32_t words)
{
    uint64_t bits[32], x[33], y[33], z[33] = {0}, at = 0;

    for (unsigned i = 0; i < 32; i++)
        bits[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
    for (uint32_t i = 0; i < words * 64; i++) {
        if (!(valid[i / 64] >> i % 64 & 1))
            continue;
        z[at / 64] |= (bits[i / 64] >> i % 64 & 1) << at % 64;
        at++;
    }
    CHECK_INT(kernels_portable.extract(bits, valid, words, x), at);
    CHECK_INT(kernels_avx2.extract(bits, valid, words, y), at);
    CHECK_MEM(x, (at / 64 + 1) * 8, z, (at / 64 + 1) * 8);
    CHECK_MEM(y, (at / 64 + 1) * 8, z, (at / 64 + 1) * 8);
}
#endif

#if defined(__x86_64__)
static void places_agree(const uint64_t *valid, uint32_t words)
{
    static uint16_t at[2][2048];
    static uint32_t rows[2048], places[2][2048];
    static uint32_t ranks[2][2048 / 64 + 1];
    uint32_t n = 0, found = 0, rank = 0, step = 1 + random_below(200);

    for (uint32_t i = 0; i < words * 64; i++) {
        rank += valid[i / 64] >> i % 64 & 1;
        if (one_in(step))
            rows[n++] = i;
    }
    CHECK_INT(kernels_portable.ranks(valid, words, ranks[0]), rank);
    CHECK_INT(kernels_avx2.ranks(valid, words, ranks[1]), rank);
    CHECK_MEM(ranks[1], (words + 1) * 4, ranks[0], (words + 1) * 4);
    CHECK_INT(ranks[0][words], rank);
    uint32_t count = kernels_portable.places(rows, n, valid, ranks[0], at[0], places[0]);
    CHECK_INT(kernels_avx2.places(rows, n, valid, ranks[0], at[1], places[1]), count);
    CHECK_MEM(at[1], count * 2, at[0], count * 2);
    CHECK_MEM(places[1], count * 4, places[0], count * 4);
    rank = 0;
    for (uint32_t i = 0, k = 0; i < words * 64; i++) {
        bool has = valid[i / 64] >> i % 64 & 1;
        if (k < n && rows[k] == i) {
            if (has) {
                CHECK_INT(at[0][found], k);
                CHECK_INT(places[0][found++], rank);
            }
            k++;
        }
        rank += has;
    }
    CHECK_INT(count, found);
}
#endif

static void kernels_agree(void)
{
#if defined(__x86_64__)
    enum { N = 2048 };
    static int64_t i64[N];
    static double f64[N];
    static uint32_t u32[N], table[64];
    uint64_t a[N / 64 + 1], b[N / 64 + 1];
    static uint16_t x[N + 64], y[N + 64];

    if (cpu_level() < CPU_AVX2)
        return;
    for (unsigned round = 0; round < 200; round++) {
        uint32_t n = 1 + random_below(N), codes = 1 + random_below(round % 2 ? 32 : 2000);
        for (unsigned i = 0; i < N; i++) {
            i64[i] = one_in(50) ? INT64_MIN : (int64_t)random_below(100) - 50;
            f64[i] = random_below(100) / 3.0;
            u32[i] = random_below(codes);
        }
        for (unsigned i = 0; i < 64; i++)
            table[i] = random_below(UINT32_MAX);
        int64_t lo = (int64_t)random_below(100) - 60;
        size_t size = (n + 63) / 64 * 8;
        kernels_portable.range_i64(i64, n, lo, lo + 20, a);
        kernels_avx2.range_i64(i64, n, lo, lo + 20, b);
        CHECK_MEM(b, size, a, size);
        kernels_portable.range_f64(f64, n, 5, 1e9 * (round % 3), a);
        kernels_avx2.range_f64(f64, n, 5, 1e9 * (round % 3), b);
        CHECK_MEM(b, size, a, size);
        kernels_portable.equal_u32(u32, n, 3, a);
        kernels_avx2.equal_u32(u32, n, 3, b);
        CHECK_MEM(b, size, a, size);
        kernels_portable.table_u32(u32, n, table, codes, a);
        kernels_avx2.table_u32(u32, n, table, codes, b);
        CHECK_MEM(b, size, a, size);
        uint32_t count = kernels_portable.select(a, n, x);
        CHECK_INT(kernels_avx2.select(a, n, y), count);
        CHECK_MEM(y, count * 2, x, count * 2);
        CHECK_INT(kernels_portable.count(a, (n + 63) / 64), count);
        CHECK_INT(kernels_avx2.count(a, (n + 63) / 64), count);
        deposits_agree(a, (n + 63) / 64);
        extracts_agree(a, (n + 63) / 64);
        memset(b, 0xFF, sizeof(b));
        b[round % 32] = a[0];
        extracts_agree(b, 32);
        places_agree(a, (n + 63) / 64);
    }
#endif
}

/* ---- sums ------------------------------------------------------------------------------------ */

enum { VALUES = 2048, SLOTS = 40 };

/* Against sums made here, slot by slot. */
static void check_sums(const struct kernels *k)
{
    static _Alignas(32) struct kernel_sum table[2 * SLOTS];
    uint64_t sum[SLOTS] = {0}, squares[SLOTS] = {0}, count[SLOTS] = {0}, weight = 0;
    int64_t v[VALUES], min[SLOTS], most[SLOTS];
    uint32_t slot[VALUES], n = 1 + random_below(VALUES);

    for (unsigned i = 0; i < 2 * SLOTS; i++)
        table[i] = (struct kernel_sum){.min = INT32_MAX, .inverted_max = INT32_MAX};
    for (uint32_t j = 0; j < n; j++) {
        unsigned s = slot[j] = one_in(3) ? 7 : random_below(SLOTS);
        v[j] = random_below(one_in(9) ? INT32_MAX : 1 << random_below(20));
        min[s] = count[s] == 0 || v[j] < min[s] ? v[j] : min[s];
        most[s] = count[s]++ == 0 || v[j] > most[s] ? v[j] : most[s];
        sum[s] += (uint64_t)v[j];
        squares[s] += (uint64_t)(v[j] * v[j]);
        weight += (uint64_t)(v[j] * v[j]) / 65536 + 1;
    }
    CHECK_INT(k->sum(slot, v, n, table), weight);
    for (unsigned s = 0; s < SLOTS; s++) {
        const struct kernel_sum *a = &table[2 * s], *b = a + 1;
        CHECK_INT(a->count + b->count, count[s]);
        CHECK_INT(a->sum + b->sum, sum[s]);
        CHECK(a->squares + b->squares == squares[s]);
        if (count[s] == 0)
            continue;
        CHECK_INT(a->min < b->min ? a->min : b->min, min[s]);
        CHECK_INT(~(a->inverted_max < b->inverted_max ? a->inverted_max : b->inverted_max),
                  most[s]);
    }
}

static void check_divide(const struct kernels *k)
{
    static const uint64_t steps[] = {1,        3, 1000, 5000000, 86400000000, (uint64_t)1 << 40,
                                     INT64_MAX};
    uint64_t step = steps[random_below(7)];
    uint32_t count = 1 + random_below(step >> 50 ? 1 : 2000), n = 1 + random_below(VALUES);
    int64_t first = one_in(2) ? 1700000000000000 : -(int64_t)random_below(1000), v[VALUES];
    uint32_t out[VALUES];

    for (uint32_t j = 0; j < n; j++) {
        uint64_t whole = step * random_below(count);
        v[j] = one_in(9)   ? first - 1 - (int64_t)random_below(1000)
               : one_in(9) ? INT64_MIN + (int64_t)random_below(9)
               : one_in(9) ? INT64_MAX - (int64_t)random_below(9)
               : one_in(2)
                   ? (int64_t)((uint64_t)first + whole + step - 1) /* the last of its quotient */
                   : (int64_t)((uint64_t)first + whole + random_below(3));
    }
    k->divide(v, n, first, step, count, out);
    for (uint32_t j = 0; j < n; j++) {
        __int128 x = (__int128)v[j] - first;
        CHECK_INT(out[j], x >= 0 && x / step < count ? (uint32_t)(x / step) : 0);
    }
}

static void check_codes(const struct kernels *k)
{
    uint32_t codes[VALUES] = {0}, out[VALUES], want[VALUES], n = random_below(VALUES + 1), most = 0;

    for (uint32_t j = 0; j < n; j++) {
        codes[j] = random_below(one_in(50) ? UINT32_MAX : 100);
        out[j] = random_below(100);
        want[j] = out[j] + codes[j] * 77;
        most = codes[j] > most ? codes[j] : most;
    }
    CHECK_INT(k->max(codes, n), most);
    for (uint32_t j = 0, found = one_in(2) ? UINT32_MAX : 5; j < 2; j++, found = 6) {
        uint32_t table[] = {3, found, 9}, at[VALUES], got[VALUES];
        bool all = true;
        for (uint32_t i = 0; i < n; i++) {
            at[i] = one_in(n) ? 1 : random_below(2) * 2;
            all &= table[at[i]] != UINT32_MAX;
        }
        CHECK(k->look_up(table, at, n, got) == all);
        for (uint32_t i = 0; i < n; i++)
            CHECK_INT(got[i], table[at[i]]);
    }
    k->add_scaled(out, codes, n, 77, out);
    CHECK_MEM(out, n * 4, want, n * 4);
}

/* Against values chosen here, one by one; what is behind them may be written. */
static void check_kept(const struct kernels *k)
{
    static int64_t wide[VALUES + 64], kept_wide[VALUES + 8];
    static uint32_t narrow[VALUES + 64], kept_narrow[VALUES + 8];
    static int64_t want_wide[VALUES];
    static uint32_t want_narrow[VALUES];
    uint64_t mask[VALUES / 64] = {0};
    uint32_t n = random_below(VALUES + 1), some = 1 + random_below(9), count = 0;

    for (uint32_t j = 0; j < n; j++) {
        narrow[j] = random_below(UINT32_MAX);
        wide[j] = (int64_t)((uint64_t)random_below(UINT32_MAX) << 32 | narrow[j]);
        if (one_in(some) == (some < 5))
            continue;
        mask[j / 64] |= (uint64_t)1 << j % 64;
        want_narrow[count] = narrow[j];
        want_wide[count++] = wide[j];
    }
    CHECK_INT(k->keep_u32(narrow, mask, n, kept_narrow), count);
    CHECK_MEM(kept_narrow, count * 4, want_narrow, count * 4);
    CHECK_INT(k->keep_i64(wide, mask, n, kept_wide), count);
    CHECK_MEM(kept_wide, count * 8, want_wide, count * 8);
}

static void sums_are_right(void)
{
    for (unsigned round = 0; round < 200; round++) {
        check_sums(&kernels_portable);
        check_divide(&kernels_portable);
        check_codes(&kernels_portable);
        check_kept(&kernels_portable);
        check_sums(kernels());
        check_divide(kernels());
        check_codes(kernels());
        check_kept(kernels());
    }
}

static const struct check_test tests[] = {
    {"kernels", kernels_agree}, {"sums_are_right", sums_are_right}, {NULL, NULL}};
CHECK_MAIN(tests)
