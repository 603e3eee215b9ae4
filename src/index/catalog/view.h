/* view.h - the state of a file at one moment, as answers see it.
 *
 * A view is immutable and refcounted. A run of ingest fills it, or the catalog when it is loaded.
 * Views of one file that differ in little share lists and texts.
 *
 * May use:   index parameters, identity. Used by: catalog, ingest, index.
 * Threads:   any, once published. Memory: freed with the last reference.
 */
#ifndef DFTRACERD_INDEX_CATALOG_VIEW_H
#define DFTRACERD_INDEX_CATALOG_VIEW_H

#include "dftracerd/index.h"
#include "index/catalog/identity.h"
#include "index/catalog/index_params.h"

struct entry;
struct part_fact;
/* A bloom filter of the file for one dimension. */
struct view_filter {
    const uint8_t *bits;
    size_t len;
};
/* Position of a member in the text of its archive. */
struct member_place {
    uint64_t offset, size;
    bool cut; /* the archive ends before the end of the member */
};

struct view {
    atomic_uint refs;
    uint64_t serial; /* unique in this process */
    /* The view whose arena has the lists and texts of this one, a reference: the view itself, or
     * the one of which it is a copy (view_with_state). */
    struct view *owner;
    struct arena arena;
    _Atomic(atomic_bool *) valid_chunks; /* see view_chunk_flag */

    struct index_file pub;
    struct index *ix;                  /* that has its values; set if pub.id is not 0 */
    struct index_params *index_params; /* NULL: those of the index */
    struct view_filter *filters;       /* one for each dimension; NULL: none */
    struct identity identity;
    struct hash128 text_sum; /* see part.h */
    uint32_t summary_version, run_version;
    bool unit_from_trace; /* the trace specifies its unit */
    /* tail_complete: the last chunk is complete: a later run continues after it. After the end of a
     * file this is not known, so the last chunk is read again. */
    bool has_tail, tail_complete;
    /* from view_hidden(): pub is empty, and the state of `owner` is stored */
    bool hidden;
    uint8_t state_before;       /* state of a missing file before it went missing */
    int64_t missing_since_ns;   /* real time */
    uint64_t consumed;          /* bytes of the file read so far: progress */
    struct member_place member; /* if pub.archive is set */
    uint32_t fork_count;
    const struct part_fact *forks;
    const struct index_process *processes; /* as in the file */
    /* pub.processes if forks in other files add parents; NULL: pub.processes is `processes` */
    struct index_process *with_parents;
};

/* *new*; the caller fills it before it is published. NULL without memory. */
struct view *view_new(void);
void view_identify(struct view *v, const struct identity *file);
/* The flag chunk_texts.valid of a chunk, i < pub.chunk_count. Any thread. NULL without memory. */
atomic_bool *view_chunk_flag(struct view *v, uint32_t i);
/* Allocates the filter of one dimension of the index_params. Returns NULL without memory. */
uint8_t *view_add_filter(struct view *v, unsigned dimension, size_t len);
/* Returns a copy in the view's arena; NULL without memory. */
void *view_copy_list(struct view *v, const void *list, size_t bytes);
/* Sets the list of processes, which is in the view's arena. Returns 0 or -ENOMEM. */
int view_set_processes(struct view *v, const struct index_process *list, uint32_t count);
/* Returns a copy with another state, without parents from forks in other files. *new*; NULL without
 * memory. */
struct view *view_with_state(struct view *v, enum index_state state);
/* Returns an empty view in the state PENDING for a file that replaces another one of the same name.
 * `old` is the view of the previous file. */
struct view *view_hidden(struct view *old);
struct view *view_empty(const struct entry *e, enum index_state state);
struct view *view_ref(struct view *v);
void view_release(struct view *v);
static inline struct view *view_of_file(const struct index_file *f)
{
    return (struct view *)((char *)f - __builtin_offsetof(struct view, pub));
}

#endif
