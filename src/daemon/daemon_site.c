/* daemon_site.c - opens and closes the index of a site. */
#include "daemon/daemon_site.h"

#include "daemon/join.h"
#include "daemon/takeover.h"
#include "daemon/watch.h"

#include <stdlib.h>
#include <string.h>

#define TAKEOVER_MS 15000 /* longer than daemons of the client wait for their requests */

/* Splits the list at its commas, in place. */
static const char **split_dimensions(char *list, const char **names)
{
    size_t n = 0;
    for (char *save, *item = strtok_r(list, ",", &save); item && n < OPTIONS_LIST_MAX;
         item = strtok_r(NULL, ",", &save))
        names[n++] = item;
    names[n] = NULL;
    return names;
}

unsigned daemon_site_workers(const struct daemon_site *s, const struct options *o)
{
    unsigned share = s->ranks ? cpu_count() / s->ranks->on_node : 0;
    if (o->executor_threads || !s->ranks)
        return (unsigned)o->executor_threads;
    return share ? share : 1;
}

int daemon_site_open_index(struct daemon_site *s, const struct options *o,
                           struct index_share *share, struct err *err)
{
    const char *names[OPTIONS_LIST_MAX + 1];
    char *dimensions = o->dimensions ? strdup(o->dimensions) : NULL;
    struct index_options x = {
        .path = s->index_path,
        .checkpoint_size = o->checkpoint_size,
        .map_size = o->map_size,
        .map_max = o->max_index_size,
        .share = share,
        .archive_traces = (uint32_t)o->archive_traces,
        .workers = daemon_site_workers(s, o),
        .memory = s->ranks ? memory_limit().bytes / s->ranks->on_node : 0,
        /* A daemon that was started for one command treats files as complete. */
        .settle_ms = o->on_demand ? -1 : (int64_t)o->settle_ms,
        .purge_ms = (int64_t)o->keep_missing_ms,
        .on_demand = o->on_demand,
        .dimensions = dimensions ? split_dimensions(dimensions, names) : NULL,
        .ranks = s->ranks ? &s->ranks->links : NULL};
    if (o->dimensions && !dimensions)
        return -ENOMEM;
    int rc = index_open(&x, err, &s->index);
    if (rc == ERR_STORE_BUSY && !o->on_demand && !o->join &&
        (join_end(&s->rendezvous, s->index_path) || takeover(s->index_path, TAKEOVER_MS))) {
        err_done(err); /* a later error has another reason */
        rc = index_open(&x, err, &s->index);
    }
    free(dimensions);
    if (rc == 0 && s->ranks)
        s->ranks->receive(s->ranks->arg, s->index);
    return rc;
}

int daemon_site_open(struct daemon_site *s, const struct options *o, struct index_share *share,
                     void (*call)(void *arg), void *arg, struct err *err)
{
    s->rescan_ms = o->rescan_ms;
    int rc = daemon_site_open_index(s, o, share, err);
    if (rc == 0)
        rc = watch_new(s->index, &s->roots, &s->watch);
    if (rc == 0)
        watch_on_scan(s->watch, call, arg);
    return rc;
}

static void *watch_loop(void *arg)
{
    struct daemon_site *s = arg;
    watch_run(s->watch, s->rescan_ms, &s->stop);
    return NULL;
}

int daemon_site_watch(struct daemon_site *s)
{
    int rc = pthread_create(&s->watcher, NULL, watch_loop, s);
    s->watching = rc == 0;
    return -rc;
}

void daemon_site_stop_watching(struct daemon_site *s)
{
    atomic_store(&s->stop, true);
    if (s->watching) {
        watch_wake(s->watch);
        pthread_join(s->watcher, NULL);
    }
    s->watching = false;
    if (s->index)
        index_on_change(s->index, NULL, NULL);
}

void daemon_site_close(struct daemon_site *s)
{
    daemon_site_stop_watching(s);
    watch_free(s->watch);
    s->watch = NULL;
    if (s->index && s->ranks)
        s->ranks->receive(s->ranks->arg, NULL);
    if (s->index)
        index_close(s->index);
    s->index = NULL;
    rendezvous_done(&s->rendezvous);
    roots_done(&s->roots);
    free(s->index_path);
    free(s->output_dir);
    s->index_path = s->output_dir = NULL;
}
