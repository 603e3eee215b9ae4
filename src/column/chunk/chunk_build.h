/* chunk_build.h - private to the builder: the types that its files share.
 *
 *   chunk_builder.c   creates builders and their columns
 *   chunk_add.c       adds the values of an event to columns
 *   chunk_stage.c     stores a column's values until the chunk is finished
 *   chunk_shape.c     plans how the values of events of one shape are added
 *   chunk_other.c     values of paths beyond the limit, as JSON text
 *   chunk_size.c      the columns size and bytes
 *   chunk_finish.c, chunk_texts.c   encode the columns
 *   density.h         precomputed sums of objects by time
 */
#ifndef DFTRACERD_COLUMN_CHUNK_CHUNK_BUILD_H
#define DFTRACERD_COLUMN_CHUNK_CHUNK_BUILD_H

#include "column/chunk/bloom.h"
#include "column/chunk/chunk_dictionary.h"
#include "column/chunk/column.h"

/* The first four have a value in every row. */
enum {
    BUILD_CLASS,
    BUILD_GAP,
    BUILD_LEN,
    BUILD_REPAIRED,
    BUILD_SIZE,
    BUILD_BYTES,
    BUILD_OTHER,
    BUILD_SPECIALS
};
enum {
    BUILD_COLUMNS_MAX = CHUNK_PATHS_MAX + BUILD_SPECIALS,
    BUILD_SEVERAL_TYPES = 255, /* column_build.type: several types, see types[] */
    BUILD_TO_OTHER = 0xFFFF,   /* slot of a field without a column of its own */
    BUILD_SHAPES_MAX = 128,    /* number 0 is none: the row's values were added one by one */
    BUILD_STEPS_MAX = 4096,    /* values of all shapes */
    BUILD_HINTS = 256,
    BUILD_DICTIONARIES_KEPT = 64,
    BUILD_DICTIONARIES_BYTES = 10 << 20 /* kept for the next chunk, of all together */
};

/* The arguments that `size` and `bytes` are computed from. ARG_COUNT: the bytes that a transfer
 * requests. */
enum size_arg {
    ARG_RET,
    ARG_SIZE,
    ARG_COUNT,
    ARG_IMAGE_SIZE,
    ARG_SIZE_SUM,
    ARG_RET_SUM,
    SIZE_ARGS
};

/* How values are added to a column. */
enum build_kind { BUILD_NUMBER, BUILD_TIME, BUILD_TEXT, BUILD_KIND_ANY };

/* One column while rows are added: its non-null values, without gaps. They belong to the rows of
 * the shapes that have the field, from row `flat` on, and to the rows whose bit is set in
 * `valid`. */
struct column_build {
    /* accessed for every value: one cache line */
    int64_t *next, *end; /* in `fill`: ints, bits of doubles, codes of texts */
    uint64_t a, b;       /* BUILD_TEXT: the words of the last text, */
    uint32_t len, code; /* its length (UINT32_MAX: none, or it is longer than its words) and code */
    uint8_t size_class; /* of the last text: chunk_size.c */
    uint8_t kind;       /* enum build_kind */
    uint8_t type;       /* 0 = no value yet, enum trace_type, BUILD_SEVERAL_TYPES */
    bool nano;

    bool is_time;
    bool uncompressed;     /* PACK_MAY_COMPRESS is not used */
    bool compress_if_half; /* PACK_IF_HALF is used: the steps may be periodic */
    bool always_global;    /* its texts become global, however many there are */
    bool as_double;        /* BUILD_SEVERAL_TYPES: integers are converted to doubles */
    int8_t dimension;      /* position in the list of dimensions or -1 */
    uint16_t skew;         /* bytes before `fill` in its allocation */
    uint32_t full;         /* values in `kept` */
    uint32_t words, flat;
    int64_t *fill;             /* PACK_BLOCK values */
    uint64_t *valid;           /* `words` words */
    struct dictionary *dict;   /* NULL before the first text */
    struct buf kept;           /* full blocks, as narrow as their range allows */
    struct buf ranges, places; /* struct pack_range and struct stage_place of each block */
    struct buf types;          /* a byte for each value; only for BUILD_SEVERAL_TYPES */
    struct text path;          /* in the builder's arena, or static */
    uint64_t shapes[BUILD_SHAPES_MAX / 64];
} __attribute__((aligned(64)));

/* Position of a block in `kept`, and bytes of each value above the minimum (0: all are equal). */
struct stage_place {
    size_t at;
    uint8_t bytes;
};

/* One value of a shape. */
struct step {
    struct column_build *column;
    uint32_t head;  /* field, type and unit: step_head(); of a fixed text: its code */
    uint32_t index; /* of the value in its event */
};
/* How the events of a shape are added: numbers first, then texts, then fixed texts. */
struct shape {
    uint64_t hash;
    uint32_t first; /* in chunk_builder.steps */
    /* steps; those before the first text, and before the first fixed one */
    uint16_t count, numbers, texts;
    uint8_t number;                  /* of the shape in row_shape */
    bool regular;                    /* false: its values are added one by one */
    bool checked;                    /* the scanner guarantees fields and types */
    bool sized;                      /* it has a value that `size` or `bytes` may depend on */
    uint8_t name_class, cat_class;   /* of fixed texts */
    int16_t args[SIZE_ARGS];         /* position among the values; -1 = absent or no number */
    struct column_build *name, *cat; /* columns of texts that are not fixed, else NULL */
};

struct hash_list {
    VEC(uint64_t) hashes;
};
/* The dictionary of a path is kept from chunk to chunk. */
struct path_dictionary {
    struct path_dictionary *next;
    struct dictionary dict;
    uint32_t unused; /* chunks since its last use */
    size_t len;
    char path[];
};

struct chunk_builder {
    struct chunk_options options;
    const struct trace_scanner *scanner;
    struct arena arena;
    struct pack_encoder *encoder;
    uint32_t rows, columns;
    uint32_t end; /* of the previous object */
    uint32_t bad_ts, bad_dur, other_values;
    bool counts_items; /* `bytes` of an fread or fwrite event is among the rows */
    int error;
    VEC(uint8_t) row_shape; /* memory; `rows` of them are set */
    uint32_t shape_count, step_count;
    struct shape shapes[BUILD_SHAPES_MAX]; /* [0] unused */
    struct step steps[BUILD_STEPS_MAX];
    uint8_t shape_slots[2 * BUILD_SHAPES_MAX]; /* by hash; 0 = free */
    /* The shape for each trace_event.shape: one of `shapes`, with its fixed texts. */
    struct shape_hint {
        uint32_t shape;
        struct shape plan;
    } hints[BUILD_HINTS];
    uint16_t slot[TRACE_FIELDS_MAX]; /* field -> column + 1; 0 = not seen in this chunk */
    struct path_dictionary *dictionaries;
    struct buf other;             /* JSON text of the other values of the present event */
    struct buf values;            /* of the column that is being written: stage_values() */
    struct buf scratch;           /* other arrays of int64 while a column is written */
    struct density_work *density; /* NULL until first used */
    struct hash_list hashes[CHUNK_DIMENSIONS_MAX];
    unsigned dimensions;
    struct column_build column[BUILD_COLUMNS_MAX];
};

static inline uint32_t step_head(const struct trace_value *v)
{
    uint32_t head;
    memcpy(&head, v, sizeof(head));
    return head;
}
_Static_assert(offsetof(struct trace_value, nano) == 3 && sizeof(struct trace_value) == 16,
               "step_head");

/* ---- chunk_builder.c ------------------------------------------------------------------------- */

/* Returns column + 1 of a field, which is made for its first value in the chunk, or
 * BUILD_TO_OTHER. */
uint16_t build_slot(struct chunk_builder *b, uint16_t field);
/* Allocates memory for another row, or for `words` of bits. Return 0 or -ENOMEM. */
int build_grow_rows(struct chunk_builder *b);
int build_grow_valid(struct column_build *c, uint32_t rows);
/* Returns the dictionary for a column that gets its first text; NULL without memory. */
struct dictionary *build_dictionary(struct chunk_builder *b, struct column_build *c);

/* ---- chunk_stage.c --------------------------------------------------------------------------- */

/* Allocates the memory of a new column. Returns 0 or -ENOMEM. */
int stage_begin(struct column_build *c, unsigned number);
void stage_done(struct column_build *c);
size_t stage_bytes(const struct column_build *c);
/* Moves the full block in `fill` to `kept`. Returns 0, or -ENOMEM: the block is lost. */
int stage_store_block(struct column_build *c);
/* Adds a value; its row is marked elsewhere. Returns 0 or -ENOMEM. */
static inline __attribute__((always_inline)) int stage_push(struct column_build *c, int64_t value)
{
    int64_t *next = c->next;

    *next++ = value;
    c->next = next;
    return __builtin_expect(next == c->end, 0) ? stage_store_block(c) : 0;
}
static inline uint32_t stage_count(const struct column_build *c)
{
    return c->full + (uint32_t)(c->next - c->fill);
}
/* Returns the ranges of the c->full / PACK_BLOCK blocks in `kept`. */
static inline const struct pack_range *stage_block_ranges(const struct column_build *c)
{
    return (const struct pack_range *)(const void *)c->ranges.data;
}
/* The range of all values; there is at least one. */
struct stage_range {
    int64_t min, max;
};
struct stage_range stage_range(const struct column_build *c);
/* Sets the type for the column's first value, or its first one of another type. Returns 0 or
 * -ENOMEM. */
int build_note_type(struct column_build *c, uint8_t type);
/* Replaces all values. Returns 0 or -ENOMEM. */
int stage_replace(struct column_build *c, const int64_t *values, uint32_t count);
/* Decodes all values to b->values: borrowed until the next call, may be modified. NULL without
 * memory. */
int64_t *stage_values(struct chunk_builder *b, const struct column_build *c);
/* Returns n values in b->scratch, whose content is lost. NULL without memory, and out->error is
 * set. */
int64_t *build_scratch(struct chunk_builder *b, size_t n, struct buf *out);

/* ---- chunk_shape.c --------------------------------------------------------------------------- */

/* Returns the shape of an event, which is made if it is new; NULL: its values are added one by one.
 * Sets b->error. */
const struct shape *build_find_shape(struct chunk_builder *b, const struct trace_event *event);
/* The same, with a fast path for shapes that the scanner knows. */
static inline const struct shape *build_shape(struct chunk_builder *b,
                                              const struct trace_event *event)
{
    const struct shape_hint *hint = &b->hints[event->shape % BUILD_HINTS];

    return event->shape != 0 && hint->shape == event->shape ? &hint->plan
                                                            : build_find_shape(b, event);
}
/* Sets the bits of `valid` for the rows [c->flat, b->rows) of its shapes, so that `valid` has all
 * rows. */
int build_flatten(struct chunk_builder *b, struct column_build *c);
/* The same for all columns with nulls at once. Returns 0 or -ENOMEM. */
int build_bitmaps(struct chunk_builder *b);

/* ---- chunk_other.c --------------------------------------------------------------------------- */

int build_other(struct chunk_builder *b, const struct trace_value *v); /* 0 or -ENOMEM */

/* ---- chunk_size.c: the columns size and bytes ------------------------------------------------ */

enum {
    SIZE_POSIX = 1,
    SIZE_STDIO,
    SIZE_SYS, /* classes of categories; 0: another one */
    SIZE_TRANSFER = 1,
    SIZE_COUNTED = 2
}; /* bits of classes of names: a transfer; one of size * count */
uint8_t size_class_of_cat(struct text cat);
uint8_t size_class_of_name(struct text name);
/* A value of the columns size and bytes. type: 0 = null, TRACE_INT or TRACE_DOUBLE. */
struct size_value {
    uint8_t type;
    int64_t i;
    double d;
};
/* Returns the enum size_arg of a field, or -1. */
int size_arg(uint16_t field);
/* Returns true if `size` is null, for objects without sums. */
static inline bool size_is_null(uint8_t cat_class, uint8_t name_class)
{
    return (cat_class == SIZE_POSIX || cat_class == SIZE_STDIO) && !(name_class & SIZE_TRANSFER);
}
static inline bool bytes_are_null(uint8_t cat_class, uint8_t name_class)
{
    return cat_class == 0 ||
           !(name_class & (cat_class == SIZE_STDIO ? SIZE_COUNTED : SIZE_TRANSFER));
}
/* The columns `size`, as the call reports it, and `bytes`, which counts each moved byte once in all
 * layers. args: by enum size_arg; NULL: absent or no number. */
struct size_value size_of_object(uint8_t cat_class, uint8_t name_class,
                                 const struct trace_value *const args[SIZE_ARGS]);
struct size_value bytes_of_object(uint8_t class, uint8_t cat_class, uint8_t name_class,
                                  const struct trace_value *const args[SIZE_ARGS]);

/* ---- chunk_texts.c: dictionaries of TEXT and MIXED columns ----------------------------------- */

/* Writes the dictionary sections of a column, and for MIXED replaces its `values` by codes.
 * Errors are sticky in `out`. */
void build_texts(struct chunk_builder *b, const struct column_build *c, size_t start,
                 struct buf *out, struct column_dir *dir);
int build_mixed(struct chunk_builder *b, const struct column_build *c, int64_t *values,
                size_t start, struct buf *out, struct column_dir *dir);
/* Adds the hashes of the distinct values of a dimension to b->hashes. */
int build_hashes(struct chunk_builder *b, const struct column_build *c);

/* Begins a section at an aligned position; section_end ends it. `start`: begin of the value in
 * `out`. */
uint32_t section_begin(struct buf *out, size_t start, size_t expected);
struct section section_end(const struct buf *out, size_t start, uint32_t begin);

#endif
