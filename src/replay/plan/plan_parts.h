/* plan_parts.h - the parts of planning: the table of descriptors, and what files have to be. */
#ifndef DFTRACERD_REPLAY_PLAN_PLAN_PARTS_H
#define DFTRACERD_REPLAY_PLAN_PLAN_PARTS_H

#include "replay/plan/plan.h"

/* ---- descriptors.c --------------------------------------------------------------------------- */

/* Where the handle of the event's descriptor is kept; NULL: no memory. Streams and descriptors of a
 * file are two. */
struct handle **descriptor_place(struct plan *p, const struct event *e, const struct call *c,
                                 uint32_t process, const struct path *path);
/* Where the handle that the event opens is kept: by the number that the trace has for it. */
struct handle **descriptor_opened(struct plan *p, const struct event *e, const struct call *c,
                                  uint32_t process, const struct path *path);
/* Puts it there (NULL: nothing), in place of the one that was there. */
void descriptor_set(struct plan *p, struct handle **place, struct handle *h);
/* The flags of open(2) that the call means. */
int descriptor_flags(const struct event *e, const struct call *c);

/* ---- plan_files.c ---------------------------------------------------------------------------- */

void file_exists_before(struct file *f, bool is_dir);
bool file_created(struct file *f); /* true: it is the first call on it */
void file_truncated(struct plan *p, struct file *f, uint64_t size);
/* Where its end is at this moment of the trace. */
uint64_t file_end(const struct file *f);
/* It has been read up to `end`, or written. False: it would not fit on the disk. */
bool file_read(struct plan *p, struct file *f, uint64_t end);
bool file_written(struct plan *p, struct file *f, uint64_t from, uint64_t end);
/* For calls on paths: 0 or -ENOMEM. */
int file_path_call(struct plan *p, const struct event *e, const struct call *c,
                   struct operation *op);

#endif
