/* queue.c - files that wait to be read, each in the queue of the rank that reads it.
 *
 * If there are other ranks, files are collected until all have been offered. They are then assigned
 * in order of size, the largest first, each to the rank that has the fewest bytes. Later files are
 * also assigned to the rank with the fewest bytes. A file is divided if it would give that rank
 * clearly more than its fair share, or if it comes later and is larger than a fair share by itself:
 * each rank receives what it lacks, until nothing is left (McNaughton's rule, Management Science 6,
 * 1959). Archives and their members are read by rank 0, because members are read through the
 * checkpoints of their archive.
 */
#include "index/catalog/catalog.h"
#include "index/ranks/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { TOLERANCE = 16 }; /* a rank may have 1/16 more than its fair share */

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

static void queue_append(struct index *ix, struct entry *e, bool front)
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
        pthread_cond_broadcast(&ix->files_cond); /* readers of several queues wait on it */
    else
        pthread_cond_signal(&ix->files_cond);
}

struct entry *queue_next_file(struct index *ix, unsigned rank)
{
    struct entry *e = ix->queues[rank].head;

    if (!e)
        return NULL;
    ix->queues[rank].head = e->next_queued;
    e->queued = false;
    return e;
}

/* Returns the same fraction of `bytes` as x is of `whole`. */
static uint64_t proportion(uint64_t bytes, uint64_t x, uint64_t whole)
{
    return whole ? (uint64_t)((unsigned __int128)bytes * x / whole) : 0;
}

/* Chooses the rank that reads a divided file: not rank 0, which has enough to do. */
static unsigned choose_reader(const struct index *ix, const uint64_t *shares)
{
    unsigned best = 1;

    for (unsigned i = 2; i < ranks_count(ix->ranks); i++)
        if (shares[i] > shares[best])
            best = i;
    return best;
}

int queue_assign(struct index *ix, struct entry *e)
{
    const struct index_file *f = &e->view->pub;
    unsigned sharers = 0, count = ranks_count(ix->ranks);
    uint64_t *shares = calloc(count, sizeof *shares);

    if (!shares)
        return -ENOMEM;
    for (uint32_t i = 0; i < f->chunk_count; i++) {
        const struct index_chunk *c = &f->chunks[i];
        unsigned rank = c->home ? ranks_at(ix->ranks, c->home) : 0;
        sharers += shares[rank] == 0;
        shares[rank] += proportion(f->compressed_bytes, c->text_len, f->text_bytes) + 1;
        e->rank = (uint16_t)rank;
    }
    for (unsigned i = 0; i < count; i++)
        ix->placed_bytes[i] += shares[i];
    e->placed = true;
    if (sharers > 1) {
        e->shares = shares;
        e->rank = (uint16_t)choose_reader(ix, shares);
    } else {
        free(shares);
    }
    return 0;
}

static unsigned least_loaded(const struct index *ix)
{
    unsigned best = 0;

    for (unsigned i = 1; i < ranks_count(ix->ranks); i++)
        if (ix->placed_bytes[i] < ix->placed_bytes[best])
            best = i;
    return best;
}

/* `waiting`: bytes without a rank, including those of the current file. */
static uint64_t fair_share(const struct index *ix, uint64_t waiting)
{
    for (unsigned i = 0; i < ranks_count(ix->ranks); i++)
        waiting += ix->placed_bytes[i];
    return waiting / ranks_count(ix->ranks);
}

static void divide_entry(struct index *ix, struct entry *e, uint64_t fair)
{
    uint64_t left = e->seen.size;

    while (left > 0) {
        unsigned rank = least_loaded(ix);
        uint64_t has = ix->placed_bytes[rank], space = has < fair ? fair - has : left;
        uint64_t part = space < left ? space : left;
        e->shares[rank] += part;
        ix->placed_bytes[rank] += part;
        left -= part;
    }
    e->rank = (uint16_t)choose_reader(ix, e->shares);
    e->placed = true;
}

/* Dividing a file costs something, and later files may even out the load. */
static bool is_divided(const struct index *ix, const struct entry *e, unsigned rank, uint64_t fair)
{
    uint64_t size = e->seen.size;

    return size >= ix->index_params->checkpoint_size &&
           (ix->listed ? size > fair : ix->placed_bytes[rank] + size > fair + fair / TOLERANCE);
}

static void place_entry(struct index *ix, struct entry *e, uint64_t waiting)
{
    unsigned rank = least_loaded(ix);
    uint64_t fair = fair_share(ix, waiting);

    if (e->placed)
        return;
    if (e->is_archive || e->archive)
        rank = 0;
    else if (is_divided(ix, e, rank, fair))
        e->shares = calloc(ranks_count(ix->ranks), sizeof *e->shares);
    if (e->shares) {
        divide_entry(ix, e, fair);
        return;
    }
    e->placed = true;
    e->rank = (uint16_t)rank;
    ix->placed_bytes[rank] += e->archive ? e->member.size : e->seen.size;
}

void catalog_queue(struct index *ix, struct entry *e, bool front)
{
    bool early = ix->ranks && !ix->listed && !e->placed && !e->is_archive && !e->archive;

    if (e->queued)
        return;
    e->queued = true;
    if (early && vec_push(&ix->unplaced, e) == 0)
        return;
    place_entry(ix, e, e->seen.size);
    queue_append(ix, e, front);
}

static int larger_first(const void *a, const void *b)
{
    const struct entry *x = *(struct entry *const *)a, *y = *(struct entry *const *)b;

    if (x->seen.size != y->seen.size)
        return x->seen.size > y->seen.size ? -1 : 1;
    return strcmp(x->name, y->name);
}

void queue_assign_waiting(struct index *ix)
{
    uint64_t waiting = 0;

    if (ix->unplaced.count)
        qsort(ix->unplaced.at, ix->unplaced.count, sizeof *ix->unplaced.at, larger_first);
    for (size_t i = 0; i < ix->unplaced.count; i++)
        waiting += ix->unplaced.at[i]->seen.size;
    for (size_t i = 0; i < ix->unplaced.count; i++) {
        place_entry(ix, ix->unplaced.at[i], waiting);
        waiting -= ix->unplaced.at[i]->seen.size;
        queue_append(ix, ix->unplaced.at[i], false);
    }
    vec_done(&ix->unplaced);
}
