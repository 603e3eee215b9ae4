/* archive_members.h - archives of traces in the catalog: which of their members are files, and what
 * they are told as.
 *
 * An archive is an entry of its own: a run walks it (ingest/walk.c) and stores its list of members
 * and its checkpoints. Its members that are traces are entries, too: their runs read a part of its
 * text, through its checkpoints (archive_text.c). Where an archive is ready and whole, answers see
 * its members only.
 */
#ifndef DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H
#define DFTRACERD_INDEX_CATALOG_ARCHIVE_MEMBERS_H

#include "index/catalog/store.h"

#define ARCHIVE_MEMBERS_MOST (1u << 20) /* with those that are no traces */
#define ARCHIVE_NAMES_MOST (64u << 20)  /* bytes of all names */

/* A regular file that is named like a trace. */
bool archive_member_is_trace(enum trace_tar_kind kind, struct text name);
int archive_list_add(struct archive_list *l, const struct trace_tar_member *m);
int archive_list_append(struct archive_list *to, const struct archive_list *from);
void archive_list_done(struct archive_list *l);
/* Which members are files, once the archive has been walked: into the body, which has its name.
 * NULL: it has not been walked to its end. -ENOMEM. */
int archive_settle(struct body *b, const struct archive_list *l, uint64_t text_bytes,
                   bool finished);

/* ---- entries; under index.lock --------------------------------------------------------------- */

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

/* ---- archive_text.c -------------------------------------------------------------------------- */

/* Where a member is in the text of its archive: its bytes like a file's. `fd` is of the archive,
 * which may be NULL (then its text is read from its start). *new*; what is given is borrowed until
 * it closes. */
int archive_source(struct index *ix, int fd, const struct body *archive,
                   const struct body_member *m, struct trace_source **ret);

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
                        const struct body_member *m, struct trace_source **ret);
void archive_source_back(struct archive_place *p, struct trace_source *source); /* may be NULL */
void archive_place_done(struct archive_place *p);

#endif
