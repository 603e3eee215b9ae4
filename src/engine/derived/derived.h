/* derived.h - the columns of a query from inside: a source is a column that the query uses, a bound
 * is the source in the chunk that a worker is at.
 *
 * Used by:   filter/, within and covered calls; answers use columns.h.
 * Way:       source_of adds a source to the query. Its row of the table of kinds (source.c) has the
 *            function that decides, once a chunk, how the values come about there, and leaves in
 *            the bound the row whose functions read them. bound_* call these a batch at a time and
 *            keep the values in lanes until the next batch (lanes.c). No other function knows the
 *            kinds. To add one: a file with its row, and a line in source.c.
 * Errors:    the worker keeps the first one: see columns.h.
 * Memory:    the query's arena; what a bound holds is kept from chunk to chunk until bound_free.
 * Threads:   sources: the query's thread, before the scan. A bound belongs to its worker.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_DERIVED_H
#define DFTRACERD_ENGINE_DERIVED_DERIVED_H

#include "engine/derived/columns.h"

/* entries of a chunk that get keys or names between two checks of the budget */
enum { ENTRIES_LOOKED = 2048 };
enum { PARTS_MAX = 4 };

/* A kind of column; and a way in which values come about in a chunk. The functions that read get
 * room for the values of a batch, with room for a bitmap behind (room_mask). They fill it and
 * return it, or return values that are there already; they set `few` of their lane. NULL: the
 * row is never bound to a shape that needs the function. */
struct derived {
    /* Columns it is computed from; "=dur": the stored column of this name. */
    const char *parts[PARTS_MAX];
    int (*bind)(struct scan_worker *w, struct bound *b);
    /* of INT, TIME and BOOL; sets b->i64.valid */
    const int64_t *(*i64)(struct scan_batch *batch, struct bound *b, int64_t *room);
    const double *(*f64)(struct scan_batch *batch, struct bound *b, double *room); /* of DOUBLE */
    const uint32_t *(*codes)(struct scan_batch *batch, struct bound *b, uint32_t *room);
    /* Rows that have a value. NULL: i64 or codes say. */
    void (*valid)(struct scan_batch *batch, struct bound *b, uint64_t *mask);
    /* Adds the rows that have no value in `stored_or_0` and have the value 0. */
    void (*zeros)(struct scan_batch *batch, struct bound *b, uint64_t *mask);
    /* By how many steps each value is above `min`; of rows without one, any code. False: not in
     * this chunk. NULL: nothing is faster than i64. */
    bool (*steps)(struct scan_batch *batch, struct bound *b, const uint64_t **ret_valid,
                  uint32_t *out);
    /* The value where part[0] has this one. False: none. NULL: more than part[0] decides. */
    bool (*of_part)(const struct bound *b, int64_t part, int64_t *ret);
};

struct source {
    unsigned id;      /* position in scan_worker.bound */
    struct text path; /* as requested */
    struct path_info info;
    const struct derived *row;
    const struct source *part[PARTS_MAX];
    __int128 interval_ns, origin_ns; /* of a bucket */
    bool exact;                      /* `path` is a stored column, not a name with a meaning */
    bool own;                        /* not found by its path */
    bool folded;                     /* see fold.c */
    const struct group_table *kept;
    struct source *next;
};

/* A lane has the values of the batch that it was filled for (scan_batch.number). */
struct lane {
    struct grow memory;
    const void *values; /* in `memory` or elsewhere */
    uint32_t batch;
    bool few; /* only rows that were still of interest are filled in */
    const uint64_t *valid;
};

/* A source in the chunk that the worker is at. */
struct bound {
    const struct source *source;
    uint64_t serial; /* of the chunk it was bound to; 0 = never */
    const struct derived *row;
    enum scan_shape shape;
    bool nano, nulls; /* nulls: some row may be null */
    int64_t min, max; /* INT, TIME, BOOL: every value is between them (not always tight) */
    int64_t step;     /* ... and min plus a multiple of it */
    struct column column;
    /* The stored column that has these values or codes; the one that has them but for `zeros`. */
    const struct column *stored, *stored_or_0;
    /* dictionary of TEXT and MIXED; code `entries` means null */
    uint32_t entries;
    const uint32_t *ids;              /* TEXT as stored; gone once bound_entry has failed */
    const struct column_entry *entry; /* NULL: those of `column` */
    const uint32_t *remap;            /* codes of `column` to own codes; NULL: the same */
    struct bound *part[PARTS_MAX];
    struct bound *valid_of; /* null where this one is; NULL: row->valid says */
    struct grow own[4];     /* of the row */
    struct arena arena;     /* texts of entries that are nowhere else */
    struct lane i64, f64, keys, codes, valid;
    /* codes.c. 0: not made, UINT32_MAX: impossible */
    uint32_t code_count, code_limit;
    struct grow key_table;
    bool has_key_table;
    struct bound *codes_of; /* whose dense codes they are; NULL: others */
    /* dense.c: how many values rows have (0: not counted); as they come; the number of each row's;
     * 1 + the number by distance from min */
    uint32_t dense_count;
    struct grow dense_values, dense_codes, dense_numbers;
    uint64_t only_serial; /* of the chunk whose selected rows all have `only_code` */
    uint32_t only_code;
};

static inline bool bound_has_dictionary(const struct bound *b)
{
    return b->shape == SHAPE_TEXT || b->shape == SHAPE_MIXED;
}
static inline bool bound_is_integer(const struct bound *b)
{
    return b->shape == SHAPE_INT || b->shape == SHAPE_TIME || b->shape == SHAPE_BOOL;
}

/* ---- sources of a query ---------------------------------------------------------------------- */

/* Borrowed from the query. NULL: no memory, and the query's arena has the error. */
struct source *source_of(struct query *q, struct text path);
/* Another source of the same path and meaning, which is not found by its path: of these parts, and
 * with this row (NULL: the same). NULL as above, or `like` is. */
struct source *source_like(struct query *q, const struct source *like, const struct derived *row,
                           const struct source *first, const struct source *second);

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
void bound_free(struct bound *b);

#endif
