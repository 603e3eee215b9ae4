/* view_serve.h - items of places for rank 0, on another rank: see view_pull.h.
 *
 * Used by:   view_stream.c, whose stream rank 0 pulls. Threads: one at a time.
 * Memory:    of the answer, and of the items that are made at a time, charged to the budget of the
 *            query.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_SERVE_H
#define DFTRACERD_ANSWER_LINES_VIEW_SERVE_H

#include "answer/lines/view_maker.h"

/* Appends what is asked for, an item at least. Fails where the first item cannot be made. */
int serve_items(const struct ahead_maker *maker, struct text asked, struct buf *answer);

#endif
