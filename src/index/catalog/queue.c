/* queue.c - files that wait to be read, each in the queue of the rank that reads it.
 *
 * Until all files have been offered they are collected, where there are other ranks; then the
 * largest one goes to the rank that has the fewest bytes, and so on: none gets much more than its
 * share. What comes later goes to the rank with the fewest bytes then. Archives and their members
 * are read by rank 0: the way to a member leads through checkpoints of its archive.
 */
#include "index/catalog/catalog.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

struct file_queue {
    struct entry *head, *tail;
};

int queues_init(struct index *ix)
{
    ix->queues = calloc(ranks_count(ix->ranks), sizeof *ix->queues);
    ix->placed_bytes = calloc(ranks_count(ix->ranks), sizeof *ix->placed_bytes);
    return ix->queues && ix->placed_bytes ? 0 : -ENOMEM;
}

void queues_done(struct index *ix)
{
    vec_done(&ix->unplaced);
    free(ix->queues);
    free(ix->placed_bytes);
    ix->queues = NULL;
    ix->placed_bytes = NULL;
}

bool queues_are_empty(const struct index *ix)
{
    for (unsigned i = 0; i < ranks_count(ix->ranks); i++)
        if (ix->queues[i].head)
            return false;
    return ix->unplaced.count == 0;
}

static void append(struct index *ix, struct entry *e, bool front)
{
    struct file_queue *q = &ix->queues[e->rank];

    e->next_queued = front ? q->head : NULL;
    if (!q->head)
        q->tail = e;
    else if (!front)
        q->tail->next_queued = e;
    if (front || !q->head)
        q->head = e;
    if (!front)
        q->tail = e;
    if (ix->ranks)
        pthread_cond_broadcast(&ix->files_cond); /* readers wait for different queues */
    else
        pthread_cond_signal(&ix->files_cond);
}

struct entry *queue_take(struct index *ix, unsigned rank)
{
    struct entry *e = ix->queues[rank].head;

    if (!e)
        return NULL;
    ix->queues[rank].head = e->next_queued;
    e->queued = false;
    return e;
}

void queue_place(struct index *ix, struct entry *e, unsigned rank)
{
    e->placed = true;
    e->rank = (uint16_t)rank;
    ix->placed_bytes[rank] += e->seen.size;
}

static unsigned least_loaded(const struct index *ix)
{
    unsigned best = 0;

    for (unsigned i = 1; i < ranks_count(ix->ranks); i++)
        if (ix->placed_bytes[i] < ix->placed_bytes[best])
            best = i;
    return best;
}

static void place(struct index *ix, struct entry *e)
{
    if (!e->placed)
        queue_place(ix, e, e->is_archive || e->archive ? 0 : least_loaded(ix));
}

void catalog_queue(struct index *ix, struct entry *e, bool front)
{
    bool early = ix->ranks && !ix->listed && !e->placed && !e->is_archive && !e->archive;

    if (e->queued)
        return;
    e->queued = true;
    if (early && vec_push(&ix->unplaced, e) == 0)
        return;
    place(ix, e);
    append(ix, e, front);
}

static int larger_first(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

    if (x->seen.size != y->seen.size)
        return x->seen.size > y->seen.size ? -1 : 1;
    return strcmp(x->name, y->name);
}

void queue_place_waiting(struct index *ix)
{
    if (ix->unplaced.count)
        qsort(ix->unplaced.at, ix->unplaced.count, sizeof *ix->unplaced.at, larger_first);
    for (size_t i = 0; i < ix->unplaced.count; i++) {
        place(ix, ix->unplaced.at[i]);
        append(ix, ix->unplaced.at[i], false);
    }
    vec_done(&ix->unplaced);
}
