/* index_params.h - how a file is indexed: the size of its chunks, which paths have bloom filters,
 * how large those are.
 *
 * Most files are indexed with the parameters of the index. A file that was rebuilt with its own
 * options keeps them in its record, and they are used whenever it is read again.
 * Threads: immutable once made; references are counted.
 */
#ifndef DFTRACERD_INDEX_CATALOG_INDEX_PARAMS_H
#define DFTRACERD_INDEX_CATALOG_INDEX_PARAMS_H

#include "column/chunk/chunk.h"
#include "dftracerd/index.h"
#include "base/recbuf.h"

#define DIMENSIONS_MAX CHUNK_DIMENSIONS_MAX
/* a dimension with more distinct values in a file gets no filter for the file */
#define INDEX_PARAMS_VALUES_MAX 65536

struct index_params {
    atomic_uint refs;
    uint64_t checkpoint_size;
    double bloom_rate;
    uint64_t expected_entries;
    unsigned shared_count; /* number of dimensions of the index, which come first */
    unsigned dimension_count;
    const char *dimensions[CHUNK_DIMENSIONS_MAX + 1]; /* NULL-terminated */
    struct arena arena;
};
/* Returns the index parameters of an index. `dimensions` NULL: the default ones; those beyond
 * CHUNK_DIMENSIONS_MAX are dropped. *new* or NULL. */
struct index_params *index_params_new(uint64_t checkpoint_size, double bloom_rate,
                                      const char *const *dimensions);
/* Creates the index parameters of a file. What `options` leaves out is as in `defaults`.
 * Chunks have at most `max_bytes`. Returns 0, -EINVAL or -ENOMEM. */
int index_params_make(const struct index_params *defaults, const struct index_file_options *options,
                      uint64_t max_bytes, struct index_params **ret);
struct index_params *index_params_ref(struct index_params *t);
void index_params_release(struct index_params *t); /* NULL-safe */
bool index_params_same(const struct index_params *a, const struct index_params *b);
/* Returns the position among the dimensions, -1 if there is none. */
int index_params_find(const struct index_params *t, struct text path);
/* Returns whether this dimension has filters: times have ranges instead, and are not hashed. */
bool index_params_hashed(const struct index_params *t, unsigned dimension);

/* Encodes the difference from `defaults`. */
void index_params_encode(const struct index_params *t, const struct index_params *defaults,
                         struct buf *out);
int index_params_decode(struct rec *r, struct index_params *defaults,
                        struct index_params **ret); /* ERR_CORRUPT, -ENOMEM */

#endif
