/* hashes.h - the distinct values of a dimension, for the filter of a file.
 *
 * Used by:   ingest only. Threads: a set belongs to one thread.
 */
#ifndef DFTRACERD_INDEX_INGEST_HASHES_H
#define DFTRACERD_INDEX_INGEST_HASHES_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"

struct hashes;
struct ingest;
struct result;
struct run;
struct hashes *hashes_new(const struct index_params *t, unsigned dimension);
void hashes_free(struct hashes *h);
void hashes_add(struct hashes *h, uint64_t hash);
/* some values are unknown: the filter must match everything */
void hashes_match_all(struct hashes *h);
void hashes_merge(struct hashes *into, const struct hashes *from);
/* Sets the filter of the view for this dimension, or none if there are too many values. Returns 0
 * or -ENOMEM. */
int hashes_build_filter(const struct hashes *h, struct view *v, unsigned dimension);
/* If a run continued after stored chunks, adds the values of these to the result that ends it, once
 * the file is complete: a growing file has no filters. Returns -EPIPE if ingest stops: the next
 * process ends the run. Without memory, the file stays without filters. */
int hashes_add_kept(struct ingest *in, const struct run *run, uint32_t kept, struct result *end);
/* values.c: adds the values of a stored chunk, one set for each dimension. Returns 0, or the error
 * of chunk_open or column_read. */
int hashes_add_chunk(struct index *ix, const struct index_file *file, uint32_t chunk,
                     struct hashes *const *to);

#endif
