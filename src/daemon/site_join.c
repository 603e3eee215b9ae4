/* site_join.c - another daemon of the same user hands its directories to this one (--join). They
 * get an index, a watcher and a Unix socket of their own: a site (http/exchange/site.h).
 *
 * Each connection belongs to the site of its socket. A request has the index, roots, stored queries
 * and metrics of its site, so its answer is that of a daemon with this site alone. Workers, limits,
 * response cache (its keys have the number of the site), spool space and idle exit are those of the
 * process. Scanners of all indexes take turns and share their memory with the readers
 * (index/ingest/share.c): together they use no more processors and memory than those of one index.
 * If a daemon without --join needs the index of a site for itself, the site is ended: its requests
 * finish or are cancelled, then the index is closed (http_end_site). */
#include "daemon/daemon.h"

#include "daemon/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define THREADS_MAX 2048 /* limit over all indexes */

static bool same_roots(const struct roots *a, const struct roots *b)
{
    bool same = a->count == b->count;
    for (size_t i = 0; i < a->count && same; i++)
        same = strcmp(a->paths[i], b->paths[i]) == 0 && strcmp(a->labels[i], b->labels[i]) == 0;
    return same;
}

/* Checks that another site can be added: the number of threads is the requested one, there are
 * enough threads, sites and address space, and the directories are readable. */
static int check_can_serve(struct daemon *d, const struct join_request *request, struct err *err)
{
    size_t count = atomic_load(&d->site_count);
    unsigned threads =
        d->options.executor_threads ? (unsigned)d->options.executor_threads : cpu_count();
    struct rlimit space;
    if (request->threads && request->threads != threads)
        return err_set(err, -EINVAL, "this daemon has %u executor threads, not %u", threads,
                       (unsigned)request->threads);
    if (count == HTTP_SITES_MAX || (count + 1) * (2ul * threads + 2) > THREADS_MAX)
        return err_set(err, -ENOSPC, "this daemon serves %zu sets of directories, the maximum",
                       count);
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY)
        return err_set(err, -ENOMEM, "the address space of this daemon is limited (ulimit -v)");
    for (size_t i = 0; i < request->roots.count; i++)
        if (access(request->roots.paths[i], R_OK | X_OK) < 0)
            return err_set(err, -errno, "%s: %s", request->roots.paths[i], strerror(errno));
    return 0;
}

static int open_site(struct daemon *d, struct daemon_site *s, struct err *err)
{
    int rc = place_output(&s->roots, s->index_path, d->options.output_dir, &s->output_dir, err);
    if (rc == 0)
        rc = rendezvous_choose(&s->rendezvous, s->index_path, err);
    s->socket = s->rendezvous.socket;
    if (rc == 0)
        rc = daemon_site_open(s, &d->options, d->share, daemon_index_changed, d, err);
    if (rc < 0)
        return rc;
    index_on_change(s->index, daemon_index_changed, d);
    struct http_site site = {.index = s->index,
                             .root_labels = (const char *const *)s->roots.labels,
                             .root_paths = (const char *const *)s->roots.paths,
                             .root_count = s->roots.count,
                             .unix_path = s->socket,
                             .output_dir = s->output_dir,
                             .scanned_since = daemon_scanned_since,
                             .scanned_since_arg = s};
    rc = daemon_site_watch(s);
    return rc < 0 ? rc : http_add_site(d->http, &site, err);
}

/* Adds a site for the directories of the request; request->roots are *stolen*. */
static int add_site(struct daemon *d, struct join_request *request, struct err *err)
{
    size_t count = atomic_load(&d->site_count);
    struct daemon_site *s = calloc(1, sizeof *s);
    int rc = s ? 0 : -ENOMEM;
    if (rc == 0 && !(s->index_path = strdup(request->index_path)))
        rc = -ENOMEM;
    if (rc == 0) {
        s->roots = request->roots;
        request->roots = (struct roots){0};
        rc = open_site(d, s, err);
    }
    if (rc < 0) {
        if (s)
            daemon_site_close(s);
        return free(s), rc;
    }
    d->sites[count] = s;
    atomic_store(&d->site_count, count + 1);
    daemon_log_site(s);
    return daemon_open_rendezvous(s, err);
}

/* Returns the site that has this index open, or NULL. */
static struct daemon_site *find_site(struct daemon *d, const char *index_path)
{
    for (size_t i = 0; i < atomic_load(&d->site_count); i++)
        if (d->sites[i]->index && strcmp(d->sites[i]->index_path, index_path) == 0)
            return d->sites[i];
    return NULL;
}

/* Returns -EBUSY if requests still use the index, such as one that waits for a file system. The
 * index stays open then, and the next request for it tries again. */
static int end_site(struct daemon *d, struct daemon_site *s)
{
    pthread_mutex_lock(&d->site_lock);
    s->ended = true;
    pthread_mutex_unlock(&d->site_lock);
    log_line(LOG_LEVEL_INFO, "directories_ended index=%s", s->index_path);
    daemon_site_stop_watching(s);
    rendezvous_close(&s->rendezvous);
    int rc = http_end_site(d->http, s->index, (int)d->options.drain_time_ms, GRACE_MS);
    if (rc == 0)
        daemon_site_close(s);
    return rc;
}

int daemon_on_join(void *arg, struct join_request *request, struct err *err)
{
    struct daemon *d = arg;
    struct daemon_site *s = find_site(d, request->index_path);
    if (s && !s->ended)
        return same_roots(&s->roots, &request->roots) ? daemon_open_rendezvous(s, err) : -EBUSY;
    int rc = s ? end_site(d, s) : 0;
    rc = rc < 0 ? rc : check_can_serve(d, request, err);
    return rc < 0 ? rc : add_site(d, request, err);
}

static size_t count_open(const struct daemon *d)
{
    size_t n = 0;
    for (size_t i = 0; i < atomic_load(&d->site_count); i++)
        n += !d->sites[i]->ended;
    return n;
}

int daemon_on_end(void *arg, const char *index_path, struct err *err)
{
    struct daemon *d = arg;
    struct daemon_site *s = find_site(d, index_path);
    if (!s || (!s->ended && count_open(d) == 1))
        return err_set(err, -ENOENT, s ? "this is the only index of this daemon" : "no such index");
    return end_site(d, s);
}
