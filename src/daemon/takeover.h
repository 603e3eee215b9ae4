/* takeover.h - an index that a daemon of the client has, for a daemon that was started by hand.
 * Main thread, before the loop. */
#ifndef DFTRACERD_DAEMON_TAKEOVER_H
#define DFTRACERD_DAEMON_TAKEOVER_H

#include <stdbool.h>

/* Ends the daemon that has locked the index if dftracerctl has started it, and waits until it has
 * gone; it finishes the requests that it has. False where another program has the index, or does
 * not end. */
bool takeover(const char *index_path, int patience_ms);

#endif
