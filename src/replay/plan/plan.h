/* plan.h - converts an event to an operation: descriptor, file, number of bytes, offset.
 *
 * Events come in order of time. A descriptor is identified by process and number (`fd`) if the
 * trace has it, otherwise by process and file. A call on a descriptor refers to the handle
 * that the call before it will have opened, whichever thread performs it: so calls of several
 * threads on one descriptor are right in any order of the threads.
 * Threads: one plans; others perform the operations.
 */
#ifndef DFTRACERD_REPLAY_PLAN_PLAN_H
#define DFTRACERD_REPLAY_PLAN_PLAN_H

#include "dftracerd/vec.h"
#include "replay/shared/files.h"
#include "replay/plan/handle.h"
#include "replay/input/input.h"
#include "replay/input/vocabulary.h"

struct lane;
/* A file that the operation touches, and how many calls have to end before it; see order.h. */
struct touched {
    struct file *file;
    enum touch touch;
    uint32_t after[TOUCHES];
};
enum { TOUCHED_MAX = 8 };

struct operation {
    struct operation *next;
    const struct call *call; /* NULL: only its duration passes */
    struct lane *lane;
    struct path *path, *path2;
    struct handle *handle; /* one reference */
    struct moved *moved;   /* files that the rename of a directory moves */
    struct text name;      /* name of the event, in shared memory */
    int64_t ts_ns, dur_ns, ret, count, size, offset, fd, flags, length, whence;
    unsigned has;     /* enum event_has */
    uint32_t name_id; /* number of the name in the report */
    uint64_t bytes;   /* bytes to read or write */
    struct touched touched[TOUCHED_MAX];
    bool sleeps, is_stdio, creates; /* creates: the trace shows that it creates the file */
    uint8_t touched_count;
    char mode[8];
};
/* Drops an operation that will not be performed: a thread that waits for the handle that it opens
 * gets an error. */
void operation_drop(struct operation *op);

struct plan {
    struct files *files;
    struct shared *shared;
    struct intern *keys;          /* keys of descriptors */
    VEC(struct handle *) handles; /* handles by key */
    /* Drops the reference of the plan. Called by the thread that plans; has to take effect in the
     * process that performs the operations of the handle, after them. */
    void (*release)(void *arg, struct handle *h);
    void *release_arg;
};
int plan_init(struct plan *p, struct files *f, struct shared *s);
void plan_done(struct plan *p);
/* Forgets all descriptors, before the second reading and at the end. */
void plan_reset(struct plan *p);
/* Fills in what the call needs. Returns 0 or -ENOMEM. *ret_reason: why it cannot be replayed, else
 * NULL. `process`: a number. */
int plan_event(struct plan *p, const struct event *e, const struct call *c, uint32_t process,
               struct operation *op, const char **ret_reason);

#endif
