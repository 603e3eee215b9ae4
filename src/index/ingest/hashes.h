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
struct hashes *hashes_new(const struct terms *t, unsigned dimension);
void hashes_free(struct hashes *h);
void hashes_add(struct hashes *h, uint64_t hash);
void hashes_match_all(struct hashes *h); /* there are others */
void hashes_merge(struct hashes *into, const struct hashes *from);
/* The filter of the view for this dimension; none where there are too many. 0, -ENOMEM. */
int hashes_filter(const struct hashes *h, struct view *v, unsigned dimension);
/* The values of the chunks that a run went on behind go into the result that ends it, once the file
 * is complete: as long as it grows it has no filters. -EPIPE: the next process ends the run.
 * Without memory it stays without filters. */
int hashes_of_kept(struct ingest *in, const struct run *run, uint32_t kept, struct result *end);
/* values.c: those of a stored chunk, a set a dimension. 0, or what chunk_open and
 * column_read return. */
int hashes_add_chunk(struct index *ix, const struct index_file *file, uint32_t chunk,
                     struct hashes *const *to);

#endif
