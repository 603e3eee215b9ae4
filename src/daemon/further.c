/* further.c - directories of another daemon of the same user (--join): they get an index, a watcher
 * and a Unix socket of their own, a site (http/exchange/site.h).
 *
 * Each connection belongs to the site of its socket. A request has the index, roots, stored queries
 * and metrics of its site, so its answer is that of a daemon with this site alone. Workers, limits,
 * response cache (its keys have the number of the site), spool space and idle exit are those of the
 * process. Scanners of all indexes take turns and share their memory with the readers
 * (index/ingest/share.c): together they use no more processors and memory than those of one index.
 * When dftracer_server requires the index of one site, that site ends: its requests finish or are
 * cancelled, then the index is closed (http_end_site).
 */
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

/* Checks that further directories can be served: the number of threads is the requested one, and
 * there are enough threads, sites and address space. The directories must be readable. */
static int may_serve(struct daemon *d, const struct join_request *request, struct err *err)
{
    size_t count = atomic_load(&d->served_count);
    unsigned threads =
        d->options.executor_threads ? (unsigned)d->options.executor_threads : cpu_count();
    struct rlimit space;
    if (request->threads && request->threads != threads)
        return err_set(err, -EINVAL, "this daemon has %u threads", threads);
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

static int open_further(struct daemon *d, struct served *s, struct err *err)
{
    int rc = place_output(&s->roots, s->index_path, d->options.output_dir, &s->output_dir, err);
    if (rc == 0)
        rc = meeting_choose(&s->meeting, s->index_path, err);
    s->socket = s->meeting.socket;
    if (rc == 0)
        rc = served_open(s, &d->options, d->share, daemon_index_changed, d, err);
    if (rc < 0)
        return rc;
    index_on_change(s->index, daemon_index_changed, d);
    struct http_site site = {.index = s->index,
                             .root_labels = (const char *const *)s->roots.labels,
                             .root_paths = (const char *const *)s->roots.paths,
                             .root_count = s->roots.count,
                             .unix_path = s->socket,
                             .output_dir = s->output_dir,
                             .looked = daemon_looked,
                             .looked_arg = s};
    rc = served_watch(s);
    return rc < 0 ? rc : http_add_site(d->http, &site, err);
}

/* Serves further directories until the end. Takes their roots. */
static int serve_further(struct daemon *d, struct join_request *request, struct err *err)
{
    size_t count = atomic_load(&d->served_count);
    struct served *s = calloc(1, sizeof *s);
    int rc = s ? 0 : -ENOMEM;
    if (rc == 0 && !(s->index_path = strdup(request->index_path)))
        rc = -ENOMEM;
    if (rc == 0) {
        s->roots = request->roots;
        request->roots = (struct roots){0};
        rc = open_further(d, s, err);
    }
    if (rc < 0) {
        if (s)
            served_close(s);
        return free(s), rc;
    }
    d->served[count] = s;
    atomic_store(&d->served_count, count + 1);
    daemon_log_served(s);
    return daemon_open_meeting(s, err);
}

/* Returns the set of directories that has this index, or NULL. */
static struct served *find_served(struct daemon *d, const char *index_path)
{
    for (size_t i = 0; i < atomic_load(&d->served_count); i++)
        if (!d->served[i]->ended && strcmp(d->served[i]->index_path, index_path) == 0)
            return d->served[i];
    return NULL;
}

int daemon_on_join(void *arg, struct join_request *request, struct err *err)
{
    struct daemon *d = arg;
    struct served *s = find_served(d, request->index_path);
    if (s)
        return same_roots(&s->roots, &request->roots) ? daemon_open_meeting(s, err) : -EBUSY;
    int rc = may_serve(d, request, err);
    return rc < 0 ? rc : serve_further(d, request, err);
}

static size_t count_open(const struct daemon *d)
{
    size_t n = 0;
    for (size_t i = 0; i < atomic_load(&d->served_count); i++)
        n += !d->served[i]->ended;
    return n;
}

int daemon_on_end(void *arg, const char *index_path, struct err *err)
{
    struct daemon *d = arg;
    struct served *s = find_served(d, index_path);
    if (!s || count_open(d) == 1)
        return err_set(err, -ENOENT, s ? "this daemon has no other index" : "no such index");
    pthread_mutex_lock(&d->served_lock);
    s->ended = true;
    pthread_mutex_unlock(&d->served_lock);
    log_line(LOG_LEVEL_INFO, "directories_ended index=%s", index_path);
    served_rest(s);
    meeting_close(&s->meeting);
    int rc = http_end_site(d->http, s->index, (int)d->options.drain_time_ms, GRACE_MS);
    if (rc == 0)
        served_close(s);
    return rc;
}
