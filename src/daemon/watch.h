/* watch.h - which trace files exist. A full read of the roots, again and again; in between what
 * inotify hints at. The index compares each file with what it knows. */
#ifndef DFTRACERD_DAEMON_WATCH_H
#define DFTRACERD_DAEMON_WATCH_H

#include "dftracerd/index.h"
#include "daemon/roots.h"

struct watch;
int watch_new(struct index *ix, const struct roots *roots, struct watch **ret);
void watch_free(struct watch *w);
/* Reads all roots once: offers what is there, forgets what was there before and is gone; what is
 * below a directory that cannot be read stays, and the index gets the directory (index_hold).
 * The first time that nothing was short it ends with index_listed. `stop` is checked between
 * directories. 0, -ENOMEM, ERR_CANCELLED. */
int watch_scan(struct watch *w, atomic_bool *stop);
/* Scans every `rescan_ms`, less often where a scan takes more than a twentieth of that, until
 * `stop`. */
void watch_run(struct watch *w, uint64_t rescan_ms, atomic_bool *stop);
/* Whether watch_run has scanned the roots, with a scan that began at `since_ns` (clock_mono_ns)
 * or later: what had changed by then is offered to the index. If not, it looks at once, and calls
 * what watch_on_look was given when it has. Where a look has to be a walk of seconds, changes are
 * left to the next walk. Any thread. */
bool watch_looked(struct watch *w, int64_t since_ns);
/* Before watch_run. */
void watch_on_look(struct watch *w, void (*call)(void *arg), void *arg);
/* So that watch_run looks at `stop`. Any thread. */
void watch_wake(struct watch *w);

#endif
