/* read.c - a reader: opens files, and reads their text chunk by chunk. */
#include "index/ingest/read.h"
#include "index/catalog/archive_members.h"
#include "index/catalog/archive_text.h"
#include "index/ingest/ahead.h"
#include "index/ingest/hashes.h"
#include "index/ingest/ingest.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void post_job(struct ingest *in, struct result *r)
{
    r->next = NULL;
    pthread_mutex_lock(&in->lock);
    *in->jobs_end = r;
    in->jobs_end = &r->next;
    pthread_cond_signal(&in->jobs_cond);
    pthread_mutex_unlock(&in->lock);
}

/* Of the builder beyond what each worker has for chunks of the usual size. */
static size_t scratch_bytes(const struct reader *r)
{
    uint64_t size = r->run->terms->checkpoint_size, usual = r->ix->options.checkpoint_size;

    return size > usual ? builder_bytes(size - usual) : 0;
}

/* 0 went on, ERR_END, or why reading ended. */
static int read_chunk(struct reader *r)
{
    uint64_t size = r->run->terms->checkpoint_size;
    size_t scratch = scratch_bytes(r), credits = size + (size >> 2) + (256 << 10) + scratch;
    struct result *result;
    bool ended;
    int rc = ingest_take_credits(r->in, credits);

    if (rc)
        return rc;
    result = reader_result(r);
    rc = result ? trace_chunker_next(r->chunker, r->finish, &result->chunk) : -ENOMEM;
    if (rc) {
        ingest_give_credits(r->in, credits);
        free(result);
        return rc;
    }
    trace_reader_info(r->trace, &result->info);
    ahead_at(r->ahead, &result->info);
    if (result->chunk.cap + scratch > credits) {
        result->credits = credits;
    } else {
        result->credits = result->chunk.cap + scratch;
        ingest_give_credits(r->in, credits - result->credits);
    }
    rc = reader_take_below(r, result, result->chunk.text_offset + result->chunk.len);
    if (rc) {
        ingest_give_credits(r->in, result->credits);
        result_free(result);
        return rc;
    }
    ended = result->chunk.ended;
    r->seq++;
    post_job(r->in, result);
    if (r->ix->options.on_chunk)
        r->ix->options.on_chunk(r->ix->options.on_chunk_arg);
    /* Asked again, the chunker would deliver a provisional chunk once more if the file has grown
     * just now: it would count twice. The next run reads on from here. */
    return ended ? 0 : ERR_END;
}

static int read_text(struct reader *r)
{
    uint64_t size = r->run->terms->checkpoint_size;
    int rc = reader_open(r);

    if (rc == 0)
        rc = trace_chunker_new(r->trace, size, r->skip_to, &r->chunker);
    while (rc == 0) {
        if (atomic_load(&r->run->cancelled) || ingest_stopping(r->in))
            return -EPIPE;
        ingest_yield(r->in);
        rc = read_chunk(r);
    }
    return rc == ERR_END ? 0 : rc;
}

/* Once, when the file is complete: as long as it grows it has no filters. Without success it stays
 * so, but for -EPIPE: then the next process ends the run. */
static int hash_chunks_before(struct reader *r, struct result *end)
{
    const struct terms *t = r->run->terms;
    int rc = 0;

    for (unsigned i = 0; i < t->dimension_count && rc == 0; i++)
        rc = (end->before[i] = hashes_new(t, i)) ? 0 : -ENOMEM;
    for (uint32_t i = 0; i < r->kept && rc == 0; i++) {
        ingest_yield(r->in);
        rc = ingest_stopping(r->in) ? -EPIPE
                                    : hashes_add_chunk(r->ix, &r->run->old->pub, i, end->before);
    }
    for (unsigned i = 0; i < DIMENSIONS_MAX && rc; i++) {
        hashes_free(end->before[i]);
        end->before[i] = NULL;
    }
    return rc;
}

/* What happened to the archive where the member is; not what happened to the member's own packing.
 */
static void note_archive_damage(struct reader *r)
{
    const struct run *run = r->run;
    const struct index_file *a = &run->archive->pub;
    uint64_t from = run->member.offset, to = from + run->member.size;
    struct trace_reader_info info;

    trace_reader_info(r->trace, &info);
    for (uint32_t i = 0; i < a->damage_count && i < DAMAGE_KEPT; i++)
        if (a->damage[i].text_offset >= from && a->damage[i].text_offset < to)
            reader_note_damage(r, (enum trace_damage_kind)a->damage[i].kind, info.text_offset);
    if (run->member.cut && info.format == TRACE_PLAIN)
        reader_note_damage(r, TRACE_DAMAGE_CUT, info.text_offset);
}

static void end_run(struct reader *r, int error)
{
    struct result *end = reader_result(r);

    /* Without memory for the end of a run nothing can go on: wait for some. */
    while (!end) {
        usleep(10000);
        end = reader_result(r);
    }
    end->end = true;
    end->error = error;
    if (r->trace) {
        trace_reader_info(r->trace, &end->info);
        if (error == 0 && r->run->archive)
            note_archive_damage(r);
        if (error == 0 && reader_take_found(r, end) < 0)
            end->error = -ENOMEM;
    }
    if (end->error == 0 && r->finish && r->run->action == RUN_READ && r->run->hashes_lost &&
        hash_chunks_before(r, end) == -EPIPE)
        end->error = -EPIPE;
    r->run->finished = r->finish;
    pthread_mutex_lock(&r->in->lock);
    r->in->reading--;
    pthread_mutex_unlock(&r->in->lock);
    ingest_post(r->in, end);
}

static void read_file(struct reader *r, bool rebuild)
{
    int rc;

    /* Neither FIFOs nor devices may make us wait. */
    r->fd = open(r->run->entry->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    rc = r->fd < 0 ? -errno : reader_plan(r, rebuild);
    r->run->unreachable = r->fd < 0 && access(r->run->entry->path, F_OK) < 0;
    if (rc == 0 && r->run->action == RUN_READ)
        rc = r->run->entry->is_archive ? reader_walk(r) : read_text(r);
    else if (rc)
        r->run->action = RUN_READ;
    end_run(r, rc);
    trace_chunker_free(r->chunker);
    trace_reader_close(r->trace);
    archive_source_back(r->place, r->source);
    ahead_end(r->ahead);
    free((void *)r->from.window);
    if (r->fd >= 0)
        close(r->fd);
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
    run->terms = e->terms               ? e->terms
                 : e->view->body->terms ? terms_ref(e->view->body->terms)
                                        : terms_ref(ix->terms);
    e->terms = NULL;
    run->unit = e->unit;
    run->unit_fixed = e->unit_fixed;
    e->unit_fixed = false;
    e->unit = TRACE_US;
    *ret_rebuild = run->rebuild = e->rebuild;
    e->rebuild = e->replaced = false;
    e->asked = true;
    e->run = run;
    ix->read_again += e->failures > 0;
    return run;
}

/* NULL: ingest stops. */
static struct run *next_run(struct reader *r, bool *ret_rebuild)
{
    struct index *ix = r->ix;
    struct run *run = NULL;

    pthread_mutex_lock(&ix->lock);
    while (!run && !ingest_stopping(r->in)) {
        struct entry *e = ix->queue_head;

        if (!e || ix->full) {
            archive_place_done(r->place); /* nobody's file is held open while nothing is read */
            pthread_cond_wait(&ix->files_cond, &ix->lock);
            continue;
        }
        ix->queue_head = e->next_queued;
        e->queued = false;
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
    struct ingest *in = arg;
    struct archive_place place = {0};
    struct reader idle = {.in = in, .ix = in->ix, .place = &place};
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
        read_file(&r, rebuild);
    }
    archive_place_done(&place);
    free(edge);
    return NULL;
}
