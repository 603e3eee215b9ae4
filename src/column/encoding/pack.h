/* pack.h - encodes arrays of int64: the encodings of all columns.
 *
 * May use:   base; zstd.      Used by: column/chunk.
 * Data:      time stamps grow by small steps with rare jumps (delta, patched), durations are small
 *            with a long tail (frame of reference, patched), codes of names have runs or periodic
 *            patterns (bits, runs, zstd), sizes have a few values in a wide range (dictionary), ids
 *            count up (delta of 0 bits).
 * A stream:  16 bytes of head, then by its kind
 *   CONSTANT  nothing: `base` is the value of all
 *   BLOCKS    8 bytes for each block of 1,024 values (offset, kind, width, count of patches or
 *             runs), then their payloads
 *   ALIGNED   values minus base in 1, 2, 4 or 8 bytes each, compressed by zstd: it can only find
 *             periodic patterns in values that begin at bytes. With `delta`, the first value (8
 *             bytes), then the same of the differences of neighbours
 *   DICT      two streams: the distinct values, ascending (`base` is the length of this stream);
 *             their codes
 * Groups of 8 values are bit-packed into `width` bytes, low bit first. Widths 58 to 63 are written
 * as 64.
 * Readers may read PACK_SLACK bytes after a stream: they have to be readable.
 */
#ifndef DFTRACERD_COLUMN_ENCODING_PACK_H
#define DFTRACERD_COLUMN_ENCODING_PACK_H

#include "dftracerd/base.h"

#include <string.h>

#define PACK_BLOCK 1024u
#define PACK_PLACE_BITS 10u /* of a position in a block */
#define PACK_SLACK 32u
#define PACK_DICT_MAX 4096u

enum pack_kind { PACK_CONSTANT = 1, PACK_BLOCKS, PACK_ALIGNED, PACK_DICT };
enum pack_block_kind { PACK_FOR = 1, PACK_DELTA, PACK_RUNS };

struct pack_head {
    uint8_t kind, width, delta, unused;
    uint32_t count;
    int64_t base;
};
/* `kind`: enum pack_block_kind in the low 4 bits, above them the size of the base (0-8 bytes), with
 * which the payload begins. */
struct pack_entry {
    uint32_t offset;
    uint8_t kind, width;
    uint16_t extra;
};

/* ---- writing --------------------------------------------------------------------------------- */

struct pack_encoder;                             /* scratch memory and a zstd context; one thread */
int pack_encoder_new(struct pack_encoder **ret); /* 0 or -ENOMEM */
void pack_encoder_free(struct pack_encoder *e);
#define PACK_MAY_COMPRESS 1u /* zstd if it saves a quarter */
#define PACK_NO_DICT 2u
#define PACK_IF_HALF 4u /* zstd only if it saves half */
/* Appends one stream of n values (n < 2^27). Returns 0 or -ENOMEM. */
int pack_encode(struct pack_encoder *e, const int64_t *values, size_t n, unsigned flags,
                struct buf *out);
/* The range of values, and of the differences of neighbours; one value has none of these. */
struct pack_range {
    int64_t min, max, delta_min, delta_max;
    uint32_t runs;
};
/* Extends a range by that of the following values. The step to the first of them is not counted. */
static inline void pack_range_join(struct pack_range *r, const struct pack_range *next)
{
    r->min = next->min < r->min ? next->min : r->min;
    r->max = next->max > r->max ? next->max : r->max;
    r->delta_min = next->delta_min < r->delta_min ? next->delta_min : r->delta_min;
    r->delta_max = next->delta_max > r->delta_max ? next->delta_max : r->delta_max;
    r->runs += next->runs;
}
/* The same if the ranges of the first `known_blocks` whole blocks are known. *ret (may be NULL):
 * the range of all values, n > 0. */
int pack_encode_measured(struct pack_encoder *e, const int64_t *values, size_t n,
                         const struct pack_range *known, size_t known_blocks, unsigned flags,
                         struct pack_range *ret, struct buf *out);
/* Appends `len` bytes, compressed by zstd if that saves a tenth: a head of 8 bytes (u32 length, u32
 * compressed length, 0 = not compressed), then the bytes. */
int pack_encode_bytes(struct pack_encoder *e, const void *data, size_t len, struct buf *out);

/* ---- reading --------------------------------------------------------------------------------- */

struct pack_stream {
    struct pack_head head;
    const uint8_t *payload;
    size_t len;                /* of the payload */
    uint8_t *heap;             /* ALIGNED: NULL until decompressed */
    struct pack_stream *codes; /* DICT */
    int64_t *dict;             /* DICT: its values; NULL until read */
    uint32_t dict_count;
};
/* Opens a stream of `count` values. `data` is borrowed until pack_close. Returns 0, ERR_CORRUPT or
 * -ENOMEM. */
int pack_open(struct pack_stream *s, const void *data, size_t len, uint32_t count);
void pack_close(struct pack_stream *s); /* also for a zeroed stream */
/* Reads the values [first, first + n); first is a multiple of 1,024, and the range must not
 * exceed the stream (assert). Returns 0, ERR_CORRUPT or -ENOMEM. */
int pack_read_i64(struct pack_stream *s, uint32_t first, uint32_t n, int64_t *out);
/* The same as uint32 (low halves): for codes. */
int pack_read_u32(struct pack_stream *s, uint32_t first, uint32_t n, uint32_t *out);
/* Bit i of out = value i is within [lo, hi]. out: (count + 63) / 64 words. Returns 0,
 * ERR_CORRUPT or -ENOMEM. */
int pack_select_i64(struct pack_stream *s, int64_t lo, int64_t hi, uint64_t *out);
/* The same for codes: value v passes if bit v of the table is set, which has `code_count` bits, in
 * whole 32-bit words. */
int pack_select_codes(struct pack_stream *s, const uint32_t *table, uint32_t code_count,
                      uint64_t *out);
/* out[k] = value places[k]; places ascend. Returns 0, ERR_CORRUPT or -ENOMEM. */
int pack_pick_i64(struct pack_stream *s, const uint32_t *places, uint32_t n, int64_t *out);
/* Copies the values within [lo, hi] whose bit is set in `wanted`, in any order. out: an element for
 * each set bit. Returns 0, ERR_CORRUPT or -ENOMEM. */
int pack_copy_selected_i64(struct pack_stream *s, const uint64_t *wanted, int64_t lo, int64_t hi,
                           int64_t *out, uint32_t *ret_count);
/* *ret: *new*, `*ret_len` bytes and a NUL byte. */
int pack_decode_bytes(const void *data, size_t len, char **ret, size_t *ret_len);

/* ---- kernels --------------------------------------------------------------------------------- */

#define PACK_RANGE_WIDTH 25u
struct pack_kernels {
    /* n values of `width` <= 57 bits plus base; reads PACK_SLACK bytes too far, writes n values */
    void (*unpack64)(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out);
    void (*unpack32)(const uint8_t *in, unsigned width, size_t n, uint32_t base, uint32_t *out);
    /* Bit i of out = the i-th value of `width` <= PACK_RANGE_WIDTH bits is within [lo, hi], which
     * are below 2^width; whole words of out, 0 after n; reads PACK_SLACK bytes too far. */
    void (*range_bits)(const uint8_t *in, unsigned width, size_t n, uint32_t lo, uint32_t hi,
                       uint64_t *out);
    /* Sum of values [from, to) of a block of at most 1,024; width <= PACK_RANGE_WIDTH; reads
     * PACK_SLACK bytes too far. */
    uint64_t (*sum_bits)(const uint8_t *in, unsigned width, size_t from, size_t to);
    /* little-endian integers of 1, 2, 4 or 8 bytes plus base */
    void (*widen64)(const uint8_t *in, unsigned bytes, size_t n, uint64_t base, uint64_t *out);
    void (*widen32)(const uint8_t *in, unsigned bytes, size_t n, uint32_t base, uint32_t *out);
    /* the inverse: values minus base */
    void (*narrow64)(const int64_t *in, unsigned bytes, size_t n, uint64_t base, uint8_t *out);
    /* Copies the next value to out[i] where bit i of valid is set, else 0; returns the position
     * after the last value; reads up to 4 values too far. */
    const int64_t *(*expand64)(const int64_t *in, const uint64_t *valid, size_t n, int64_t *out);
    /* out[i] = v[i] - base */
    void (*above)(const int64_t *v, size_t n, uint64_t base, uint64_t *out);
    /* out[i] = v[i + 1] - v[i] - base, n - 1 of them */
    void (*steps)(const int64_t *v, size_t n, uint64_t base, uint64_t *out);
    /* Find positions: of values above the mask (n <= PACK_BLOCK); of values that differ from the
     * next one. out: n elements; those after the last position become undefined. */
    size_t (*above_mask)(const uint64_t *v, size_t n, uint64_t mask, uint64_t *out);
    size_t (*changes)(const int64_t *v, size_t n, uint64_t *out);
    /* out[k] = number of the n >= 1 ascending values that are below places[k] - first. All are
     * below 2^31; they are followed by 7 more, which are above any place. */
    void (*find_places)(const uint32_t *v, size_t n, const uint32_t *places, size_t count,
                        uint32_t first, uint32_t *out);
    /* n values below 2^width (0-57, 64) become pack_bits_bytes; writes up to 16 bytes too far. */
    void (*pack)(const uint64_t *values, size_t n, unsigned width, uint8_t *out);
    void (*measure)(const int64_t *v, size_t n, struct pack_range *ret); /* n >= 1 */
    /* n >= 1: out[i] becomes the sum of out[0] to out[i] */
    void (*prefix_sum)(uint64_t *out, size_t n);
    /* out[i] = dict[codes[i]]; returns false (and writes nothing) if a code is not below `count` */
    bool (*look_up)(const uint32_t *codes, size_t n, const int64_t *dict, uint32_t count,
                    int64_t *out);
};
extern const struct pack_kernels pack_kernels_portable, pack_kernels_avx2;
const struct pack_kernels *pack_kernels(void); /* the fastest for this CPU (cpu_level) */

/* Returns the number of values of the block that begins with value `first` of `count`. */
static inline uint32_t pack_block_rows(uint32_t first, uint32_t count)
{
    return count - first < PACK_BLOCK ? count - first : PACK_BLOCK;
}
static inline size_t pack_bits_bytes(size_t n, unsigned width)
{
    return (n + 7) / 8 * width;
}
/* Returns value number `place`; reads up to 8 bytes after its first one. Any width 0-57 or 64. */
static inline uint64_t pack_bits_at(const uint8_t *bits, unsigned width, size_t place)
{
    uint64_t bit = (uint64_t)place * width, v;

    memcpy(&v, bits + bit / 8, sizeof(v));
    v >>= bit % 8;
    return width < 64 ? v & (((uint64_t)1 << width) - 1) : v;
}
/* Returns the size of an unsigned integer for `top`: 1, 2, 4 or 8. */
static inline unsigned pack_aligned_bytes(uint64_t top)
{
    return top < 256 ? 1 : top < 65536 ? 2 : top >> 32 == 0 ? 4 : 8;
}
/* Decodes bit-packed values of any width 0-57 or 64 with the fastest kernel. */
void pack_unpack_bits(const uint8_t *in, unsigned width, size_t n, uint64_t base, uint64_t *out);
static inline unsigned pack_bit_length(uint64_t v)
{
    return v ? 64u - (unsigned)__builtin_clzll(v) : 0;
}
static inline unsigned pack_stored_width(unsigned width)
{
    return width > 57 ? 64 : width;
}

#endif
