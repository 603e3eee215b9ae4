/* view.h - what answers see of a file at one moment.
 *
 * A view is immutable and refcounted; the state may differ between two views of one body, which
 * holds everything else. A body is filled by the one that makes it: a run of ingest, or the
 * catalog when it is loaded.
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
struct body_member {
    uint64_t offset, size;
    bool cut; /* the archive ends before it does */
};

#define DAMAGE_KEPT INDEX_DAMAGE_KEPT
struct body {
    atomic_uint refs;
    struct index *ix;      /* for find_checkpoint; set where id is */
    struct index_file pub; /* state is that of the view */
    struct terms *terms;   /* NULL: those of the index */
    struct identity identity;
    struct hash128 text_sum; /* of part.h */
    uint32_t summary_version, run_version;
    bool unit_fixed;           /* the trace said its unit */
    bool has_tail, tail_final; /* tail_final: ingest may go on behind the last chunk */
    uint64_t consumed;         /* bytes of the file read so far: progress */
    struct body_member member; /* where pub.archive is */
    const struct part_fact *forks;
    uint32_t fork_count;
    struct filter *filters; /* of each dimension of the terms; NULL: none has any */
    struct arena arena;
};
struct view {
    atomic_uint refs;
    uint64_t serial; /* which no other view of this process has */
    struct body *body;
    struct index_file pub; /* body->pub with the state of now */
    /* pub.processes where forks in other files told parents; NULL: those of the body */
    struct index_process *linked;
    bool hidden;              /* by view_hidden(): pub is empty */
    uint8_t state_before;     /* of a missing file */
    int64_t missing_since_ns; /* real time */
};

struct body *body_new(void);
void body_identify(struct body *b, const struct identity *file);
/* Memory for the filter of one of the terms' dimensions; NULL without memory. */
uint8_t *body_filter(struct body *b, unsigned dimension, size_t len);
/* A copy in the body's arena; NULL without memory. */
void *body_copy(struct body *b, const void *list, size_t bytes);
/* Borrows the list, which lives in the body's arena; 0, -ENOMEM. */
int body_processes(struct body *b, const struct index_process *list, uint32_t count);
void body_release(struct body *b);
/* *new*, takes the reference; NULL without memory */
struct view *view_of_body(struct body *b, enum index_state state);
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
