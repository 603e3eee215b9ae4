/* follow_lost.h - lines that can no longer be read, because their file has changed since.
 *
 * Used by:   view.c. Implemented in follow.c, as dftracerd/follow.h is.
 * Threads:   any.
 */
#ifndef DFTRACERD_ANSWER_LINES_FOLLOW_LOST_H
#define DFTRACERD_ANSWER_LINES_FOLLOW_LOST_H

#include "dftracerd/follow.h"
#include "engine/scan/scan.h"

/* Notes that the file of this place has changed: its objects from here on count as not returned. */
void follow_lose(struct follow *f, const struct query *q, size_t position);
/* Returns true if earlier objects of the file were lost, so that those of this place must not be
 * returned. */
bool follow_is_lost(struct follow *f, const struct query *q, size_t position);

#endif
