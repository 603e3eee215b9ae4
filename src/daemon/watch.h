/* watch.h - finds the trace files: scans all roots periodically, and checks in between what inotify
 * reports. The index compares each file with its catalog. */
#ifndef DFTRACERD_DAEMON_WATCH_H
#define DFTRACERD_DAEMON_WATCH_H

#include "dftracerd/index.h"
#include "daemon/roots.h"

struct watch;
int watch_new(struct index *ix, const struct roots *roots, struct watch **ret);
void watch_free(struct watch *w);
/* Scans all roots once: offers the files that exist, and forgets known files that are gone. Files
 * below an unreadable directory stay, and the index learns of the directory
 * (index_set_unreadable_dirs). The first complete scan ends with index_listed. `stop` is checked
 * between directories. Returns 0, -ENOMEM or ERR_CANCELLED. */
int watch_scan(struct watch *w, atomic_bool *stop);
/* Scans every `rescan_ms`, less often if a scan takes more than a twentieth of that, until
 * `stop`. */
void watch_run(struct watch *w, uint64_t rescan_ms, atomic_bool *stop);
/* Returns whether watch_run has completed a scan that began at `since_ns` (clock_mono_ns) or later:
 * earlier changes have been offered to the index. If not, it scans at once, and then calls the
 * function of watch_on_scan. If that would take seconds, changes are left to the next scan.
 * Any thread. */
bool watch_scanned_since(struct watch *w, int64_t since_ns);
/* Must be called before watch_run. */
void watch_on_scan(struct watch *w, void (*call)(void *arg), void *arg);
/* Wakes watch_run, which then checks `stop`. Any thread. */
void watch_wake(struct watch *w);

#endif
