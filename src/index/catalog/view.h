/* view.h - what answers see of a file at one moment.
 *
 * A view is immutable and refcounted. A run of ingest fills it, or the catalog when it is loaded.
 * Views of one file that differ in little share lists and texts.
 *
 * May use:   terms, identity. Used by: catalog, ingest, index.
 * Threads:   any, once published. Memory: freed with the last reference.
 */
#ifndef DFTRACERD_INDEX_CATALOG_VIEW_H
#define DFTRACERD_INDEX_CATALOG_VIEW_H

#include "dftracerd/index.h"
#include "index/catalog/identity.h"
#include "index/catalog/terms.h"

struct entry;
struct part_fact;
struct filter {
    const uint8_t *bits;
    size_t len;
};
/* Where a member is in the text of its archive. */
struct member_place {
    uint64_t offset, size;
    bool cut; /* the archive ends before it does */
};

#define DAMAGE_KEPT INDEX_DAMAGE_KEPT
struct view {
    atomic_uint refs;
    uint64_t serial; /* which no other view of this process has */
    /* Whose arena has what this one points to: itself, or the one that it differs from in its state
     * (view_with_state); a reference. */
    struct view *owner;
    struct arena arena;
    _Atomic(atomic_bool *) valid_chunks; /* see view_chunk_flag */

    struct index_file pub;
    struct index *ix;       /* for find_checkpoint; set where id is */
    struct terms *terms;    /* NULL: those of the index */
    struct filter *filters; /* of each dimension of the terms; NULL: none has any */
    struct identity identity;
    struct hash128 text_sum; /* of part.h */
    uint32_t summary_version, run_version;
    bool unit_fixed;            /* the trace said its unit */
    bool has_tail, tail_final;  /* tail_final: ingest may go on behind the last chunk */
    bool hidden;                /* by view_hidden(): pub is empty; the owner's is stored */
    uint8_t state_before;       /* of a missing file */
    int64_t missing_since_ns;   /* real time */
    uint64_t consumed;          /* bytes of the file read so far: progress */
    struct member_place member; /* where pub.archive is */
    uint32_t fork_count;
    const struct part_fact *forks;
    const struct index_process *processes; /* as the file says */
    /* pub.processes where forks in other files told parents; NULL: `processes` */
    struct index_process *linked;
};

/* *new*, filled by the caller before others see it; NULL without memory. */
struct view *view_new(void);
void view_identify(struct view *v, const struct identity *file);
/* The flag chunk_texts.valid of a chunk, i < pub.chunk_count. Any thread. NULL without memory. */
atomic_bool *view_chunk_flag(struct view *v, uint32_t i);
/* Memory for the filter of one of the terms' dimensions; NULL without memory. */
uint8_t *view_filter(struct view *v, unsigned dimension, size_t len);
/* A copy in the view's arena; NULL without memory. */
void *view_copy_list(struct view *v, const void *list, size_t bytes);
/* Borrows the list, which lives in the view's arena; 0, -ENOMEM. */
int view_set_processes(struct view *v, const struct index_process *list, uint32_t count);
/* *new*, without what forks in other files told; NULL without memory. */
struct view *view_with_state(struct view *v, enum index_state state);
/* PENDING, and nothing told of it: it is of a file that had gone when another one came under its
 * name. */
struct view *view_hidden(struct view *old);
struct view *view_empty(const struct entry *e, enum index_state state);
struct view *view_ref(struct view *v);
void view_release(struct view *v);
static inline struct view *view_of_file(const struct index_file *f)
{
    return (struct view *)((char *)f - __builtin_offsetof(struct view, pub));
}

#endif
