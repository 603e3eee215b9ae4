/* daemon.h - the whole of a running daemon. */
#ifndef DFTRACERD_DAEMON_DAEMON_H
#define DFTRACERD_DAEMON_DAEMON_H

#include "dftracerd/http.h"
#include "daemon/join.h"
#include "daemon/loop.h"
#include "daemon/options.h"
#include "daemon/peers.h"
#include "daemon/served.h"
#include "daemon/tls_files.h"

#define INHERITED_MAX 16 /* as http takes listeners */
#define GRACE_MS 1000    /* for clients to learn that their answer was cut */

struct daemon {
    struct options options;
    struct peers peers;
    struct tls_files tls;
    struct served first, *served[HTTP_SITES_MAX]; /* by the main thread, then by that of --join */
    atomic_size_t served_count;
    pthread_mutex_t served_lock; /* held while the main thread looks at them: none ends */
    struct index_share *share;
    struct join join;
    bool joined; /* another daemon serves the directories: this one ends */
    struct http *http;
    pthread_mutex_t lock;
    struct loop loop;
    int inherited[INHERITED_MAX];
    size_t inherited_count;
    int background; /* for background_ready, or negative */
    int argc;       /* for reading the options again */
    char **argv;
};

/* serve.c: the daemon, from its arguments to its exit status. `ranks`: of a job of several
 * processes, of which this one is rank 0; NULL: this process alone. Once in a process. */
int daemon_main(int argc, char **argv, const struct daemon_ranks *ranks);
/* Fewer and smaller stacks and arenas, as the machine or its limits ask for. */
void daemon_use_little_memory(void);

/* For index_on_change and watch_on_look, with the daemon. A thread of an index may still be here
 * when the callback has been taken away. */
void daemon_index_changed(void *daemon);
/* For http_options.looked, with what is served. Any thread. */
bool daemon_looked(void *served, int64_t since_ns);
/* From now on clients find it. -errno with the reason. */
int daemon_open_meeting(struct served *s, struct err *err);
void daemon_log_served(const struct served *s);

/* further.c: serves the directories of another daemon, too (join.serve). Those that are served
 * already are only announced again. */
int daemon_on_join(void *daemon, struct join_request *request, struct err *err);
/* Closes an index that another daemon is to have (join.end), if it is not the only one. */
int daemon_on_end(void *daemon, const char *index_path, struct err *err);

#endif
