/* apply.c - the writer: applies results to their runs, in the order of each file's text. */
#include "index/catalog/catalog_record.h"
#include "index/catalog/names.h"
#include "index/ingest/hashes.h"
#include "index/ingest/order.h"
#include "index/ingest/write.h"
#include "index/ranks/ranks.h"
#include "index/store/checkpoint_record.h"

#include <errno.h>
#include <stdlib.h>

static void mark_dirty(struct writer *w, struct run *r)
{
    if (kv_batch_is_empty(w->batch) && !w->dirty)
        w->first_ns = clock_mono_ns();
    if (r->dirty)
        return;
    w->replacing = w->replacing || run_replaces(r);
    r->dirty = true;
    r->next_dirty = w->dirty;
    w->dirty = r;
    w->dirty_count++;
}

static void put_checkpoints(struct writer *w, const struct run *run, const struct result *r)
{
    for (size_t i = 0; i < r->checkpoints.count; i++) {
        const struct trace_checkpoint *c = &r->checkpoints.at[i];
        struct kv_key key = kv_key_of_u32(run->id);
        struct buf value = {0};
        kv_key_u64(&key, c->text_offset);
        checkpoint_encode(c, &value);
        kv_put_buf(w->batch, KV_CHECKPOINT, &key, &value);
    }
}

static void put_span(struct writer *w, const struct run *run, const struct index_chunk *c)
{
    struct kv_key key = kv_key_of_u32(run->id);
    struct buf value = {0};

    kv_key_u32(&key, c->number);
    chunk_encode(c, &value);
    kv_put_buf(w->batch, KV_SPAN, &key, &value);
}

static int put_names(struct writer *w, const struct run *run, struct result *r)
{
    struct part *p = r->part;
    uint32_t chunk = (uint32_t)r->chunk.number;
    struct kv_key key = kv_key_of_chunk(run->id, chunk, run->version);
    struct line_range lines = {.file = run->id,
                               .chunk = chunk,
                               .version = run->version,
                               .count = (uint32_t)p->names.count};
    uint32_t first;

    int rc = p->names.count ? lines_register(w->ix, &lines, &first) : 0;
    if (rc || p->names.count == 0)
        return rc;
    kv_put_buf(w->batch, KV_NAME, &key, &r->names);
    for (uint32_t i = 0; i < p->names.count; i++)
        p->names.at[i].line = first == INDEX_NO_TEXT ? INDEX_NO_TEXT : first + i;
    return 0;
}

static int add_hashes(struct run *run, const struct result *r)
{
    for (unsigned i = 0; i < run->index_params->dimension_count; i++) {
        if (!run->hashes[i] && !(run->hashes[i] = hashes_new(run->index_params, i)))
            return -ENOMEM;
        for (uint32_t k = 0; k < r->hash_count[i]; k++)
            hashes_add(run->hashes[i], r->hashes[i][k]);
        if (r->other)
            hashes_match_all(run->hashes[i]);
    }
    return 0;
}

/* The trace itself specifies its unit, not necessarily on its first line: the run starts again with
 * the right one. */
static bool restart_with_unit(struct writer *w, struct run *run, const struct result *r)
{
    uint8_t seen = r->part->unit_seen;

    if (!seen || run->unit_from_trace)
        return false;
    run->unit_from_trace = true;
    if (seen - 1 == (int)run->unit)
        return false;
    pthread_mutex_lock(&w->ix->lock);
    run->entry->unit = (enum trace_unit)(seen - 1);
    run->entry->unit_from_trace = true;
    run->entry->rebuild = true;
    run->entry->again = true;
    if (!run->entry->index_params)
        run->entry->index_params = index_params_ref(run->index_params);
    pthread_mutex_unlock(&w->ix->lock);
    atomic_store(&run->cancelled, RUN_CANCELLED);
    return true;
}

/* Merges the tail into base; the chunk of the result becomes the tail. */
static int replace_tail(const struct index *ix, struct run *run, struct result *r)
{
    struct index_chunk chunk = {.number = (uint32_t)r->chunk.number,
                                .version = run->version,
                                .rows = r->rows,
                                .text_len = (uint32_t)r->text_len,
                                .text_offset = r->chunk.text_offset,
                                .home = (uint16_t)(r->rank ? ranks_home(ix->ranks, r->rank) : 0)};

    if (run->tail) {
        if (!run->base && !(run->base = part_new()))
            return -ENOMEM;
        part_merge(run->base, run->tail);
        part_free(run->tail);
        run->tail = NULL;
    }
    if (vec_push(&run->chunks, chunk) < 0)
        return -ENOMEM;
    run->tail = r->part;
    r->part = NULL;
    return 0;
}

/* Applies a part of an archive. */
static int apply_walked(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    int rc = archive_list_append(&run->members, &r->members);

    mark_dirty(w, run);
    run->info = r->info;
    rc = rc ? rc : run_add_damage(run, r->damage.at, r->damage.count);
    if (rc == 0)
        put_checkpoints(w, run, r);
    return rc;
}

static int apply_chunk(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    struct kv_key key = kv_key_of_chunk(run->id, (uint32_t)r->chunk.number, run->version);

    if (r->error)
        return r->error;
    if (r->walked)
        return apply_walked(w, r);
    if (restart_with_unit(w, run, r))
        return 0;
    mark_dirty(w, run);
    run->info = r->info;
    run->index_bytes += r->value_len;
    int rc = put_names(w, run, r);
    rc = rc ? rc : run_add_damage(run, r->damage.at, r->damage.count);
    rc = rc ? rc : add_hashes(run, r);
    rc = rc ? rc : replace_tail(w->ix, run, r);
    if (rc)
        return rc;
    run->tail_complete = r->chunk.ended && r->damage.count == 0 &&
                         r->chunk.text_offset + r->text_len >=
                             (r->chunk.number + 1) * run->index_params->checkpoint_size;
    put_checkpoints(w, run, r);
    put_span(w, run, &run->chunks.at[run->chunks.count - 1]);
    if (!r->rank)
        kv_put_buf(w->batch, KV_CHUNK, &key, &r->value);
    return 0;
}

/* A run that continued after stored chunks has all values now. */
static void add_hashes_before(struct run *run, const struct result *r)
{
    if (!run->hashes_lost || !r->before[0])
        return;
    run->hashes_lost = false;
    for (unsigned i = 0; i < run->index_params->dimension_count; i++) {
        if (!run->hashes[i] && !(run->hashes[i] = hashes_new(run->index_params, i)))
            run->hashes_lost = true;
        else
            hashes_merge(run->hashes[i], r->before[i]);
    }
}

static void apply_end(struct writer *w, struct result *r)
{
    struct run *run = r->run;

    add_hashes_before(run, r);
    if (!run->error && r->error != -EPIPE) {
        run->error = r->error;
        run->error_rank = r->rank;
    }
    if (r->error != -EPIPE && run->action == RUN_READ && !run->error) {
        run->info = r->info;
        run->error = run_add_damage(run, r->damage.at, r->damage.count);
        put_checkpoints(w, run, r);
    }
    run->state = r->error == -EPIPE && !atomic_load(&run->cancelled) ? RUN_STOPPED : RUN_ENDED;
    run->finished = r->finished && run->state == RUN_ENDED;
    mark_dirty(w, run);
}

static void apply_next(struct writer *w, struct result *r)
{
    struct run *run = r->run;

    if (r->end) {
        apply_end(w, r);
        pthread_mutex_lock(&w->in->lock);
        w->in->active--;
        pthread_mutex_unlock(&w->in->lock);
    } else if (!atomic_load(&run->cancelled)) {
        int rc = apply_chunk(w, r);
        if (rc) {
            run->error = rc;
            run->error_rank = r->rank;
            atomic_store(&run->cancelled, RUN_CANCELLED);
        }
    }
    run->next_seq++;
    if (r->rank)
        order_return_credits(w->ix, r->rank, r->credits);
    else
        ingest_give_credits(w->in, r->credits);
    result_free(r);
}

/* Drops results that have arrived early: those before them will not arrive. */
static void drop_waiting(struct run *run, struct result *end)
{
    for (struct result *r = run->waiting, *next; r; r = next) {
        next = r->next;
        result_free(r);
    }
    run->waiting = NULL;
    end->seq = run->next_seq;
}

void apply_result(struct writer *w, struct result *r)
{
    struct run *run = r->run;
    struct result **at = &run->waiting;

    if (r->abrupt)
        drop_waiting(run, r);
    if (r->seq != run->next_seq) {
        while (*at && (*at)->seq < r->seq)
            at = &(*at)->next;
        r->next = *at;
        *at = r;
        return;
    }
    for (;;) {
        struct result *next = run->waiting;
        bool end = r->end;
        apply_next(w, r);
        if (end || !next || next->seq != run->next_seq)
            return;
        run->waiting = next->next;
        r = next;
    }
}
