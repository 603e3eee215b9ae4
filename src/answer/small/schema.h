/* schema.h - the data of /schema: types, extents and distinct values of columns, for each worker,
 * then for all.
 *
 * Used by:   the files schema*.c.
 * Path:      schema.c scans; schema_chunk.c reads the columns of a chunk; schema_column.c adds
 *            values to a column, schema_distinct.c counts them; schema_bytes.c encodes them for
 *            another process.
 * Threads:   each worker has its own.
 * Memory:    charged to the budget of the query.
 *
 */
#ifndef DFTRACERD_ANSWER_SMALL_SCHEMA_H
#define DFTRACERD_ANSWER_SMALL_SCHEMA_H

#include "base/recbuf.h"
#include "dftracerd/vec.h"
#include "engine/scan/scan.h"

/* Distinct values: all hashes up to SCHEMA_EXACT, then a HyperLogLog of the same hashes.
 * The result does not depend on the order of adding and merging. */
#define SCHEMA_EXACT 16384u
#define SCHEMA_REGISTER_BITS 14
struct distinct {
    uint64_t *hashes; /* a hash table; 0: empty */
    uint32_t count, cap;
    uint8_t *registers; /* of the HyperLogLog; NULL: not yet */
};
int distinct_add(struct distinct *d, uint64_t hash, struct budget *b);
int distinct_merge(struct distinct *d, const struct distinct *other, struct budget *b);
void distinct_put(const struct distinct *d, struct buf *out);
/* Adds the hashes of an encoded one. */
int distinct_take(struct distinct *d, struct rec *in, struct budget *b);
uint64_t distinct_count(const struct distinct *d, bool *ret_exact);
void distinct_done(struct distinct *d, struct budget *b);

enum { SCHEMA_INT = 1, SCHEMA_FLOAT = 2, SCHEMA_STRING = 4, SCHEMA_BOOL = 8, SCHEMA_JSON = 16 };
/* Minimum and maximum; texts are copies. */
struct seen_extent {
    struct value min, max;
    struct buf min_text, max_text;
};
struct column_seen {
    unsigned types; /* SCHEMA_ bits */
    uint64_t rows;
    struct seen_extent numbers, bools, texts;
    struct distinct distinct;
};
int extent_add(struct seen_extent *e, const struct value *v);
/* Adds one value that occurs, in any number of rows: type, extent, distinct. */
int seen_entry(struct column_seen *c, const struct column_entry *e, struct budget *b);
int seen_i64(struct column_seen *c, int64_t value, struct budget *b); /* distinct only */
/* Adds type and distinct. */
int seen_time(struct column_seen *c, int64_t value, bool nano, struct budget *b);

/* All columns that a worker has found, by path. */
struct columns_seen {
    struct intern *paths;
    VEC(struct column_seen *) columns;
    struct budget *budget;
};
int columns_init(struct columns_seen *cs, struct budget *b);
void columns_done(struct columns_seen *cs);
/* Finds the column, or adds it. */
int columns_find(struct columns_seen *cs, struct text path, struct column_seen **ret);
int columns_merge(struct columns_seen *cs, const struct columns_seen *other);

/* Encode the columns, and add encoded ones. columns_take returns 0, ERR_CORRUPT, or an error of
 * merging. */
void columns_put(const struct columns_seen *cs, struct buf *out);
int columns_take(struct columns_seen *cs, struct rec *in);

/* Adds the columns of a chunk; `mask`: its selected rows, NULL = all. */
int schema_chunk(struct columns_seen *cs, struct scan_chunk *c, const uint64_t *mask);

#endif
