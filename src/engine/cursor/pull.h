/* pull.h - rank 0 has remote ranks make the items of places whose chunks they have.
 *
 *   rank 0                              remote rank
 *   a thread chooses a run of places    opens the request, the first time (http/server/remote.c)
 *     --places, bytes-->                makes their items until they have that many bytes
 *     <--items as bytes--               (serve.h), then does nothing until the next run
 *
 * Used by:   read_ahead_pull.c, which chooses the runs and limits the memory.
 * Threads:   several, each with one run at a time. The owner is one thread.
 * Memory:    an answer is charged to the query's budget before it is requested.
 */
#ifndef DFTRACERD_ENGINE_CURSOR_PULL_H
#define DFTRACERD_ENGINE_CURSOR_PULL_H

#include "engine/cursor/maker.h"

enum { PULL_ITEMS = 64 }; /* max. items of a run */

struct pull_item {
    size_t position; /* in scan_places */
    uint64_t number; /* for the client's use */
    void *item;      /* out: NULL if the place has none */
    size_t bytes;    /* out: size of the item in the answer */
};
/* Places of one rank. */
struct pull_run {
    struct pull_item items[PULL_ITEMS];
    unsigned count, rank;
    bool is_open;      /* the rank has the request open */
    size_t bytes;      /* the rank returns when its items have that many */
    size_t reserved;   /* bytes of memory for the answer */
    unsigned received; /* out: number of items in the answer: the first ones */
    /* out: why items are missing. 0: the limit of bytes; -EXDEV: the rank cannot make the next
     * item, because it needs chunks of other ranks; or an error */
    int rc;
};
/* Both functions are called by the threads that pull. */
struct pull_client {
    const struct item_maker *maker;
    void *arg;
    /* Waits for a run, and sets *run to it. Returns false if there are no more before pull_end. */
    bool (*choose)(void *arg, struct pull_run *run);
    void (*done)(void *arg, const struct pull_run *run);
};

struct pull;
/* Sets *ret to a *new* object, or NULL if there are no remote ranks, or if they cannot make these
 * items. *client is borrowed. Returns 0 or -ENOMEM. */
int pull_new(const struct pull_client *client, struct pull **ret);
unsigned pull_ranks(const struct pull *p); /* with rank 0 */
/* Returns the rank that has the chunk of a place; 0: this process. */
unsigned pull_rank(const struct pull *p, size_t position);
/* Starts another thread, up to a maximum. Returns false if there is no thread at all. */
bool pull_add_thread(struct pull *p);
/* Requests the ranks to end their current run with an error. */
void pull_stop(struct pull *p);
/* Joins the threads, whose client must have no more runs, and closes the requests on all ranks. */
void pull_end(struct pull *p);
void pull_free(struct pull *p); /* after pull_end; accepts NULL */

/* ---- the request as the remote rank reads it ------------------------------------------------- */

struct pull_request {
    int64_t time_ns;   /* that is left for it; 0: no limit */
    size_t bytes;      /* see struct pull_run */
    size_t count;      /* of positions */
    size_t *positions; /* *new*; all of them are places of the query */
};
/* Returns 0, ERR_CORRUPT or -ENOMEM. */
int pull_read(const struct query *q, struct text request, struct pull_request *ret);

#endif
