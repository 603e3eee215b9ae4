/* view_pull.h - items of places whose chunks other ranks have: pulled from these ranks.
 *
 *   rank 0                               another rank
 *   a thread takes a run of places       opens the request, the first time (http/server/far.c)
 *     --places, bytes-->                 makes their items until there are so many bytes
 *     <--items as bytes--                (view_serve.h), and does nothing until it is asked again
 *
 * Used by:   view_ahead.c, which says what is pulled, and bounds what is on the way.
 * Threads:   some, each of which asks for one run at a time. The owner is one thread.
 * Memory:    an answer is charged to the budget of the query before it comes.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_PULL_H
#define DFTRACERD_ANSWER_LINES_VIEW_PULL_H

#include "answer/lines/view_maker.h"

enum { PULL_ITEMS = 64 }; /* of a run, at most */

struct pull_item {
    size_t position; /* in scan_places */
    uint64_t number; /* the client's */
    void *item;      /* out: NULL: nothing there */
    size_t bytes;    /* out: on the way */
};
/* Places of one rank. */
struct pull_run {
    struct pull_item items[PULL_ITEMS];
    unsigned count, rank;
    bool known;    /* the rank has been asked before */
    size_t bytes;  /* no more items when there are so many */
    size_t room;   /* memory for the answer */
    unsigned made; /* out: of the first so many */
    /* out: why there are not all; 0: the bytes; -EXDEV: the rank cannot make the next one */
    int rc;
};
/* Both on a thread that pulls. */
struct pull_client {
    const struct ahead_maker *maker;
    void *arg;
    /* Waits for a run. False: there will be none until pull_end. */
    bool (*take)(void *arg, struct pull_run *run);
    void (*done)(void *arg, const struct pull_run *run);
};

struct pull;
/* *ret NULL: there are no other ranks, or they cannot be asked for this. *client is borrowed. */
int pull_new(const struct pull_client *client, struct pull **ret);
unsigned pull_ranks(const struct pull *p);
/* The rank that has the chunk of a place; 0: this one. */
unsigned pull_rank(const struct pull *p, size_t position);
/* One thread more, if there may be more. False: there is none. */
bool pull_add(struct pull *p);
/* What ranks do now ends soon, with an error. */
void pull_stop(struct pull *p);
/* Waits for the threads, for which there must be no more runs, and closes what ranks have open. */
void pull_end(struct pull *p);
void pull_free(struct pull *p); /* after pull_end; NULL is fine */

/* ---- what is asked --------------------------------------------------------------------------- */

/* As the rank reads it: *new* array of positions, all of them of the query. ERR_CORRUPT, -ENOMEM.
 */
struct pull_request {
    int64_t time_ns; /* 0: any */
    size_t bytes, count;
    size_t *positions;
};
int pull_read(const struct query *q, struct text asked, struct pull_request *ret);

#endif
