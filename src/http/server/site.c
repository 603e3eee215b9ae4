/* site.c - sites: an index, and what belongs to its requests alone. */
#include "http/server/site.h"

#include "http/access/stored.h"
#include "http/access/verdicts.h"
#include "http/metrics/metrics.h"
#include "http/server/context.h"
#include "http/server/routes.h"
#include "http/server/server.h"
#include "http/server/sockets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#define END_MS 5000 /* time for the rest of the requests to end after that */

_Static_assert(HTTP_SITES_MAX <= CACHE_INDEXES_MAX, "raise CACHE_INDEXES_MAX");

/* Tokens and limits are the server's, because they may change while it runs. Only the time limit of
 * queries is copied. */
static struct http_options options_of(const struct http *h, const struct http_site *s)
{
    return (struct http_options){
        .index = s->index,
        .root_labels = s->root_labels,
        .root_paths = s->root_paths,
        .root_count = s->root_count,
        .unix_path = s->unix_path,
        .output_dir = s->output_dir,
        .scanned_since = s->scanned_since,
        .scanned_since_arg = s->scanned_since_arg,
        .version = h->options.version,
        .build = h->options.build,
    };
}

static struct http_context context_of_site(struct http *h, const struct site *site)
{
    struct http_context c = context_of(&site->options, h->pool);
    c.site = (unsigned)atomic_load(&h->sites.count);
    c.started_ns = h->started_ns;
    c.started_real_ns = h->started_real_ns;
    c.metrics = calloc(1, sizeof(struct metrics));
    c.cache = h->cache;
    c.spools = &h->spools;
    c.stored = stored_new(h->options.limits.link_ms);
    c.verdicts = verdicts_new();
    c.exchanges = &h->exchanges;
    c.sites = &h->sites;
    c.facts = &h->facts;
    return c;
}

void site_limit_time(struct site *s, int64_t query_time_ms)
{
    __atomic_store_n(&s->options.limits.query_time_ms, query_time_ms, __ATOMIC_RELAXED);
}

static int64_t time_limit(const struct http *h)
{
    return __atomic_load_n(&h->options.limits.query_time_ms, __ATOMIC_SEQ_CST);
}

int site_new(struct http *h, const struct http_site *s, struct site **ret)
{
    struct site *site = calloc(1, sizeof *site);
    if (!site)
        return -ENOMEM;
    site->options = options_of(h, s);
    if (s->unix_path)
        snprintf(site->socket, sizeof site->socket, "%s", s->unix_path);
    site->context = context_of_site(h, site);
    site_limit_time(site, time_limit(h));
    if (!site->context.metrics || !site->context.stored || !site->context.verdicts ||
        !site->context.env.covered)
        return site_free(site), -ENOMEM;
    site->context.metrics->table = routes;
    *ret = site;
    return 0;
}

void site_free(struct site *s)
{
    if (!s)
        return;
    covered_cache_free(s->context.env.covered);
    stored_free(s->context.stored);
    verdicts_free(s->context.verdicts);
    free(s->context.metrics);
    free(s);
}

/* The kernel reports the path of the listener's socket file. Of sites with the same path, all but
 * the last have ended. A connection of an ended site is refused. */
struct site *site_of(struct http *h, int fd)
{
    struct sockaddr_un a = {0};
    socklen_t n = sizeof a - 1;
    size_t count = atomic_load(&h->sites.count);
    bool named =
        count > 1 && getsockname(fd, (struct sockaddr *)&a, &n) == 0 && a.sun_family == AF_UNIX;
    for (size_t i = count; named && i-- > 1;)
        if (strcmp(a.sun_path, h->sites.list[i]->socket) == 0)
            return h->sites.list[i];
    return h->sites.list[0];
}

int http_add_site(struct http *h, const struct http_site *s, struct err *err)
{
    size_t n = atomic_load(&h->sites.count);
    struct site *site = NULL;
    if (n == HTTP_SITES_MAX)
        return err_set(err, -ENOSPC, "the daemon serves %d sets of directories, the maximum",
                       HTTP_SITES_MAX);
    int fd = listen_unix(s->unix_path, err);
    int rc = fd < 0 ? fd : site_new(h, s, &site);
    if (rc == 0) {
        h->sites.list[n] = site;
        atomic_store(&h->sites.count, n + 1);
        atomic_store(&h->exchanges.last_ns, clock_mono_ns()); /* a request comes soon */
        site_limit_time(site, time_limit(h));                 /* a reload may have missed it */
        listen_add_unix(h, fd, s->unix_path);
        accept_wake(h);
    } else if (fd >= 0) {
        unlink(s->unix_path);
        close(fd);
    }
    return rc;
}

/* ---- end of a site --------------------------------------------------------------------------- */

static void close_connections(struct http *h, const struct site *s)
{
    pthread_mutex_lock(&h->connections_lock);
    for (struct connection *c = h->connections; c; c = c->next)
        if (c->site == s)
            shutdown(c->fd, SHUT_RDWR);
    pthread_mutex_unlock(&h->connections_lock);
}

int http_end_site(struct http *h, const struct index *index, int drain_ms, int grace_ms)
{
    struct site *s = NULL;
    for (size_t i = 0; i < atomic_load(&h->sites.count); i++)
        if (h->sites.list[i]->options.index == index)
            s = h->sites.list[i];
    if (s->options.unix_path)
        listen_end_unix(h, s->options.unix_path);
    atomic_store(&s->ended, true);
    server_end_all(h, s, drain_ms, grace_ms);
    for (int ms = 0; ms < END_MS && atomic_load(&s->users); ms += 5) {
        close_connections(h, s); /* including those accepted since */
        usleep(5000);
    }
    if (atomic_load(&s->users))
        return -EBUSY;
    verdicts_tidy(s->context.verdicts, INT64_MAX);
    return 0;
}
