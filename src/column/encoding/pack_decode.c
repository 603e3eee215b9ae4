/* pack_decode.c - decodes streams. Every offset, width and count is checked before it is used,
 * for the bytes may be corrupt. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "column/encoding/pack_block.h"

#include <assert.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

/* ---- opening --------------------------------------------------------------------------------- */

static int open_dict(struct pack_stream *s)
{
    struct pack_stream values = {0};
    struct pack_head head;
    uint64_t bytes = (uint64_t)s->head.base;

    if (bytes < sizeof(head) || bytes > s->len)
        return ERR_CORRUPT;
    memcpy(&head, s->payload, sizeof(head));
    if (head.kind == PACK_DICT || head.count == 0 || head.count > PACK_DICT_MAX)
        return ERR_CORRUPT;
    s->codes = calloc(1, sizeof(*s->codes));
    s->dict = malloc(head.count * sizeof(*s->dict));
    if (s->codes == NULL || s->dict == NULL)
        return -ENOMEM;
    int rc = pack_open(&values, s->payload, bytes, head.count);
    if (rc == 0)
        rc = pack_read_i64(&values, 0, head.count, s->dict);
    pack_close(&values);
    s->dict_count = head.count;
    /* Checked before it is opened: a chain of dictionaries would cause deep recursion. */
    if (rc == 0 && (s->len == bytes || s->payload[bytes] == PACK_DICT))
        rc = ERR_CORRUPT;
    return rc ? rc : pack_open(s->codes, s->payload + bytes, s->len - bytes, s->head.count);
}

static int open_kind(struct pack_stream *s)
{
    uint64_t blocks = ((uint64_t)s->head.count + PACK_BLOCK - 1) / PACK_BLOCK;

    switch (s->head.kind) {
    case PACK_CONSTANT:
        return 0;
    case PACK_BLOCKS:
        return s->len < blocks * sizeof(struct pack_entry) ? ERR_CORRUPT : 0;
    case PACK_ALIGNED: {
        unsigned w = s->head.width;
        if ((w != 1 && w != 2 && w != 4 && w != 8) || s->head.delta > 1 ||
            s->len < 8u * s->head.delta)
            return ERR_CORRUPT;
        return 0;
    }
    case PACK_DICT:
        return open_dict(s);
    default:
        return ERR_CORRUPT;
    }
}

int pack_open(struct pack_stream *s, const void *data, size_t len, uint32_t count)
{
    memset(s, 0, sizeof(*s));
    if (len < sizeof(s->head))
        return ERR_CORRUPT;
    memcpy(&s->head, data, sizeof(s->head));
    if (s->head.count != count)
        return ERR_CORRUPT;
    s->payload = (const uint8_t *)data + sizeof(s->head);
    s->len = len - sizeof(s->head);
    int rc = open_kind(s);
    if (rc < 0)
        pack_close(s);
    return rc;
}

void pack_close(struct pack_stream *s)
{
    free(s->heap);
    if (s->codes != NULL)
        pack_close(s->codes);
    free(s->codes);
    free(s->dict);
    memset(s, 0, sizeof(*s));
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* The rest of a payload. `bad`: more was to be read. */
struct rest {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static const uint8_t *next_bytes(struct rest *r, size_t n)
{
    const uint8_t *at = r->at;

    if (r->bad || n > r->left) {
        r->bad = true;
        return NULL;
    }
    r->at += n;
    r->left -= n;
    return at;
}

static void copy_bytes(struct rest *r, void *to, size_t n)
{
    const uint8_t *at = next_bytes(r, n);

    if (at != NULL)
        memcpy(to, at, n);
}

static const uint8_t *next_bits(struct rest *r, size_t n, unsigned width)
{
    r->bad |= width > 57 && width != 64;
    return next_bytes(r, pack_bits_bytes(n, width));
}

int pack_block_open(const struct pack_stream *s, uint32_t first, struct pack_block *b)
{
    size_t blocks = ((size_t)s->head.count + PACK_BLOCK - 1) / PACK_BLOCK;
    struct pack_entry entry;
    uint64_t zigzag = 0;

    *b = (struct pack_block){.n = pack_block_rows(first, s->head.count)};
    if (s->head.kind != PACK_BLOCKS)
        return 0;
    struct rest c = {s->payload + blocks * sizeof(entry), s->len - blocks * sizeof(entry), false};
    memcpy(&entry, s->payload + first / PACK_BLOCK * sizeof(entry), sizeof(entry));
    next_bytes(&c, entry.offset);
    b->kind = entry.kind & 15;
    b->width = entry.width;
    b->extra = entry.extra;
    if (b->kind < PACK_FOR || b->kind > PACK_RUNS || entry.kind >> 4 > 8 || b->extra > b->n)
        return ERR_CORRUPT;
    copy_bytes(&c, &zigzag, entry.kind >> 4);
    b->base = zigzag >> 1 ^ -(zigzag & 1);
    if (b->kind == PACK_RUNS) {
        c.bad |= b->extra == 0;
        b->places = next_bytes(&c, pack_bits_bytes(b->extra, PACK_PLACE_BITS));
        b->bits = next_bits(&c, b->extra, b->width);
        return c.bad ? ERR_CORRUPT : 0;
    }
    if (b->kind == PACK_DELTA)
        copy_bytes(&c, &b->first, sizeof(b->first));
    b->bits = next_bits(&c, b->n - (b->kind == PACK_DELTA), b->width);
    if (b->extra > 0) {
        uint8_t patch_width = 0;
        copy_bytes(&c, &patch_width, 1);
        c.bad |= b->width > 57;
        b->patch_width = patch_width;
        b->places = next_bytes(&c, pack_bits_bytes(b->extra, PACK_PLACE_BITS));
        b->patches = next_bits(&c, b->extra, patch_width);
    }
    return c.bad ? ERR_CORRUPT : 0;
}

/* Patches values of 64 bits, or (out32 not NULL) of 32. */
static int apply_patches(const struct pack_block *b, size_t n, uint64_t *out, uint32_t *out32)
{
    uint32_t place[PACK_BLOCK];
    uint64_t high[PACK_BLOCK];

    pack_kernels()->unpack32(b->places, PACK_PLACE_BITS, b->extra, 0, place);
    pack_unpack_bits(b->patches, b->patch_width, b->extra, 0, high);
    for (uint32_t i = 0; i < b->extra; i++) {
        if (place[i] >= n)
            return ERR_CORRUPT;
        if (out32)
            out32[place[i]] += (uint32_t)(high[i] << b->width);
        else
            out[place[i]] += high[i] << b->width;
    }
    return 0;
}

/* Decodes runs to 64 bits, or (out32 not NULL) to 32. The ends ascend, and the last one is the
 * end of the block. */
static int read_runs(const struct pack_block *b, uint64_t *out, uint32_t *out32)
{
    uint64_t end[PACK_BLOCK], value[PACK_BLOCK];
    size_t at = 0;

    pack_unpack_bits(b->places, PACK_PLACE_BITS, b->extra, 0, end);
    pack_unpack_bits(b->bits, b->width, b->extra, b->base, value);
    for (uint32_t i = 0; i < b->extra; i++) {
        if (end[i] < at || end[i] >= b->n)
            return ERR_CORRUPT;
        if (out32)
            for (; at <= end[i]; at++)
                out32[at] = (uint32_t)value[i];
        else
            for (; at <= end[i]; at++)
                out[at] = value[i];
    }
    return at == b->n ? 0 : ERR_CORRUPT;
}

/* Decodes to 64 bits. If out32 is not NULL, decodes to the low 32 bits: runs, and FOR of at most 32
 * bits, but not DELTA. */
static int read_block(const struct pack_block *b, uint64_t *out, uint32_t *out32)
{
    if (b->kind == PACK_RUNS)
        return read_runs(b, out, out32);
    if (b->kind == PACK_FOR) {
        if (out32)
            pack_kernels()->unpack32(b->bits, b->width, b->n, (uint32_t)b->base, out32);
        else
            pack_unpack_bits(b->bits, b->width, b->n, b->base, out);
        return b->extra ? apply_patches(b, b->n, out, out32) : 0;
    }
    pack_unpack_bits(b->bits, b->width, b->n - 1, b->base, out + 1);
    int rc = b->extra ? apply_patches(b, b->n - 1, out + 1, NULL) : 0;
    out[0] = (uint64_t)b->first;
    pack_kernels()->prefix_sum(out, b->n);
    return rc;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

/* A context has 160 KB, whose pages would have to be mapped for each stream. So each thread has
 * one, until it ends. */
static pthread_once_t context_once = PTHREAD_ONCE_INIT;
static pthread_key_t context_key;
static bool context_is_kept;

static void free_context(void *context)
{
    ZSTD_freeDCtx(context);
}

static void make_key(void)
{
    context_is_kept = pthread_key_create(&context_key, free_context) == 0;
}

/* Returns NULL without memory: zstd then makes a context for the call. */
static ZSTD_DCtx *thread_context(void)
{
    pthread_once(&context_once, make_key);
    ZSTD_DCtx *context = context_is_kept ? pthread_getspecific(context_key) : NULL;

    if (context || !context_is_kept)
        return context;
    context = ZSTD_createDCtx();
    if (context && pthread_setspecific(context_key, context) != 0) {
        ZSTD_freeDCtx(context);
        return NULL;
    }
    return context;
}

/* Decompresses exactly `want` bytes. Returns 0, ERR_CORRUPT or -ENOMEM. */
static int inflate_to(void *out, size_t want, const void *from, size_t len)
{
    ZSTD_DCtx *context = thread_context();
    size_t got = context ? ZSTD_decompressDCtx(context, out, want, from, len)
                         : ZSTD_decompress(out, want, from, len);

    if (got == want)
        return 0;
    return ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation ? -ENOMEM : ERR_CORRUPT;
}

/* ---- aligned --------------------------------------------------------------------------------- */

/* Replaces the differences of neighbours by values of 8 bytes. */
static int sum_steps(struct pack_stream *s, uint8_t **values)
{
    uint64_t *sums = malloc((size_t)s->head.count * 8 + PACK_SLACK);

    if (sums == NULL)
        return -ENOMEM;
    pack_kernels()->widen64(*values, s->head.width, s->head.count, (uint64_t)s->head.base, sums);
    memcpy(sums, s->payload, 8);
    pack_kernels()->prefix_sum(sums, s->head.count);
    free(*values);
    *values = (uint8_t *)sums;
    s->head.width = 8;
    s->head.base = 0;
    return 0;
}

int pack_inflate(struct pack_stream *s)
{
    size_t skip = 8u * s->head.delta, bytes = (size_t)s->head.count * s->head.width;

    if (s->heap != NULL)
        return 0;
    if (ZSTD_getFrameContentSize(s->payload + skip, s->len - skip) != bytes)
        return ERR_CORRUPT;
    uint8_t *values = malloc(bytes + PACK_SLACK);
    int rc = values ? inflate_to(values, bytes, s->payload + skip, s->len - skip) : -ENOMEM;
    if (rc == 0 && s->head.delta && s->head.count > 0)
        rc = sum_steps(s, &values);
    if (rc < 0) {
        free(values);
        return rc;
    }
    s->heap = values;
    return 0;
}

/* ---- values ---------------------------------------------------------------------------------- */

/* Reads n values from `first` on, which is the beginning of a block. An ALIGNED stream has been
 * decompressed. */
static int read_part(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out)
{
    uint64_t whole[PACK_BLOCK];
    uint32_t codes[PACK_BLOCK];
    struct pack_block b;
    int rc;

    switch (s->head.kind) {
    case PACK_CONSTANT:
        for (uint32_t i = 0; i < n; i++)
            out[i] = s->head.base;
        return 0;
    case PACK_ALIGNED:
        pack_kernels()->widen64(s->heap + (size_t)first * s->head.width, s->head.width, n,
                                (uint64_t)s->head.base, (uint64_t *)out);
        return 0;
    case PACK_DICT:
        rc = pack_read_u32(s->codes, first, n, codes);
        if (rc == 0 && !pack_kernels()->look_up(codes, n, s->dict, s->dict_count, out))
            rc = ERR_CORRUPT;
        return rc;
    default:
        rc = pack_block_open(s, first, &b);
        if (rc == 0)
            rc = read_block(&b, n == b.n ? (uint64_t *)out : whole, NULL);
        /* A block is always decoded whole, for its layout depends on its length. */
        if (rc == 0 && n < b.n)
            memcpy(out, whole, n * sizeof(*out));
        return rc;
    }
}

static int read_part32(struct pack_stream *s, uint32_t first, uint32_t n, uint32_t *out)
{
    uint32_t whole[PACK_BLOCK];
    int64_t wide[PACK_BLOCK];
    struct pack_block b;
    int rc;

    if (s->head.kind == PACK_CONSTANT) {
        for (uint32_t i = 0; i < n; i++)
            out[i] = (uint32_t)s->head.base;
        return 0;
    }
    if (s->head.kind == PACK_ALIGNED) {
        pack_kernels()->widen32(s->heap + (size_t)first * s->head.width, s->head.width, n,
                                (uint32_t)s->head.base, out);
        return 0;
    }
    rc = pack_block_open(s, first, &b);
    if (rc == 0 && (b.kind == PACK_RUNS || (b.kind == PACK_FOR && b.width <= 32))) {
        rc = read_block(&b, NULL, n == b.n ? out : whole);
        if (rc == 0 && n < b.n)
            memcpy(out, whole, n * sizeof(*out));
        return rc;
    }
    rc = rc ? rc : read_part(s, first, n, wide);
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        out[i] = (uint32_t)wide[i];
    return rc;
}

/* Decodes to 64 bits, or (out32 not NULL) to 32. */
static int read_parts(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out,
                      uint32_t *out32)
{
    bool blocks = s->head.kind == PACK_BLOCKS || s->head.kind == PACK_DICT;
    int rc = s->head.kind == PACK_ALIGNED ? pack_inflate(s) : 0;

    assert(first % PACK_BLOCK == 0 && first <= s->head.count && n <= s->head.count - first);
    for (uint32_t done = 0, want; rc == 0 && done < n; done += want) {
        want = blocks ? pack_block_rows(done, n) : n;
        rc = out32 ? read_part32(s, first + done, want, out32 + done)
                   : read_part(s, first + done, want, out + done);
    }
    return rc;
}

int pack_read_i64(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out)
{
    return read_parts(s, first, n, out, NULL);
}

int pack_read_u32(struct pack_stream *s, uint32_t first, uint32_t n, uint32_t *out)
{
    return read_parts(s, first, n, NULL, out);
}

int pack_decode_bytes(const void *data, size_t len, char **ret, size_t *ret_len)
{
    uint32_t head[2];
    const char *from = (const char *)data + sizeof(head);

    if (len < sizeof(head))
        return ERR_CORRUPT;
    memcpy(head, data, sizeof(head));
    size_t left = len - sizeof(head);
    if (head[1] == 0 ? head[0] > left
                     : head[1] > left || ZSTD_getFrameContentSize(from, head[1]) != head[0])
        return ERR_CORRUPT;
    char *out = malloc((size_t)head[0] + 1);
    if (out == NULL)
        return -ENOMEM;
    int rc = 0;
    if (head[1] == 0)
        memcpy(out, from, head[0]);
    else
        rc = inflate_to(out, head[0], from, head[1]);
    if (rc < 0) {
        free(out);
        return rc;
    }
    out[head[0]] = 0;
    *ret = out;
    *ret_len = head[0];
    return 0;
}
