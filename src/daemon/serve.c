/* serve.c - starts the modules: options, index, watcher thread, http; then runs libevent until a
 * signal stops it. */
#include "config.h"

#include "daemon/background.h"
#include "daemon/daemon.h"
#include "daemon/doctor.h"
#include "dftracerd/rewrite.h"
#include "daemon/log.h"
#include "daemon/notify.h"
#include "daemon/watch.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define EXIT_BUSY 75 /* another daemon has the index: EX_TEMPFAIL of sysexits.h */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define STACK_BYTES 0 /* the sanitizers' frames are larger: keep the default size */
#else
#define STACK_BYTES (1u << 20)
#endif
#define ARENA_SHARE (512ull << 20) /* memory for each arena of malloc */
#define LITTLE_MEMORY (2ull << 30)

/* ---- log ------------------------------------------------------------------------------------- */

/* On a terminal, lines of requests would hide everything else. */
static void apply_log_options(const struct options *o)
{
    log_set_level(o->log_level);
    log_set_requests(options_given(o, "log-level") || !isatty(STDERR_FILENO));
}

/* ---- reload ---------------------------------------------------------------------------------- */

/* Reads the options again as at the start. After an error, the old ones remain in effect. */
static int reload_options(struct daemon *d, struct options *next, struct access_rules *access_rules,
                          struct tls_files *tls, struct err *err)
{
    int rc = options_parse(next, d->argc, d->argv, err);
    if (rc == 0)
        rc = tls_files_read(tls, next, err);
    if (rc == 0)
        rc = access_rules_read(access_rules, next, err); /* last, because it may create files */
    if (rc < 0)
        return rc;
    struct http_settings s = {.token = access_rules->token,
                              .admin_token = access_rules->admin_token,
                              .allow_users = access_rules->users,
                              .allow_user_count = access_rules->user_count,
                              .query_time_ms = (int64_t)next->query_timeout_ms,
                              .tls = tls_files_texts(tls)};
    return http_reload(d->http, &s);
}

static int on_reload(void *arg)
{
    struct daemon *d = arg;
    struct options next = {0};
    struct access_rules access_rules = {0};
    struct tls_files tls = {0};
    struct err err = {0};
    struct buf waiting = {0};
    int rc = reload_options(d, &next, &access_rules, &tls, &err);
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
                 access_rules.token ? "yes" : "no", access_rules.user_count,
                 (unsigned long long)next.query_timeout_ms, next.log_level);
        if (!waiting.error && waiting.data[0])
            log_line(LOG_LEVEL_WARNING, "reload needs_restart=%s", waiting.data);
        tls_files_log(&tls);
    }
    buf_done(&waiting);
    access_rules_done(&access_rules);
    tls_files_done(&tls);
    options_done(&next);
    err_done(&err);
    return rc;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* A file must not get the number of a closed standard descriptor: it would receive messages. */
static void open_standard_descriptors(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

/* Each connection needs a descriptor: raises the limit as far as allowed. */
static void raise_descriptor_limit(void)
{
    struct rlimit l;
    if (getrlimit(RLIMIT_NOFILE, &l) == 0 && l.rlim_cur < l.rlim_max) {
        l.rlim_cur = l.rlim_max;
        setrlimit(RLIMIT_NOFILE, &l);
    }
}

/* Stacks and arenas take address space even if unused: with the default of 8 MiB for each thread
 * and 128 MiB for each arena, eight threads would need more than a gigabyte. The stacks still hold
 * several times what the deepest calls need. */
void daemon_use_little_memory(void)
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
        mallopt(M_MMAP_THRESHOLD, 256 << 10); /* freed memory is returned to the system */
        mallopt(M_TRIM_THRESHOLD, 1 << 20);
    }
}

/* Without a runtime directory, clients need the address. */
static int choose_rendezvous(struct daemon *d, struct err *err)
{
    struct options *o = &d->options;
    struct err why = {0};
    struct daemon_site *s = &d->first;
    int rc = rendezvous_choose(&s->rendezvous, s->index_path, &why);
    if (rc == 0 && !o->unix_path)
        o->unix_path = s->rendezvous.socket;
    s->socket = o->unix_path;
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

/* Returns the value of an option; a default is at most 1/share of the memory that the process may
 * use. */
static size_t share_of_memory(const struct daemon *d, const char *option, uint64_t value,
                              unsigned share)
{
    uint64_t max = memory_limit().bytes / share;
    return options_given(&d->options, option) || value < max ? value : max;
}

static struct http_options http_options_of(struct daemon *d)
{
    const struct options *o = &d->options;
    struct daemon_site *s = &d->first;
    return (struct http_options){
        .index = s->index,
        .root_labels = (const char *const *)s->roots.labels,
        .root_paths = (const char *const *)s->roots.paths,
        .root_count = s->roots.count,
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
        .token = d->access_rules.token,
        .admin_token = d->access_rules.admin_token,
        .allow_hosts = o->allow_host.items,
        .allow_host_count = o->allow_host.count,
        .allow_origins = o->allow_origin.items,
        .allow_origin_count = o->allow_origin.count,
        .allow_users = d->access_rules.users,
        .allow_user_count = d->access_rules.user_count,
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
        .output_dir = s->output_dir,
        .scanned_since = daemon_scanned_since,
        .scanned_since_arg = s,
        .version = DFT_VERSION,
        .build = DFT_BUILD_SUMMARY,
        .log = log_http,
    };
}

static int start_http(struct daemon *d, struct err *err)
{
    const struct http_options h = http_options_of(d);
    struct daemon_site *s = &d->first;
    struct http *started;
    int rc = http_start(&h, err, &started);
    if (rc < 0)
        return rc;
    pthread_mutex_lock(&d->lock);
    d->http = started;
    pthread_mutex_unlock(&d->lock);
    index_on_change(s->index, daemon_index_changed, d);
    return daemon_open_rendezvous(s, err);
}

/* Used with --check-only: http_start does its own check. A token file may not exist yet. */
static int check_listeners(struct daemon *d, struct err *err)
{
    struct http_options h = http_options_of(d);
    if (!h.token)
        h.token = d->options.token_file;
    if (!h.admin_token)
        h.admin_token = d->options.admin_token_file;
    return http_check_listeners(&h, err);
}

static void warn_of_variable(const char *name, const char *meant)
{
    log_line(LOG_LEVEL_WARNING, "unknown_variable name=%s suggestion=%s", name, meant);
}

/* ---- --join ---------------------------------------------------------------------------------- */

/* Sets d->joined if another daemon now serves the directories. Returns 0 or -ENOMEM. */
static int join_another(struct daemon *d)
{
    struct join_request request = {.index_path = d->first.index_path, .roots = d->first.roots};
    if (options_given(&d->options, "executor-threads"))
        request.threads = d->options.executor_threads;
    d->join.serve = daemon_on_join;
    d->join.end = daemon_on_end;
    d->join.arg = d;
    int rc = join_init(&d->join, &d->first.rendezvous, &d->options);
    d->joined = rc == 0 && join_running(&d->join, &request);
    return rc;
}

/* ---- start ----------------------------------------------------------------------------------- */

/* Reads the files that the options name, and chooses directories. */
static int prepare_daemon(struct daemon *d, struct err *err)
{
    const struct options *o = &d->options;
    struct daemon_site *s = &d->first;
    if (!o->as_server)
        options_misspelt(warn_of_variable);
    int rc = roots_open(&s->roots, o, err);
    if (rc == 0)
        rc = tls_files_read(&d->tls, o, err);
    if (rc == 0)
        tls_files_log(&d->tls);
    if (rc == 0 && o->check_only)
        rc = check_listeners(d, err);
    if (rc == 0)
        rc = options_check_unix(o->unix_path, err);
    if (rc == 0)
        rc = place_choose(&s->roots, o, !o->check_only, &s->index_path, err);
    if (rc == 0)
        rc = place_output(&s->roots, s->index_path, o->output_dir, &s->output_dir, err);
    if (rc == 0)
        rc = access_rules_read(&d->access_rules, o, err); /* last, because it may create files */
    return rc;
}

static int start_daemon(struct daemon *d, struct err *err)
{
    struct daemon_site *s = &d->first;
    int rc = prepare_daemon(d, err);
    if (rc < 0 || d->options.check_only)
        return rc;
    raise_descriptor_limit();
    d->inherited_count = notify_inherited(d->inherited, INHERITED_MAX);
    rc = choose_rendezvous(d, err);
    if (rc == 0 && d->options.join)
        rc = join_another(d);
    if (rc < 0 || d->joined)
        return rc;
    if (s->output_dir)
        archive_writer_remove_stale(s->output_dir);
    rc = loop_init(&d->loop);
    if (rc == 0 && !(d->share = index_share_new()))
        rc = -ENOMEM;
    if (rc == 0)
        rc = daemon_site_open(s, &d->options, d->share, daemon_index_changed, d, err);
    if (rc == 0)
        rc = start_http(d, err);
    if (rc == 0)
        rc = daemon_site_watch(s);
    if (rc == 0) {
        d->sites[0] = s;
        atomic_store(&d->site_count, 1);
        int listens = d->options.join ? join_listen(&d->join) : 0;
        if (listens < 0)
            log_line(LOG_LEVEL_WARNING, "no_join error=\"%s\"", err_text(listens));
    }
    return rc;
}

/* ---- loop and stop --------------------------------------------------------------------------- */

static void notify_parent(struct daemon *d)
{
    /* A file system cannot be unmounted while a process works in it. */
    if (d->background >= 0 && !options_are_relative(&d->options) && chdir("/") < 0)
        log_line(LOG_LEVEL_WARNING, "no_root_directory error=\"%s\"", err_text(-errno));
    if (d->background >= 0)
        background_ready(d->background);
    else if (d->joined)
        printf("a running daemon serves the directories\n");
}

static int run_daemon(struct daemon *d)
{
    const char *const *urls;
    size_t n = http_urls(d->http, &urls);
    for (size_t i = 0; i < n; i++)
        if (urls[i])
            printf("dftracerd listening on %s\n", urls[i]);
    fflush(stdout);
    daemon_log_site(&d->first);
    notify_parent(d);
    d->loop.sites = d->sites;
    d->loop.site_count = &d->site_count;
    d->loop.site_lock = &d->site_lock;
    d->loop.http = d->http;
    d->loop.options = &d->options;
    d->loop.only_sockets = d->options.no_tcp && !d->inherited_count;
    d->loop.reload = on_reload;
    d->loop.arg = d;
    return loop_run(&d->loop);
}

/* Returns the number of sets of directories; the first one exists even if the start has failed. */
static size_t count_sites(const struct daemon *d)
{
    size_t n = atomic_load(&d->site_count);
    return n ? n : 1;
}

static void stop_daemon(struct daemon *d)
{
    loop_done(&d->loop);
    join_done(&d->join);
    d->sites[0] = &d->first;
    for (size_t i = 0; i < count_sites(d); i++)
        daemon_site_stop_watching(d->sites[i]);
    pthread_mutex_lock(&d->lock);
    struct http *http = d->http;
    d->http = NULL;
    pthread_mutex_unlock(&d->lock);
    for (size_t i = 0; i < count_sites(d); i++)
        rendezvous_close(&d->sites[i]->rendezvous);
    if (d->loop.idle) /* clients that have just found this daemon are not rejected */
        http_finish(http, (int)d->options.drain_time_ms);
    http_stop(http, (int)d->options.drain_time_ms, GRACE_MS);
    for (size_t i = 0; i < count_sites(d); i++)
        daemon_site_close(d->sites[i]);
    for (size_t i = 1; i < count_sites(d); i++)
        free(d->sites[i]);
    index_share_free(d->share);
    access_rules_done(&d->access_rules);
    tls_files_done(&d->tls);
    options_done(&d->options);
}

/* Prints what the options request. Returns the exit status, or -1 if the daemon is to run. */
static int print_only(const struct options *o)
{
    if (o->help)
        options_help(stdout, o);
    else if (o->version)
        printf("dftracerd %s\n%s\ncpu: %s; inflate: %s\n", DFT_VERSION, DFT_BUILD_SUMMARY,
               cpu_level_name(cpu_level()), trace_engine_name(TRACE_ENGINE_AUTO));
    else if (!o->document)
        return -1;
    else if (options_document(stdout, o->document) < 0)
        return fprintf(stderr, "dftracerd: --document requires man8, man5, conf or params\n"), 2;
    return 0;
}

static void print_failure(int rc, const struct err *err)
{
    char limit[120];
    memory_explain(rc, limit, sizeof limit);
    fprintf(stderr, "dftracerd: %s%s%s\n", err->text[0] ? err->text : err_text(rc),
            limit[0] ? "; " : "", limit);
}

/* Runs --doctor and returns the exit status. A client of another daemon needs no index and no
 * socket here. */
static int run_doctor(struct daemon *d, int rc, struct err *err)
{
    const char *url = getenv("DFTRACERD_URL");
    struct doctor doctor = {0};
    if (rc < 0 || doctor_examine(&doctor, &d->options)) {
        rc = rc < 0 ? rc : prepare_daemon(d, err);
        doctor_configuration(&doctor, rc == 0 ? NULL : err->text[0] ? err->text : err_text(rc));
        if (rc == 0 && (!url || !*url))
            doctor_places(&doctor, d->first.index_path);
    }
    return doctor.failed > 0;
}

/* Refuses options that a job of several processes does not support: only rank 0 listens, and it
 * ends with its terminal. */
static int check_ranks(const struct daemon *d, struct err *err)
{
    const struct options *o = &d->options;
    const char *name = o->join ? "join" : o->background ? "background" : NULL;
    if (!d->first.ranks || !name)
        return 0;
    return err_set_param(err, -EINVAL, name, "--%s cannot be used with more than one process",
                         name);
}

int daemon_main(int argc, char **argv, const struct daemon_ranks *ranks)
{
    static struct daemon d;
    struct err err = {0};
    open_standard_descriptors();
    d.first.ranks = ranks;
    pthread_mutex_init(&d.lock, NULL);
    pthread_mutex_init(&d.site_lock, NULL);
    d.join.lock_fd = d.join.fd = -1;
    d.argc = argc;
    d.argv = argv;
    int rc = options_parse(&d.options, argc, argv, &err);
    rc = rc ? rc : check_ranks(&d, &err);
    if (rc < 0 && !d.options.doctor) {
        fprintf(stderr, "dftracerd: %s\nTry: dftracerd --help\n",
                err.text[0] ? err.text : err_text(rc));
        return 2;
    }
    int printed = print_only(&d.options);
    if (printed >= 0)
        return options_done(&d.options), printed;
    if (rc == 0)
        apply_log_options(&d.options);
    signal(SIGPIPE, SIG_IGN);
    daemon_use_little_memory();
    d.background = -1;
    if (d.options.doctor) {
        int status = run_doctor(&d, rc, &err);
        stop_daemon(&d);
        err_done(&err);
        return status;
    }
    if (d.options.background && !d.options.check_only)
        rc = d.background = background_begin(&err);
    if (rc >= 0)
        rc = start_daemon(&d, &err);
    if (rc < 0)
        print_failure(rc, &err);
    else if (d.joined)
        notify_parent(&d);
    else if (!d.options.check_only)
        rc = run_daemon(&d);
    else if (d.options.print_config)
        options_print(stdout, &d.options), printf("# index: %s\n", d.first.index_path);
    else
        printf("ok\n");
    int failed = rc == ERR_STORE_BUSY && d.background >= 0 ? EXIT_BUSY : 1;
    stop_daemon(&d);
    err_done(&err);
    return rc < 0 ? failed : 0;
}
