/* serve.h - another rank makes items of a cursor for rank 0: see pull.h.
 *
 * Used by:   cursor.c, from which rank 0 pulls.
 * Threads:   any, several at once.
 * Memory:    the answers and the items being made are charged to the query's budget.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_SERVE_H
#define DFTRACERD_ENGINE_CURSOR_SERVE_H

#include "engine/cursor/maker.h"

enum { SERVER_IDLE = 8 }; /* tools that are kept, with the text of a file open, from item to item */
struct server {
    const struct item_maker *maker;
    pthread_mutex_t lock;
    /* guarded by lock */
    struct query_counters sent; /* as of the previous answer */
    struct item_tools *idle[SERVER_IDLE];
    unsigned idle_count;
};
void server_init(struct server *s, const struct item_maker *maker);
void server_done(struct server *s);
/* Appends the items that `message` requests, one at least, to `answer`, which is empty. Fails if
 * the first item cannot be made; -EXDEV: only rank 0 can make that one. */
int server_answer(struct server *s, struct text message, struct buf *answer);

#endif
