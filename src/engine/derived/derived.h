/* derived.h - the columns of a query from inside: a source is a column that the query uses, a bound
 * is the source in the chunk that a worker is at.
 *
 * Used by:   filter/, within and covered calls; answers use columns.h.
 * Way:       source_of adds a source to the query; source_bind decides once a chunk how its values
 *            come about there (bind.c, source_*.c); bound_* read them a batch at a time into lanes,
 *            which keep them until the next batch (source_read.c).
 * Errors:    the worker keeps the first one: see columns.h.
 * Memory:    the query's arena; what a bound holds is kept from chunk to chunk until bound_free.
 * Threads:   sources: the query's thread, before the scan. A bound belongs to its worker.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_DERIVED_H
#define DFTRACERD_ENGINE_DERIVED_DERIVED_H

#include "engine/derived/columns.h"

/* entries of a chunk that get keys or names until the budget is asked */
enum { ENTRIES_LOOKED = 2048 };

struct source {
    unsigned id;      /* position in scan_worker.bound */
    struct text path; /* as asked */
    struct path_info info;
    /* DUR: column dur, ph, @bad_dur; TE: ts, DUR; BUCKET: ts; COLUMN with `other`: both; clipped:
     * ts, dur as stored */
    const struct source *part[3];
    __int128 interval_ns, origin_ns;                     /* BUCKET */
    enum { CLIP_NONE, CLIP_TS, CLIP_DUR, CLIP_TE } clip; /* see within.h */
    /* Clipped: reads its values. within.c finds the scope of a row by keys of other columns, so it
     * is above source_read.c, which calls it. */
    void (*read)(struct scan_batch *batch, struct bound *b, int64_t *out);
    bool exact;  /* `path` is a stored column, not a name with a meaning */
    bool folded; /* see source_fold.c */
    const struct group_table *kept;
    struct source *next;
};

/* How the values of a source come about in one chunk. */
enum form {
    FORM_NULL,
    FORM_STORED, /* as column */
    FORM_MAPPED, /* codes of a stored column into an own dictionary */
    FORM_CODED,  /* own codes of the whole chunk into an own dictionary */
    FORM_SINGLE, /* every row has own entry 0 */
    FORM_DUR,
    FORM_TE,
    FORM_BUCKET,
    FORM_ZERO, /* computed a batch at a time */
    FORM_ROWS, /* own int64 of the whole chunk */
    FORM_RANK, /* of the pid, part[0], in a table: rows_memory, rows_valid */
    /* the rank of the pid and the host, a batch at a time; of rows that are wanted only */
    FORM_PROCESS,
    FORM_CLIP /* computed a batch at a time, of selected rows only */
};
/* A lane holds an array of the batch it was filled for (scan_batch.number). */
struct lane {
    struct grow memory;
    uint32_t batch;
    bool few; /* only rows that were still of interest are filled in */
    const uint64_t *valid;
};

/* A source in the chunk that the worker is at. */
struct bound {
    const struct source *source;
    uint64_t serial; /* of the chunk it was bound to; 0 = never */
    enum form form;
    enum scan_shape shape;
    bool nano, nulls;     /* nulls: some row may be null */
    struct column column; /* STORED, MAPPED, DUR (type 0: the chunk has none) */
    int64_t min, max;     /* INT, TIME, BOOL: every value is between them (not always tight) */
    /* dictionary of TEXT and MIXED; code `entries` means null */
    uint32_t entries;
    const uint32_t *ids;        /* STORED TEXT; gone once bound_entry has failed */
    struct column_entry *entry; /* MAPPED, CODED, SINGLE */
    const uint32_t *remap;      /* MAPPED: stored code to own code; NULL: the same */
    struct grow entry_memory, remap_memory, rows_memory, rows_valid;
    struct arena arena; /* texts of entries that are nowhere else */
    /* BUCKET: in the unit of ts; RANK: how many pids the table has, and the first */
    int64_t step, base;
    /* DUR */
    bool x_all, x_none;
    struct grow x_table;
    struct bound *part[3];
    /* filled when asked */
    struct lane i64, f64, keys, codes, valid;
    struct grow key_table;
    bool has_key_table;
    uint32_t code_count; /* scan_codes: 0 not asked, UINT32_MAX impossible */
    uint32_t code_limit;
    struct bound *codes_of; /* scan_codes: whose dense_codes they are; NULL: others */
    /* source_dense.c: how many values rows have (0: not asked); as they come; the number of each
     * row's; 1 + the number by distance from min */
    uint32_t dense_count;
    struct grow dense_values, dense_codes, dense_numbers;
    uint64_t only_serial; /* of the chunk whose selected rows all have `only_code` */
    uint32_t only_code;
};

/* ---- sources of a query ---------------------------------------------------------------------- */

/* Borrowed from the query. NULL: no memory, and the query's arena has the error. */
struct source *source_of(struct query *q, struct text path);
/* Sources of their own beside the stored ts and dur (CLIP_TS, CLIP_DUR), and te of two such
 * (CLIP_TE). Only within_open knows them. */
struct source *source_clipped(struct query *q, struct source *ts, struct source *dur, int clip);

/* ---- in a chunk ------------------------------------------------------------------------------ */

/* Never NULL: where it fails, no row of the chunk has the source. */
struct bound *source_bind(struct scan_worker *w, const struct source *s);
/* Bounds of the chunk's times in ns; false: no object has any. */
bool bound_times(const struct bound *ts, const struct bound *dur, int64_t *ret_from,
                 int64_t *ret_to);
/* An entry of the dictionary of a bound TEXT or MIXED source; code < entries. */
struct column_entry bound_entry(struct scan_worker *w, struct bound *b, uint32_t code);
const uint32_t *bound_codes(struct scan_batch *batch, struct bound *b); /* null rows: `entries` */
const int64_t *bound_i64(struct scan_batch *batch, struct bound *b, const uint64_t **ret_valid);
const double *bound_f64(struct scan_batch *batch, struct bound *b, const uint64_t **ret_valid);
const uint64_t *bound_valid(struct scan_batch *batch, struct bound *b); /* NULL: all are valid */
/* FORM_DUR with a stored column: adds the rows of the batch whose dur is missing and therefore 0.
 */
void dur_zeros(struct scan_batch *batch, struct bound *b, uint64_t *mask);
void bound_free(struct bound *b);

#endif
