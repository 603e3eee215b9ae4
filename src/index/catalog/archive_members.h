/* archive_members.h - archives of traces in the catalog: their members as entries.
 *
 * An archive is an entry of its own: a run walks it (ingest/walk.c) and stores its list of members
 * and its checkpoints. Its members that are traces are entries, too: their runs read a part of its
 * text, through its checkpoints (archive_text.h). Where an archive is ready and whole, answers see
 * its members only.
 *
 * Used by:   catalog, ingest, index. Threads: under index.lock.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H

#include "index/catalog/catalog.h"

/* The entry's view tells members, all of them wanted: their entries are made, and queued where they
 * are news. */
void archive_offer_members(struct index *ix, struct entry *archive);
/* None of them is there any more. */
void archive_forget_members(struct index *ix, struct entry *archive);
/* A member's archive is known well enough to read from. */
bool archive_is_readable(const struct entry *archive);
/* The entry is of this archive from now on; NULL: of none. */
void archive_attach(struct entry *e, struct entry *archive);
/* After loading: members find their archives. -ENOMEM. */
int archive_link(struct index *ix);

#endif
