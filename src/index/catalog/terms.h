/* terms.h - how a file is indexed: the size of its chunks, which paths have bloom filters, how
 * large those are.
 *
 * Most files are indexed on the terms of the index. One that was rebuilt with options of its own
 * keeps them: with what is known of it, in its record, and for the next reading of it.
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
    unsigned shared_count; /* of the dimensions: those of the index come first */
    unsigned dimension_count;
    const char *dimensions[CHUNK_DIMENSIONS_MAX + 1]; /* NULL-terminated */
    struct arena arena;
};
/* The terms of an index; `dimensions` NULL: the usual ones, beyond CHUNK_DIMENSIONS_MAX: dropped.
 * *new* or NULL. */
struct terms *terms_new(uint64_t checkpoint_size, double bloom_rate, const char *const *dimensions);
/* Those of a file: what `options` does not say is as in `usual`. Chunks are at most `most` bytes.
 * 0, -EINVAL, -ENOMEM. */
int terms_make(const struct terms *usual, const struct index_file_options *options, uint64_t most,
               struct terms **ret);
struct terms *terms_ref(struct terms *t);
void terms_release(struct terms *t); /* NULL is fine */
bool terms_same(const struct terms *a, const struct terms *b);
/* Place among the dimensions, -1: none of them. */
int terms_find(const struct terms *t, struct text path);
/* Whether a filter of this dimension can say "no": times have ranges instead, and are not hashed.
 */
bool terms_hashed(const struct terms *t, unsigned dimension);

/* What differs from `usual`. */
void terms_encode(const struct terms *t, const struct terms *usual, struct buf *out);
int terms_decode(struct rec *r, struct terms *usual, struct terms **ret); /* ERR_CORRUPT, -ENOMEM */

#endif
