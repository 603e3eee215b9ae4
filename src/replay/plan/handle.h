/* handle.h - a descriptor, stream or directory, from the call of the trace that opens it to its
 * last use.
 *
 * The planning thread creates it. Each operation that uses it has a reference; releasing the last
 * one closes it. All operations of a handle, and the last release, are in the process that
 * performs them, unless that has died.
 * Threads: threads that perform operations; members marked so belong to the planning thread.
 */
#ifndef DFTRACERD_REPLAY_PLAN_HANDLE_H
#define DFTRACERD_REPLAY_PLAN_HANDLE_H

#include "replay/shared/files.h"
#include "replay/shared/shared.h"

#include <dirent.h>
#include <stdio.h>

enum handle_state {
    HANDLE_WAITING, /* for the call that opens it */
    HANDLE_LAZY,    /* the first call opens it */
    HANDLE_OPENING,
    HANDLE_OPEN,
    HANDLE_FAILED
};

struct handle {
    struct shared *shared;
    struct path *path;
    FILE *stream;
    DIR *dir;
    int fd;
    atomic_uint references;
    atomic_int state; /* enum handle_state */
    bool is_stream, is_dir;
    /* The following members are used by the planning thread only. */
    bool append;
    uint32_t process;
    int64_t pos; /* position of the trace in the file */
};
/* *new*, with one reference, or NULL */
struct handle *handle_new(struct shared *s, struct path *path, enum handle_state state,
                          uint32_t process);
int handle_release(struct handle *h); /* returns 0, or -errno of close; NULL-safe */
/* Drops a reference like handle_release, in another process than that of the operations, which has
 * died: the kernel has closed what it had open. NULL-safe. */
void handle_forget(struct handle *h);
struct handle *handle_share(struct handle *h); /* adds a reference; returns h */
void handle_set(struct handle *h, enum handle_state state);
/* Waits for the call that opens it. Returns HANDLE_OPEN, HANDLE_FAILED, or HANDLE_OPENING: the
 * caller has to open it. */
enum handle_state handle_wait(struct handle *h);
/* Returns the descriptor of any kind of handle. */
int handle_fd(const struct handle *h);

#endif
