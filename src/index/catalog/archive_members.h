/* archive_members.h - catalog entries of the members of archives.
 *
 * An archive is an entry of its own: a run walks it (ingest/walk.c) and stores its list of members
 * and its checkpoints. Its members that are traces are entries, too: their runs read a part of its
 * text, through its checkpoints (archive_text.h). If an archive is ready and complete, answers see
 * its members instead of the archive.
 *
 * Used by:   catalog, ingest, index. Threads: under index.lock.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H

#include "index/catalog/catalog.h"

/* Creates entries for the members in the archive's view, all of which have been requested, and
 * queues those that are new or have changed. If memory is short, sets archive->offer_again: upkeep
 * repeats it. */
void archive_offer_members(struct index *ix, struct entry *archive);
/* Marks all members of the archive as missing. Returns 0 or -ENOMEM. */
int archive_forget_members(struct index *ix, struct entry *archive);
/* Returns whether enough of the archive is known to read its members. */
bool archive_is_readable(const struct entry *archive);
/* Makes the entry a member of this archive; NULL: of none. */
void archive_attach(struct entry *e, struct entry *archive);
/* Connects members with their archives after loading. Returns 0 or -ENOMEM. */
int archive_link(struct index *ix);

#endif
