/* background.h - a daemon that its caller waits for only until it answers. */
#ifndef DFTRACERD_DAEMON_BACKGROUND_H
#define DFTRACERD_DAEMON_BACKGROUND_H

#include "dftracerd/base.h"

/* Forks, before there is any thread: goes on in the child, which leads a session of its own and
 * inherits no descriptor but the standard ones. The parent ends: with 0 when background_ready was
 * called, else as the child ends. Returns what background_ready takes, or a negative errno. */
int background_begin(struct err *err);
/* From now on the caller's terminal and pipes are let go of; what is written to them is lost. */
void background_ready(int fd);

#endif
