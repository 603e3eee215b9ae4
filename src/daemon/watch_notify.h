/* watch_notify.h - inotify as a hint: which files and directories may have changed. Whatever is not
 * told here (a full queue, no more watches, a network file system) is found by the next walk.
 *
 * Threads: the watcher's only. */
#ifndef DFTRACERD_DAEMON_WATCH_NOTIFY_H
#define DFTRACERD_DAEMON_WATCH_NOTIFY_H

#include "dftracerd/base.h"

struct notify;
struct notify_hint {
    size_t root;
    unsigned depth; /* of the directory it is in */
    const char *path, *name;
};
/* `wants` says which names of files are of interest. -errno where there is no inotify. */
int notify_new(bool (*wants)(const char *name), struct notify **ret);
void notify_free(struct notify *n);
int notify_fd(const struct notify *n);
/* Tells of changes in this directory from now on; again and again for the same one is fine. 0,
 * -ENOSPC: no more watches. */
int notify_add(struct notify *n, size_t root, const char *path, const char *name, unsigned depth);
/* Reads what the kernel has to report. True when there is anything to do. */
bool notify_read(struct notify *n);
/* What was taken since notify_clear, each name once. Borrowed until then. */
size_t notify_hints(const struct notify *n, const struct notify_hint **ret);
/* Something changed that hints do not show: everything has to be walked. */
bool notify_lost(const struct notify *n);
void notify_clear(struct notify *n);

#endif
