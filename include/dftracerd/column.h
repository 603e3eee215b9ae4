/* column.h - the columns of a chunk: its values, dictionaries, bloom filters and densities.
 *
 * May use:   base, trace. Used by: index, engine, answer, rewrite, tools.
 * Way:       chunk_open (index.h) gives a view; chunk_find gives a column; column_read_* decodes
 *            its values, 1,024 rows at a time, column_pick_* those of few rows, column_select_*
 *            finds the rows of a value; column_entry gives an entry of its dictionary.
 * Threads:   a view and its columns belong to the thread that opened the view.
 * Memory:    all that is borrowed lives until chunk_close.
 * Errors:    a corrupt value gives ERR_CORRUPT, never a crash.
 */
#ifndef DFTRACERD_COLUMN_H
#define DFTRACERD_COLUMN_H

#include "dftracerd/base.h"

/* What stands for the id of a text (index_text in index.h) where there is none. */
#define INDEX_NO_TEXT 0xFFFFFFFFu

/* ---- chunks: views and columns --------------------------------------------------------------- */

enum column_type {
    COLUMN_INT = 1, /* int64 */
    COLUMN_TIME,    /* int64 in us, or ns where `nano` */
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
/* Paths of the columns that every chunk has besides those of its objects:
 *   "@class" INT enum trace_class, "@gap" INT bytes between the end of the previous object (chunk
 *   start) and this one, "@len" INT bytes of the object, "@repaired" BOOL, "@bad_dur" BOOL true
 *   where a dur was there but beyond int64 (such an X event has none, not 0; only where any is),
 *   "size" and "bytes" INT or DOUBLE, as chunk_size.c says (only where any is), "@other" TEXT
 *   {"path":value,...}: values of paths beyond the chunk's 512 (or whose path is "size" or "bytes",
 *   or begins with '@'); a query of a path that chunk_find does not know looks into it where it
 *   exists, but not of "size" and "bytes" */
/* Names of the calls that move bytes, NULL at the end. */
extern const char *const index_transfer_calls[];

struct chunk_view; /* opaque */
uint32_t chunk_rows(const struct chunk_view *v);
/* `bytes` of an fread or fwrite of STDIO is among the rows: it counts unless a transfer lies inside
 * (engine/derived/covered.h). */
bool chunk_counts_items(const struct chunk_view *v);
uint32_t chunk_column_count(const struct chunk_view *v);
void chunk_column(const struct chunk_view *v, uint32_t i, struct column *ret);
/* By path; -ENOENT when no row of the chunk has it. */
int chunk_find(const struct chunk_view *v, struct text path, struct column *ret);
/* False only when no row's value of this column can have this text_hash() (numbers: of their
 * decimal text). */
bool chunk_may_have(const struct chunk_view *v, const struct column *c, uint64_t hash);

/* ---- values ---------------------------------------------------------------------------------- */

/* Rows [first, first + n): first is a multiple of 1,024. Values of null rows are 0. -ENOMEM,
 * ERR_CORRUPT. */
int column_read_i64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    int64_t *out);
/* INT and BOOL are converted */
int column_read_f64(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                    double *out);
/* Of integers, all of which are within 2^32 of c->min: their distances from it. Nulls are left out:
 * `first` and `n` count values. -EINVAL for others; ERR_CORRUPT also for what is beyond c->max. */
int column_read_distances(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                          uint32_t *out);
int column_read_codes(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                      uint32_t *out);
/* Bit i of out[i/64] set = row first+i is not null. Needed only where c->nulls > 0. */
int column_read_valid(struct chunk_view *v, const struct column *c, uint32_t first, uint32_t n,
                      uint64_t *out);
/* out[i] = value of rows[i], for rows that ascend and should be few in their blocks of 1,024; codes
 * of null rows are 0. Bit i of the last one's `out` = rows[i] is not null. Errors as above. */
int column_pick_i64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    int64_t *out);
int column_pick_f64(struct chunk_view *v, const struct column *c, const uint32_t *rows, uint32_t n,
                    double *out);
int column_pick_codes(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint32_t *out);
int column_pick_valid(struct chunk_view *v, const struct column *c, const uint32_t *rows,
                      uint32_t n, uint64_t *out);
/* Which rows of the whole chunk pass: bit i of out[i/64] = row i is not null and its value is
 * within [lo, hi] (INT, TIME, BOOL), or its code's bit of `table` is set (TEXT, MIXED; whole 32-bit
 * words). Told without decoding where the layout decides. */
int column_select_i64(struct chunk_view *v, const struct column *c, int64_t lo, int64_t hi,
                      uint64_t *out);
int column_select_codes(struct chunk_view *v, const struct column *c, const uint32_t *table,
                        uint64_t *out);
/* The values within [lo, hi] of the rows whose bit is set in `rows`, in any order; null rows have
 * none (INT, TIME). out: room for as many as bits are set. Errors as above. */
int column_take_i64(struct chunk_view *v, const struct column *c, const uint64_t *rows, int64_t lo,
                    int64_t hi, int64_t *out, uint32_t *ret_count);
int column_entry(struct chunk_view *v, const struct column *c, uint32_t code,
                 struct column_entry *ret);
/* All global text ids of a TEXT column's dictionary, code order; entries without one are
 * INDEX_NO_TEXT. Borrowed until chunk_close. */
int column_entry_ids(struct chunk_view *v, const struct column *c, const uint32_t **ret);

/* ---- densities: what a chunk's objects take of time, without looking at each ----------------- */

/* Most chunks of 1,024 rows and more have them. Objects that agree in @class, args.hhash,
 * args.hostname, pid, tid and cat are one tuple of the first set; those that agree in name, too,
 * are one of the second set, which is coarser in time. Time is cut into cells of 2^shift ns, the
 * same in all chunks: cell n is [n << shift, (n + 1) << shift). Metadata without ts is in no cell;
 * any other object has a ts, and te is ts where there is no dur. Told of a tuple is each cell in
 * which one of its objects begins or ends (te), ascending: `begins` are those that begin in it;
 * `delta`, those less the ones that end in it; `moment`, the sum of (te - begin of the cell) of
 * those that end in it, less the sum of (ts - begin of the cell) of those that begin in it, in ns.
 * So where `a` objects go on from the cell before, their time within the cell is (a + delta) *
 * 2^shift + moment, and a + delta go on into the next one; all cells between are covered wholly. */
enum { DENSITY_BY_CAT, DENSITY_BY_NAME, DENSITY_SETS };
#define DENSITY_LEVELS 2 /* at most; the second one is 8 times as coarse */
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
/* 0; -ENOENT: the chunk has none; ERR_CORRUPT, -ENOMEM. */
int chunk_density(struct chunk_view *v, struct density *ret);
/* A row of each of the set's tuples, ascending, borrowed until chunk_close. After chunk_density.
 * ERR_CORRUPT, -ENOMEM. */
int density_rows(struct chunk_view *v, unsigned set, const uint32_t **ret);
/* Cells [first, first + DENSITY_BLOCK) of a level or as many as there are; first is a multiple of
 * DENSITY_BLOCK. After chunk_density. ERR_CORRUPT (a tuple that there is not, or keys that do not
 * ascend, too), -ENOMEM. */
int density_read(struct chunk_view *v, unsigned set, unsigned level, uint32_t first,
                 struct density_cells *ret);

#endif
