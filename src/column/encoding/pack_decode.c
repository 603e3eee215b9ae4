/* pack_decode.c - reads the streams of pack_encode.c. Every offset, width and count is checked
 * before it is used: the bytes come from a disk. */
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
    int rc;

    if (bytes < sizeof(head) || bytes > s->len)
        return ERR_CORRUPT;
    memcpy(&head, s->payload, sizeof(head));
    if (head.kind == PACK_DICT || head.count == 0 || head.count > PACK_DICT_MAX)
        return ERR_CORRUPT;
    s->codes = calloc(1, sizeof(*s->codes));
    s->dict = malloc(head.count * sizeof(*s->dict));
    if (s->codes == NULL || s->dict == NULL)
        return -ENOMEM;
    rc = pack_open(&values, s->payload, bytes, head.count);
    if (rc == 0)
        rc = pack_read_i64(&values, 0, head.count, s->dict);
    pack_close(&values);
    s->dict_count = head.count;
    /* Looked at before it is opened: a chain of dictionaries must not become deep recursion. */
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
    int rc;

    memset(s, 0, sizeof(*s));
    if (len < sizeof(s->head))
        return ERR_CORRUPT;
    memcpy(&s->head, data, sizeof(s->head));
    if (s->head.count != count)
        return ERR_CORRUPT;
    s->payload = (const uint8_t *)data + sizeof(s->head);
    s->len = len - sizeof(s->head);
    rc = open_kind(s);
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

struct cut {
    const uint8_t *at;
    size_t left;
    bool bad;
};

static const uint8_t *take(struct cut *c, size_t n)
{
    const uint8_t *at = c->at;
    if (c->bad || n > c->left) {
        c->bad = true;
        return NULL;
    }
    c->at += n;
    c->left -= n;
    return at;
}

static uint64_t take_base(struct cut *c, unsigned bytes)
{
    uint64_t zigzag = 0;
    const uint8_t *at = bytes <= 8 ? take(c, bytes) : NULL;

    c->bad |= bytes > 8;
    if (at != NULL)
        memcpy(&zigzag, at, bytes);
    return zigzag >> 1 ^ -(zigzag & 1);
}

static bool width_ok(unsigned width)
{
    return width <= 57 || width == 64;
}

static void open_patches(struct cut *c, struct pack_block *b, size_t n)
{
    const uint8_t *at = take(c, 1);

    b->patch_width = at ? *at : 0;
    c->bad |= b->extra > n || !width_ok(b->patch_width) || b->width > 57;
    b->places = take(c, pack_bits_bytes(b->extra, 10));
    b->patches = take(c, pack_bits_bytes(b->extra, b->patch_width));
}

int pack_block_open(const struct pack_stream *s, uint32_t number, size_t n, struct pack_block *b)
{
    size_t blocks = ((size_t)s->head.count + PACK_BLOCK - 1) / PACK_BLOCK;
    struct cut c = {s->payload + blocks * sizeof(struct pack_entry),
                    s->len - blocks * sizeof(struct pack_entry), false};
    struct pack_entry entry;

    memcpy(&entry, s->payload + number * sizeof(entry), sizeof(entry));
    take(&c, entry.offset);
    b->kind = entry.kind & 15;
    b->width = entry.width;
    b->extra = entry.extra;
    c.bad |= !width_ok(b->width);
    b->base = take_base(&c, entry.kind >> 4);
    if (b->kind == PACK_RUNS) {
        c.bad |= b->extra == 0 || b->extra > n;
        b->places = take(&c, pack_bits_bytes(b->extra, 10));
        b->bits = take(&c, pack_bits_bytes(b->extra, b->width));
        return c.bad ? ERR_CORRUPT : 0;
    }
    if (b->kind == PACK_DELTA) {
        const uint8_t *at = take(&c, 8);
        if (at != NULL)
            memcpy(&b->first, at, 8);
        n--;
    } else if (b->kind != PACK_FOR) {
        return ERR_CORRUPT;
    }
    b->bits = take(&c, pack_bits_bytes(n, b->width));
    if (b->extra > 0)
        open_patches(&c, b, n);
    return c.bad ? ERR_CORRUPT : 0;
}

#define ADD_PATCHES(type, out) \
    for (uint32_t i = 0; i < b->extra; i++) { \
        if (place[i] >= n) \
            return ERR_CORRUPT; \
        (out)[place[i]] += (type)(high[i] << b->width); \
    }

/* In 64 bits, or (out32 not NULL) in 32. */
static int apply_patches(const struct pack_block *b, size_t n, uint64_t *out, uint32_t *out32)
{
    uint32_t place[PACK_BLOCK];
    uint64_t high[PACK_BLOCK];

    pack_kernels()->unpack32(b->places, 10, b->extra, 0, place);
    pack_unpack_bits(b->patches, b->patch_width, b->extra, 0, high);
    if (out32)
        ADD_PATCHES(uint32_t, out32)
    else
        ADD_PATCHES(uint64_t, out)
    return 0;
}

/* Fills by runs; their ends ascend and the last one is the end of the block. */
#define FILL_RUNS(type) \
    size_t at = 0; \
    for (uint32_t i = 0; i < b->extra; i++) { \
        type v = (type)value[i]; \
        if (end[i] < at || end[i] >= n) \
            return ERR_CORRUPT; \
        while (at <= end[i]) \
            out[at++] = v; \
    } \
    return at == n ? 0 : ERR_CORRUPT

static int runs_u64(const uint64_t *end, const uint64_t *value, const struct pack_block *b,
                    size_t n, uint64_t *out)
{
    FILL_RUNS(uint64_t);
}

static int runs_u32(const uint64_t *end, const uint64_t *value, const struct pack_block *b,
                    size_t n, uint32_t *out)
{
    FILL_RUNS(uint32_t);
}

/* Into 64 bits, or (out32 not NULL) into 32. */
static int read_runs(const struct pack_block *b, size_t n, uint64_t *out, uint32_t *out32)
{
    uint64_t end[PACK_BLOCK], value[PACK_BLOCK];

    pack_unpack_bits(b->places, 10, b->extra, 0, end);
    pack_unpack_bits(b->bits, b->width, b->extra, b->base, value);
    return out32 ? runs_u32(end, value, b, n, out32) : runs_u64(end, value, b, n, out);
}

int pack_block_read(const struct pack_stream *s, uint32_t number, size_t n, uint64_t *out)
{
    struct pack_block b = {0};
    int rc = pack_block_open(s, number, n, &b);

    if (rc < 0)
        return rc;
    if (b.kind == PACK_RUNS)
        return read_runs(&b, n, out, NULL);
    if (b.kind == PACK_FOR) {
        pack_unpack_bits(b.bits, b.width, n, b.base, out);
        return b.extra ? apply_patches(&b, n, out, NULL) : 0;
    }
    pack_unpack_bits(b.bits, b.width, n - 1, b.base, out + 1);
    if (b.extra)
        rc = apply_patches(&b, n - 1, out + 1, NULL);
    out[0] = (uint64_t)b.first;
    pack_kernels()->prefix_sum(out, n);
    return rc;
}

static int read_block32(const struct pack_stream *s, uint32_t number, size_t n, uint32_t *out)
{
    struct pack_block b = {0};
    int rc = pack_block_open(s, number, n, &b);

    if (rc < 0)
        return rc;
    if (b.kind == PACK_RUNS)
        return read_runs(&b, n, NULL, out);
    if (b.kind == PACK_FOR && b.width <= 32) {
        pack_kernels()->unpack32(b.bits, b.width, n, (uint32_t)b.base, out);
        return b.extra ? apply_patches(&b, n, NULL, out) : 0;
    }
    uint64_t wide[PACK_BLOCK];
    rc = pack_block_read(s, number, n, wide);
    for (size_t i = 0; rc == 0 && i < n; i++)
        out[i] = (uint32_t)wide[i];
    return rc;
}

/* ---- zstd ------------------------------------------------------------------------------------ */

/* A context is 160 KB: made for each stream, its pages would be new each time. A thread keeps its
 * own until it ends. */
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

/* NULL: zstd makes one for the call. */
static ZSTD_DCtx *thread_context(void)
{
    pthread_once(&context_once, make_key);
    ZSTD_DCtx *context = context_is_kept ? pthread_getspecific(context_key) : NULL;

    if (context || !context_is_kept)
        return context;
    context = ZSTD_createDCtx();
    if (context && pthread_setspecific(context_key, context) != 0) {
        ZSTD_freeDCtx(context);
        context = NULL;
    }
    return context;
}

/* 0, or why zstd does not give the `want` bytes that it should. */
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

int pack_inflate(struct pack_stream *s)
{
    size_t count = s->head.count, skip = 8u * s->head.delta, bytes = count * s->head.width;

    if (s->heap != NULL)
        return 0;
    if (ZSTD_getFrameContentSize(s->payload + skip, s->len - skip) != bytes)
        return ERR_CORRUPT;
    s->heap = malloc(bytes + PACK_SLACK);
    if (s->heap == NULL)
        return -ENOMEM;
    int rc = inflate_to(s->heap, bytes, s->payload + skip, s->len - skip);
    if (rc < 0) {
        free(s->heap);
        s->heap = NULL;
        return rc;
    }
    if (!s->head.delta || count == 0)
        return 0;
    uint64_t *wide = malloc(count * 8 + PACK_SLACK);
    if (wide == NULL) {
        free(s->heap);
        s->heap = NULL;
        return -ENOMEM;
    }
    pack_kernels()->widen64(s->heap, s->head.width, count, (uint64_t)s->head.base, wide);
    memcpy(wide, s->payload, 8);
    pack_kernels()->prefix_sum(wide, count);
    free(s->heap);
    s->heap = (uint8_t *)wide;
    s->head.width = 8;
    s->head.base = 0;
    return 0;
}

/* ---- doors ----------------------------------------------------------------------------------- */

static size_t block_rows(uint32_t done, uint32_t n)
{
    return n - done < PACK_BLOCK ? n - done : PACK_BLOCK;
}

/* A block is read whole (its layout depends on its length): where fewer values are wanted, beside
 * `out`. */
static int read_blocks(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out)
{
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        size_t want = block_rows(done, n), have = block_rows(first + done, s->head.count);
        uint64_t whole[PACK_BLOCK];
        if (want == have) {
            rc = pack_block_read(s, (first + done) / PACK_BLOCK, have, (uint64_t *)out + done);
            continue;
        }
        rc = pack_block_read(s, (first + done) / PACK_BLOCK, have, whole);
        memcpy(out + done, whole, want * sizeof(*out));
    }
    return rc;
}

static int read_blocks32(struct pack_stream *s, uint32_t first, uint32_t n, uint32_t *out)
{
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        size_t want = block_rows(done, n), have = block_rows(first + done, s->head.count);
        uint32_t whole[PACK_BLOCK];
        if (want == have) {
            rc = read_block32(s, (first + done) / PACK_BLOCK, have, out + done);
            continue;
        }
        rc = read_block32(s, (first + done) / PACK_BLOCK, have, whole);
        memcpy(out + done, whole, want * sizeof(*out));
    }
    return rc;
}

static int read_dict(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out)
{
    uint32_t codes[PACK_BLOCK];
    int rc = 0;

    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        size_t want = block_rows(done, n);
        rc = pack_read_u32(s->codes, first + done, (uint32_t)want, codes);
        if (rc == 0 && !pack_kernels()->look_up(codes, want, s->dict, s->dict_count, out + done))
            rc = ERR_CORRUPT;
    }
    return rc;
}

int pack_read_i64(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out)
{
    int rc;

    assert(first % PACK_BLOCK == 0 && first <= s->head.count && n <= s->head.count - first);
    switch (s->head.kind) {
    case PACK_CONSTANT:
        for (uint32_t i = 0; i < n; i++)
            out[i] = s->head.base;
        return 0;
    case PACK_ALIGNED:
        rc = pack_inflate(s);
        if (rc == 0)
            pack_kernels()->widen64(s->heap + (size_t)first * s->head.width, s->head.width, n,
                                    (uint64_t)s->head.base, (uint64_t *)out);
        return rc;
    case PACK_DICT:
        return read_dict(s, first, n, out);
    default:
        return read_blocks(s, first, n, out);
    }
}

int pack_read_u32(struct pack_stream *s, uint32_t first, uint32_t n, uint32_t *out)
{
    int rc = 0;

    assert(first % PACK_BLOCK == 0 && first <= s->head.count && n <= s->head.count - first);
    switch (s->head.kind) {
    case PACK_CONSTANT:
        for (uint32_t i = 0; i < n; i++)
            out[i] = (uint32_t)s->head.base;
        return 0;
    case PACK_ALIGNED:
        rc = pack_inflate(s);
        if (rc == 0)
            pack_kernels()->widen32(s->heap + (size_t)first * s->head.width, s->head.width, n,
                                    (uint32_t)s->head.base, out);
        return rc;
    case PACK_BLOCKS:
        return read_blocks32(s, first, n, out);
    default:
        break;
    }
    for (uint32_t done = 0; rc == 0 && done < n; done += PACK_BLOCK) {
        int64_t wide[PACK_BLOCK];
        size_t want = block_rows(done, n);
        rc = pack_read_i64(s, first + done, (uint32_t)want, wide);
        for (size_t i = 0; rc == 0 && i < want; i++)
            out[done + i] = (uint32_t)wide[i];
    }
    return rc;
}

int pack_decode_bytes(const void *data, size_t len, char **ret, size_t *ret_len)
{
    uint32_t head[2];
    const char *from = (const char *)data + sizeof(head);
    char *out;

    if (len < sizeof(head))
        return ERR_CORRUPT;
    memcpy(head, data, sizeof(head));
    size_t left = len - sizeof(head);
    if (head[1] == 0 ? head[0] > left
                     : head[1] > left || ZSTD_getFrameContentSize(from, head[1]) != head[0])
        return ERR_CORRUPT;
    out = malloc((size_t)head[0] + 1);
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
