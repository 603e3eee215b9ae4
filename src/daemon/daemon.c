/* daemon.c - functions that serve.c and site_join.c use for each set of directories. */
#include "daemon/daemon.h"

#include "daemon/log.h"
#include "daemon/watch.h"

void daemon_log_site(const struct daemon_site *s)
{
    if (s->socket)
        log_line(LOG_LEVEL_INFO, "listening unix=%s", s->socket);
    for (size_t i = 0; i < s->roots.count; i++)
        log_line(LOG_LEVEL_INFO, "directory path=%s label=%s", s->roots.paths[i],
                 s->roots.labels[i]);
    log_line(LOG_LEVEL_INFO, "index path=%s", s->index_path);
    if (index_rebuilt(s->index))
        log_line(LOG_LEVEL_WARNING, "index_rebuilt reason=\"%s\"", index_rebuilt(s->index));
}

void daemon_index_changed(void *arg)
{
    struct daemon *d = arg;
    pthread_mutex_lock(&d->lock);
    if (d->http)
        http_index_changed(d->http);
    pthread_mutex_unlock(&d->lock);
}

bool daemon_scanned_since(void *arg, int64_t since_ns)
{
    struct daemon_site *s = arg;
    return watch_scanned_since(s->watch, since_ns);
}

int daemon_open_rendezvous(struct daemon_site *s, struct err *err)
{
    int rc = s->socket ? rendezvous_open(&s->rendezvous, s->socket, &s->roots) : 0;
    return rc < 0 ? err_set(err, rc, "%s: %s", s->rendezvous.list, err_text(rc)) : 0;
}
