/* worker.c - a rank other than 0: an index that reads files for rank 0, until that ends. */
#include "config.h"

#include "mpi/rank.h"

#include "daemon/log.h"
#include "dftracerd/http.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Each rank has an index of its own, inside the directory for indexes on its node. A group that can
 * write to that directory could replace the index; for rank 0, index_open makes it private. */
static int choose_place(struct daemon_site *s, const struct options *o, unsigned rank, void *arg,
                        struct err *err)
{
    struct buf path = {0};
    char *place = NULL;
    (void)arg;
    const char *option = o->index_base && !o->index_dir ? "index-base" : "index-dir";
    int rc = place_choose(&s->roots, o, true, &place, err);
    if (rc == 0)
        rc = place_check_own(place, 022, option, err);
    if (rc == 0) {
        buf_printf(&path, "%s/rank-%u", place, rank);
        s->index_path = buf_steal(&path, NULL);
        rc = s->index_path ? 0 : -ENOMEM;
    }
    free(place);
    return rc;
}

static int open_index(struct daemon_site *s, const struct options *o,
                      const struct rank_place *place, struct err *err)
{
    unsigned rank = s->ranks->links.rank;
    int rc = roots_open(&s->roots, o, err);

    rc = rc ? rc : place->choose(s, o, rank, place->arg, err);
    rc = rc ? rc : daemon_site_open_index(s, o, NULL, err);
    if (rc == 0)
        log_line(LOG_LEVEL_INFO, "index rank=%u path=%s", rank, s->index_path);
    return rc;
}

/* ---- scans for rank 0 ------------------------------------------------------------------------ */

struct scans {
    struct http_runner *runner;
    struct http_remote *remote;
};

int rank_open_runner(const struct daemon_site *s, const struct options *o, struct err *err,
                     struct http_runner **ret)
{
    const struct http_options h = {
        .index = s->index,
        .root_labels = (const char *const *)s->roots.labels,
        .root_paths = (const char *const *)s->roots.paths,
        .root_count = s->roots.count,
        .workers = daemon_site_workers(s, o),
        .limits = {.query_memory = o->query_memory, .total_memory = o->total_memory},
        .version = DFT_VERSION,
        .build = DFT_BUILD_SUMMARY};

    return http_runner_new(&h, err, ret);
}

static int open_scans(struct daemon_site *s, const struct options *o, struct scans *ret,
                      struct err *err)
{
    int rc = rank_open_runner(s, o, err, &ret->runner);

    return rc < 0 ? rc : http_remote_new(ret->runner, s->index, &ret->remote);
}

/* ---- the job --------------------------------------------------------------------------------- */

/* Signals that end rank 0 may be sent to all ranks: this one ends when rank 0 has ended. */
static void ignore_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
}

/* A rank reports why it has no index only if rank 0 needs it: the same error may occur there. */
static void set_index_error(struct rank *r, int rc, const struct err *err)
{
    if (rc < 0 && !(r->index_error = strdup(err->text[0] ? err->text : err_text(rc))))
        cluster_abort(r->cluster, err_text(rc));
}

void rank_idle(struct rank *r, int rc, const struct err *err)
{
    ignore_signals();
    set_index_error(r, rc, err);
    rank_start(r);
    rank_wait(r);
}

void rank_serve(struct rank *r, const struct options *o, const struct rank_place *place)
{
    struct daemon_site s = {.ranks = &r->ranks};
    struct scans scans = {0};
    struct err err = {0};

    ignore_signals();
    log_set_level(o->log_level);
    daemon_use_little_memory();
    int rc = open_index(&s, o, place, &err);
    rc = rc < 0 ? rc : open_scans(&s, o, &scans, &err);
    set_index_error(r, rc, &err);
    rank_start(r);
    rank_wait(r);
    r->ranks.receive(r, NULL); /* no more messages are passed to the index */
    http_remote_free(scans.remote);
    http_runner_free(scans.runner);
    daemon_site_close(&s);
    err_done(&err);
}

void rank_work(struct rank *r, int argc, char **argv)
{
    const struct rank_place place = {choose_place, NULL};
    struct options o = {0};
    struct err err = {0};
    int rc = options_parse(&o, argc, argv, &err);

    if (rc == 0 && !o.help && !o.version && !o.document && !o.check_only)
        rank_serve(r, &o, &place);
    else /* rank 0 prints the requested text */
        rank_idle(r, rc, &err);
    options_done(&o);
    err_done(&err);
}
