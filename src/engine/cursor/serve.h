/* serve.h - a remote rank makes items of a cursor for rank 0: see pull.h.
 *
 * Used by:   cursor.c of the remote rank.
 * Threads:   any, several at once.
 * Memory:    the answers and the items being made are charged to the query's budget.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_SERVE_H
#define DFTRACERD_ENGINE_CURSOR_SERVE_H

#include "engine/cursor/maker.h"

enum { SERVER_IDLE = 8 }; /* tools that are kept, with the text of a file open, from item to item */
struct server {
    const struct item_maker *maker; /* borrowed; NULL before server_init */
    pthread_mutex_t lock;           /* for all below */
    struct query_counters sent;     /* as of the previous answer */
    struct item_tools *idle[SERVER_IDLE];
    unsigned idle_count;
};
void server_init(struct server *s, const struct item_maker *maker);
void server_done(struct server *s);
/* Sets `answer`, which is empty, to the items that `message` requests, up to the first one that
 * cannot be made. Returns 0 if there is one at least; otherwise why the first one cannot be made
 * (-EXDEV: only rank 0 can make it), ERR_CORRUPT, -ENOMEM, or -EINVAL if `answer` is not empty. */
int server_answer(struct server *s, struct text message, struct buf *answer);

#endif
