/* http.h - the listener: from a socket to an endpoint and back.
 *
 * May use:   everything below; libmicrohttpd (src/http/server only), jansson, zlib, zstd (content
 *            encodings).
 * Used by:   daemon, mpi.
 * Threads:   libmicrohttpd's epoll threads parse, admit and suspend; request workers run the
 *            endpoints (open once, then next() whenever the response's ring has room: no thread
 *            waits for a slow client); a 50 ms tick polls the sockets of unfinished requests for
 *            POLLRDHUP.
 */
#ifndef DFTRACERD_HTTP_H
#define DFTRACERD_HTTP_H

#include "dftracerd/format.h"

#include <stdio.h>

struct http_limits {
    unsigned requests;                 /* queries at once, 0 = 2 x workers; more wait in a queue */
    unsigned queue;                    /* waiting ones, 0 = 256; more get 503 with Retry-After */
    int64_t query_time_ms;             /* 0 = 300,000 */
    size_t query_memory, total_memory; /* bytes, 0 = 1 GiB and 4 GiB */
    size_t answer_memory; /* of answers that are kept, 0 = 64 MiB; one may have an eighth */
    uint64_t spool_bytes; /* disk space of files in the making, 0 = 16 GiB */
    unsigned connections; /* 0 = 16,384 */
    /* What one client may have: a user, or an address where the user is not known. Admins have no
     * such limits. */
    /* queries that begin or wait, 0 = half of requests and queue; more get 429 */
    unsigned client_requests;
    size_t client_memory;        /* of its queries, 0 = half of total_memory */
    unsigned client_connections; /* 0 = half of connections; more are closed */
    int64_t arrival_ms;          /* a request must be there so long after it began, 0 = 60,000 */
    int64_t idle_ms; /* a connection without progress is closed, in whole seconds, 0 = 120,000 */
    int64_t link_ms; /* a path below /q is good for so long, 0 = 900,000 */
};
/* PEM texts. `cert` NULL: plain HTTP, else all TCP sockets speak TLS and nothing else. */
struct http_tls {
    const char *cert, *key;
    const char *client_ca; /* who shows a certificate of theirs needs no token; NULL = nobody can */
};
/* -EINVAL with the reason, -ENOMEM. */
int http_check_tls(const struct http_tls *pem, struct err *err);
/* The parameters of all endpoints, a line each: path, name, argument (- if it has none), help. */
void http_print_params(FILE *out);
/* Until when the first certificate of a PEM text is good, in seconds since 1970; -1 where it does
 * not say. */
int64_t http_tls_expires(const char *cert);

struct http_options {
    struct index *index;
    const char *const *root_labels, *const *root_paths; /* labels "" with one root */
    size_t root_count;
    const char *const *bind; /* addresses; NULL = 127.0.0.1 and ::1 (the latter if it is there) */
    size_t bind_count;
    int port; /* 0 = chosen by the kernel (the same for all addresses where possible) */
    const char *unix_path; /* NULL = none; made 0600, removed at stop */
    bool no_tcp;           /* only unix_path and inherited sockets */
    /* listening sockets of an activator, *taken*: TCP on loopback or
     * unix. With some, addresses are bound only where `bind` names them */
    const int *inherited;
    size_t inherited_count;
    bool no_auth; /* serve every loopback peer */
    struct http_tls tls;
    bool file_permissions; /* others than admins see what they could read themselves */
    bool insecure;         /* beyond loopback also without TLS, and, with no_auth, all peers */
    const char *token;     /* bearer token for others, NULL = none can use one */
    /* ... and for those who may change something: the own uid needs none */
    const char *admin_token;
    const uid_t *allow_users;
    size_t allow_user_count;
    const char *const *allow_hosts; /* names in Host besides loopback and what is bound */
    size_t allow_host_count;
    const char *const *allow_origins; /* of pages, besides our own, Perfetto's UI and VS Code's */
    size_t allow_origin_count;
    unsigned workers; /* request workers and query threads, 0 = CPUs */
    struct http_limits limits;
    const char *output_dir; /* absolute; what `output` names lies below it. NULL = it is refused */
    /* for wait=fresh: what had changed in the roots by then (clock_mono_ns) is
     * offered to the index. If not, it is to be soon, and http_index_changed to be
     * called. Any thread; NULL = nobody can tell */
    bool (*looked)(void *arg, int64_t since_ns);
    void *looked_arg;
    const char *version, *build;                                /* texts */
    void (*log)(void *arg, int syslog_level, const char *line); /* access lines; any thread */
    void *log_arg;
};
struct http;
int http_start(const struct http_options *options, struct err *err, struct http **ret);
/* Whether it may listen where the options say, which it does not do: 0; -EPERM beyond loopback
 * without what that needs, -EADDRNOTAVAIL a name that is not known. Of the options, tokens (that
 * there are some), bind, no_tcp, no_auth, insecure and tls count. */
int http_may_listen(const struct http_options *options, struct err *err);
/* A further index on a Unix socket of its own: a site. Its requests are answered as by a daemon
 * that has this index alone; threads, limits, access and the memory of the response cache are those
 * of the whole server. */
#define HTTP_SITES_MAX 32 /* with the first one, of http_options */
struct http_site {
    struct index *index;
    const char *const *root_labels, *const *root_paths;
    size_t root_count;
    const char *unix_path; /* made 0600, removed at stop */
    const char *output_dir;
    bool (*looked)(void *arg, int64_t since_ns); /* these as in http_options */
    void *looked_arg;
};
/* Everything in it is borrowed until http_end_site or http_stop. One thread at a time, not during
 * http_stop. -ENOSPC: there are HTTP_SITES_MAX; -EADDRINUSE and the like for the socket, with the
 * reason; -ENOMEM. */
int http_add_site(struct http *h, const struct http_site *site, struct err *err);
/* Ends the site of an index, also the first one, whose Unix socket goes then: what is being worked
 * for may take `drain_ms` more, as with http_stop. 0: the index is not used any more, and may be
 * closed. -EBUSY: it is used, and stays open. Its number is not free again. The same thread as
 * http_add_site. */
int http_end_site(struct http *h, const struct index *index, int drain_ms, int grace_ms);
/* Listening addresses as URLs: "http://127.0.0.1:8080/", borrowed. */
size_t http_urls(const struct http *h, const char *const **ret);
/* Index progress changed: wakes wait=ready requests. Any thread. */
void http_index_changed(struct http *h);
/* What may change while it runs; copied. Connections stay, and their peers are judged anew. -ENOMEM
 * changes nothing. */
struct http_settings {
    const char *token, *admin_token;
    const uid_t *allow_users;
    size_t allow_user_count;
    int64_t query_time_ms; /* 0 = 300,000; for queries that begin from now on */
    struct http_tls tls;   /* for connections from now on, if there was a `cert` at the start */
};
int http_reload(struct http *h, const struct http_settings *settings);
/* How long no request has been here: 0 while there is one. Any thread. */
int64_t http_idle_ns(struct http *h);
/* The longest time that one of its workers, or the tick, has worked without getting on. Any thread.
 */
int64_t http_silence_ns(const struct http *h);
/* Once nobody new is to come: serves, for at most `most_ms`, those who have connected and have not
 * been answered yet. Before http_stop, which would cut them off. */
void http_finish(struct http *h, int most_ms);
/* Stops accepting. For at most `drain_ms` requests that are being worked for go on, as long as one
 * of them does: not those that wait for the index, nor those whose clients stand still; what comes
 * now is refused. Then cancels and resumes everything, waits at most `grace_ms` for clients to be
 * told, frees. */
void http_stop(struct http *h, int drain_ms, int grace_ms);

/* ---- requests without a server --------------------------------------------------------------- */

/* Runs requests inside the process: parameters, answers and errors are those of the server, without
 * connections, access control and response cache. Of the options, index, roots, looked, output_dir,
 * workers and the limits of a query count; borrowed until http_runner_free. */
struct http_runner;
int http_runner_new(const struct http_options *options, struct err *err, struct http_runner **ret);
/* NULL-safe; no call is left. The index may be closed by then, and should be where it calls
 * http_runner_index_changed. */
void http_runner_free(struct http_runner *r);
/* The index progress changed: wakes calls that wait for it. Any thread. */
void http_runner_index_changed(struct http_runner *r);

/* One request. */
struct http_call_options {
    const char *target; /* as in a URL: "/aggregate?group_by=name&format=csv"; copied */
    /* Answer from this snapshot of the index; borrowed until http_call_free. NULL: the newest one,
     * as `wait` says. */
    struct snapshot *snapshot;
    size_t memory;       /* that it may use; 0 = query_memory of the runner */
    int64_t deadline_ns; /* clock_mono_ns; 0 = none */
    /* It is a request of rank 0, of which one scan is wanted; borrowed until http_call_free. NULL:
     * it is a request of its own. */
    struct query_far *far;
};
struct http_call;
/* Reads and checks the parameters. ERR_PARAM, ERR_NOT_FOUND (no such endpoint, or it needs a
 * server), ERR_FORMAT, -ENOMEM. */
int http_call_new(struct http_runner *r, const struct http_call_options *options, struct err *err,
                  struct http_call **ret);
/* Waits for the index (wait=ready, wait=fresh) unless indexing has stopped, and computes the answer
 * on this thread and those of the runner. `piece` gets the bytes in order, and may return a
 * negative error, which ends the call; NULL: they are dropped. A stream that follows the index ends
 * where it would wait. Once a call. 0, or an error; some of the answer may have been given by then.
 */
typedef int http_piece(void *arg, struct text bytes);
int http_call_run(struct http_call *c, http_piece *piece, void *arg, struct err *err);
/* Instead of it: only begins. What was begun stays until http_call_free. */
int http_call_open(struct http_call *c, struct err *err);
/* Ends a run with this error, soon. Any thread, until http_call_free. */
void http_call_cancel(struct http_call *c, int code);
void http_call_free(struct http_call *c); /* NULL-safe; http_call_run has returned */
/* Another rank than 0: the runner does the scans that rank 0 asks for, as long as messages come to
 * the index. 0, -ENOMEM. */
struct http_far;
int http_far_new(struct http_runner *r, struct index *ix, struct http_far **ret);
void http_far_free(struct http_far *f); /* NULL-safe; no message comes any more */
/* What the `detail` of a problem document says of an error: its message, for a query with a line
 * that points at the position. Appended. */
void http_problem_detail(const struct err *err, struct buf *out);

#endif
