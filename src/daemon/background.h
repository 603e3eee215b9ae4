/* background.h - a daemon in the background: its caller waits only until it can answer requests. */
#ifndef DFTRACERD_DAEMON_BACKGROUND_H
#define DFTRACERD_DAEMON_BACKGROUND_H

#include "dftracerd/base.h"

/* Forks, before any thread exists. Returns in the child, which leads a session of its own and
 * inherits only the standard descriptors. The parent exits with 0 when background_ready is called,
 * else as the child exits. Returns the argument for background_ready, or a negative errno. */
int background_begin(struct err *err);
/* Releases the caller's terminal and pipes; later output to them is lost. */
void background_ready(int fd);

#endif
