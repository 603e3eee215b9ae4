/* read.c - a reader: opens files, and reads their text chunk by chunk. */
#include "index/ingest/read.h"
#include "index/catalog/archive_members.h"
#include "index/catalog/archive_text.h"
#include "index/ingest/ahead.h"
#include "index/ingest/hashes.h"
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void read_file(struct reader *r, bool rebuild)
{
    /* FIFOs and devices must not block the reader. */
    r->fd = open(r->run->entry->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    int rc = r->fd < 0 ? -errno : reader_plan(r, rebuild);
    r->run->unreachable = r->fd < 0 && access(r->run->entry->path, F_OK) < 0;
    bool other_rank = rc == 0 && r->run->action == RUN_READ && r->rank;
    if (other_rank)
        rc = order_begin(r);
    else if (rc == 0 && r->run->action == RUN_READ)
        rc = r->run->entry->is_archive ? reader_walk(r) : reader_text(r);
    else if (rc)
        r->run->action = RUN_READ;
    if (!other_rank || rc)
        reader_end(r, rc);
    reader_close(r);
}

static struct run *new_run(struct index *ix, struct entry *e, bool *ret_rebuild)
{
    struct run *run = calloc(1, sizeof *run);

    if (!run)
        return NULL;
    run->entry = e;
    run->begin_ns = clock_mono_ns();
    run->old = view_ref(e->view);
    run->archive = e->archive ? view_ref(e->archive->view) : NULL;
    run->member = e->member;
    run->index_params = e->index_params         ? e->index_params
                        : e->view->index_params ? index_params_ref(e->view->index_params)
                                                : index_params_ref(ix->index_params);
    e->index_params = NULL;
    run->unit = e->unit;
    run->unit_from_trace = e->unit_from_trace;
    e->unit_from_trace = false;
    e->unit = TRACE_US;
    *ret_rebuild = run->rebuild = e->rebuild;
    e->rebuild = e->replaced = false;
    e->requested = true;
    e->run = run;
    ix->read_again += e->failures > 0;
    return run;
}

/* Returns NULL if ingest stops. */
static struct run *next_run(struct reader *r, bool *ret_rebuild)
{
    struct index *ix = r->ix;
    struct run *run = NULL;
    struct entry *e;

    pthread_mutex_lock(&ix->lock);
    while (!run && !ingest_stopping(r->in)) {
        if (!ix->full && (run = order_next(r->in)))
            break;
        e = ix->full || order_is_full(r->in, r->rank) ? NULL : queue_next_file(ix, r->rank);
        if (!e) {
            archive_place_done(r->place); /* no file stays open while nothing is read */
            pthread_cond_wait(&ix->files_cond, &ix->lock);
            continue;
        }
        if (e->run)
            e->again = true;
        else if (e->view->pub.state != INDEX_MISSING && !e->link_of &&
                 (!e->archive || archive_is_readable(e->archive)))
            run = new_run(ix, e, ret_rebuild);
    }
    if (run) {
        pthread_mutex_lock(&r->in->lock);
        r->in->active++;
        r->in->reading++;
        pthread_mutex_unlock(&r->in->lock);
    }
    pthread_mutex_unlock(&ix->lock);
    return run;
}

void *ingest_reader_main(void *arg)
{
    struct ingest *in = ((struct ingest_reader *)arg)->in;
    struct archive_place place = {0};
    struct reader idle = {
        .in = in, .ix = in->ix, .rank = ((struct ingest_reader *)arg)->rank, .place = &place};
    char *edge;
    bool rebuild = false;
    struct run *run;

    pthread_setname_np(pthread_self(), "dft-read");
    while (!(edge = malloc(EDGE_BYTES)) && !ingest_stopping(in))
        ingest_rest(in);
    while (edge && (run = next_run(&idle, &rebuild))) {
        struct reader r = idle;
        r.run = run;
        r.fd = -1;
        r.edge = edge;
        if (run->order)
            order_read(&r);
        else
            read_file(&r, rebuild);
    }
    archive_place_done(&place);
    free(edge);
    return NULL;
}
