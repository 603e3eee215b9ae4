/* pack_encode.c - finds the smallest encoding of a column's values by measuring them, and writes it. */
#ifndef __clang__
#pragma GCC optimize("O3")       /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct pack_encoder {
    ZSTD_CCtx *zstd;
    struct buf blocks, aligned, other, codes;
    uint64_t *slots;                 /* distinct values: open addressing, 4 * PACK_DICT_MAX */
    int32_t *slot_code;
    int64_t distinct[PACK_DICT_MAX];
    uint64_t scratch[PACK_BLOCK + 8];
};

#define SLOTS (4 * PACK_DICT_MAX)

int pack_encoder_new(struct pack_encoder **ret)
{
    struct pack_encoder *e = calloc(1, sizeof(*e));
    if (e == NULL)
        return -ENOMEM;
    e->zstd = ZSTD_createCCtx();
    e->slots = malloc(SLOTS * sizeof(*e->slots));
    e->slot_code = malloc(SLOTS * sizeof(*e->slot_code));
    if (e->zstd == NULL || e->slots == NULL || e->slot_code == NULL) {
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
    free(e->slots);
    free(e->slot_code);
    buf_done(&e->blocks);
    buf_done(&e->aligned);
    buf_done(&e->other);
    buf_done(&e->codes);
    free(e);
}

size_t pack_encoder_bytes(const struct pack_encoder *e)
{
    return sizeof(*e) + SLOTS * 12 + e->blocks.cap + e->aligned.cap + e->other.cap + e->codes.cap +
           ZSTD_sizeof_CCtx(e->zstd);
}

/* ---- one block ------------------------------------------------------------------------------------- */

struct block_plan { uint8_t kind, width, patch_width; uint32_t patches; uint64_t bytes; uint64_t base; };

/* The cheapest width for values whose bit lengths (above the base) are counted in `lengths`; longer ones are patched. */
static void plan_width(const uint16_t *lengths, unsigned longest, size_t n, struct block_plan *plan)
{
    uint32_t above = 0;

    plan->bytes = UINT64_MAX;
    for (int w = (int)longest; w >= 0; w--) {
        unsigned width = pack_stored_width((unsigned)w);
        unsigned rest = pack_stored_width(longest - (unsigned)w);
        uint64_t cost = pack_bits_bytes(n, width);
        if (rest > 0)
            cost += 1 + pack_bits_bytes(above, 10) + pack_bits_bytes(above, rest);
        if (cost < plan->bytes && (rest == 0 || width == (unsigned)w)) {
            plan->bytes = cost;
            plan->width = (uint8_t)width;
            plan->patch_width = (uint8_t)rest;
        }
        above += lengths[w];
    }
}

/* A quarter of a large block is looked at: what matters is the share of long values. The last step of a stride of 4
 * would always see the same phase of a pattern of 4: so strides of 3 and 5 take turns. */
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

static uint64_t base_bytes(int64_t base, unsigned *ret)
{
    uint64_t zigzag = (uint64_t)base << 1 ^ (uint64_t)(base >> 63);
    *ret = (pack_bit_length(zigzag) + 7) / 8;
    return zigzag;
}

static void put_bits(struct buf *out, const uint64_t *v, size_t n, unsigned width)
{
    size_t bytes = pack_bits_bytes(n, width);
    char *to = buf_reserve(out, bytes + 8);
    if (to == NULL)
        return;
    pack_bits(v, n, width, (uint8_t *)to);
    out->len += bytes;
}

/* v: values above the base; those of more than plan->width bits keep their low bits here, the rest as patches. */
static void put_patched(struct buf *out, uint64_t *v, size_t n, struct block_plan *plan)
{
    uint64_t place[PACK_BLOCK + 1], high[PACK_BLOCK + 1];
    uint32_t patches = 0;

    if (plan->patch_width > 0) {
        uint64_t mask = ((uint64_t)1 << plan->width) - 1;
        for (size_t i = 0; i < n; i++) {
            place[patches] = i;
            high[patches] = v[i] >> plan->width;
            patches += v[i] > mask;
            v[i] &= mask;
        }
    }
    plan->patches = patches;
    put_bits(out, v, n, plan->width);
    if (patches > 0) {
        buf_putc(out, (char)plan->patch_width);
        put_bits(out, place, patches, 10);
        put_bits(out, high, patches, plan->patch_width);
    }
}

static void put_base(struct buf *out, int64_t base, unsigned *ret_bytes)
{
    uint64_t zigzag = base_bytes(base, ret_bytes);
    buf_append(out, &zigzag, *ret_bytes);
}

static void put_runs(struct buf *out, const int64_t *v, size_t n, const struct pack_range *r, unsigned width)
{
    uint64_t end[PACK_BLOCK], value[PACK_BLOCK];
    size_t runs = 0;

    for (size_t i = 0; i < n; i++) {
        if (i + 1 < n && v[i + 1] == v[i])
            continue;
        end[runs] = i;
        value[runs++] = (uint64_t)v[i] - (uint64_t)r->min;
    }
    put_bits(out, end, runs, 10);
    put_bits(out, value, runs, width);
}

/* A rough bit length of every 8th value and of every 8th step: decides which of the two is looked at closely. */
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

static void differences(const int64_t *v, size_t n, uint64_t base, uint64_t *out)
{
    for (size_t i = 1; i < n; i++)
        out[i - 1] = (uint64_t)v[i] - (uint64_t)v[i - 1] - base;
}

static void above_base(const int64_t *v, size_t n, uint64_t base, uint64_t *out)
{
    for (size_t i = 0; i < n; i++)
        out[i] = (uint64_t)v[i] - base;
}

static void plan_block(struct pack_encoder *e, const int64_t *v, size_t n, const struct pack_range *r,
                       struct block_plan *plan)
{
    uint16_t lengths[65];
    uint64_t top = (uint64_t)r->max - (uint64_t)r->min;
    uint64_t steps = (uint64_t)r->delta_max - (uint64_t)r->delta_min;
    unsigned longest = pack_bit_length(top);

    plan->kind = PACK_FOR;
    plan->base = (uint64_t)r->min;
    above_base(v, n, plan->base, e->scratch);
    if (longest > 1 && steps_look_smaller(v, n, r)) {
        plan->kind = PACK_DELTA;
        plan->base = (uint64_t)r->delta_min;
        longest = pack_bit_length(steps);
        differences(v, n, plan->base, e->scratch);
        n--;
    }
    memset(lengths, 0, sizeof(lengths));
    if (longest > 2) {
        count_lengths(e->scratch, n, lengths);
        plan_width(lengths, longest, n, plan);
    } else {
        plan->width = (uint8_t)longest;
        plan->patch_width = 0;
        plan->bytes = pack_bits_bytes(n, longest);
    }
    plan->bytes += plan->kind == PACK_DELTA ? 8 : 0;
}

static void put_block(struct pack_encoder *e, const int64_t *v, size_t n, size_t start, struct buf *out,
                      struct pack_entry *entry)
{
    struct pack_range r;
    struct block_plan plan;
    unsigned bytes;

    pack_kernels()->measure(v, n, &r);
    plan_block(e, v, n, &r, &plan);
    unsigned width = pack_stored_width(pack_bit_length((uint64_t)r.max - (uint64_t)r.min));
    bool runs = pack_bits_bytes(r.runs, 10) + pack_bits_bytes(r.runs, width) < plan.bytes;

    entry->offset = (uint32_t)(out->len - start);
    put_base(out, runs ? r.min : (int64_t)plan.base, &bytes);
    if (runs) {
        put_runs(out, v, n, &r, width);
    } else if (plan.kind == PACK_DELTA) {
        buf_append(out, v, 8);
        put_patched(out, e->scratch, n - 1, &plan);
    } else {
        put_patched(out, e->scratch, n, &plan);
    }
    entry->kind = (uint8_t)((runs ? PACK_RUNS : plan.kind) | bytes << 4);
    entry->width = runs ? (uint8_t)width : plan.width;
    entry->extra = (uint16_t)(runs ? r.runs : plan.patches);
}

/* ---- a stream ---------------------------------------------------------------------------------------- */

static void put_head(struct buf *out, unsigned kind, unsigned width, bool delta, size_t n, int64_t base)
{
    struct pack_head head = {(uint8_t)kind, (uint8_t)width, delta, 0, (uint32_t)n, base};
    buf_append(out, &head, sizeof(head));
}

/* What the blocks told about the whole: for the other encodings. */
struct summary_of_blocks { bool constant; unsigned deltas, blocks; };

static void put_blocks(struct pack_encoder *e, const int64_t *v, size_t n, struct buf *out,
                       struct summary_of_blocks *ret)
{
    size_t blocks = (n + PACK_BLOCK - 1) / PACK_BLOCK, head = out->len;
    size_t entries = head + sizeof(struct pack_head), start = entries + blocks * sizeof(struct pack_entry);

    put_head(out, PACK_BLOCKS, 0, false, n, 0);
    if (buf_reserve(out, blocks * sizeof(struct pack_entry)) == NULL)
        return;
    memset(out->data + out->len, 0, blocks * sizeof(struct pack_entry));
    out->len += blocks * sizeof(struct pack_entry);
    for (size_t b = 0; b < blocks && out->error == 0; b++) {
        struct pack_entry entry = {0};
        size_t from = b * PACK_BLOCK, many = n - from < PACK_BLOCK ? n - from : PACK_BLOCK;
        put_block(e, v + from, many, start, out, &entry);
        if (out->error == 0)
            memcpy(out->data + entries + b * sizeof(entry), &entry, sizeof(entry));
        ret->deltas += (entry.kind & 15) == PACK_DELTA;
    }
    ret->blocks = (unsigned)blocks;
}

static bool all_equal(const int64_t *v, size_t n)
{
    if (n == 0 || v[0] != v[n - 1])
        return n == 0;
    return memcmp(v, v + 1, (n - 1) * sizeof(*v)) == 0;
}

/* Bytes of each value above the base. */
static void align(const int64_t *v, size_t n, bool delta, uint64_t base, unsigned width, char *out)
{
#define ALIGN(type) \
    for (size_t i = 0; i < n; i++) { \
        type x = (type)((uint64_t)v[i] - (delta ? (i ? (uint64_t)v[i - 1] : 0) : 0) - base); \
        memcpy(out + i * sizeof(x), &x, sizeof(x)); \
    }
    switch (width) {
    case 1: ALIGN(uint8_t) break;
    case 2: ALIGN(uint16_t) break;
    case 4: ALIGN(uint32_t) break;
    default: ALIGN(uint64_t)
    }
#undef ALIGN
}

static unsigned aligned_width(uint64_t top) { return top < 256 ? 1 : top < 65536 ? 2 : top >> 32 == 0 ? 4 : 8; }

/* ALIGNED: head, the first value where differences are kept (they then begin with a 0), a zstd frame. Returns whether
 * it was made: `limit` bytes is all it may take. */
static bool put_aligned(struct pack_encoder *e, const int64_t *v, size_t n, bool delta, size_t limit, struct buf *out)
{
    struct pack_range r;
    pack_kernels()->measure(v, n, &r);
    int64_t base = delta ? r.delta_min : r.min;
    uint64_t top = delta ? (uint64_t)r.delta_max - (uint64_t)r.delta_min : (uint64_t)r.max - (uint64_t)r.min;
    unsigned width = aligned_width(top);

    buf_clear(&e->aligned);
    if (buf_reserve(&e->aligned, n * width + 8) == NULL || buf_reserve(out, limit + 64) == NULL)
        return false;
    align(v, n, delta, (uint64_t)base, width, e->aligned.data);
    if (delta)
        memset(e->aligned.data, 0, width);
    put_head(out, PACK_ALIGNED, width, delta, n, base);
    if (delta)
        buf_append(out, v, 8);
    size_t got = ZSTD_compress2(e->zstd, out->data + out->len, limit, e->aligned.data, n * width);
    if (ZSTD_isError(got))
        return false;
    out->len += got;
    return true;
}

/* Puts what zstd makes of aligned values in the place of out[start, end) where that saves a quarter. */
static void try_aligned(struct pack_encoder *e, const int64_t *v, size_t n, bool delta, size_t start, struct buf *out)
{
    size_t packed = out->len - start;

    if (packed < 128 || out->error != 0)
        return;
    buf_clear(&e->other);
    if (put_aligned(e, v, n, delta, packed - packed / 4 - 24, &e->other)) {
        out->len = start;
        buf_append(out, e->other.data, e->other.len);
    }
    if (out->error == 0)
        out->error = e->other.error ? e->other.error : e->aligned.error;
}

/* CONSTANT or BLOCKS. Returns whether most blocks are made of differences. */
static bool put_packed(struct pack_encoder *e, const int64_t *v, size_t n, struct buf *out)
{
    struct summary_of_blocks blocks = {0};

    if (all_equal(v, n))
        put_head(out, PACK_CONSTANT, 0, false, n, n ? v[0] : 0);
    else
        put_blocks(e, v, n, out, &blocks);
    return 2 * blocks.deltas > blocks.blocks;
}

/* ---- distinct values ------------------------------------------------------------------------------------ */

static inline uint32_t slot_of(uint64_t v)
{
    v *= 0x9E3779B97F4A7C15u;
    return (uint32_t)(v >> 50);      /* 14 bits: SLOTS */
}
_Static_assert(SLOTS == 1 << 14, "slot_of gives 14 bits");

/* Code of a value by first appearance, or -1 when there are too many. */
static int32_t distinct_code(struct pack_encoder *e, int64_t v, uint32_t *count, uint32_t limit)
{
    uint32_t s = slot_of((uint64_t)v);

    while (e->slot_code[s] >= 0) {
        if (e->slots[s] == (uint64_t)v)
            return e->slot_code[s];
        s = (s + 1) % SLOTS;
    }
    if (*count == limit)
        return -1;
    e->slots[s] = (uint64_t)v;
    e->slot_code[s] = (int32_t)*count;
    e->distinct[*count] = v;
    return (int32_t)(*count)++;
}

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

/* Distinct values, ascending, into e->distinct, and their codes into e->codes: how many, 0 = too many to pay. A look at
 * the first 1,024 values stops most hopeless columns. */
static uint32_t find_distinct(struct pack_encoder *e, const int64_t *v, size_t n)
{
    uint32_t count = 0;
    int64_t *codes;

    buf_clear(&e->codes);
    codes = (int64_t *)(void *)buf_reserve(&e->codes, n * sizeof(*codes));
    if (codes == NULL)
        return 0;
    memset(e->slot_code, 0xff, SLOTS * sizeof(*e->slot_code));
    for (size_t i = 0; i < n; i++) {
        uint32_t limit = i < 1024 ? 512 : PACK_DICT_MAX;
        int32_t code = i && v[i] == v[i - 1] ? (int32_t)codes[i - 1] : distinct_code(e, v[i], &count, limit);
        if (code < 0)
            return 0;
        codes[i] = code;
    }
    int32_t rank[PACK_DICT_MAX];
    qsort(e->distinct, count, sizeof(*e->distinct), compare_i64);
    for (uint32_t k = 0; k < count; k++) {
        uint32_t s = slot_of((uint64_t)e->distinct[k]);
        while (e->slots[s] != (uint64_t)e->distinct[k] || e->slot_code[s] < 0)
            s = (s + 1) % SLOTS;
        rank[e->slot_code[s]] = (int32_t)k;
    }
    for (size_t i = 0; i < n; i++)
        codes[i] = rank[codes[i]];
    return count;
}

/* DICT: head (base = bytes of the first stream), distinct values, codes. */
static void put_dict(struct pack_encoder *e, size_t n, uint32_t count, unsigned flags, struct buf *out)
{
    size_t head = out->len, start = head + sizeof(struct pack_head);

    put_head(out, PACK_DICT, 0, false, n, 0);
    put_packed(e, e->distinct, count, out);
    if (out->error != 0)
        return;
    int64_t bytes = (int64_t)(out->len - start);
    memcpy(out->data + head + offsetof(struct pack_head, base), &bytes, sizeof(bytes));
    const int64_t *codes = (const int64_t *)(const void *)e->codes.data;
    size_t leaf = out->len;
    bool delta = put_packed(e, codes, n, out);
    if (flags & PACK_MAY_COMPRESS)
        try_aligned(e, codes, n, delta, leaf, out);
}

/* ---- doors ------------------------------------------------------------------------------------------------ */

int pack_encode(struct pack_encoder *e, const int64_t *values, size_t n, unsigned flags, struct buf *out)
{
    size_t start = out->len, packed;
    bool delta = put_packed(e, values, n, out);
    uint32_t count = 0;

    packed = out->len - start;
    if (out->error != 0 || packed < 64)
        return out->error;
    /* Codes of fewer bits than the values take now, else zstd on the values themselves. */
    if (!(flags & PACK_NO_DICT) && packed > n / 2 + 256)
        count = find_distinct(e, values, n);
    if (count > 0 && (pack_bit_length(count - 1) * n + count * 32) / 8 < packed) {
        out->len = start;
        put_dict(e, n, count, flags, out);
    } else if (flags & PACK_MAY_COMPRESS) {
        try_aligned(e, values, n, delta, start, out);
    }
    return out->error;
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
