/* catalog_record.h - the values of tables `file` and `span`, and what is loaded when the index is
 * opened.
 *
 * Used by:   catalog (view_record.c), ingest (writes), index (loads).
 * Threads:   any; catalog_load before there are others.
 */
#ifndef DFTRACERD_INDEX_CATALOG_CATALOG_RECORD_H
#define DFTRACERD_INDEX_CATALOG_CATALOG_RECORD_H

#include "index/catalog/index.h"
#include "index/catalog/view.h"
#include "index/store/kv.h"
#include "index/store/record.h"

/* Rows of struct view, trace_damage, index_process, index_member. */
extern const struct record_field file_content_fields[], file_damage_fields[], file_process_fields[],
    file_member_fields[];

void file_encode(struct index *ix, const struct view *v, struct buf *out);
/* Decodes a record; chunks and names are loaded later. *new*; returns 0, ERR_CORRUPT or -ENOMEM. */
int file_decode(struct index *ix, uint32_t id, struct rec value, struct view **ret);
/* Appends the value of a chunk for table `span`. */
void chunk_encode(const struct index_chunk *chunk, struct buf *out);
int catalog_load(struct index *ix, struct kv_read *r, struct err *err);
struct kv_key path_key(const char *name);

#endif
