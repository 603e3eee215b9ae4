/* scan_bytes.h - the SIMD functions of the scanner: comparing literals, and finding the end of a
 * plain string. Included by scan_portable.c and scan_avx2.c, which define SCAN_LEVEL as 0 or 2. */
#ifndef DFTRACERD_TRACE_SCAN_SCAN_BYTES_H
#define DFTRACERD_TRACE_SCAN_SCAN_BYTES_H

#include "trace/scan/scan_number.h"

#if SCAN_LEVEL == 2

#include <immintrin.h>

/* Constants that bytes are compared with. They are kept in registers for a whole line: otherwise
 * the compiler would load them for every value. */
struct scan_bytes {
    __m256i quote, slash, low;
    __m128i zero, nine;
};

static always_inline struct scan_bytes scan_bytes(void)
{
    struct scan_bytes b = {_mm256_set1_epi8('"'), _mm256_set1_epi8('\\'), _mm256_set1_epi8(0x1f),
                           _mm_set1_epi8('0'), _mm_set1_epi8(9)};

    __asm__("" : "+x"(b.quote), "+x"(b.slash), "+x"(b.low), "+x"(b.zero), "+x"(b.nine));
    return b;
}

/* Quote, backslash, control byte or high bit: signed bytes below 0x20 are the last two. */
static always_inline uint32_t special32(const struct scan_bytes *b, const char *p)
{
    __m256i x = _mm256_loadu_si256((const void *)p);
    __m256i low = _mm256_cmpeq_epi8(_mm256_min_epi8(x, b->low), x);
    __m256i quote = _mm256_cmpeq_epi8(x, b->quote);
    __m256i slash = _mm256_cmpeq_epi8(x, b->slash);

    return (uint32_t)_mm256_movemask_epi8(_mm256_or_si256(low, _mm256_or_si256(quote, slash)));
}

/* Returns the first byte from `p` on that ends a string or makes it a special one, at the latest
 * the newline. */
static always_inline const char *plain_end(const struct scan_bytes *b, const char *p)
{
    uint32_t found = special32(b, p);

    while (unlikely(!found)) {
        p += 32;
        found = special32(b, p);
    }
    return p + __builtin_ctz(found);
}

static inline uint32_t equal32(const char *a, const char *b)
{
    return (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(_mm256_loadu_si256((const void *)a),
                                                            _mm256_loadu_si256((const void *)b)));
}

/* Returns true if the first `len` (1-64) bytes of `p` are those of `literal`, which is padded to
 * 64. */
static inline bool literal_is(const char *p, const char *literal, unsigned len)
{
    if (likely(len <= 32))
        return (uint32_t)(~equal32(p, literal) << (32 - len)) == 0;
    return equal32(p, literal) == UINT32_MAX &&
           (uint32_t)(~equal32(p + 32, literal + 32) << (64 - len)) == 0;
}

/* The same for the first 32 bytes of a literal; `bits`: those that belong to it. */
static always_inline bool literal_begins(const char *p, const char *literal, uint32_t bits,
                                         unsigned len)
{
    (void)len;
    return (~equal32(p, literal) & bits) == 0;
}

/* Returns the number of digits of an integer of 1 to 16 digits without sign that is followed by a
 * usual character; 0: the general parser is needed. */
static always_inline unsigned number_digits_quick(const struct scan_bytes *b, const char *p,
                                                  __m128i *ret)
{
    __m128i x = _mm_sub_epi8(_mm_loadu_si128((const void *)p), b->zero);
    __m128i digit = _mm_cmpeq_epi8(_mm_min_epu8(x, b->nine), x);
    size_t n = (size_t)__builtin_ctzll(~(uint64_t)(uint32_t)_mm_movemask_epi8(digit));

    *ret = x;
    return unlikely((p[n] != ',' && p[n] != '}') || (*p == '0' && n > 1)) ? 0 : (unsigned)n;
}

static always_inline uint64_t number_value_quick(__m128i x, unsigned n)
{
    static const uint8_t right[32] = {128, 128, 128, 128, 128, 128, 128, 128, 128, 128, 128,
                                      128, 128, 128, 128, 128, 0,   1,   2,   3,   4,   5,
                                      6,   7,   8,   9,   10,  11,  12,  13,  14,  15};
    uint64_t halves;

    /* the last digit at the end, zeros in front */
    x = _mm_shuffle_epi8(x, _mm_loadu_si128((const void *)(right + n)));
    x = _mm_maddubs_epi16(x, _mm_set1_epi16(0x010A));
    x = _mm_madd_epi16(x, _mm_set1_epi32(0x00010064));
    x = _mm_packus_epi32(x, x);
    x = _mm_madd_epi16(x, _mm_set1_epi32(0x00012710));
    halves = (uint64_t)_mm_cvtsi128_si64(x);
    return (halves & 0xFFFFFFFFu) * 100000000u + (halves >> 32);
}

/* Parses such an integer. Returns its length; 0: the general parser is needed. */
static always_inline unsigned number_quick(const struct scan_bytes *b, const char *p, int64_t *ret)
{
    __m128i digits;
    unsigned n = number_digits_quick(b, p, &digits);

    *ret = (int64_t)number_value_quick(digits, n);
    return n;
}

#else

/* Sets the high bit of each byte that is zero. Only the first of these bits is exact, and used. */
static inline uint64_t zero8(uint64_t x)
{
    return (x - 0x0101010101010101u) & ~x & 0x8080808080808080u;
}

struct scan_bytes { /* no constants */
    char unused;
};

static always_inline struct scan_bytes scan_bytes(void)
{
    return (struct scan_bytes){0};
}

static inline const char *plain_end(const struct scan_bytes *b, const char *p)
{
    (void)b;
    for (;; p += 8) {
        uint64_t x = load8(p);
        uint64_t low = (x - 0x2020202020202020u) | x; /* below 0x20 borrows into its high bit */
        uint64_t found = (low & 0x8080808080808080u) | zero8(x ^ 0x2222222222222222u) |
                         zero8(x ^ 0x5C5C5C5C5C5C5C5Cu);

        if (found)
            return p + (__builtin_ctzll(found) >> 3);
    }
}

static inline bool literal_is(const char *p, const char *literal, unsigned len)
{
    for (; len > 8; len -= 8, p += 8, literal += 8) {
        if (load8(p) != load8(literal))
            return false;
    }
    return (load8(p) ^ load8(literal)) << (64 - 8 * len) == 0;
}

static always_inline bool literal_begins(const char *p, const char *literal, uint32_t bits,
                                         unsigned len)
{
    (void)bits;
    return literal_is(p, literal, len < 32 ? len : 32);
}

static always_inline unsigned number_quick(const struct scan_bytes *b, const char *p, int64_t *ret)
{
    struct scan_number n;
    const char *end = number_scan(p, &n);

    (void)b;
    if (unlikely(!end || n.negative || n.big || !n.integral))
        return 0;
    *ret = (int64_t)n.mag;
    return (unsigned)(end - p);
}

#endif
#endif
