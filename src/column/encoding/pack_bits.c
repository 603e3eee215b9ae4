/* pack_bits.c - the kernels without special instructions. */
#include "column/encoding/pack_loops.h"

#include <string.h>

static inline uint64_t bits_at(const uint8_t *in, size_t bit, uint64_t mask)
{
    uint64_t word;
    memcpy(&word, in + bit / 8, 8);
    return word >> (bit % 8) & mask;
}

static void unpack64(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out)
{
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (size_t i = 0, bit = 0; i < n; i++, bit += width)
        out[i] = bits_at(in, bit, mask) + base;
}

static void unpack32(const uint8_t *in, unsigned width, size_t n, uint32_t base, uint32_t *out)
{
    uint64_t mask = ((uint64_t)1 << width) - 1;
    for (size_t i = 0, bit = 0; i < n; i++, bit += width)
        out[i] = (uint32_t)bits_at(in, bit, mask) + base;
}

static void range_bits(const uint8_t *in, unsigned width, size_t n, uint32_t lo, uint32_t hi,
                       uint64_t *out)
{
    uint32_t values[64];

    for (size_t at = 0; at < n; at += 64) {
        size_t some = n - at < 64 ? n - at : 64;
        uint64_t word = 0;
        unpack32(in + at / 8 * width, width, some, 0, values);
        for (size_t i = 0; i < some; i++)
            word |= (uint64_t)(values[i] >= lo && values[i] <= hi) << i;
        out[at / 64] = word;
    }
}

static uint64_t sum_bits(const uint8_t *in, unsigned width, size_t from, size_t to)
{
    uint64_t sum = 0;

    for (size_t i = from; i < to; i++)
        sum += pack_bits_at(in, width, i);
    return sum;
}

static const int64_t *expand64(const int64_t *in, const uint64_t *valid, size_t n, int64_t *out)
{
    for (size_t i = 0; i < n; i++) {
        uint64_t bit = valid[i / 64] >> (i % 64) & 1;
        out[i] = *in & -(int64_t)bit;
        in += bit;
    }
    return in;
}

static void measure(const int64_t *v, size_t n, struct pack_range *ret)
{
    struct pack_range r = {v[0], v[0], INT64_MAX, INT64_MIN, 1};
    for (size_t i = 1; i < n; i++) {
        int64_t d = (int64_t)((uint64_t)v[i] - (uint64_t)v[i - 1]);
        r.min = v[i] < r.min ? v[i] : r.min;
        r.max = v[i] > r.max ? v[i] : r.max;
        r.delta_min = d < r.delta_min ? d : r.delta_min;
        r.delta_max = d > r.delta_max ? d : r.delta_max;
        r.runs += d != 0;
    }
    *ret = r;
}

static void prefix_sum(uint64_t *out, size_t n)
{
    for (size_t i = 1; i < n; i++)
        out[i] += out[i - 1];
}

static bool look_up(const uint32_t *codes, size_t n, const int64_t *dict, uint32_t count,
                    int64_t *out)
{
    uint32_t most = 0;

    for (size_t i = 0; i < n; i++)
        most = codes[i] > most ? codes[i] : most;
    if (n > 0 && most >= count)
        return false;
    for (size_t i = 0; i < n; i++)
        out[i] = dict[codes[i]];
    return true;
}

static size_t above_mask(const uint64_t *v, size_t n, uint64_t mask, uint64_t *out)
{
    size_t count = 0;

    for (size_t i = 0; i < n; i++) {
        out[count] = i;
        count += v[i] > mask;
    }
    return count;
}

/* The values are small, so the sign of a difference is used: for a comparison, compilers emit a
 * branch here, which cannot be predicted. */
static uint32_t count_below(const uint32_t *v, size_t n, uint32_t place)
{
    uint32_t from = 0;

    for (; n > 1; n -= n / 2)
        from += (uint32_t)((int32_t)(v[from + n / 2 - 1] - place) >> 31) & (uint32_t)(n / 2);
    return from + ((v[from] - place) >> 31);
}

static void find_places(const uint32_t *v, size_t n, const uint32_t *places, size_t count,
                        uint32_t first, uint32_t *out)
{
    for (size_t k = 0; k < count; k++)
        out[k] = count_below(v, n, places[k] - first);
}

static size_t changes(const int64_t *v, size_t n, uint64_t *out)
{
    size_t count = 0;

    for (size_t i = 0; i + 1 < n; i++) {
        out[count] = i;
        count += v[i] != v[i + 1];
    }
    return count;
}

const struct pack_kernels pack_kernels_portable = PACK_KERNELS;
