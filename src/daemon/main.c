/* main.c - puts the rooms together: options, index, watcher thread, http; then libevent until a signal says stop. */
#include "config.h"

#include "background.h"
#include "dftracerd/http.h"
#include "dftracerd/rewrite.h"
#include "log.h"
#include "loop.h"
#include "meeting.h"
#include "notify.h"
#include "options.h"
#include "peers.h"
#include "roots.h"
#include "takeover.h"
#include "tls_files.h"
#include "watch.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define INHERITED_MAX 16  /* as http takes listeners */
#define GRACE_MS 1000     /* for clients to be told that their answer was cut */
#define TAKEOVER_MS 15000 /* more than the daemons of the client wait for their requests */
#define EXIT_BUSY 75      /* another daemon has the index: EX_TEMPFAIL of sysexits.h */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES 0 /* their frames are larger: the usual size */
#else
#define STACK_BYTES (1u << 20)
#endif
#define ARENA_SHARE (512ull << 20)  /* of the memory, for each arena of malloc */
#define LITTLE_MEMORY (2ull << 30)

struct daemon {
    struct options options;
    struct roots roots;
    struct peers peers;
    struct tls_files tls;
    struct meeting meeting;
    char *index_path, *output_dir, *dimensions;
    struct index *index;
    struct http *http;
    struct watch *watch;
    pthread_t watcher;
    bool watching;
    atomic_bool stop;
    pthread_mutex_t lock;
    struct loop loop;
    int inherited[INHERITED_MAX];
    size_t inherited_count;
    int background; /* for background_ready, or negative */
    int argc;       /* for reading the options again */
    char **argv;
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

/* ---- log ---- */

/* On a terminal, lines of requests would hide everything else. */
static void apply_log_options(const struct options *o)
{
    log_set_level(o->log_level);
    log_set_requests(options_given(o, "log-level") || !isatty(STDERR_FILENO));
}

/* ---- reload ---- */

/* Options are read anew as at the start. With a mistake in them everything stays as it is. */
static int read_again(struct daemon *d, struct options *next, struct peers *peers,
                      struct tls_files *tls, struct err *err)
{
    int rc = options_parse(next, d->argc, d->argv, err);
    if (rc == 0)
        rc = tls_files_read(tls, next, err);
    if (rc == 0)
        rc = peers_read(peers, next, err); /* last: it may make files */
    if (rc < 0)
        return rc;
    struct http_settings s = {.token = peers->token,
                              .admin_token = peers->admin_token,
                              .allow_users = peers->users,
                              .allow_user_count = peers->user_count,
                              .query_time_ms = (int64_t)next->query_timeout_ms,
                              .tls = tls_files_texts(tls)};
    return http_reload(d->http, &s);
}

static int on_reload(void *arg)
{
    struct daemon *d = arg;
    struct options next = {0};
    struct peers peers = {0};
    struct tls_files tls = {0};
    struct err err = {0};
    struct buf waiting = {0};
    int rc = read_again(d, &next, &peers, &tls, &err);
    if (rc < 0) {
        log_line(LOG_LEVEL_ERROR, "reload failed error=\"%s\"",
                 err.text[0] ? err.text : err_text(rc));
    } else {
        apply_log_options(&next);
        options_need_restart(&d->options, &next, &waiting);
        if (!d->tls.cert != !tls.cert || (tls.client_ca && !d->tls.client_ca))
            buf_puts(&waiting, waiting.len ? ",tls-cert" : "tls-cert");
        buf_putc(&waiting, '\0');
        log_line(LOG_LEVEL_INFO,
                 "reload token=%s allow_users=%zu query_timeout_ms=%llu log_level=%s",
                 peers.token ? "yes" : "no", peers.user_count,
                 (unsigned long long)next.query_timeout_ms, next.log_level);
        if (!waiting.error && waiting.data[0])
            log_line(LOG_LEVEL_WARNING, "reload needs_restart=%s", waiting.data);
        tls_files_log(&tls);
    }
    buf_done(&waiting);
    peers_done(&peers);
    tls_files_done(&tls);
    options_done(&next);
    err_done(&err);
    return rc;
}

/* ---- start ---- */

/* From threads of the index, one of which may still be here when the callback has been taken away, and the watcher. */
static void on_index_change(void *arg)
{
    struct daemon *d = arg;
    pthread_mutex_lock(&d->lock);
    if (d->http)
        http_index_changed(d->http);
    pthread_mutex_unlock(&d->lock);
}

/* Any thread. */
static bool on_look_asked(void *arg, int64_t since_ns)
{
    struct daemon *d = arg;
    return watch_looked(d->watch, since_ns);
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

/* Stacks and arenas are address space, used or not: with the usual 8 MiB for each thread and 128 MiB for each arena, eight
 * threads would need more than a gigabyte. The stacks hold what the deepest calls take several times. */
static void use_little_memory(void)
{
    uint64_t memory = memory_limit().bytes, arenas = memory / ARENA_SHARE;
    pthread_attr_t a;
    if (pthread_attr_init(&a) == 0) {
        if (STACK_BYTES && pthread_attr_setstacksize(&a, STACK_BYTES) == 0)
            pthread_setattr_default_np(&a);
        pthread_attr_destroy(&a);
    }
    if (arenas < 8ul * cpu_count())
        mallopt(M_ARENA_MAX, arenas > 1 ? (int)arenas : 1);
    if (memory < LITTLE_MEMORY) {
        mallopt(M_MMAP_THRESHOLD, 256 << 10); /* what is freed goes back to the system */
        mallopt(M_TRIM_THRESHOLD, 1 << 20);
    }
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
    struct index_options o = {
        .path = d->index_path,
        .checkpoint_size = d->options.checkpoint_size,
        .map_size = d->options.map_size,
        .map_max = d->options.max_index_size,
        .archive_traces = (uint32_t)d->options.archive_traces,
        .workers = (unsigned)d->options.executor_threads,
        /* Whoever starts a daemon for one question means files as they are. */
        .settle_ms = d->options.on_demand ? -1 : (int64_t)d->options.settle_ms,
        .purge_ms = (int64_t)d->options.keep_missing_ms,
        .on_demand = d->options.on_demand};
    if (d->options.dimensions && !(d->dimensions = strdup(d->options.dimensions)))
        return -ENOMEM;
    if (d->dimensions)
        o.dimensions = split_dimensions(d->dimensions);
    int rc = index_open(&o, err, &d->index);
    if (rc == ERR_STORE_BUSY && !d->options.on_demand && takeover(d->index_path, TAKEOVER_MS))
        rc = index_open(&o, err, &d->index);
    if (rc == 0)
        rc = watch_new(d->index, &d->roots, &d->watch);
    if (rc == 0)
        watch_on_look(d->watch, on_index_change, d);
    return rc;
}

/* Where there is no such place clients have to be told the address. */
static int choose_meeting(struct daemon *d, struct err *err)
{
    struct options *o = &d->options;
    struct err why = {0};
    int rc = meeting_choose(&d->meeting, d->index_path, &why);
    if (rc == 0 && !o->unix_path)
        o->unix_path = d->meeting.socket;
    if (rc < 0 && o->no_tcp && !o->unix_path && !d->inherited_count) {
        err_set(err, rc,
                "nothing to listen on: %s (--no-tcp requires --unix PATH, or "
                "DFTRACERD_RUNTIME_DIR set to a directory that you own)",
                why.text);
    } else if (rc < 0) {
        log_line(LOG_LEVEL_INFO, "no_runtime_dir error=\"%s\"", why.text);
        rc = 0;
    }
    err_done(&why);
    return rc;
}

/* The default, or less where the process may not use that much memory. */
static size_t share_of_memory(const struct daemon *d, const char *option, uint64_t value,
                              unsigned share)
{
    uint64_t most = memory_limit().bytes / share;
    return options_given(&d->options, option) || value < most ? value : most;
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
        .no_tcp = o->no_tcp,
        .inherited = d->inherited,
        .inherited_count = d->inherited_count,
        .no_auth = o->no_auth,
        .insecure = o->insecure,
        .file_permissions = o->file_permissions,
        .tls = tls_files_texts(&d->tls),
        .token = d->peers.token,
        .admin_token = d->peers.admin_token,
        .allow_hosts = o->allow_host.items,
        .allow_host_count = o->allow_host.count,
        .allow_origins = o->allow_origin.items,
        .allow_origin_count = o->allow_origin.count,
        .allow_users = d->peers.users,
        .allow_user_count = d->peers.user_count,
        .workers = (unsigned)o->executor_threads,
        .limits = {.requests = (unsigned)o->max_queries,
                   .queue = (unsigned)o->max_queue,
                   .query_time_ms = (int64_t)o->query_timeout_ms,
                   .query_memory = share_of_memory(d, "query-memory", o->query_memory, 4),
                   .total_memory = share_of_memory(d, "total-memory", o->total_memory, 3),
                   .answer_memory = share_of_memory(d, "answer-memory", o->answer_memory, 16),
                   .spool_bytes = o->spool_size,
                   .connections = (unsigned)o->max_connections,
                   .client_requests = (unsigned)o->client_queries,
                   .client_memory = o->client_memory,
                   .client_connections = (unsigned)o->client_connections,
                   .arrival_ms = (int64_t)o->request_time_ms,
                   .idle_ms = (int64_t)o->idle_time_ms,
                   .link_ms = (int64_t)o->link_time_ms},
        .output_dir = d->output_dir,
        .looked = on_look_asked,
        .looked_arg = d,
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
    rc = o->unix_path ? meeting_open(&d->meeting, o->unix_path, &d->roots) : 0;
    return rc < 0 ? err_set(err, rc, "%s: %s", d->meeting.list, err_text(rc)) : 0;
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
        log_line(LOG_LEVEL_INFO, "directory path=%s label=%s", d->roots.paths[i],
                 d->roots.labels[i]);
    log_line(LOG_LEVEL_INFO, "index path=%s", d->index_path);
    if (index_rebuilt(d->index))
        log_line(LOG_LEVEL_WARNING, "index_rebuilt reason=\"%s\"", index_rebuilt(d->index));
}

/* Where that is all that is asked: http_start asks it itself. */
static int may_listen(const struct daemon *d, struct err *err)
{
    const struct options *o = &d->options;
    const struct http_options h = {
        .bind = o->bind.items,
        .bind_count = o->bind.count,
        .no_tcp = o->no_tcp,
        .no_auth = o->no_auth,
        .insecure = o->insecure,
        .tls = tls_files_texts(&d->tls),
        .token = d->peers.token ? d->peers.token : o->token_file, /* perhaps yet to be made */
        .admin_token = d->peers.admin_token ? d->peers.admin_token : o->admin_token_file,
    };
    return http_may_listen(&h, err);
}

static void warn_of_variable(const char *name, const char *meant)
{
    log_line(LOG_LEVEL_WARNING, "unknown_variable name=%s suggestion=%s", name, meant);
}

static int start(struct daemon *d, struct err *err)
{
    if (!d->options.as_server)
        options_misspelt(warn_of_variable);
    int rc = roots_open(&d->roots, &d->options, err);
    if (rc == 0)
        rc = peers_read(&d->peers, &d->options, err);
    if (rc == 0)
        rc = tls_files_read(&d->tls, &d->options, err);
    if (rc == 0)
        tls_files_log(&d->tls);
    if (rc == 0 && d->options.check_only)
        rc = may_listen(d, err);
    if (rc == 0)
        rc = options_check_unix(d->options.unix_path, err);
    if (rc == 0)
        rc = place_choose(&d->roots, &d->options, !d->options.check_only, &d->index_path, err);
    if (rc == 0)
        rc = place_output(&d->roots, d->index_path, d->options.output_dir, &d->output_dir, err);
    if (rc < 0 || d->options.check_only)
        return rc;
    if (d->output_dir)
        outlet_clean(d->output_dir);
    raise_descriptor_limit();
    d->inherited_count = notify_inherited(d->inherited, INHERITED_MAX);
    rc = choose_meeting(d, err);
    if (rc == 0)
        rc = loop_init(&d->loop);
    if (rc == 0)
        rc = start_index(d, err);
    if (rc == 0)
        rc = start_http(d, err);
    if (rc == 0)
        rc = start_watcher(d);
    return rc;
}

/* ---- loop and stop ---- */

static int run(struct daemon *d)
{
    announce(d);
    if (d->background >= 0)
        background_ready(d->background);
    d->loop.index = d->index;
    d->loop.http = d->http;
    d->loop.options = &d->options;
    d->loop.only_socket = d->options.no_tcp && !d->inherited_count ? d->options.unix_path : NULL;
    d->loop.reload = on_reload;
    d->loop.arg = d;
    return loop_run(&d->loop);
}

static void stop(struct daemon *d)
{
    loop_done(&d->loop);
    stop_watcher(d);
    if (d->index)
        index_on_change(d->index, NULL, NULL);
    pthread_mutex_lock(&d->lock);
    struct http *http = d->http;
    d->http = NULL;
    pthread_mutex_unlock(&d->lock);
    meeting_close(&d->meeting);
    if (d->loop.idle) /* who has just found us is not turned away for having come too late */
        http_finish(http, (int)d->options.drain_time_ms);
    http_stop(http, (int)d->options.drain_time_ms, GRACE_MS);
    watch_free(d->watch);
    if (d->index)
        index_close(d->index);
    meeting_done(&d->meeting);
    roots_done(&d->roots);
    free(d->index_path);
    free(d->output_dir);
    peers_done(&d->peers);
    tls_files_done(&d->tls);
    free(d->dimensions);
    options_done(&d->options);
}

/* What is only to be printed; true when that was all. */
static bool print_only(const struct options *o)
{
    if (o->help)
        options_help(stdout, o);
    else if (o->version)
        printf("dftracerd %s\n%s\ncpu: %s; inflate: %s\n", DFT_VERSION, DFT_BUILD_SUMMARY,
               cpu_level_name(cpu_level()), trace_engine_name(TRACE_ENGINE_AUTO));
    else if (!o->document)
        return false;
    else if (options_document(stdout, o->document) < 0)
        fprintf(stderr, "dftracerd: --document requires man8, man5 or conf\n");
    return true;
}

static void print_failure(int rc, const struct err *err)
{
    char limit[120];
    memory_explain(rc, limit, sizeof limit);
    fprintf(stderr, "dftracerd: %s%s%s\n", err->text[0] ? err->text : err_text(rc),
            limit[0] ? "; " : "", limit);
}

int main(int argc, char **argv)
{
    static struct daemon d;
    struct err err = {0};
    pthread_mutex_init(&d.lock, NULL);
    d.argc = argc;
    d.argv = argv;
    int rc = options_parse(&d.options, argc, argv, &err);
    if (rc < 0) {
        fprintf(stderr, "dftracerd: %s\nTry: dftracerd --help\n",
                err.text[0] ? err.text : err_text(rc));
        return 2;
    }
    if (print_only(&d.options))
        return options_done(&d.options), 0;
    apply_log_options(&d.options);
    signal(SIGPIPE, SIG_IGN);
    use_little_memory();
    d.background = -1;
    if (d.options.background && !d.options.check_only)
        rc = d.background = background_begin(&err);
    if (rc >= 0)
        rc = start(&d, &err);
    if (rc < 0)
        print_failure(rc, &err);
    else if (!d.options.check_only)
        rc = run(&d);
    else if (d.options.print_config)
        options_print(stdout, &d.options), printf("# index: %s\n", d.index_path);
    else
        printf("ok\n");
    int failed = rc == ERR_STORE_BUSY && d.background >= 0 ? EXIT_BUSY : 1;
    stop(&d);
    err_done(&err);
    return rc < 0 ? failed : 0;
}
