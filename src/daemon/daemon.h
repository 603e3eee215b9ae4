/* daemon.h - the state of a running daemon. */
#ifndef DFTRACERD_DAEMON_DAEMON_H
#define DFTRACERD_DAEMON_DAEMON_H

#include "dftracerd/http.h"
#include "daemon/join.h"
#include "daemon/loop.h"
#include "daemon/options.h"
#include "daemon/access_rules.h"
#include "daemon/daemon_site.h"
#include "daemon/tls_files.h"

#define INHERITED_MAX 16 /* limit of listeners of http */
#define GRACE_MS 1000    /* time for clients to see that their answer was cut off */

struct daemon {
    struct options options;
    struct access_rules access_rules;
    struct tls_files tls;
    /* added by the main thread, later by the thread of --join */
    struct daemon_site first, *sites[HTTP_SITES_MAX];
    atomic_size_t site_count;
    pthread_mutex_t site_lock; /* held while the main thread uses them, so that none ends */
    struct index_share *share;
    struct join join;
    bool joined;          /* another daemon serves the directories: this one exits */
    pthread_mutex_t lock; /* guards `http` */
    struct http *http;    /* NULL before it has started, and while it stops */
    struct loop loop;
    int inherited[INHERITED_MAX];
    size_t inherited_count;
    int background; /* argument of background_ready, or negative */
    int argc;       /* argc, argv: to read the options again */
    char **argv;
};

/* serve.c: runs the daemon, from its arguments to its exit status. `ranks`: the other processes of
 * the job, if this is rank 0 of several; NULL: this process alone. Called once in a process. */
int daemon_main(int argc, char **argv, const struct daemon_ranks *ranks);
/* Limits stacks and arenas to what the machine and its limits allow. */
void daemon_use_little_memory(void);

/* A callback for index_on_change and watch_on_scan. A thread of an index may still run it after the
 * callback has been removed. */
void daemon_index_changed(void *daemon);
/* A callback for http_options.scanned_since. Any thread. */
bool daemon_scanned_since(void *site, int64_t since_ns);
/* Makes clients find the daemon. Returns 0, or -errno with the reason. */
int daemon_open_rendezvous(struct daemon_site *s, struct err *err);
void daemon_log_site(const struct daemon_site *s);

/* site_join.c: serves the directories of another daemon, too (join.serve). Directories that are
 * served already are only announced again. */
int daemon_on_join(void *daemon, struct join_request *request, struct err *err);
/* Closes an index that another daemon requires (join.end), unless it is the only one. */
int daemon_on_end(void *daemon, const char *index_path, struct err *err);

#endif
