/* column.h - the layout of an encoded chunk. Private to column/chunk.
 *
 *   struct chunk_head | directory | sections ... | 64 zero bytes
 *   directory: struct column_dir for each column, ascending by path bytes; struct bitmap_dir for
 *   each bitmap; paths
 *   sections:  streams of pack.h and byte blocks, aligned to 64 bytes if they are likely to have 1
 *              KiB or more, else to 8; relative to the start of the value
 *
 * Checksums: chunk_head has the checksum of itself and the directory, which in turn contain those
 * of columns, filters, bitmaps and densities.
 *
 * Nulls: a column has its non-null values only, without gaps. Their rows are in one of the chunk's
 * bitmaps (a stream of 64-bit words); args of the same calls are null in the same rows, so columns
 * share bitmaps.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_COLUMN_H
#define DFTRACERD_COLUMN_CHUNK_COLUMN_H

#include "column/chunk/chunk.h"
#include "column/encoding/pack.h"

#include <string.h>

#define CHUNK_MAGIC 0x4B434644u /* "DFCK" */
#define CHUNK_TAIL 64u
#define CHUNK_ROWS_MAX (1u << 26)
#define COLUMN_NO_BITMAP 0xFFFFu
#define COLUMN_SCALE_RAW 255u /* DOUBLE: the stream is the bits of the doubles */

enum { CHUNK_COUNTS_ITEMS = 1 }; /* chunk_counts_items() */

struct section {
    uint32_t offset, len;
};

struct chunk_head {
    uint32_t magic;
    uint16_t version, columns;
    uint64_t length; /* of the value */
    uint32_t rows, number;
    uint16_t bitmaps, flags; /* CHUNK_ */
    uint32_t dir_len;        /* the directory follows the head */
    uint64_t dir_hash;       /* chunk_hash */
    struct section density;  /* density.h; len 0: none */
    uint32_t density_sum, reserved;
};

enum { COLUMN_NANO = 1, COLUMN_CONSTANT = 2 };

struct column_dir {
    uint32_t path; /* offset of the path in the directory */
    uint16_t path_len;
    uint8_t type; /* enum column_type */
    uint8_t flags;
    int64_t min, max; /* DOUBLE: the bits */
    uint32_t nulls, entries;
    /* stream of ints, doubles * 10^scale, bits of doubles, or codes; non-null rows only */
    struct section values;
    struct section ids;    /* TEXT: stream of global ids; MIXED: stream of types, then of numbers */
    struct section lens;   /* TEXT without id, TEXT, JSON, BIG of MIXED: stream of lengths */
    struct section bytes;  /* their bytes */
    struct section filter; /* bloom filter */
    uint32_t locals;       /* number of entries whose text is in the chunk */
    uint16_t bitmap;
    uint8_t scale;
    uint8_t unused;
    uint32_t sum, filter_sum; /* of column_body, of the filter */
};
struct bitmap_dir {
    struct section section;
    uint32_t sum;
};
_Static_assert(sizeof(struct chunk_head) == CHUNK_HEAD_BYTES && sizeof(struct column_dir) == 88 &&
                   sizeof(struct bitmap_dir) == 12,
               "on disk");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "values are little-endian and read in place");

/* Returns the XXH3-64 of the directory, seeded by that of the head with dir_hash 0. */
uint64_t chunk_hash(const struct chunk_head *head, const void *dir);
uint32_t chunk_sum(const void *data, size_t len); /* chunk_sum.c: 32 bits of XXH3 */
/* Returns the range from its first section to its last, without the filter. */
struct section column_body(const struct column_dir *d);

/* Powers of ten that are exact in a double: 10^0 to 10^COLUMN_SCALES_MAX. */
#define COLUMN_SCALES_MAX 15u
extern const double column_pow10[COLUMN_SCALES_MAX + 1];

#endif
