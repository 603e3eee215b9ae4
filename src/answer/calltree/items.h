/* items.h - the items of each chunk, in row order, as the scan of /call-tree finds them.
 *
 * Used by:   scan.c; items_bytes.c, for other ranks.
 * Threads:   one. Memory: charged to the budget of the query.
 */
#ifndef DFTRACERD_ANSWER_CALLTREE_ITEMS_H
#define DFTRACERD_ANSWER_CALLTREE_ITEMS_H

#include "answer/calltree/call_tree.h"

/* Maps the numbers of threads and tuples of a worker, or of another rank, to those in the tree. */
struct item_numbers {
    struct item_numbers *next;
    uint32_t *lane, *tuple;
};
/* The items of a chunk. */
struct item_part {
    struct item_part *next;
    struct call_item *items;
    size_t position; /* of the chunk, in scan_places */
    uint32_t count;
    const struct item_numbers *numbers; /* of lane and tuple of its items */
};
struct item_job {
    struct call_tree *tree;
    struct item_part *first;
    size_t part_count;
    struct item_numbers *numbers;
};
/* Makes a *new* list for the items of a chunk; see items_free. */
int items_new(struct call_tree *t, uint32_t count, struct item_part **ret);
void items_free(struct call_tree *t, struct item_part *p);
void items_add(struct item_job *job, struct item_part *p); /* p becomes owned by the job */
/* Allocates numbers for `lanes` and `tuples`, to be set by the caller; freed with the job. */
int item_numbers_new(struct item_job *job, uint32_t lanes, uint32_t tuples,
                     struct item_numbers **ret);
void item_job_done(struct item_job *job);

/* items_bytes.c: group_hooks.put and .take; arg: struct item_job. */
void items_put(void *arg, struct buf *out);
int items_take(void *arg, struct rec *in);

#endif
