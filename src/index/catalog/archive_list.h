/* archive_list.h - the members of an archive in the order of its text, and which of them become
 * files of the index.
 *
 * May use:   view. Used by: catalog, ingest (walks archives).
 * Threads:   a list belongs to one thread.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_LIST_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_LIST_H

#include "dftracerd/vec.h"
#include "index/catalog/view.h"

#define ARCHIVE_MEMBERS_MAX (1u << 20) /* including members that are not traces */
#define ARCHIVE_NAMES_MAX (64u << 20)  /* bytes of all names */

/* Members of an archive. Readers send them to the writer in several lists. */
struct archive_list {
    /* only the lengths of names: their bytes follow each other in `names` */
    VEC(struct index_member) list;
    struct buf names;
};
/* Returns whether the member is a regular file with the name of a trace. */
bool archive_member_is_trace(enum trace_tar_kind kind, struct text name);
int archive_list_add(struct archive_list *l, const struct trace_tar_member *m);
int archive_list_append(struct archive_list *to, const struct archive_list *from);
void archive_list_done(struct archive_list *l);
/* Decides which members are files, after the archive has been read. The view has the name of the
 * archive and receives the list. `l` NULL: the archive was not read to its end.
 * `text_bytes`: length of its text; `finished`: more cannot follow. Returns 0 or -ENOMEM. */
int archive_list_finish(struct view *v, const struct archive_list *l, uint64_t text_bytes,
                        bool finished);

#endif
