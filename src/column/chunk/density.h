/* density.h - the computation and layout of a chunk's densities (column.h). Private to
 * column/chunk.
 *
 *   density_tuples.c  finds the tuple of each row, by refinement column by column
 *   density_cells.c   sums rows by cell in a hash table, which is made coarser until the cells are
 *                     few enough
 *   density_put.c     decides which chunks have densities, and writes them
 *   density_view.c    reads them
 *
 * A section of the chunk: struct density_dir, then the streams of pack.h that it names. Densities
 * take 3 to 5 % of the index. They are of one chunk: precomputed tiles over all files would have to
 * be rebuilt whenever one file changes.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_DENSITY_H
#define DFTRACERD_COLUMN_CHUNK_DENSITY_H

#include "column/chunk/chunk_build.h"

enum {
    DENSITY_ROWS_MIN = 1024, /* smaller chunks are quickly scanned */
    /* Bytes of the encoded chunk (beyond a number of bytes for each row) for each cell of the
     * finest level, which has about 4 bytes: so an index grows by about 5 %, and less if it is
     * small for its number of rows. */
    DENSITY_BYTES_BY_CAT = 110,
    DENSITY_BYTES_BY_NAME = 150,
    DENSITY_BYTES_A_ROW = 2,
    DENSITY_COARSER = 3, /* difference of shift between two levels */
    DENSITY_LONGEST = 32
};
#define DENSITY_TIME_MAX ((int64_t)1 << 61)

/* ---- on disk --------------------------------------------------------------------------------- */

struct density_streams {
    int64_t base; /* number of the first cell, whose time is base << shift */
    uint32_t cells;
    uint8_t shift, bits; /* of the cell's number in a key */
    uint16_t unused;
    struct section keys; /* tuple << bits | number of the cell - base; ascending */
    struct section begins, deltas;
    /* floor(moment / unit); the remainder is delta * begin of the cell modulo unit */
    struct section moments;
};
struct density_set_dir {
    uint32_t tuples, levels; /* 0: the chunk does not have this set */
    struct section rows;
    struct density_streams level[DENSITY_LEVELS];
};
struct density_dir {
    int64_t rest_dur, min_ts, max_te;
    uint32_t longest, unit; /* all ts and dur are multiples of `unit` ns: 1000 or 1 */
    struct section longest_rows, longest_durs; /* ns */
    struct density_set_dir set[DENSITY_SETS];
};
_Static_assert(sizeof(struct density_streams) == 48 && sizeof(struct density_set_dir) == 112 &&
                   sizeof(struct density_dir) == 272,
               "on disk");
/* Returns the remainder of moment by unit. With a constant divisor, the compiler needs no division
 * instruction. */
static inline int64_t density_moment_rest(const struct density_dir *d, int32_t delta, int64_t begin)
{
    int64_t rest = d->unit == 1000 ? delta * (begin % 1000) % 1000 : 0;

    return rest < 0 ? rest + 1000 : rest;
}

/* ---- making ---------------------------------------------------------------------------------- */

struct density_cell {
    uint64_t key; /* tuple << 32 | number of the cell - base */
    int64_t moment;
    uint32_t begins;
    int32_t delta;
};
enum {
    DENSITY_IDS,
    DENSITY_FIRST_ROWS, /* uint32: tuple of each row; the first row of each tuple */
    DENSITY_TS,
    DENSITY_TE, /* int64, ns; te -1: the row is in no cell */
    DENSITY_REFINE,
    /* uint32: position in DENSITY_CELLS + 1, by hash; density_last, by tuple */
    DENSITY_SLOTS,
    DENSITY_LAST,
    DENSITY_CELLS,
    DENSITY_SORTED, /* density_cell */
    DENSITY_BUFS
};
struct density_last {
    int64_t number;
    uint32_t cell;
};
struct density_longest {
    int64_t dur;
    uint32_t row;
};
/* Scratch memory of a builder. */
struct density_work {
    struct buf buf[DENSITY_BUFS];
    uint32_t rows, tuples;
    int64_t min_ts, max_te;
    unsigned shift;
    int64_t base;
    uint32_t count, max; /* cells; with more than max, they are made coarser */
    size_t mask;         /* of slots */
    struct density_longest longest[DENSITY_LONGEST];
    uint32_t longest_count;
    int64_t rest_dur;
};
static inline uint32_t *density_u32(const struct buf *b)
{
    return (uint32_t *)(void *)b->data;
}
static inline int64_t *density_i64(const struct buf *b)
{
    return (int64_t *)(void *)b->data;
}
static inline struct density_cell *density_cell_array(const struct buf *b)
{
    return (struct density_cell *)(void *)b->data;
}
/* Returns `bytes` bytes; the content is lost. NULL without memory. */
void *density_reserve(struct buf *b, size_t bytes);
void density_done(struct density_work *w); /* w may be NULL, here and below */
size_t density_bytes(const struct density_work *w);
/* Frees memory that only a very large chunk needed. */
void density_trim(struct density_work *w);

/* density_begin makes all rows one tuple. density_refine* then distinguish tuples by one more
 * column, and number them by their first rows. values: without gaps; valid: the rows that have one
 * (NULL: all). Return 0 or -ENOMEM. */
int density_begin(struct density_work *w, uint32_t rows);
int density_refine(struct density_work *w, const int64_t *values, const struct stage_range *range);
int density_refine_nulls(struct density_work *w, const int64_t *values, const uint64_t *valid);

/* Makes DENSITY_SORTED, ascending, from DENSITY_IDS, _TS and _TE: at most `max` cells. Returns 0,
 * -EDOM if that is not possible, or -ENOMEM. */
int density_cells_make(struct density_work *w, uint32_t max);
/* Converts DENSITY_SORTED and `base` to a level that is DENSITY_COARSER bits coarser. */
void density_cells_merge(struct density_work *w);
/* Sets `longest`, sorted by row, and rest_dur. */
void density_find_longest(struct density_work *w);

/* Appends the section to `out`, where the encoded chunk begins at `start` and is complete except
 * for its tail. ret->len 0: the chunk has none. Returns 0 or -ENOMEM. */
int density_put(struct chunk_builder *b, struct column_build *const *columns, unsigned count,
                size_t start, struct buf *out, struct section *ret);

#endif
