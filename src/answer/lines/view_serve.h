/* view_serve.h - items of places for rank 0, on another rank: see view_pull.h.
 *
 * Used by:   view_stream.c, whose stream rank 0 pulls. Threads: any, several at once.
 * Memory:    of the answers, and of the items that are made at a time, charged to the budget of the
 *            query.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_SERVE_H
#define DFTRACERD_ANSWER_LINES_VIEW_SERVE_H

#include "answer/lines/view_maker.h"

enum { SERVER_IDLE = 8 }; /* tools that are kept, with the text of a file open, from item to item */
struct server {
    const struct ahead_maker *maker;
    pthread_mutex_t lock;
    /* under the lock */
    struct query_counters told; /* what answers have said of it */
    struct ahead_tools *idle[SERVER_IDLE];
    unsigned idle_count;
};
void server_init(struct server *s, const struct ahead_maker *maker);
void server_done(struct server *s);
/* Fills the answer, which is empty, with what is asked for, an item at least. Fails where the first
 * item cannot be made; -EXDEV: only rank 0 can make that one. */
int server_answer(struct server *s, struct text asked, struct buf *answer);

#endif
