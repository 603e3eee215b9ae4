/* column.h - how a chunk value is laid out, and the texts of a column while it is built.
 *
 *   struct chunk_head | directory | sections ... | 64 zero bytes
 *   directory: struct column_dir for each column, ascending by path bytes; struct section for each bitmap; paths
 *   sections:  streams of pack.h and byte blocks, aligned to 64 bytes where they are of 1 KiB or more, else to 8
 *
 * Nulls: a column keeps its non-null values only, without gaps. Which rows they are tells one of the chunk's bitmaps (a
 * stream of 64-bit words); args of the same calls are null in the same rows, so columns share them.
 */
#ifndef DFTRACERD_INDEX_COLUMN_H
#define DFTRACERD_INDEX_COLUMN_H

#include "chunk.h"
#include "pack.h"

#define CHUNK_MAGIC 0x4B434644u          /* "DFCK" */
#define CHUNK_TAIL 64u
#define CHUNK_ROWS_MAX (1u << 26)
#define COLUMN_NO_BITMAP 0xFFFFu
#define COLUMN_SCALE_RAW 255u            /* DOUBLE: the stream is the bits of the doubles */

struct chunk_head {
    uint32_t magic;
    uint16_t version, columns;
    uint64_t length;                     /* of the value */
    uint32_t rows, number;
    uint16_t bitmaps, unused;
    uint32_t dir_len;                    /* the directory follows the head */
    uint64_t dir_hash;                   /* chunk_hash */
};

struct section { uint32_t offset, len; };

enum { COLUMN_NANO = 1, COLUMN_CONSTANT = 2 };

struct column_dir {
    uint32_t path;                       /* offset of the path in the directory */
    uint16_t path_len;
    uint8_t type;                        /* enum column_type */
    uint8_t flags;
    int64_t min, max;                    /* DOUBLE: the bits */
    uint32_t nulls, entries;
    struct section values;               /* stream: ints, doubles * 10^scale, bits of doubles, codes; non-null rows only */
    struct section ids;                  /* TEXT: stream of global ids; MIXED: stream of types, then of numbers */
    struct section lens;                 /* TEXT without id, TEXT, JSON, BIG of MIXED: stream of lengths */
    struct section bytes;                /* their bytes */
    struct section filter;               /* bloom filter */
    uint32_t locals;                     /* entries whose text is here */
    uint16_t bitmap;
    uint8_t scale;
    uint8_t unused;
};
_Static_assert(sizeof(struct chunk_head) == 40 && sizeof(struct column_dir) == 80, "on disk");
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "values are little-endian and read in place");

/* XXH3-64 of the directory, seeded by that of the head with dir_hash 0. */
uint64_t chunk_hash(const struct chunk_head *head, const void *dir);

/* ---- texts of one column of one chunk (chunk_dictionary.c) --------------------------------------------------- */

struct dictionary_entry { uint32_t hash, len; size_t at; uint8_t type, mark; };
struct dictionary {
    uint32_t *slots;                     /* code + 1; 0 = free */
    struct dictionary_entry *entries;
    char *bytes;                         /* the texts, one behind the other */
    size_t bytes_len, bytes_cap;
    uint32_t slot_count, count, cap, last;
};
/* Code of (type, text) by first appearance; *ret_new says whether it is new. -ENOMEM. */
int64_t dictionary_code(struct dictionary *d, uint8_t type, const char *ptr, uint32_t len, bool *ret_new);
void dictionary_clear(struct dictionary *d);
void dictionary_done(struct dictionary *d);
size_t dictionary_bytes(const struct dictionary *d);

/* text_hash() of the decimal text, as filters want it. */
uint64_t column_hash_i64(int64_t v);
uint64_t column_hash_f64(double v);
uint64_t column_hash_bool(bool v);
/* Powers of ten that are exact in a double: 10^0 to 10^COLUMN_SCALES_MAX. */
#define COLUMN_SCALES_MAX 15u
extern const double column_pow10[COLUMN_SCALES_MAX + 1];

#endif
