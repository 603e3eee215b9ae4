/* pack_encode.c - encodes a column's values: measures them, and writes the smallest encoding. */
#include "column/encoding/pack_plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct pack_encoder {
    ZSTD_CCtx *zstd;
    struct pack_distinct *distinct;
    struct buf ranges, plans; /* struct pack_range, struct pack_plan of each block */
    struct buf aligned, codes;
};

int pack_encoder_new(struct pack_encoder **ret)
{
    struct pack_encoder *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -ENOMEM;
    e->zstd = ZSTD_createCCtx();
    e->distinct = pack_distinct_new();
    if (e->zstd == NULL || e->distinct == NULL) {
        pack_encoder_free(e);
        return -ENOMEM;
    }
    ZSTD_CCtx_setParameter(e->zstd, ZSTD_c_compressionLevel, 1);
    *ret = e;
    return 0;
}

void pack_encoder_free(struct pack_encoder *e)
{
    if (e == NULL)
        return;
    ZSTD_freeCCtx(e->zstd);
    pack_distinct_free(e->distinct);
    buf_done(&e->ranges);
    buf_done(&e->plans);
    buf_done(&e->aligned);
    buf_done(&e->codes);
    free(e);
}

/* ---- measuring ------------------------------------------------------------------------------- */

struct input {
    const int64_t *v;
    size_t n, blocks;
    const struct pack_range *ranges; /* of each block */
    struct pack_range whole;
    struct pack_plan *plans; /* of each block */
    size_t bytes;            /* approximate size of the planned blocks */
    bool steps;              /* most blocks encode steps */
};

static size_t block_values(const struct input *in, size_t block)
{
    return block + 1 < in->blocks ? PACK_BLOCK : in->n - block * PACK_BLOCK;
}

/* Measures the blocks from number `known` on. */
static int measure_blocks(struct buf *ranges, struct input *in, const struct pack_range *known,
                          size_t known_blocks)
{
    in->blocks = (in->n + PACK_BLOCK - 1) / PACK_BLOCK;
    buf_clear(ranges);
    struct pack_range *r =
        (struct pack_range *)(void *)buf_reserve(ranges, (in->blocks + 1) * sizeof(*r));
    if (r == NULL)
        return -ENOMEM;
    if (known_blocks > 0)
        memcpy(r, known, known_blocks * sizeof(*r));
    for (size_t i = known_blocks; i < in->blocks; i++)
        pack_kernels()->measure(in->v + i * PACK_BLOCK, block_values(in, i), &r[i]);
    in->ranges = r;
    if (in->blocks > 0)
        in->whole = r[0];
    for (size_t i = 1; i < in->blocks; i++) {
        const int64_t *v = in->v + i * PACK_BLOCK;
        int64_t step = (int64_t)((uint64_t)v[0] - (uint64_t)v[-1]);
        const struct pack_range between = {*v, *v, step, step, -(uint32_t)(step == 0)};
        pack_range_join(&in->whole, &between);
        pack_range_join(&in->whole, &r[i]);
    }
    return 0;
}

static int plan_blocks(struct buf *plans, struct input *in)
{
    size_t steps = 0;

    buf_clear(plans);
    in->plans = (struct pack_plan *)(void *)buf_reserve(plans, in->blocks * sizeof(*in->plans));
    if (in->plans == NULL)
        return -ENOMEM;
    in->bytes = sizeof(struct pack_head);
    for (size_t i = 0; i < in->blocks; i++) {
        pack_plan_block(in->v + i * PACK_BLOCK, block_values(in, i), &in->ranges[i], &in->plans[i]);
        in->bytes += sizeof(struct pack_entry) + in->plans[i].bytes;
        steps += in->plans[i].kind == PACK_DELTA;
    }
    in->steps = 2 * steps > in->blocks;
    return 0;
}

/* ---- streams --------------------------------------------------------------------------------- */

static void put_head(struct buf *out, unsigned kind, unsigned width, bool delta, size_t n,
                     int64_t base)
{
    struct pack_head head = {(uint8_t)kind, (uint8_t)width, delta, 0, (uint32_t)n, base};
    buf_append(out, &head, sizeof(head));
}

static void put_blocks(const struct input *in, struct buf *out)
{
    size_t entries, start, bytes = in->blocks * sizeof(struct pack_entry);

    put_head(out, PACK_BLOCKS, 0, false, in->n, 0);
    if (buf_reserve(out, bytes) == NULL)
        return;
    entries = out->len;
    memset(out->data + entries, 0, bytes);
    start = out->len += bytes;
    for (size_t i = 0; i < in->blocks && out->error == 0; i++) {
        struct pack_entry entry = {.offset = (uint32_t)(out->len - start)};
        pack_put_block(out, in->v + i * PACK_BLOCK, block_values(in, i), &in->plans[i], &entry);
        if (out->error == 0)
            memcpy(out->data + entries + i * sizeof(entry), &entry, sizeof(entry));
    }
}

/* Writes each value minus the base, or each step (the first one is 0), in whole bytes. Returns
 * their size. */
static unsigned align_values(struct pack_encoder *e, const struct input *in, int64_t base)
{
    const struct pack_range *r = &in->whole;
    uint64_t top = in->steps ? (uint64_t)r->delta_max - (uint64_t)r->delta_min
                             : (uint64_t)r->max - (uint64_t)r->min;
    unsigned width = pack_aligned_bytes(top);
    uint64_t steps[PACK_BLOCK + 8];

    buf_clear(&e->aligned);
    uint8_t *to = (uint8_t *)buf_reserve(&e->aligned, in->n * width + 8);
    if (to == NULL)
        return 0;
    if (!in->steps) {
        pack_kernels()->narrow64(in->v, width, in->n, (uint64_t)base, to);
        return width;
    }
    memset(to, 0, width);
    for (size_t i = 0; i + 1 < in->n; i += PACK_BLOCK) {
        size_t many = in->n - 1 - i < PACK_BLOCK ? in->n - 1 - i : PACK_BLOCK;
        pack_kernels()->steps(in->v + i, many + 1, (uint64_t)base, steps);
        pack_kernels()->narrow64((const int64_t *)steps, width, many, 0, to + (i + 1) * width);
    }
    return width;
}

/* Returns true if enough sequences of values repeat, so that zstd can save half. Samples of 8 bytes
 * are compared: those whose hash has some zero bits, so repetitions are sampled, too. This takes 15
 * instructions an event, zstd 141. */
static bool sequences_repeat(const uint8_t *p, size_t n, unsigned width)
{
    uint32_t seen[4096] = {0};
    uint64_t skip = ((uint64_t)1 << pack_bit_length(n / 4096)) - 1, x;
    size_t sampled = 0, repeated = 0;

    for (size_t i = 0; i + 8 <= n * width; i += width) {
        memcpy(&x, p + i, 8);
        x = (x ^ x >> 32) * 0x9E3779B97F4A7C15u;
        x ^= x >> 32;
        if (x & skip)
            continue;
        uint32_t *slot = &seen[x >> 40 & 4095], tag = (uint32_t)(x >> 20) | 1;
        sampled++;
        repeated += *slot == tag;
        *slot = tag;
    }
    return repeated >= sampled / 4;
}

/* Writes ALIGNED: head, the first value if steps are encoded, a zstd frame; only if that saves
 * `part` of the blocks. */
static bool put_aligned(struct pack_encoder *e, const struct input *in, unsigned part,
                        struct buf *out)
{
    int64_t base = in->steps ? in->whole.delta_min : in->whole.min;
    size_t before = out->len;

    if (in->bytes < 128 || out->error != 0)
        return false;
    size_t limit = in->bytes - in->bytes / part - 24;
    unsigned width = align_values(e, in, base);
    if (width == 0 || buf_reserve(out, limit + 64) == NULL) {
        out->error = -ENOMEM;
        return false;
    }
    if (part == 2 && !sequences_repeat((const uint8_t *)e->aligned.data, in->n, width))
        return false;
    put_head(out, PACK_ALIGNED, width, in->steps, in->n, base);
    if (in->steps)
        buf_append(out, in->v, 8);
    size_t got =
        ZSTD_compress2(e->zstd, out->data + out->len, limit, e->aligned.data, in->n * width);
    if (ZSTD_isError(got)) {
        out->len = before;
        return false;
    }
    out->len += got;
    return true;
}

/* Writes CONSTANT, ALIGNED or BLOCKS. */
static void put_leaf(struct pack_encoder *e, struct input *in, unsigned flags, struct buf *out)
{
    if (in->n == 0 || in->whole.min == in->whole.max)
        put_head(out, PACK_CONSTANT, 0, false, in->n, in->n ? in->v[0] : 0);
    else if (!(flags & (PACK_MAY_COMPRESS | PACK_IF_HALF)) ||
             !put_aligned(e, in, flags & PACK_IF_HALF ? 2 : 4, out))
        put_blocks(in, out);
}

static int put_stream(struct pack_encoder *e, const int64_t *v, size_t n, unsigned flags,
                      struct buf *out)
{
    struct input in = {.v = v, .n = n};

    if (measure_blocks(&e->ranges, &in, NULL, 0) < 0 || plan_blocks(&e->plans, &in) < 0)
        return out->error = -ENOMEM;
    put_leaf(e, &in, flags, out);
    return out->error;
}

/* Writes DICT: head (base = bytes of the first stream), distinct values, codes. */
static int put_dict(struct pack_encoder *e, size_t n, uint32_t count, unsigned flags,
                    struct buf *out)
{
    size_t head = out->len, start = head + sizeof(struct pack_head);
    int64_t *codes = (int64_t *)(void *)e->codes.data;
    const int64_t *values = pack_distinct_sort(e->distinct, n, codes);

    put_head(out, PACK_DICT, 0, false, n, 0);
    if (put_stream(e, values, count, 0, out) < 0)
        return out->error;
    int64_t bytes = (int64_t)(out->len - start);
    memcpy(out->data + head + offsetof(struct pack_head, base), &bytes, sizeof(bytes));
    return put_stream(e, codes, n, flags, out);
}

/* ---- entry points ---------------------------------------------------------------------------- */

/* Returns true for two values that are far apart and change often: codes of one bit each are
 * fast to filter. */
static bool has_two_distant_values(const struct input *in)
{
    uint64_t span = (uint64_t)in->whole.max - (uint64_t)in->whole.min;
    unsigned seen = 0;

    if (span < 2 || span > 7 || in->whole.runs < in->n / 64)
        return false;
    for (size_t i = 0; i < in->n; i++)
        seen |= 1u << (in->v[i] - in->whole.min);
    return __builtin_popcount(seen) == 2;
}

/* Returns the largest number of distinct values whose dictionary and codes are smaller than the
 * blocks, or 0. */
static uint32_t max_distinct(const struct input *in)
{
    uint32_t low = 0, high = PACK_DICT_MAX;

    while (low < high) {
        uint32_t middle = (low + high + 1) / 2;
        size_t bits = pack_bit_length(middle - 1) * in->n + (size_t)middle * 32;
        if (bits / 8 < in->bytes)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

/* Returns the number of distinct values if a dictionary is smaller than blocks, with their codes in
 * e->codes; else 0. */
static uint32_t find_distinct(struct pack_encoder *e, const struct input *in)
{
    bool two = has_two_distant_values(in);
    uint32_t max = two ? 2 : max_distinct(in);

    if (max == 0 || (!two && in->bytes <= in->n / 2 + 256))
        return 0;
    buf_clear(&e->codes);
    int64_t *codes = (int64_t *)(void *)buf_reserve(&e->codes, in->n * sizeof(*codes));
    if (codes == NULL)
        return 0;
    return pack_distinct_find(e->distinct, in->v, in->n, max, codes);
}

int pack_encode_measured(struct pack_encoder *e, const int64_t *values, size_t n,
                         const struct pack_range *known, size_t known_blocks, unsigned flags,
                         struct pack_range *ret, struct buf *out)
{
    struct input in = {.v = values, .n = n};

    if (measure_blocks(&e->ranges, &in, known, known_blocks) < 0)
        return out->error = -ENOMEM;
    if (ret != NULL)
        *ret = in.whole;
    if (n > 0 && in.whole.min != in.whole.max && plan_blocks(&e->plans, &in) < 0)
        return out->error = -ENOMEM;
    uint32_t count = flags & PACK_NO_DICT ? 0 : find_distinct(e, &in);
    if (count > 0)
        return put_dict(e, n, count, flags, out);
    put_leaf(e, &in, flags, out);
    return out->error;
}

int pack_encode(struct pack_encoder *e, const int64_t *values, size_t n, unsigned flags,
                struct buf *out)
{
    return pack_encode_measured(e, values, n, NULL, 0, flags, NULL, out);
}

int pack_encode_bytes(struct pack_encoder *e, const void *data, size_t len, struct buf *out)
{
    uint32_t head[2] = {(uint32_t)len, 0};
    size_t bound = len - len / 10;

    if (buf_reserve(out, sizeof(head) + len + 1) == NULL)
        return -ENOMEM;
    if (len >= 64) {
        size_t got = ZSTD_compress2(e->zstd, out->data + out->len + sizeof(head), bound, data, len);
        head[1] = ZSTD_isError(got) ? 0 : (uint32_t)got;
    }
    buf_append(out, head, sizeof(head));
    if (head[1] > 0)
        out->len += head[1];
    else
        buf_append(out, data, len);
    return out->error;
}
