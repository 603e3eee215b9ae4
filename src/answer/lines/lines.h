/* lines.h - the text of the selected objects of one place, and the metadata records that they refer
 * to.
 *
 * Lines are in `text` as they are written, mostly one after the other with '\n' between, so that
 * many are copied at once. Which metadata records an object refers to depends on few columns:
 * objects with equal values of these are one reference group.
 */
#ifndef DFTRACERD_ANSWER_LINES_LINES_H
#define DFTRACERD_ANSWER_LINES_LINES_H

#include "engine/group/map.h"
#include "engine/cursor/cursor.h"

#include <pthread.h>

#define LINES_HASHES_MAX 32 /* hash columns of a chunk; others are ignored */
#define LINES_SPARE 2       /* items that are kept for reuse */

/* kinds: bits 1 << INDEX_FH ...; hash: text id */
struct lines_hash {
    uint8_t kinds;
    uint32_t hash;
};
/* The metadata records that the objects of a group refer to: those of its hashes and its
 * process. */
struct lines_group {
    bool written; /* its records were written before */
    bool has_process;
    uint64_t host; /* key of the host (query keys) */
    int64_t pid;
    uint32_t hash_count;
    const struct lines_hash *hashes; /* in the order in which they are looked up */
};
struct lines {
    struct item item;
    uint32_t *offset, *len; /* by object: position in text */
    uint64_t *start;        /* by object: position in the text of the chunk */
    uint8_t *repair;        /* by object: its repaired form is written */
    struct buf text;
    uint32_t *group; /* by object: index in groups; NULL: without references */
    struct lines_group *groups;
    struct arena arena; /* of groups */
};

struct lines_plan {
    struct query *query;
    struct item_order order;
    bool references; /* reference groups are found */
    const struct source *host, *pid;
    uint64_t max;         /* maximum number of objects of a place that can be returned */
    pthread_mutex_t lock; /* guards spare: dropped items, whose memory is reused */
    struct lines *spare[LINES_SPARE];
    unsigned spare_count;
};
/* `order` NULL: file order. The caller calls lines_plan_done also after an error. */
int lines_plan_init(struct lines_plan *p, struct query *q, const struct item_order *order,
                    bool references);
/* Frees spare items; the plan remains usable. Accepts a zeroed plan. */
void lines_plan_rest(struct lines_plan *p);
void lines_plan_done(struct lines_plan *p);
/* Functions of struct item_maker with the plan as arg. */
int lines_make(void *plan, struct item_tools *tools, size_t position, void **ret);
void lines_drop(void *plan, void *item);
/* lines_bytes.c. Encoded objects are in the order of their keys, and at most plan.max. */
int lines_encode(void *plan, void *item, struct buf *text, struct buf *facts);
int lines_decode(void *plan, size_t position, struct rec *facts, struct text text,
                 struct buf *whole, void **ret);

/* After reading from the file of `file`, with result rc: returns the result of index_text_check
 * if rc is 0 or the file has changed, which also causes ERR_CORRUPT; else rc. */
int lines_check_file(const struct index_file *file, int fd, int rc);

/* A *new* item without objects, or NULL. lines_grow allocates arrays for `need` objects. */
struct lines *lines_new(struct lines_plan *p);
int lines_grow(struct lines *l, const struct lines_plan *p, uint32_t need);

/* Finds the metadata records that the rows of a chunk refer to: see lines_refs.c. */
struct lines_refs;
int refs_new(const struct lines_plan *p, struct lines_refs **ret);
void refs_free(struct lines_refs *r);
/* Sets the groups of the selected rows of a batch. */
int refs_batch(struct lines_refs *r, struct scan_batch *b, uint32_t *out);
/* Sets *ret, in the arena, after the last batch. */
int refs_groups(struct lines_refs *r, struct arena *arena, struct lines_group **ret);

#endif
