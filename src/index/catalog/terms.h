/* terms.h - how a file is indexed: the size of its chunks, which paths have bloom filters, how
 * large those are.
 *
 * Most files are indexed on the terms of the index. A file that was rebuilt with its own options
 * keeps them in its record, and they are used whenever it is read again.
 * Threads: immutable once made; references are counted.
 */
#ifndef DFTRACERD_INDEX_CATALOG_TERMS_H
#define DFTRACERD_INDEX_CATALOG_TERMS_H

#include "column/chunk/chunk.h"
#include "dftracerd/index.h"
#include "base/recbuf.h"

#define DIMENSIONS_MAX CHUNK_DIMENSIONS_MAX
/* a dimension with more distinct values in a file gets no filter for the file */
#define TERMS_VALUES_MAX 65536

struct terms {
    atomic_uint refs;
    uint64_t checkpoint_size;
    double bloom_rate;
    uint64_t expected_entries;
    unsigned shared_count; /* number of dimensions of the index, which come first */
    unsigned dimension_count;
    const char *dimensions[CHUNK_DIMENSIONS_MAX + 1]; /* NULL-terminated */
    struct arena arena;
};
/* Returns the terms of an index. `dimensions` NULL: the default ones; those beyond
 * CHUNK_DIMENSIONS_MAX are dropped. *new* or NULL. */
struct terms *terms_new(uint64_t checkpoint_size, double bloom_rate, const char *const *dimensions);
/* Creates the terms of a file. What `options` leaves out is taken from `usual`. Chunks have at most
 * `max_bytes`. Returns 0, -EINVAL or -ENOMEM. */
int terms_make(const struct terms *usual, const struct index_file_options *options,
               uint64_t max_bytes, struct terms **ret);
struct terms *terms_ref(struct terms *t);
void terms_release(struct terms *t); /* NULL-safe */
bool terms_same(const struct terms *a, const struct terms *b);
/* Returns the position among the dimensions, -1 if there is none. */
int terms_find(const struct terms *t, struct text path);
/* Returns whether this dimension has filters: times have ranges instead, and are not hashed. */
bool terms_hashed(const struct terms *t, unsigned dimension);

/* Encodes the difference from `usual`. */
void terms_encode(const struct terms *t, const struct terms *usual, struct buf *out);
int terms_decode(struct rec *r, struct terms *usual, struct terms **ret); /* ERR_CORRUPT, -ENOMEM */

#endif
