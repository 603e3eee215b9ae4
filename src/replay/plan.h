/* plan.h - from an event to an operation: which descriptor, which file, how many bytes, from where.
 *
 * Events come in order of time. A descriptor is that of the process and the number that the trace has (`fd`), else that of the
 * process and the file. A call on a descriptor refers to the handle that the call before it will have opened, whichever
 * thread performs it: so calls of several threads on one descriptor are right in any order of the threads.
 * Threads: one plans. A handle is shared by the threads that perform operations on it; `references` is atomic.
 */
#ifndef DFT_REPLAY_PLAN_H
#define DFT_REPLAY_PLAN_H

#include "files.h"
#include "input.h"
#include "vocabulary.h"

#include <dirent.h>
#include <stdio.h>

enum handle_state { HANDLE_WAITING /* for the call that opens it */, HANDLE_LAZY /* the first call opens it */,
                    HANDLE_OPENING, HANDLE_OPEN, HANDLE_FAILED };

struct handle {
    atomic_uint references;
    atomic_int state;            /* enum handle_state */
    int fd;
    FILE *stream;
    DIR *dir;
    struct path *path;
    bool is_stream, is_dir, append;
    int64_t pos;                 /* of the planning thread */
};

struct lane;
struct operation {
    struct operation *next;
    const struct call *call;
    struct lane *lane;
    struct path *path, *path2;
    struct handle *handle;       /* one reference */
    int64_t ts_ns, dur_ns, ret, count, size, offset, fd, flags, length, whence;
    unsigned has;                /* enum event_has */
    uint64_t bytes;              /* to read or write */
    bool sleeps, is_stdio;
    uint32_t name;               /* of the report */
    char mode[8];
};

struct plan {
    struct files *files;
    struct intern *keys;         /* of descriptors */
    struct handle **handles;
    size_t handles_cap;
    bool dry;                    /* nothing will be performed: handles are not waited for */
};
int plan_init(struct plan *p, struct files *f);
void plan_done(struct plan *p);
/* Forgets all descriptors, for the second time. */
void plan_again(struct plan *p);
/* Fills what the event's call needs: 0, or -ENOMEM. *ret_reason: why it cannot be replayed, else NULL. `process`: a number. */
int plan_event(struct plan *p, const struct event *e, const struct call *c, uint32_t process, struct operation *op,
               const char **ret_reason);
void handle_release(struct handle *h);

#endif
