/* notify.h - messages to a service manager, and descriptors from it: datagrams to $NOTIFY_SOCKET,
 * descriptors from 3 on.
 *
 * Implemented here rather than with libsystemd: it is a single sendto, works in every build, and
 * tests cover it. */
#ifndef DFTRACERD_DAEMON_NOTIFY_H
#define DFTRACERD_DAEMON_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

/* Sends lines like "READY=1\nSTATUS=..."; does nothing without $NOTIFY_SOCKET. Main thread. */
void notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Returns $WATCHDOG_USEC, the maximum time between two WATCHDOG=1; 0 without a watchdog. */
uint64_t notify_watchdog_us(void);
/* Returns the inherited listening sockets of $LISTEN_FDS for this process, at most `max`. Called
 * once: the variables are removed. */
size_t notify_inherited(int *ret, size_t max);

#endif
