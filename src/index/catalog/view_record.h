/* view_record.h - a view as bytes, for another rank that scans chunks of the file.
 *
 * Used by:   index. Threads: any.
 */
#ifndef DFTRACERD_INDEX_CATALOG_VIEW_RECORD_H
#define DFTRACERD_INDEX_CATALOG_VIEW_RECORD_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"
#include "base/recbuf.h"

/* The home of chunks that are neither on this rank nor on one that it may send requests to. */
#define HOME_ELSEWHERE UINT16_MAX

/* Encodes all that scans need: everything but the lines of names. */
void view_encode(struct index *ix, const struct view *v, struct buf *out);
/* Decodes a view. Chunks of `home` are on this rank, all others elsewhere. *new*; returns 0,
 * ERR_CORRUPT or -ENOMEM. */
int view_decode(struct index *ix, struct rec *in, uint16_t home, struct view **ret);

#endif
