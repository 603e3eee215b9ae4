/* view_follow.h - lines that cannot be read any more: for the view that returns them.
 *
 * Used by:   view.c. Defined in view_follow.c, beside follow.h. Threads: one.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_FOLLOW_H
#define DFTRACERD_ANSWER_LINES_VIEW_FOLLOW_H

#include "dftracerd/follow.h"
#include "engine/scan/scan.h"

/* The file of this place of the query has changed since: from here on its objects have not been
 * told. Any thread. */
void follow_lose(struct follow *f, const struct query *q, size_t position);
/* True when the objects of this place must not be told, since earlier ones of its file were lost.
 */
bool follow_is_lost(struct follow *f, const struct query *q, size_t position);

#endif
