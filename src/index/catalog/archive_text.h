/* archive_text.h - the text of an archive by position, and a member's part of it.
 *
 * May use:   view, checkpoints of the store. Used by: catalog (text_open.c), ingest (readers).
 * Threads:   a source and a place belong to one thread.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_TEXT_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_TEXT_H

#include "index/catalog/view.h"

/* Where a member is in the text of its archive: its bytes like a file's. `fd` is of the archive,
 * which may be NULL (then its text is read from its start). *new*; what is given is borrowed until
 * it closes. */
int archive_source(struct index *ix, int fd, const struct view *archive,
                   const struct member_place *m, struct trace_source **ret);

/* Where somebody who reads one member after the other is in an archive: the next one goes on from
 * there. Without it a packed archive is inflated from the checkpoint before each of its members.
 * Zero-initialise. */
struct archive_place {
    struct view *of;         /* a reference; NULL: nowhere */
    struct trace_text *text; /* NULL while a source has it */
    int fd;
};
/* As archive_source, of an archive that the file was compared with; the source goes back to the
 * place, which must stay. */
int archive_source_from(struct index *ix, struct archive_place *p, int fd, struct view *archive,
                        const struct member_place *m, struct trace_source **ret);
void archive_source_back(struct archive_place *p, struct trace_source *source); /* may be NULL */
void archive_place_done(struct archive_place *p);

#endif
