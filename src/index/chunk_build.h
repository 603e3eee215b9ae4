/* chunk_build.h - what the parts of the builder share (chunk_builder.c, chunk_size.c, chunk_finish.c, chunk_texts.c). */
#ifndef DFTRACERD_INDEX_CHUNK_BUILD_H
#define DFTRACERD_INDEX_CHUNK_BUILD_H

#include "bloom.h"
#include "column.h"

enum { BUILD_CLASS, BUILD_GAP, BUILD_LEN, BUILD_REPAIRED, BUILD_BAD_DUR, BUILD_SIZE, BUILD_OTHER, BUILD_SPECIALS };
#define BUILD_COLUMNS_MAX (CHUNK_PATHS_MAX + BUILD_SPECIALS)
#define BUILD_MANY 255u              /* column_build.type: several types, see types[] */
#define BUILD_TO_OTHER 0xFFFFu       /* slot of a field without a column of its own */

/* One column while rows come in: its non-null values, without gaps, and the rows they belong to. */
struct column_build {
    /* touched for every value: one cache line */
    uint8_t type;                    /* 0 = no value yet, enum trace_type, BUILD_MANY */
    bool is_time, nano;
    bool sparse;                     /* a row was without value: `valid` is kept from here on */
    uint32_t count, cap, words;
    int64_t *values;                 /* ints, bits of doubles, codes of texts */
    uint64_t *valid;                 /* `words` words; where not sparse, rows [0, count) have values and this is unused */
    uint8_t *types;                  /* of the values; only where BUILD_MANY */
    struct dictionary dict;
    struct text path;                /* in the builder's arena; the specials': static */
    bool keep_packed, always_global;
    int8_t dimension;                /* place in the list of dimensions or -1 */
    uint16_t skew;                   /* bytes before `values` in its allocation */
} __attribute__((aligned(64)));

struct hash_list { uint64_t *hashes; size_t count, cap; };

struct chunk_builder {
    struct chunk_options options;
    const struct trace_scanner *scanner;
    struct arena arena;
    struct pack_encoder *encoder;
    uint32_t rows, row_cap, columns;
    uint32_t end;                    /* of the object before */
    uint32_t bad_ts, bad_dur, other_values;
    int error;
    uint16_t slot[TRACE_FIELDS_MAX + 64];               /* field -> column + 1; 0 = not met in this chunk */
    const struct trace_value *seen[TRACE_FIELD_DYNAMIC]; /* of the event at hand, where a bit is set in `seen_mask` */
    uint64_t seen_mask;
    struct buf other;                /* JSON text of the event at hand's other values */
    struct buf scratch;              /* arrays of int64 while a column is written */
    struct hash_list hashes[CHUNK_DIMENSIONS_MAX];
    unsigned dimensions;
    struct column_build column[BUILD_COLUMNS_MAX];
};

/* Makes `valid` tell what it must (the column may have been dense until now). 0 or -ENOMEM. */
int build_make_sparse(struct chunk_builder *b, struct column_build *c);

/* ---- chunk_size.c: bytes moved ---------------------------------------------------------------------------- */

enum { SIZE_POSIX = 1, SIZE_STDIO = 2,                     /* marks of categories */
       SIZE_TRANSFER = 1, SIZE_COUNTED = 2 };              /* marks of names: a transfer; one of size * count */
uint8_t size_mark_cat(struct text cat);
uint8_t size_mark_name(struct text name);
struct size_value { uint8_t type; int64_t i; double d; };  /* type 0 = null, TRACE_INT or TRACE_DOUBLE */
/* The arguments that matter, NULL where absent or no number. */
struct size_args { const struct trace_value *ret, *size, *image_size, *size_sum, *ret_sum; };
struct size_value size_of_object(uint8_t cat_mark, uint8_t name_mark, const struct size_args *args);

/* ---- chunk_texts.c: dictionaries of TEXT and MIXED columns --------------------------------------------------- */

/* Write the dictionary sections of a column and (MIXED) turn its values into codes. Sticky error in `out`. */
void build_texts(struct chunk_builder *b, struct column_build *c, size_t start, struct buf *out, struct column_dir *dir);
int build_mixed(struct chunk_builder *b, struct column_build *c, size_t start, struct buf *out, struct column_dir *dir);
/* Distinct values of a column that is a dimension into b->hashes. */
int build_hashes(struct chunk_builder *b, struct column_build *c);

/* Begins a section: aligns; then section_end. `start` is where the value begins in `out`. */
uint32_t section_begin(struct buf *out, size_t start, size_t expected);
struct section section_end(const struct buf *out, size_t start, uint32_t begin);

#endif
