/* takeover.h - takes over an index from a daemon that a client has started.
 * Main thread, before the loop. */
#ifndef DFTRACERD_DAEMON_TAKEOVER_H
#define DFTRACERD_DAEMON_TAKEOVER_H

#include <stdbool.h>

/* Ends the daemon that has locked the index if dftracerctl has started it, and waits until it has
 * exited; it finishes its requests. Returns false if another program has the index, or the daemon
 * does not exit. */
bool takeover(const char *index_path, int patience_ms);

#endif
