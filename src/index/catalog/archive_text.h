/* archive_text.h - the text of an archive by position, and the part of it that is a member.
 *
 * May use:   view, checkpoints of the store. Used by: catalog (text_open.c), ingest (readers).
 * Threads:   a source and a struct archive_place belong to one thread.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_TEXT_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_TEXT_H

#include "index/catalog/view.h"

/* Opens a member as a source of bytes, like a file. `fd` is the archive, through whose checkpoints
 * its text is read. *new*; `fd` and `archive` are borrowed until the source is closed. */
int archive_source(struct index *ix, int fd, const struct view *archive,
                   const struct member_place *m, struct trace_source **ret);

/* Keeps the archive open between members that are read one after the other: the next one continues
 * from this position. Without it, a compressed archive is inflated from the checkpoint before each
 * member. Zero-initialise it. */
struct archive_place {
    struct view *archive;    /* a reference; NULL: none */
    struct trace_text *text; /* NULL while a source has it */
    int fd;
};
/* Like archive_source, but continues from *p. The file was compared with `archive` before.
 * archive_source_return returns the source to *p, which must live until then. */
int archive_source_from(struct index *ix, struct archive_place *p, int fd, struct view *archive,
                        const struct member_place *m, struct trace_source **ret);
void archive_source_return(struct archive_place *p, struct trace_source *source); /* NULL-safe */
void archive_place_done(struct archive_place *p);

#endif
