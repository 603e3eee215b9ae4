/* archive_list.h - the members of an archive as a walk meets them, and which of them are files.
 *
 * May use:   view. Used by: catalog, ingest (walks archives).
 * Threads:   a list belongs to one thread.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_LIST_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_LIST_H

#include "dftracerd/vec.h"
#include "index/catalog/view.h"

#define ARCHIVE_MEMBERS_MOST (1u << 20) /* with those that are no traces */
#define ARCHIVE_NAMES_MOST (64u << 20)  /* bytes of all names */

/* Members of an archive as they are met, in pieces on their way from reader to writer. */
struct archive_list {
    /* lengths of names only: those are in `names`, one behind the other */
    VEC(struct index_member) list;
    struct buf names;
};
/* A regular file that is named like a trace. */
bool archive_member_is_trace(enum trace_tar_kind kind, struct text name);
int archive_list_add(struct archive_list *l, const struct trace_tar_member *m);
int archive_list_append(struct archive_list *to, const struct archive_list *from);
void archive_list_done(struct archive_list *l);
/* Which members are files, once the archive has been walked: into the view, which has its name.
 * NULL: it has not been walked to its end. -ENOMEM. */
int archive_settle(struct view *v, const struct archive_list *l, uint64_t text_bytes,
                   bool finished);

#endif
