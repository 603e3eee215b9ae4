/* view_record.h - a view as bytes, for another rank that scans chunks of the file.
 *
 * Used by:   index. Threads: any.
 */
#ifndef DFTRACERD_INDEX_CATALOG_VIEW_RECORD_H
#define DFTRACERD_INDEX_CATALOG_VIEW_RECORD_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"
#include "base/recbuf.h"

/* The home of chunks that neither this rank nor one that it may ask has. */
#define HOME_ELSEWHERE UINT16_MAX

/* All that scans ask for: not the lines of names. */
void view_put(struct index *ix, const struct view *v, struct buf *out);
/* Chunks of `home` are this rank's, those of others elsewhere. *new*; ERR_CORRUPT, -ENOMEM. */
int view_take(struct index *ix, struct rec *in, uint16_t home, struct view **ret);

#endif
