/* room: base */
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
#endif

#if defined(__x86_64__)
static void places_agree(const uint64_t *valid, uint32_t words)
{
    static uint16_t rows[2][2048];
    static uint32_t places[2][2048];
    uint64_t wanted[32];
    uint32_t n = 0, rank = 7;

    for (uint32_t i = 0; i < words; i++)
        wanted[i] = (uint64_t)random_below(UINT32_MAX) << 32 | random_below(UINT32_MAX);
    uint32_t count = kernels_portable.places(wanted, valid, words, rank, rows[0], places[0]);
    CHECK_INT(kernels_avx2.places(wanted, valid, words, rank, rows[1], places[1]), count);
    CHECK_MEM(rows[1], count * 2, rows[0], count * 2);
    CHECK_MEM(places[1], count * 4, places[0], count * 4);
    for (uint32_t i = 0; i < words * 64; i++) {
        bool has = valid[i / 64] >> i % 64 & 1;
        if (has && (wanted[i / 64] >> i % 64 & 1)) {
            CHECK_INT(rows[0][n], i);
            CHECK_INT(places[0][n++], rank);
        }
        rank += has;
    }
    CHECK_INT(count, n);
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
        places_agree(a, (n + 63) / 64);
    }
#endif
}

static const struct check_test tests[] = {{"kernels", kernels_agree}, {NULL, NULL}};
CHECK_MAIN(tests)
