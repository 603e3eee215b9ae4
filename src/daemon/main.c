/* main.c - puts the rooms together: options, index, watcher thread, http; then libevent until a signal says stop. */
#include "config.h"

#include "dftracerd/http.h"
#include "log.h"
#include "options.h"
#include "roots.h"
#include "watch.h"

#include <event2/event.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define GRACE_MS 1000 /* for clients to be told that their answer was cut */

struct daemon {
    struct options options;
    struct roots roots;
    char *index_path, *token, *dimensions;
    struct index *index;
    struct http *http;
    struct watch *watch;
    pthread_t watcher;
    bool watching;
    atomic_bool stop;
    pthread_mutex_t lock;
    struct event_base *base;
    struct event *signals[3];
};

/* ---- the watcher's thread: a walk over a slow file system must not hold up signals ---- */

static void *watch_loop(void *arg)
{
    struct daemon *d = arg;
    watch_run(d->watch, d->options.rescan_ms, &d->stop);
    return NULL;
}

static void stop_watcher(struct daemon *d)
{
    atomic_store(&d->stop, true);
    if (!d->watching)
        return;
    watch_wake(d->watch);
    pthread_join(d->watcher, NULL);
}

/* ---- signals ---- */

static void on_stop_signal(evutil_socket_t signal, short what, void *arg)
{
    struct daemon *d = arg;
    (void)what;
    log_line(LOG_LEVEL_INFO, "stopping signal=%d", (int)signal);
    event_base_loopbreak(d->base);
}

static void on_hup(evutil_socket_t signal, short what, void *arg)
{
    (void)signal, (void)what, (void)arg;
    log_line(LOG_LEVEL_INFO, "reload nothing_to_reload=true");
}

/* Before anything is started: a signal that comes meanwhile waits for the loop. */
static int catch_signals(struct daemon *d)
{
    d->base = event_base_new();
    if (!d->base)
        return -ENOMEM;
    d->signals[0] = evsignal_new(d->base, SIGTERM, on_stop_signal, d);
    d->signals[1] = evsignal_new(d->base, SIGINT, on_stop_signal, d);
    d->signals[2] = evsignal_new(d->base, SIGHUP, on_hup, d);
    for (size_t i = 0; i < 3; i++)
        if (!d->signals[i] || event_add(d->signals[i], NULL) < 0)
            return -ENOMEM;
    return 0;
}

/* A second Ctrl-C, while we stop, ends the process at once. */
static void release_signals(struct daemon *d)
{
    for (size_t i = 0; i < 3; i++)
        if (d->signals[i])
            event_free(d->signals[i]);
    if (d->base)
        event_base_free(d->base);
}

/* ---- start ---- */

/* From threads of the index, one of which may still be here when the callback has been taken away. */
static void on_index_change(void *arg)
{
    struct daemon *d = arg;
    pthread_mutex_lock(&d->lock);
    if (d->http)
        http_index_changed(d->http);
    pthread_mutex_unlock(&d->lock);
}

/* One descriptor a connection: take what we are allowed to. */
static void raise_descriptor_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
}

static int read_token(struct daemon *d, struct err *err)
{
    const char *path = d->options.token_file;
    char line[1024];
    struct stat st;
    FILE *f = path ? fopen(path, "re") : NULL;
    if (!path)
        return 0;
    if (!f)
        return err_set_param(err, -errno, "token-file", "%s: %s", path, strerror(errno));
    bool ok = fstat(fileno(f), &st) == 0 && (st.st_mode & 077) == 0;
    char *got = fgets(line, sizeof line, f);
    fclose(f);
    if (!ok)
        return err_set_param(err, -EPERM, "token-file", "%s can be read by others: chmod 600",
                             path);
    line[got ? strcspn(line, "\r\n") : 0] = '\0';
    if (!line[0])
        return err_set_param(err, -EINVAL, "token-file", "%s holds no token", path);
    d->token = strdup(line);
    return d->token ? 0 : -ENOMEM;
}

static const char **split_dimensions(char *list)
{
    static const char *names[OPTIONS_LIST_MAX + 1];
    size_t n = 0;
    for (char *save, *item = strtok_r(list, ",", &save); item && n < OPTIONS_LIST_MAX;
         item = strtok_r(NULL, ",", &save))
        names[n++] = item;
    return names;
}

static int start_index(struct daemon *d, struct err *err)
{
    struct index_options o = {.path = d->index_path,
                              .checkpoint_size = d->options.checkpoint_size,
                              .workers = (unsigned)d->options.executor_threads};
    if (d->options.dimensions && !(d->dimensions = strdup(d->options.dimensions)))
        return -ENOMEM;
    if (d->dimensions)
        o.dimensions = split_dimensions(d->dimensions);
    int rc = index_open(&o, err, &d->index);
    if (rc == 0)
        rc = watch_new(d->index, &d->roots, &d->watch);
    return rc;
}

static int start_http(struct daemon *d, struct err *err)
{
    const struct options *o = &d->options;
    struct http_options h = {
        .index = d->index,
        .root_labels = (const char *const *)d->roots.labels,
        .root_paths = (const char *const *)d->roots.paths,
        .root_count = d->roots.count,
        .bind = o->bind.items,
        .bind_count = o->bind.count,
        .port = (int)o->port,
        .unix_path = o->unix_path,
        .no_auth = o->no_auth,
        .token = d->token,
        .workers = (unsigned)o->executor_threads,
        .limits = {.query_time_ms = (int64_t)o->query_timeout_ms},
        .version = DFT_VERSION,
        .build = DFT_BUILD_SUMMARY,
        .log = log_http,
    };
    struct http *started;
    int rc = http_start(&h, err, &started);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&d->lock);
    d->http = started;
    pthread_mutex_unlock(&d->lock);
    index_on_change(d->index, on_index_change, d);
    return 0;
}

static int start_watcher(struct daemon *d)
{
    int rc = pthread_create(&d->watcher, NULL, watch_loop, d);
    d->watching = rc == 0;
    return -rc;
}

static void announce(const struct daemon *d)
{
    const char *const *urls;
    size_t n = http_urls(d->http, &urls);
    for (size_t i = 0; i < n; i++)
        if (urls[i])
            printf("dftracerd listening on %s\n", urls[i]);
    fflush(stdout);
    if (d->options.unix_path)
        log_line(LOG_LEVEL_INFO, "listening unix=%s", d->options.unix_path);
    for (size_t i = 0; i < d->roots.count; i++)
        log_line(LOG_LEVEL_INFO, "root path=%s label=%s", d->roots.paths[i], d->roots.labels[i]);
    log_line(LOG_LEVEL_INFO, "index path=%s", d->index_path);
}

static int start(struct daemon *d, struct err *err)
{
    int rc = roots_open(&d->roots, &d->options, err);
    if (rc == 0)
        rc = read_token(d, err);
    if (rc == 0)
        rc = place_choose(&d->roots, d->options.index_dir, &d->index_path, err);
    if (rc < 0 || d->options.check_only)
        return rc;
    raise_descriptor_limit();
    rc = catch_signals(d);
    if (rc == 0)
        rc = start_index(d, err);
    if (rc == 0)
        rc = start_http(d, err);
    if (rc == 0)
        rc = start_watcher(d);
    return rc;
}

/* ---- loop and stop ---- */

static int loop(struct daemon *d)
{
    announce(d);
    return event_base_dispatch(d->base) < 0 ? -EIO : 0;
}

static void stop(struct daemon *d)
{
    release_signals(d);
    stop_watcher(d);
    if (d->index)
        index_on_change(d->index, NULL, NULL);
    pthread_mutex_lock(&d->lock);
    struct http *http = d->http;
    d->http = NULL;
    pthread_mutex_unlock(&d->lock);
    http_stop(http, GRACE_MS);
    watch_free(d->watch);
    if (d->index)
        index_close(d->index);
    roots_done(&d->roots);
    free(d->index_path);
    free(d->token);
    free(d->dimensions);
}

int main(int argc, char **argv)
{
    static struct daemon d;
    struct err err = {0};
    pthread_mutex_init(&d.lock, NULL);
    int rc = options_parse(&d.options, argc, argv, &err);
    if (rc < 0) {
        fprintf(stderr, "dftracerd: %s\nTry --help.\n", err.text);
        return 2;
    }
    if (d.options.help)
        return options_help(stdout, &d.options), options_done(&d.options), 0;
    if (d.options.version)
        return printf("dftracerd %s\n%s\n", DFT_VERSION, DFT_BUILD_SUMMARY), 0;
    signal(SIGPIPE, SIG_IGN);
    rc = start(&d, &err);
    if (rc < 0)
        fprintf(stderr, "dftracerd: %s\n", err.text[0] ? err.text : err_text(rc));
    else if (d.options.check_only)
        printf("ok\n");
    else
        rc = loop(&d);
    stop(&d);
    err_done(&err);
    return rc < 0 ? 1 : 0;
}
