/* watch_hints.h - hints of inotify: files and directories that may have changed. Changes that
 * inotify does not report (a full queue, no more watches, a network file system) are found by the
 * next scan.
 *
 * Threads: the watcher's only. */
#ifndef DFTRACERD_DAEMON_WATCH_HINTS_H
#define DFTRACERD_DAEMON_WATCH_HINTS_H

#include "dftracerd/base.h"

struct hints;
struct hint {
    size_t root;
    unsigned depth; /* depth of its directory */
    const char *path, *name;
};
/* `wants` selects names of files. Returns -errno if inotify is not available. */
int hints_new(bool (*wants)(const char *name), struct hints **ret);
void hints_free(struct hints *n);
int hints_fd(const struct hints *n);
/* Watches a directory; repeated calls are harmless. Returns 0, -ENOSPC (no more watches), -ENOMEM,
 * or why the directory cannot be watched. */
int hints_watch(struct hints *n, size_t root, const char *path, const char *name, unsigned depth);
/* Reads events from the kernel. Returns true if there are hints. */
bool hints_read(struct hints *n);
/* Returns the hints since hints_clear, each name once. Borrowed until hints_clear. */
size_t hints_list(const struct hints *n, const struct hint **ret);
/* Returns whether events were lost: everything must be scanned. */
bool hints_lost(const struct hints *n);
void hints_clear(struct hints *n);

#endif
