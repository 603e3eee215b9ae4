/* worker.c - a rank other than 0: an index that reads files for rank 0, until that ends. */
#include "mpi/rank.h"

#include "daemon/log.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* Each rank of a node has an index of its own, inside the place that the node has for it. */
static int choose_place(struct served *s, const struct options *o, unsigned rank, struct err *err)
{
    struct buf path = {0};
    char *place = NULL;
    int rc = place_choose(&s->roots, o, true, &place, err);

    if (rc == 0)
        rc = place_make_own(place, 022, err);
    if (rc == 0) {
        buf_printf(&path, "%s/rank-%u", place, rank);
        buf_putc(&path, '\0');
        rc = path.error;
    }
    free(place);
    if (rc < 0)
        return buf_done(&path), rc;
    s->index_path = path.data;
    return 0;
}

static int open_index(struct served *s, const struct options *o, unsigned rank, struct err *err)
{
    int rc = roots_open(&s->roots, o, err);

    rc = rc ? rc : choose_place(s, o, rank, err);
    rc = rc ? rc : served_open_index(s, o, NULL, err);
    if (rc == 0)
        log_line(LOG_LEVEL_INFO, "index rank=%u path=%s", rank, s->index_path);
    return rc;
}

/* The signals that end rank 0 may be sent to all: this one ends when rank 0 has. */
static void leave_signals(void)
{
    static const int signals[] = {SIGTERM, SIGINT, SIGHUP, SIGPIPE};

    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
        signal(signals[i], SIG_IGN);
}

void rank_work(struct rank *r, int argc, char **argv)
{
    struct options o = {0};
    struct served s = {.ranks = &r->ranks};
    struct err err = {0};
    int rc = options_parse(&o, argc, argv, &err);
    bool serves = rc == 0 && !o.help && !o.version && !o.document && !o.check_only;

    leave_signals();
    if (serves) { /* else rank 0 says what is wrong, or prints what was asked for */
        log_set_level(o.log_level);
        daemon_use_little_memory();
        rc = open_index(&s, &o, r->ranks.links.rank, &err);
        if (rc < 0)
            cluster_abort(r->cluster, err.text[0] ? err.text : err_text(rc));
    }
    rank_start(r);
    rank_wait(r);
    served_close(&s);
    options_done(&o);
    err_done(&err);
}
