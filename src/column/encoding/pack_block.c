/* pack_block.c - encodes blocks of 1,024 values: the encoding is planned by their range, then
 * they are written. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "column/encoding/pack_plan.h"

/* Finds the smallest encoding for values whose bit lengths (above the base) are counted in
 * `lengths`: a width, and patches for longer values. */
static void plan_width(const uint16_t *lengths, unsigned longest, size_t n, struct pack_plan *plan)
{
    uint32_t above = 0, bytes = UINT32_MAX, cost16 = UINT32_MAX;

    for (int w = (int)longest; w >= 0; w--) {
        unsigned width = pack_stored_width((unsigned)w);
        unsigned rest = pack_stored_width(longest - (unsigned)w);
        uint32_t cost = (uint32_t)pack_bits_bytes(n, width);
        if (rest > 0)
            cost += 1 + (uint32_t)(pack_bits_bytes(above, PACK_PLACE_BITS) +
                                   pack_bits_bytes(above, rest));
        cost16 = w == 16 ? cost : cost16;
        if (cost < bytes && (rest == 0 || width == (unsigned)w)) {
            bytes = cost;
            plan->width = (uint8_t)width;
            plan->patch_width = (uint8_t)rest;
        }
        above += lengths[w];
        /* smaller widths need even more patches */
        if (pack_bits_bytes(above, PACK_PLACE_BITS) >= bytes)
            break;
    }
    /* Filters compare values of whole bytes four times faster. */
    if (plan->kind == PACK_FOR && plan->width == 15 && cost16 <= bytes + bytes / 12) {
        bytes = cost16;
        plan->width = 16;
        plan->patch_width = (uint8_t)pack_stored_width(longest - 16);
    }
    plan->bytes = bytes;
}

/* Only a quarter of a large block is sampled, for only the share of long values matters. Strides
 * of 3 and 5 alternate, because a stride of 4 would always see the same phase of a period of 4. */
static void count_lengths(const uint64_t *v, size_t n, uint16_t *lengths)
{
    size_t seen = 0;

    if (n < 256) {
        for (size_t i = 0; i < n; i++)
            lengths[pack_bit_length(v[i])]++;
        return;
    }
    for (size_t i = 0; i + 3 < n; i += 8, seen += 2) {
        lengths[pack_bit_length(v[i])]++;
        lengths[pack_bit_length(v[i + 3])]++;
    }
    for (unsigned b = 0; b <= 64; b++)
        lengths[b] = (uint16_t)((lengths[b] * n + seen / 2) / seen);
}

/* Returns true if steps are smaller than values, by the approximate bit length of every 8th one. */
static bool steps_look_smaller(const int64_t *v, size_t n, const struct pack_range *r)
{
    unsigned value_bits = 0, step_bits = 0;

    if (n < 3)
        return false;
    for (size_t i = 1; i < n; i += 8) {
        value_bits += pack_bit_length((uint64_t)v[i] - (uint64_t)r->min);
        step_bits += pack_bit_length((uint64_t)v[i] - (uint64_t)v[i - 1] - (uint64_t)r->delta_min);
    }
    return step_bits < value_bits;
}

/* Computes the integers to encode: n - 1 steps, or the values, minus the base. Returns their
 * number. */
static size_t subtract_base(const int64_t *v, size_t n, const struct pack_plan *plan, uint64_t *out)
{
    if (plan->kind == PACK_DELTA) {
        pack_kernels()->steps(v, n, plan->base, out);
        return n - 1;
    }
    pack_kernels()->above(v, n, plan->base, out);
    return n;
}

/* Plans patches if few values are long. */
static void plan_bits(const int64_t *v, size_t n, unsigned longest, struct pack_plan *plan)
{
    uint64_t above[PACK_BLOCK + 8];
    uint16_t lengths[65] = {0};

    if (longest <= 2) {
        plan->width = (uint8_t)longest;
        plan->bytes = (uint32_t)pack_bits_bytes(n, longest);
        return;
    }
    n = subtract_base(v, n, plan, above);
    count_lengths(above, n, lengths);
    plan_width(lengths, longest, n, plan);
}

static uint64_t zigzag(uint64_t base)
{
    return base << 1 ^ (uint64_t)((int64_t)base >> 63);
}

static unsigned base_bytes(const struct pack_plan *plan)
{
    return (pack_bit_length(zigzag(plan->base)) + 7) / 8;
}

void pack_plan_block(const int64_t *v, size_t n, const struct pack_range *r, struct pack_plan *plan)
{
    uint64_t top = (uint64_t)r->max - (uint64_t)r->min;
    unsigned longest = pack_bit_length(top), width = pack_stored_width(longest);

    *plan = (struct pack_plan){.kind = PACK_FOR, .base = (uint64_t)r->min};
    if (longest > 1 && steps_look_smaller(v, n, r)) {
        plan->kind = PACK_DELTA;
        plan->base = (uint64_t)r->delta_min;
        longest = pack_bit_length((uint64_t)r->delta_max - (uint64_t)r->delta_min);
    }
    plan_bits(v, n, longest, plan);
    plan->bytes += plan->kind == PACK_DELTA ? 8 : 0;
    /* For two values, filters are fastest on one bit each: runs must have a quarter of that
     * size. */
    size_t runs = pack_bits_bytes(r->runs, PACK_PLACE_BITS) + pack_bits_bytes(r->runs, width);
    if (runs * (top == 1 ? 4 : 1) < plan->bytes)
        *plan = (struct pack_plan){.kind = PACK_RUNS,
                                   .width = (uint8_t)width,
                                   .base = (uint64_t)r->min,
                                   .extra = (uint16_t)r->runs,
                                   .bytes = (uint32_t)runs};
    plan->bytes += base_bytes(plan);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_bits(struct buf *out, const uint64_t *v, size_t n, unsigned width)
{
    size_t bytes = pack_bits_bytes(n, width);
    char *to = buf_reserve(out, bytes + PACK_SLACK);
    if (to == NULL)
        return;
    pack_kernels()->pack(v, n, width, (uint8_t *)to);
    out->len += bytes;
}

/* v: values minus the base. For those of more than plan->width bits, the upper bits are written as
 * patches. */
static void put_patched(struct buf *out, uint64_t *v, size_t n, struct pack_plan *plan)
{
    uint64_t place[PACK_BLOCK + 8], high[PACK_BLOCK + 8];
    size_t patches = 0;

    if (plan->patch_width > 0) {
        uint64_t mask = ((uint64_t)1 << plan->width) - 1;
        patches = pack_kernels()->above_mask(v, n, mask, place);
        for (size_t i = 0; i < patches; i++) {
            high[i] = v[place[i]] >> plan->width;
            v[place[i]] &= mask;
        }
    }
    plan->extra = (uint16_t)patches;
    put_bits(out, v, n, plan->width);
    if (patches > 0) {
        buf_putc(out, (char)plan->patch_width);
        put_bits(out, place, patches, PACK_PLACE_BITS);
        put_bits(out, high, patches, plan->patch_width);
    }
}

static void put_runs(struct buf *out, const int64_t *v, size_t n, const struct pack_plan *plan)
{
    uint64_t end[PACK_BLOCK + 8], value[PACK_BLOCK + 8];
    size_t runs = pack_kernels()->changes(v, n, end);

    end[runs++] = n - 1;
    for (size_t i = 0; i < runs; i++)
        value[i] = (uint64_t)v[end[i]] - plan->base;
    put_bits(out, end, runs, PACK_PLACE_BITS);
    put_bits(out, value, runs, plan->width);
}

void pack_put_block(struct buf *out, const int64_t *v, size_t n, struct pack_plan *plan,
                    struct pack_entry *ret)
{
    uint64_t above[PACK_BLOCK + 8], base = zigzag(plan->base);

    buf_append(out, &base, base_bytes(plan));
    if (plan->kind == PACK_RUNS) {
        put_runs(out, v, n, plan);
    } else {
        if (plan->kind == PACK_DELTA)
            buf_append(out, v, 8);
        put_patched(out, above, subtract_base(v, n, plan, above), plan);
    }
    ret->kind = (uint8_t)(plan->kind | base_bytes(plan) << 4);
    ret->width = plan->width;
    ret->extra = plan->extra;
}
