/* plan_parts.h - parts of planning: the table of descriptors, and the required state of files. */
#ifndef DFTRACERD_REPLAY_PLAN_PLAN_PARTS_H
#define DFTRACERD_REPLAY_PLAN_PLAN_PARTS_H

#include "replay/plan/plan.h"

/* ---- descriptors.c --------------------------------------------------------------------------- */

/* Returns where the handle of the event's descriptor is stored; NULL without memory. A stream and a
 * descriptor of a file are different. */
struct handle **descriptor_slot(struct plan *p, const struct event *e, const struct call *c,
                                uint32_t process, const struct path *path);
/* Returns where the handle that the event opens is stored: by its number if it has one that is in
 * the trace, else by its file. */
struct handle **descriptor_opened_slot(struct plan *p, const struct event *e, const struct call *c,
                                       uint32_t process, const struct path *path);
/* Stores a handle (NULL: none), and releases the previous one. */
void descriptor_set(struct plan *p, struct handle **slot, struct handle *h);
/* Returns the flags of open(2) that the call implies. */
int descriptor_flags(const struct event *e, const struct call *c);

/* ---- plan_files.c ---------------------------------------------------------------------------- */

/* Record that the file existed before the trace, or that the trace created it, unless an earlier
 * call has decided this. file_note_created returns true for the first call on the file. */
void file_note_needed(struct file *f, bool is_dir);
bool file_note_created(struct file *f);
void file_truncated(struct plan *p, struct file *f, uint64_t size);
/* Returns the size of the file at this moment of the trace. */
uint64_t file_end(const struct file *f);
/* Record that it has been read or written up to `end`. Return false if it would not fit on the
 * disk. */
bool file_plan_read(struct plan *p, struct file *f, uint64_t end);
bool file_plan_write(struct plan *p, struct file *f, uint64_t from, uint64_t end);
/* Plans a call on paths. Returns 0 or -ENOMEM. */
int file_path_call(struct plan *p, const struct event *e, const struct call *c,
                   struct operation *op);

#endif
