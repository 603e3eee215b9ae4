/* loop.h - the main thread's libevent loop: signals, reload, and once in a while the service
 * manager and idleness. */
#ifndef DFTRACERD_DAEMON_LOOP_H
#define DFTRACERD_DAEMON_LOOP_H

#include "dftracerd/http.h"
#include "daemon/options.h"
#include "daemon/served.h"

struct event_base;
struct event;
struct loop {
    struct event_base *base;
    struct event *events[3];
    struct served *const *served;      /* what follows is set before loop_run */
    const atomic_size_t *served_count; /* grows only */
    pthread_mutex_t *served_lock;
    struct http *http;
    const struct options *options;
    bool only_sockets;        /* nobody reaches us but by the Unix sockets */
    int (*reload)(void *arg); /* SIGHUP */
    void *arg;
    char status[128];     /* last sent to the service manager */
    uint64_t bytes_done;  /* of all indexes, when last seen */
    bool untrimmed;       /* there was work since freed memory was given back */
    bool idle;            /* no request for long: why it ended */
    uint64_t watchdog_us; /* a service manager waits so long for a sign of life; 0 = it does not */
};
/* Before anything is started: a signal that comes meanwhile waits for the loop. */
int loop_init(struct loop *l);
/* Until a signal or idleness ends it. */
int loop_run(struct loop *l);
/* From then on a second Ctrl-C, while we stop, ends the process at once. */
void loop_done(struct loop *l);

#endif
