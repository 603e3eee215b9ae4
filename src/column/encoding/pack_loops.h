/* pack_loops.h - kernels that need no special instructions, but are faster with wide registers:
 * compiled for each level, by pack_bits.c and pack_avx2.c. */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_LOOPS_H
#define DFTRACERD_COLUMN_ENCODING_PACK_LOOPS_H

#include "column/encoding/pack.h"

#define WIDEN(type, out_type) \
    for (size_t i = 0; i < n; i++) { \
        type v; \
        memcpy(&v, in + i * sizeof(v), sizeof(v)); \
        out[i] = (out_type)v + base; \
    }

static void widen64(const uint8_t *in, unsigned bytes, size_t n, uint64_t base, uint64_t *out)
{
    switch (bytes) {
    case 1:
        WIDEN(uint8_t, uint64_t) break;
    case 2:
        WIDEN(uint16_t, uint64_t) break;
    case 4:
        WIDEN(uint32_t, uint64_t) break;
    default:
        WIDEN(uint64_t, uint64_t)
    }
}

static void widen32(const uint8_t *in, unsigned bytes, size_t n, uint32_t base, uint32_t *out)
{
    switch (bytes) {
    case 1:
        WIDEN(uint8_t, uint32_t) break;
    case 2:
        WIDEN(uint16_t, uint32_t) break;
    case 4:
        WIDEN(uint32_t, uint32_t) break;
    default:
        WIDEN(uint64_t, uint32_t)
    }
}
#undef WIDEN

#define NARROW(type) \
    for (size_t i = 0; i < n; i++) { \
        type v = (type)((uint64_t)in[i] - base); \
        memcpy(out + i * sizeof(v), &v, sizeof(v)); \
    }

static void narrow64(const int64_t *in, unsigned bytes, size_t n, uint64_t base, uint8_t *out)
{
    switch (bytes) {
    case 1:
        NARROW(uint8_t) break;
    case 2:
        NARROW(uint16_t) break;
    case 4:
        NARROW(uint32_t) break;
    default:
        NARROW(uint64_t)
    }
}
#undef NARROW

/* Packs 8 values of up to 16 bits: each half of 4 values fits into a word. */
static inline void pack_narrow(const uint64_t *v, unsigned width, uint8_t *out)
{
    uint64_t low = (v[0] | v[1] << width) | (v[2] | v[3] << width) << 2 * width;
    uint64_t high = (v[4] | v[5] << width) | (v[6] | v[7] << width) << 2 * width;
    unsigned __int128 both = (unsigned __int128)high << 4 * width | low;

    memcpy(out, &both, sizeof(both));
}

/* Packs 8 values of up to 32 bits: with an odd width, the second half begins in the middle of a
 * byte. */
static inline void pack_wide(const uint64_t *v, unsigned width, uint8_t *out)
{
    unsigned __int128 low =
        (unsigned __int128)(v[2] | v[3] << width) << 2 * width | v[0] | v[1] << width;
    unsigned __int128 high =
        (unsigned __int128)(v[6] | v[7] << width) << 2 * width | v[4] | v[5] << width;

    if (width % 2)
        high = high << 4 | low >> (4 * width - 4);
    memcpy(out, &low, sizeof(low));
    memcpy(out + width / 2, &high, sizeof(high));
}

/* Packs 8 values of up to 57 bits: bits are collected in a word, which is stored when it is
 * full. */
static void pack_long(const uint64_t *v, unsigned width, uint8_t *out)
{
    uint64_t word = 0;
    unsigned have = 0;

    for (unsigned i = 0; i < 8; i++) {
        word |= v[i] << have;
        have += width;
        if (have >= 64) {
            memcpy(out, &word, 8);
            out += 8;
            have -= 64;
            word = have ? v[i] >> (width - have) : 0;
        }
    }
    memcpy(out, &word, 8);
}

static inline void pack_group(const uint64_t *v, unsigned width, uint8_t *out)
{
    if (width <= 16)
        pack_narrow(v, width, out);
    else if (width <= 32)
        pack_wide(v, width, out);
    else if (width < 64)
        pack_long(v, width, out);
    else
        memcpy(out, v, 64);
}

static void pack(const uint64_t *v, size_t n, unsigned width, uint8_t *out)
{
    uint64_t last[8] = {0};

    if (width == 0)
        return;
    for (; n >= 8; n -= 8, v += 8, out += width)
        pack_group(v, width, out);
    if (n > 0) {
        memcpy(last, v, n * 8);
        pack_group(last, width, out);
    }
}

static void above(const int64_t *v, size_t n, uint64_t base, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint64_t)v[i] - base;
}

static void steps(const int64_t *v, size_t n, uint64_t base, uint64_t *out)
{
    for (size_t i = 0; i + 1 < n; i++)
        out[i] = (uint64_t)v[i + 1] - (uint64_t)v[i] - base;
}

/* The kernels of one level: functions of this file and of the file that includes it. */
#define PACK_KERNELS \
    { \
        .unpack64 = unpack64, .unpack32 = unpack32, .range_bits = range_bits, \
        .sum_bits = sum_bits, .widen64 = widen64, .widen32 = widen32, .narrow64 = narrow64, \
        .expand64 = expand64, .above = above, .steps = steps, .above_mask = above_mask, \
        .changes = changes, .find_places = find_places, .pack = pack, .measure = measure, \
        .prefix_sum = prefix_sum, .look_up = look_up, \
    }

#endif
