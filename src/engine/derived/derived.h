/* derived.h - the implementation of columns: a source is a column that the query uses; a binding is
 * a source bound to the current chunk of a worker, as a name is bound to a value.
 *
 * Used by:   filter/, within and covered calls; answers use columns.h.
 * Path:      source_of adds a source to the query. Its kind (struct column_kind, see the table in
 *            source.c) has a function that decides, once a chunk, how its values are computed
 *            there, and sets binding.kind to the kind whose functions read them. binding_* call
 *            these a batch at a time and keep the values in lanes until the next batch (lanes.c).
 *            No other function depends on the kinds. To add one, write a file with its struct
 *            column_kind, and add a line in source.c.
 * Errors:    the worker keeps the first one: see columns.h.
 * Memory:    sources: the query's arena; the memory of a binding is kept from chunk to chunk until
 *            binding_free.
 * Threads:   sources: the query's thread, before the scan. A binding belongs to its worker.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_DERIVED_H
#define DFTRACERD_ENGINE_DERIVED_DERIVED_H

#include "engine/derived/columns.h"

/* Number of entries of a dictionary that are processed between two checks of the budget. */
enum { ENTRIES_CHECKED = 2048 };
enum { PARTS_MAX = 4 };

/* A kind of column, or a method to compute the values of a chunk. The functions that read get
 * memory for the values of a batch, followed by a bitmap (lane_mask). They set and return it, or
 * return values that exist already; they also set `few` of their lane. A function is NULL if the
 * kind never has a shape that needs it. */
struct column_kind {
    /* The columns that it is computed from; "=bytes": the stored column of this name. */
    const char *parts[PARTS_MAX];
    /* Sets the members of `b` for the current chunk; they begin as those of a null column. */
    int (*bind)(struct scan_worker *w, struct binding *b);
    /* For INT, TIME and BOOL; sets b->i64.valid. */
    const int64_t *(*i64)(struct scan_batch *batch, struct binding *b, int64_t *out);
    const double *(*f64)(struct scan_batch *batch, struct binding *b, double *out); /* for DOUBLE */
    const uint32_t *(*codes)(struct scan_batch *batch, struct binding *b, uint32_t *out);
    /* Marks the rows that have a value. NULL: i64 or codes find them. */
    void (*valid)(struct scan_batch *batch, struct binding *b, uint64_t *mask);
    /* Computes (value - min) / step for each row; undefined for null rows. Returns false if it
     * cannot in this chunk. NULL: there is no faster method than i64. */
    bool (*steps)(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid,
                  uint32_t *out);
    /* Computes the value from that of part[0]. Returns false for null. NULL: the value depends on
     * more than part[0]. */
    bool (*of_part)(const struct binding *b, int64_t part, int64_t *ret);
};

struct source {
    unsigned id;      /* position in scan_worker.bindings */
    struct text path; /* as requested */
    struct path_info info;
    const struct column_kind *kind;
    const struct source *part[PARTS_MAX]; /* sources of kind->parts */
    __int128 interval_ns, origin_ns;      /* of a bucket */
    bool exact;                           /* `path` is the name of a stored column */
    bool unlisted;                        /* it has one user only, and is not found by its path */
    bool folded;                          /* groups by fewer keys: see fold.c */
    const struct group_table *kept;       /* folded: see query_source_folded */
    struct source *next;                  /* in query.sources */
};

/* The values of a source in one batch (scan_batch.number). */
struct lane {
    struct scratch memory;
    const void *values; /* in `memory` or elsewhere */
    uint32_t batch;
    bool few; /* only rows that may still be selected have been set */
    const uint64_t *valid;
};

/* A source bound to the current chunk of the worker. */
struct binding {
    const struct source *source;
    uint64_t serial; /* scan_worker.serial of the chunk that it is bound to; 0: none yet */
    const struct column_kind *kind;
    enum scan_shape shape;
    bool nano, nulls; /* nulls: some row may be null */
    int64_t min, max; /* INT, TIME, BOOL: every value is between them (not always tight) */
    int64_t step;     /* every value is min plus a multiple of it */
    struct column column;
    const struct column *stored; /* the column that has these values or codes, or NULL */
    /* dictionary of TEXT and MIXED; code `entries` means null */
    uint32_t entries;
    const uint32_t *ids;              /* TEXT as stored; invalid once binding_entry has failed */
    const struct column_entry *entry; /* NULL: those of `column` */
    const uint32_t *remap;            /* codes of `column` to own codes; NULL: the same */
    struct binding *part[PARTS_MAX];
    /* a column with nulls in exactly the same rows; NULL: see kind->valid */
    struct binding *same_nulls;
    struct scratch own[4]; /* memory of the kind */
    struct arena arena;    /* decoded texts of entries */
    struct lane i64, f64, keys, codes, valid;
    /* codes.c; code_count 0: not made yet, UINT32_MAX: impossible */
    uint32_t code_count, code_limit;
    struct scratch key_table;
    bool has_key_table;
    struct binding *codes_of; /* the source whose dense codes are used; NULL: none */
    /* dense.c: number of distinct values (0: not counted); values by number; numbers by row; number
     * + 1 by distance from min */
    uint32_t dense_count;
    struct scratch dense_values, dense_codes, dense_numbers;
    uint64_t only_serial; /* of the chunk whose selected rows all have `only_code` */
    uint32_t only_code;
};

static inline bool binding_has_dictionary(const struct binding *b)
{
    return b->shape == SHAPE_TEXT || b->shape == SHAPE_MIXED;
}
static inline bool binding_is_integer(const struct binding *b)
{
    return b->shape == SHAPE_INT || b->shape == SHAPE_TIME || b->shape == SHAPE_BOOL;
}

/* ---- sources of a query ---------------------------------------------------------------------- */

/* Returns the source of a path, borrowed from the query, or NULL without memory: the query's arena
 * then has the error. */
struct source *source_of(struct query *q, struct text path);
/* Returns a new source with the path of `like`, with these parts and this kind (NULL: the same
 * kind). It is not found by its path. Returns NULL as source_of does, and if `like` is NULL. */
struct source *source_like(struct query *q, const struct source *like,
                           const struct column_kind *kind, const struct source *first,
                           const struct source *second);

/* ---- sources in a chunk ---------------------------------------------------------------------- */

/* Never returns NULL: on errors, all rows of the chunk are null. */
struct binding *source_bind(struct scan_worker *w, const struct source *s);
/* Sets limits of the chunk's times in ns. Returns false if no object has a time. */
bool binding_time_limits(const struct binding *ts, const struct binding *dur, int64_t *ret_from,
                         int64_t *ret_to);
/* Returns an entry of the dictionary of a TEXT or MIXED source; code < entries. */
struct column_entry binding_entry(struct scan_worker *w, struct binding *b, uint32_t code);
const uint32_t *binding_codes(struct scan_batch *batch,
                              struct binding *b); /* null rows: `entries` */
const int64_t *binding_i64(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid);
const double *binding_f64(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid);
const uint64_t *binding_valid(struct scan_batch *batch,
                              struct binding *b); /* NULL: all are valid */
void binding_free(struct binding *b);

#endif
