/* object.h - the number of an object in its file, as answers return it.
 *
 * Used by:   timeline.c; answer/small (/find).
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_OBJECT_H
#define DFTRACERD_ANSWER_TIMELINE_OBJECT_H

#include "dftracerd/query.h"

/* How many objects of the file stand before it. */
uint64_t timeline_object(struct query *q, uint32_t file, uint32_t chunk, uint32_t row);

#endif
