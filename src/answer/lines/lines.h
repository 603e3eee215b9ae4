/* lines.h - the text of the selected objects of one place, and what metadata each of them refers
 * to.
 *
 * Lines lie in `text` as they are written, mostly one after the other with '\n' between, so that
 * long stretches are copied at once. Which metadata an object needs depends on few columns only:
 * objects with equal values there are one reference group.
 */
#ifndef DFTRACERD_ANSWER_LINES_LINES_H
#define DFTRACERD_ANSWER_LINES_LINES_H

#include "engine/group/map.h"
#include "engine/cursor/cursor.h"

#include <pthread.h>

#define LINES_HASHES_MAX 32 /* hash columns of a chunk that are looked at */
#define LINES_SPARE 2

/* kinds: bits 1 << INDEX_FH ...; hash: text id */
struct lines_hash {
    uint8_t kinds;
    uint32_t hash;
};
/* What the objects of a group refer to. */
struct lines_group {
    bool written; /* its metadata have been written before */
    bool has_process;
    uint64_t host; /* key of the host (query keys) */
    int64_t pid;
    uint32_t hash_count;
    const struct lines_hash *hashes; /* in the order in which they are looked up */
};
struct lines {
    struct item item;
    uint32_t *offset, *len; /* of each object, in text */
    uint64_t *start;        /* of each object, in the chunk's text */
    uint8_t *repair;        /* flags: it is written in its repaired form */
    struct buf text;
    uint32_t *group; /* NULL: no metadata wanted */
    struct lines_group *groups;
    struct arena arena; /* of groups */
};

struct lines_plan {
    struct query *query;
    struct item_order order;
    bool references;
    const struct source *host, *pid;
    uint64_t most;        /* objects of a place that can be told */
    pthread_mutex_t lock; /* spare: dropped items, whose memory the next ones take */
    struct lines *spare[LINES_SPARE];
    unsigned spare_count;
};
/* order NULL: as they stand. On failure, too: lines_plan_done. */
int lines_plan_init(struct lines_plan *p, struct query *q, const struct item_order *order,
                    bool references);
/* Frees what is spare; the plan stays usable. Zeroed plans are fine. */
void lines_plan_rest(struct lines_plan *p);
void lines_plan_done(struct lines_plan *p);
/* For struct item_maker: arg is the plan. */
int lines_make(void *plan, struct item_tools *tools, size_t position, void **ret);
void lines_drop(void *plan, void *item);
/* lines_bytes.c: in the order of keys, of which no more than `most`. */
int lines_encode(void *plan, void *item, struct buf *text, struct buf *facts);
int lines_decode(void *plan, size_t position, struct rec *facts, struct text text,
                 struct buf *whole, void **ret);

/* Without objects; NULL without memory. Room for `need` of them. */
struct lines *lines_new(struct lines_plan *p);
int lines_grow(struct lines *l, const struct lines_plan *p, uint32_t need);

/* Which rows of a chunk refer to what: see lines_refs.c. */
struct lines_refs;
int refs_new(const struct lines_plan *p, struct lines_refs **ret);
void refs_free(struct lines_refs *r);
/* Groups of the selected rows of a batch. */
int refs_batch(struct lines_refs *r, struct scan_batch *b, uint32_t *out);
/* After the last batch: *ret in the arena. */
int refs_groups(struct lines_refs *r, struct arena *arena, struct lines_group **ret);

#endif
