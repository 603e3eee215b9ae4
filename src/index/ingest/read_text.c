/* read_text.c - a reader: sends the text of one file to the workers, chunk by chunk, and its end to
 * the writer. */
#include "index/ingest/ahead.h"
#include "index/ingest/hashes.h"
#include "index/ingest/ingest.h"
#include "index/ingest/order.h"
#include "index/ingest/read.h"
#include "index/catalog/archive_text.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

/* Returns the bytes of a builder beyond those that each worker has for chunks of the default
 * size. */
static size_t scratch_bytes(const struct reader *r)
{
    uint64_t size = r->run->index_params->checkpoint_size, usual = r->ix->options.checkpoint_size;

    return size > usual ? builder_bytes(size - usual) : 0;
}

/* Returns 0 after a chunk, ERR_END at the end, or the error that ended reading. */
static int read_chunk(struct reader *r)
{
    uint64_t size = r->run->index_params->checkpoint_size;
    size_t scratch = scratch_bytes(r), credits = size + (size >> 2) + (256 << 10) + scratch;
    bool ended;
    int rc = ingest_take_credits(r->in, credits);

    if (rc)
        return rc;
    struct result *result = reader_result(r);
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
    rc = reader_move_below(r, result, result->chunk.text_offset + result->chunk.len);
    if (rc) {
        ingest_give_credits(r->in, result->credits);
        result_free(result);
        return rc;
    }
    ended = result->chunk.ended;
    r->seq++;
    if (!divided_send(r, result))
        ingest_scan(r->in, result);
    if (r->ix->options.on_chunk)
        r->ix->options.on_chunk(r->ix->options.on_chunk_arg);
    /* The chunker must not be called again: if the file has grown just now, it would return a
     * provisional chunk twice. The next run continues from here. */
    return ended ? 0 : ERR_END;
}

int reader_text(struct reader *r)
{
    uint64_t size = r->run->index_params->checkpoint_size;
    int rc = reader_open(r);

    rc = rc ? rc : trace_chunker_new(r->trace, size, r->skip_to, &r->chunker);
    while (rc == 0) {
        if (atomic_load(&r->run->cancelled) || ingest_stopping(r->in))
            return -EPIPE;
        ingest_yield(r->in);
        rc = read_chunk(r);
    }
    return rc == ERR_END ? 0 : rc;
}

/* Records damage of the archive inside the member. Damage in the compression of the member itself
 * is reported elsewhere. */
static void note_archive_damage(struct reader *r)
{
    const struct run *run = r->run;
    const struct index_file *a = &run->archive->pub;
    uint64_t from = run->member.offset, to = from + run->member.size;
    struct trace_reader_info info;

    trace_reader_info(r->trace, &info);
    for (uint32_t i = 0; i < a->damage_count && i < INDEX_DAMAGE_KEPT; i++)
        if (a->damage[i].text_offset >= from && a->damage[i].text_offset < to)
            reader_note_damage(r, (enum trace_damage_kind)a->damage[i].kind, info.text_offset);
    if (run->member.cut && info.format == TRACE_PLAIN)
        reader_note_damage(r, TRACE_DAMAGE_CUT, info.text_offset);
}

void reader_end(struct reader *r, int error)
{
    struct result *end = reader_result(r);

    /* Without memory for the result that ends a run, nothing else can be done: wait. */
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
        if (error == 0 && reader_move_found(r, end) < 0)
            end->error = -ENOMEM;
    }
    if (end->error == 0 && r->finish && r->run->action == RUN_READ && r->run->hashes_lost &&
        hashes_add_kept(r->in, r->run, r->kept, end) == -EPIPE)
        end->error = -EPIPE;
    end->finished = r->finish;
    pthread_mutex_lock(&r->in->lock);
    r->in->reading--;
    pthread_mutex_unlock(&r->in->lock);
    ingest_post(r->in, end);
}

void reader_close(struct reader *r)
{
    trace_chunker_free(r->chunker);
    trace_reader_close(r->trace);
    archive_source_return(r->place, r->source);
    ahead_end(r->ahead);
    free((void *)r->from.window);
    if (r->fd >= 0)
        close(r->fd);
}
