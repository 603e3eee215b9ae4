/* http.h - the HTTP server: from a socket to an endpoint and back.
 *
 * May use:   all modules below; libmicrohttpd (src/http/server only), jansson, zlib, zstd (content
 *            encodings).
 * Used by:   daemon, mpi.
 * Threads:   libmicrohttpd's epoll threads parse, admit and suspend; request workers run the
 *            endpoints (open() once, then next() whenever the response needs more bytes: no thread
 *            waits for a slow client); a 50 ms tick polls the sockets of unfinished requests for
 *            POLLRDHUP.
 */
#ifndef DFTRACERD_HTTP_H
#define DFTRACERD_HTTP_H

#include "dftracerd/format.h"

#include <stdio.h>

struct http_limits {
    unsigned requests;     /* requests at once, 0 = 2 x workers; more wait in a queue */
    unsigned queue;        /* requests that wait, 0 = 256; more get 503 with Retry-After */
    int64_t query_time_ms; /* 0 = 300,000 */
    size_t query_memory, total_memory; /* bytes, 0 = 1 GiB and 4 GiB */
    size_t answer_memory; /* response cache, 0 = 64 MiB; one answer may take an eighth */
    uint64_t spool_bytes; /* disk space of temporary files, 0 = 16 GiB */
    unsigned connections; /* 0 = 16,384 */
    /* Limits of one client: a user, or an address if the user is unknown. Admins have no such
     * limits. */
    /* requests running or waiting, 0 = half of requests and queue; more get 429 */
    unsigned client_requests;
    size_t client_memory;        /* of its requests, 0 = half of total_memory */
    unsigned client_connections; /* 0 = half of connections; more are closed */
    int64_t arrival_ms;          /* time for a request to arrive completely, 0 = 60,000 */
    int64_t idle_ms; /* a connection without progress is closed, in whole seconds, 0 = 120,000 */
    int64_t link_ms; /* lifetime of a stored query, 0 = 900,000 */
};
/* PEM texts. `cert` NULL: plain HTTP; otherwise all TCP sockets use TLS only. */
struct http_tls {
    const char *cert, *key;
    const char *client_ca; /* certificates it has issued replace the token; NULL = none do */
};
/* Returns 0, -EINVAL with the reason, or -ENOMEM. */
int http_check_tls(const struct http_tls *pem, struct err *err);
/* Prints the parameters of all endpoints, one on each line: path, name, argument (- if it has
 * none), help. */
void http_print_params(FILE *out);
/* Returns the expiry of the first certificate of a PEM text, in seconds since 1970; -1 if it has
 * none. */
int64_t http_tls_expires(const char *cert);

struct http_options {
    struct index *index;
    const char *const *root_labels, *const *root_paths; /* with one root, its label is "" */
    size_t root_count;
    const char *const *bind; /* addresses; NULL = 127.0.0.1, and ::1 if it exists */
    size_t bind_count;
    int port;              /* 0 = chosen by the kernel (the same for all addresses if possible) */
    const char *unix_path; /* NULL = none; made 0600, removed at stop */
    bool no_tcp;           /* only unix_path and inherited sockets */
    /* Listening sockets of an activator, *stolen*: TCP on loopback, or Unix. If there are some,
     * addresses are bound only if `bind` names them. */
    const int *inherited;
    size_t inherited_count;
    bool no_auth; /* no tokens: serve every loopback peer */
    struct http_tls tls;
    bool file_permissions; /* others than admins see only what they could read themselves */
    bool insecure;         /* beyond loopback also without TLS, and, with no_auth, all peers */
    const char *token;     /* bearer token for other users; NULL = none */
    /* ... and for those that may change something; the daemon's own uid needs none */
    const char *admin_token;
    const uid_t *allow_users;
    size_t allow_user_count;
    const char *const *allow_hosts; /* names in Host, besides loopback and the bound addresses */
    size_t allow_host_count;
    const char *const *allow_origins; /* besides those of the daemon, Perfetto and VS Code */
    size_t allow_origin_count;
    unsigned workers; /* request workers and query threads, 0 = CPUs */
    struct http_limits limits;
    const char *output_dir; /* absolute path for what `output` names. NULL = `output` is refused */
    /* For wait=fresh: returns true if all changes of the roots before since_ns (clock_mono_ns) have
     * been offered to the index. Otherwise they are offered soon, and http_index_changed is called.
     * Any thread. NULL = not supported. */
    bool (*scanned_since)(void *arg, int64_t since_ns);
    void *scanned_since_arg;
    const char *version, *build;                                /* texts */
    void (*log)(void *arg, int syslog_level, const char *line); /* access lines; any thread */
    void *log_arg;
};
struct http;
int http_start(const struct http_options *options, struct err *err, struct http **ret);
/* Checks whether the server may listen as the options say, without listening: returns 0, -EPERM if
 * a condition for listening beyond loopback is missing, or -EADDRNOTAVAIL for an unknown name. It
 * uses tokens (whether there are some), bind, no_tcp, no_auth, insecure and tls. */
int http_check_listeners(const struct http_options *options, struct err *err);
/* A further index on a Unix socket of its own: a site. Its requests are answered as by a daemon
 * that has this index alone; threads, limits, access and the memory of the response cache are those
 * of the whole server. */
#define HTTP_SITES_MAX 32 /* including the first one, of http_options */
struct http_site {
    struct index *index;
    const char *const *root_labels, *const *root_paths;
    size_t root_count;
    const char *unix_path; /* made 0600, removed at stop */
    const char *output_dir;
    bool (*scanned_since)(void *arg, int64_t since_ns); /* these as in http_options */
    void *scanned_since_arg;
};
/* Everything in it is borrowed until http_end_site or http_stop. Call it from one thread at a time,
 * not during http_stop. Returns 0; -ENOSPC if there are HTTP_SITES_MAX; -EADDRINUSE or another
 * error of the socket, with the reason; -ENOMEM. */
int http_add_site(struct http *h, const struct http_site *site, struct err *err);
/* Ends the site of an index. The first site can be ended, too, which removes its Unix socket.
 * Running requests have `drain_ms`, as with http_stop. Returns 0 if the index is not used any more
 * and may be closed, or -EBUSY if it is used and stays open: the call may be repeated. The site's
 * number is not reused. Call it from the same thread as http_add_site. */
int http_end_site(struct http *h, const struct index *index, int drain_ms, int grace_ms);
/* Returns the listening addresses as URLs, such as "http://127.0.0.1:8080/", borrowed. */
size_t http_urls(const struct http *h, const char *const **ret);
/* Call it when the index progress changed: wakes wait=ready requests. Any thread. */
void http_index_changed(struct http *h);
/* Settings that may change while the server runs; copied. Connections stay open, and their peers
 * are checked again. If it returns -ENOMEM, nothing has changed. */
struct http_settings {
    const char *token, *admin_token;
    const uid_t *allow_users;
    size_t allow_user_count;
    int64_t query_time_ms; /* 0 = 300,000; for requests that begin afterwards */
    struct http_tls tls;   /* for new connections, if there was a `cert` at the start */
};
int http_reload(struct http *h, const struct http_settings *settings);
/* Returns for how long there has been no request: 0 while there is one. Any thread. */
int64_t http_idle_ns(struct http *h);
/* Returns the longest time for which one of its workers, or the timer, has made no progress. Any
 * thread. */
int64_t http_silence_ns(const struct http *h);
/* Call it once no new clients are expected, before http_stop, which would cut them off: serves, for
 * at most `max_ms`, clients that have connected and have not been answered yet. */
void http_finish(struct http *h, int max_ms);
/* Stops accepting, and refuses new requests. Running requests continue for at most `drain_ms`;
 * requests that wait for the index, and those whose clients read nothing, are not waited for. Then
 * it cancels and resumes everything, waits at most `grace_ms` for clients to read the end, and
 * frees. */
void http_stop(struct http *h, int drain_ms, int grace_ms);

/* ---- requests without a server --------------------------------------------------------------- */

/* Runs requests inside the process: parameters, answers and errors are those of the server,
 * without connections, access control and response cache. Of the options it uses index, roots,
 * scanned_since, output_dir, workers and the limits of a request; borrowed until
 * http_runner_free. */
struct http_runner;
int http_runner_new(const struct http_options *options, struct err *err, struct http_runner **ret);
/* NULL-safe; all calls must have been freed. If the index calls http_runner_index_changed, close it
 * first. */
void http_runner_free(struct http_runner *r);
/* Call it when the index progress changed: wakes calls that wait for it. Any thread. */
void http_runner_index_changed(struct http_runner *r);

/* A request. */
struct http_call_options {
    const char *target; /* as in a URL, such as "/aggregate?group_by=name&format=csv"; copied */
    /* Snapshot of the index to answer from; borrowed until http_call_free. NULL: the newest one,
     * subject to `wait`. */
    struct snapshot *snapshot;
    size_t memory;       /* limit of memory; 0 = query_memory of the runner */
    int64_t deadline_ns; /* clock_mono_ns; 0 = none */
    /* If rank 0 sent the request, and needs one of its scans; borrowed until http_call_free. NULL:
     * a request of its own. */
    struct query_remote *remote;
};
struct http_call;
/* Reads and checks the parameters. Returns 0, ERR_PARAM, ERR_NOT_FOUND (no such endpoint, or it
 * needs a server), ERR_FORMAT or -ENOMEM. */
int http_call_new(struct http_runner *r, const struct http_call_options *options, struct err *err,
                  struct http_call **ret);
/* Waits for the index (wait=ready, wait=fresh), or fails if indexing has stopped; then computes the
 * answer on this thread and those of the runner. `piece` gets the bytes in order, and may return a
 * negative error, which ends the call; NULL: they are dropped. A stream that follows the index ends
 * where it would wait. Call it once for each call. Returns 0 or an error; `piece` may have got a
 * part of the answer by then. */
typedef int http_piece(void *arg, struct text bytes);
int http_call_run(struct http_call *c, http_piece *piece, void *arg, struct err *err);
/* Replaces http_call_run: only opens the request, which stays open until http_call_free. */
int http_call_open(struct http_call *c, struct err *err);
/* Ends a run with this error, soon. Any thread, until http_call_free. */
void http_call_cancel(struct http_call *c, int code);
void http_call_free(struct http_call *c); /* NULL-safe; http_call_run must have returned */
/* For ranks other than 0: the runner does the scans that rank 0 requests, as long as the index
 * receives messages. Returns 0 or -ENOMEM. */
struct http_remote;
int http_remote_new(struct http_runner *r, struct index *ix, struct http_remote **ret);
void http_remote_free(
    struct http_remote *f); /* NULL-safe; the index must receive no more messages */
/* Appends the `detail` that a problem document has for an error: its message, and for a query a
 * line that points at the position. */
void http_problem_detail(const struct err *err, struct buf *out);

#endif
