/* loop.h - the main thread's libevent loop: signals, reload, and periodic work: status for the
 * service manager, idle exit. */
#ifndef DFTRACERD_DAEMON_LOOP_H
#define DFTRACERD_DAEMON_LOOP_H

#include "dftracerd/http.h"
#include "daemon/options.h"
#include "daemon/daemon_site.h"

struct event_base;
struct event;
struct loop {
    struct event_base *base;
    struct event *events[3];
    struct daemon_site *const *sites; /* the next members are set before loop_run */
    const atomic_size_t *site_count;  /* only grows */
    pthread_mutex_t *site_lock;
    struct http *http;
    const struct options *options;
    bool only_sockets;        /* the Unix sockets are the only listeners */
    int (*reload)(void *arg); /* SIGHUP */
    void *arg;
    char status[128];     /* the last status sent to the service manager */
    uint64_t bytes_done;  /* bytes_done of all indexes at the last check */
    bool untrimmed;       /* there was work since malloc_trim */
    bool idle;            /* the loop ended because there were no requests */
    uint64_t watchdog_us; /* watchdog timeout of the service manager; 0: none */
};
/* Must be called before anything is started: a signal that arrives meanwhile waits for the loop. */
int loop_init(struct loop *l);
/* Runs until SIGTERM or SIGINT arrives, the daemon is idle, or a socket that clients need is gone.
 * Returns 0, -ENOMEM or -EIO. */
int loop_run(struct loop *l);
/* Lets a second Ctrl-C end the process at once while it stops. */
void loop_done(struct loop *l);

#endif
