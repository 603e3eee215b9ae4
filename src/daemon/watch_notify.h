/* watch_notify.h - hints of inotify: files and directories that may have changed. Changes that
 * inotify does not report (a full queue, no more watches, a network file system) are found by the
 * next walk.
 *
 * Threads: the watcher's only. */
#ifndef DFTRACERD_DAEMON_WATCH_NOTIFY_H
#define DFTRACERD_DAEMON_WATCH_NOTIFY_H

#include "dftracerd/base.h"

struct notify;
struct notify_hint {
    size_t root;
    unsigned depth; /* depth of its directory */
    const char *path, *name;
};
/* `wants` selects names of files. Returns -errno if inotify is not available. */
int notify_new(bool (*wants)(const char *name), struct notify **ret);
void notify_free(struct notify *n);
int notify_fd(const struct notify *n);
/* Watches a directory; repeated calls are harmless. Returns 0, or -ENOSPC (no more watches). */
int notify_add(struct notify *n, size_t root, const char *path, const char *name, unsigned depth);
/* Reads events from the kernel. Returns true if there are hints. */
bool notify_read(struct notify *n);
/* Returns the hints since notify_clear, each name once. Borrowed until notify_clear. */
size_t notify_hints(const struct notify *n, const struct notify_hint **ret);
/* Returns whether events were lost: everything must be walked. */
bool notify_lost(const struct notify *n);
void notify_clear(struct notify *n);

#endif
