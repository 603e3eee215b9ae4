/* column.h - the columns of a chunk: its values, dictionaries, bloom filters and densities.
 *
 * May use:   base, trace. Used by: index, engine, answer, rewrite, tools.
 * Path:      chunk_open (index.h) opens a view; chunk_find finds a column; column_read_* decode its
 *            values, 1,024 rows at a time, column_pick_* those of few rows, column_select_* find
 *            the rows of a value; column_entry reads an entry of its dictionary.
 * Threads:   a view and its columns belong to the thread that opened the view.
 * Memory:    borrowed memory is valid until chunk_close.
 * Errors:    ERR_CORRUPT for a corrupt value, which never causes a crash.
 */
#ifndef DFTRACERD_COLUMN_H
#define DFTRACERD_COLUMN_H

#include "dftracerd/base.h"

/* In place of the id of a text (index_text in index.h) if there is none. */
#define INDEX_NO_TEXT 0xFFFFFFFFu

/* ---- chunks: views and columns --------------------------------------------------------------- */

enum column_type {
    COLUMN_INT = 1, /* int64 */
    COLUMN_TIME,    /* int64 in us, or in ns if `nano` */
    COLUMN_DOUBLE,
    COLUMN_BOOL, /* int64 0 or 1 */
    COLUMN_TEXT, /* codes into a dictionary of texts */
    COLUMN_MIXED /* codes into a dictionary of typed values (numbers, texts, JSON ...) */
};
/* One dictionary entry. */
struct column_entry {
    uint8_t type;     /* enum trace_type */
    uint32_t text_id; /* TEXT: global id, or INDEX_NO_TEXT for a text of this chunk only */
    struct text text; /* TEXT, JSON, BIG; borrowed until chunk_close */
    int64_t i;        /* INT, BOOL */
    bool nano;        /* INT: a time in ns; false: a number, or a time in us */
    double d;         /* DOUBLE */
};
struct column {
    struct text path;
    enum column_type type;
    bool nano;     /* COLUMN_TIME */
    bool constant; /* all non-null rows hold one value */
    uint32_t rows, nulls;
    int64_t min, max;        /* INT, TIME, BOOL: of the non-null rows; unset if nulls == rows */
    double min_f64, max_f64; /* DOUBLE */
    uint32_t entries;        /* TEXT, MIXED: dictionary size; every entry occurs */
    const void *opaque;      /* directory entry */
};
/* Paths of the columns that a chunk has beside the fields of its objects; the last three only if
 * they have a value:
 *
 *   "@class"     INT    enum trace_class
 *   "@gap"       INT    bytes between the previous object (or the chunk's start) and this one
 *   "@len"       INT    bytes of the object
 *   "@repaired"  BOOL
 *   "size"       INT or DOUBLE, see chunk_size.c
 *   "bytes"      INT or DOUBLE, see chunk_size.c
 *   "@other"     TEXT   {"path":value,...}: values of paths beyond the chunk's 512, and of paths
 *                       that are "size" or "bytes" or begin with '@'. A query of a path that
 *                       chunk_find does not find searches it, except for "size" and "bytes"
 */
/* Names of the calls that move bytes, NULL at the end. */
extern const char *const column_transfer_calls[];

struct chunk_view; /* opaque */
uint32_t chunk_rows(const struct chunk_view *v);
/* Returns true if the chunk has `bytes` of an fread or fwrite of STDIO, which are not counted if a
 * transfer is inside of the call (engine/derived/covered.h). */
bool chunk_counts_items(const struct chunk_view *v);
uint32_t chunk_column_count(const struct chunk_view *v);
void chunk_column(const struct chunk_view *v, uint32_t i, struct column *ret);
/* Finds a column by its path. Returns -ENOENT if no row of the chunk has it. */
int chunk_find(const struct chunk_view *v, struct text path, struct column *ret);
/* Returns false if no row can have a value with this text_hash() (numbers: of their decimal
 * text). */
bool chunk_may_have(const struct chunk_view *v, const struct column *c, uint64_t hash);

/* ---- values ---------------------------------------------------------------------------------- */

/* These read the rows [first, first + n); first is a multiple of 1,024. Values of null rows are 0.
 * They return 0, -ENOMEM or ERR_CORRUPT. */
int column_read_i64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    int64_t *out);
/* Converts INT and BOOL. */
int column_read_f64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    double *out);
/* Reads the distances of integers from c->min, if c->max - c->min < 2^32 (else returns -EINVAL).
 * Without nulls: `first` and `n` count values. ERR_CORRUPT also for values beyond c->max. */
int column_read_distances(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                          uint32_t *out);
int column_read_codes(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                      uint32_t *out);
/* Sets bit i of out[i/64] if row first+i is not null. Only needed if c->nulls > 0. */
int column_read_valid(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                      uint64_t *out);
/* out[i] = value of rows[i]; rows ascend, and should be few in each block of 1,024. Codes of null
 * rows are 0. column_pick_valid: bit i of out[i/64] = rows[i] is not null. Errors as above. */
int column_pick_i64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    int64_t *out);
int column_pick_f64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    double *out);
int column_pick_codes(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint32_t *out);
int column_pick_valid(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint64_t *out);
/* Select rows of the whole chunk: bit i of out[i/64] = row i is not null and its value is within
 * [lo, hi] (INT, TIME, BOOL), or its code's bit of `table` is set (TEXT, MIXED; whole 32-bit
 * words). Values are not decoded if their encoding decides the result. */
int column_select_i64(struct chunk_view *v, const struct column *c, int64_t lo, int64_t hi,
                      uint64_t *out);
int column_select_codes(struct chunk_view *v, const struct column *c, const uint32_t *table,
                        uint64_t *out);
/* Copies the values within [lo, hi] of the rows whose bit is set in `rows`, in any order; null rows
 * have none (INT, TIME). out: an element for each set bit. Errors as above. */
int column_copy_selected_i64(struct chunk_view *v, const struct column *c, const uint64_t *rows,
                             int64_t lo, int64_t hi, int64_t *out, uint32_t *ret_count);
int column_entry(struct chunk_view *v, const struct column *c, uint32_t code,
                 struct column_entry *ret);
/* Returns the global text ids of a TEXT column's dictionary by code; INDEX_NO_TEXT: none. Borrowed
 * until chunk_close. */
int column_entry_ids(struct chunk_view *v, const struct column *c, const uint32_t **ret);

/* ---- densities: the time of a chunk's objects, precomputed by interval ----------------------- */

/* Most chunks of 1,024 rows and more have densities.
 *
 * Tuples: objects with equal @class, args.hhash, args.hostname, pid, tid and cat are one tuple of
 * the first set; those that also have the same name are one tuple of the second set, which is
 * coarser in time.
 *
 * Cells: time is divided into cells of 2^shift ns, the same in all chunks: cell n is [n << shift,
 * (n + 1) << shift). Metadata without ts is in no cell; every other object has a ts, and its te is
 * ts if it has no dur. Stored are, for each tuple, the cells in which an object of it begins or
 * ends (te), ascending: `begins`, the number of objects that begin in it; `delta`, this number
 * minus that of objects that end in it; `moment`, the sum of (te - begin of the cell) over those
 * that end in it, minus the sum of (ts - begin of the cell) over those that begin in it, in ns.
 *
 * So if `a` objects are active at the begin of the cell, the total time of all objects within the
 * cell is (a + delta) * 2^shift + moment, and a + delta objects are active at its end, and during
 * all cells up to the next stored one. */
enum { DENSITY_BY_CAT, DENSITY_BY_NAME, DENSITY_SETS };
#define DENSITY_LEVELS 2 /* maximum; the second one is 8 times as coarse */
#define DENSITY_BLOCK 1024u
struct density_level {
    uint32_t cells;
    unsigned shift, bits;
    int64_t base;
};
struct density_set {
    uint32_t tuples; /* 0: the chunk does not have this set */
    unsigned levels;
    struct density_level level[DENSITY_LEVELS];
};
struct density {
    struct density_set set[DENSITY_SETS];
    uint32_t longest_count;
    const uint32_t *longest; /* rows with the longest dur (without dur: 0), ascending; borrowed */
    const int64_t *longest_dur; /* ns; borrowed */
    int64_t rest_dur;           /* ns; no other row has a longer one; INT64_MIN: there is none */
    int64_t min_ts, max_te;     /* ns; of all that are in cells */
};
/* Tuple of a cell: key >> bits; number of the cell: base + the low `bits` bits of the key. */
struct density_cells {
    int64_t key[DENSITY_BLOCK], begins[DENSITY_BLOCK], delta[DENSITY_BLOCK], moment[DENSITY_BLOCK];
};
/* Opens the densities. Returns 0, -ENOENT if the chunk has none, ERR_CORRUPT or -ENOMEM. */
int chunk_density(struct chunk_view *v, struct density *ret);
/* After chunk_density: sets *ret to a row of each tuple of the set, ascending; borrowed until
 * chunk_close. Returns 0, ERR_CORRUPT or -ENOMEM. */
int density_rows(struct chunk_view *v, unsigned set, const uint32_t **ret);
/* After chunk_density: reads the cells [first, first + DENSITY_BLOCK) of a level, or up to its end;
 * first is a multiple of DENSITY_BLOCK. Returns 0, ERR_CORRUPT (also for an unknown tuple, and for
 * keys that do not ascend) or -ENOMEM. */
int density_read(struct chunk_view *v, unsigned set, unsigned level, uint32_t first,
                 struct density_cells *ret);

#endif
