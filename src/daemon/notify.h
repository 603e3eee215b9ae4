/* notify.h - what a service manager gets and hands over: one datagram to $NOTIFY_SOCKET,
 * descriptors from 3 on.
 *
 * Spoken here and not through libsystemd: it is one sendmsg, so that every build can, and tests
 * cover the one way. */
#ifndef DFTRACERD_DAEMON_NOTIFY_H
#define DFTRACERD_DAEMON_NOTIFY_H

#include <stddef.h>
#include <stdint.h>

/* Lines like "READY=1\nSTATUS=..."; nothing happens without a $NOTIFY_SOCKET. Main thread. */
void notify_send(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* $WATCHDOG_USEC: the longest time between two WATCHDOG=1; 0 when nobody watches us. */
uint64_t notify_watchdog_us(void);
/* The inherited listening sockets of $LISTEN_FDS that are meant for us; at most `most`. Once: the
 * variables go. */
size_t notify_inherited(int *ret, size_t most);

#endif
