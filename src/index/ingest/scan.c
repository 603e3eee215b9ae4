/* scan.c - a worker: converts the text of a chunk to columns and a summary. */
#include "index/catalog/catalog.h"
#include "index/catalog/names.h"
#include "index/ingest/ahead.h"
#include "index/ingest/share.h"

#include "dftracerd/failpoint.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { SILENT = 256 /* entries of the table of shapes */ };
#define IDLE_NS 3000000000LL /* a worker that is idle for this time frees its memory */

struct worker {
    struct ingest *in;
    struct index *ix;
    struct trace_scanner *scanner;
    struct chunk_builder *builder;
    struct buf value; /* value of the current chunk, with space for what compression may need */
    struct index_params *index_params; /* index parameters of the builder */
    /* Shapes of events that have one name and add nothing to the part: trace_event.shape, in a
     * table indexed by some of its bits. */
    uint32_t silent[SILENT];
};

static uint32_t intern(void *arg, struct text text)
{
    return texts_add(arg, text);
}

static struct text text_by_id(void *arg, uint32_t id)
{
    return texts_get(arg, id);
}

/* Returns whether the line has only blanks, brackets and commas, and a `]`: the writer has closed
 * its array. */
static bool closes_array(const char *text, size_t len)
{
    const char *end = text + len, *p = text;

    while (p < end && (p = memchr(p, ']', (size_t)(end - p)))) {
        const char *from = p, *to = p + 1;
        while (from > text && from[-1] != '\n' &&
               ((unsigned char)from[-1] <= ' ' || strchr("[],", from[-1])))
            from--;
        while (to < end && *to != '\n' && ((unsigned char)*to <= ' ' || strchr("[],", *to)))
            to++;
        if ((from == text || from[-1] == '\n') && (to == end || *to == '\n'))
            return true;
        p = to;
    }
    return false;
}

/* Chunks are cut by the text alone, so files with the same text have chunks with the same hashes,
 * however they are compressed. Text is hashed in pieces just after scanning, while it is in the
 * cache. */
#define HASH_PIECE (64u << 10)

static inline void hash_to(struct hasher *h, const char *text, size_t *hashed, size_t to)
{
    hasher_add(h, text + *hashed, to - *hashed);
    *hashed = to;
}

/* Returns whether all events of this shape have the same name. */
static bool name_is_fixed(const struct trace_event *e)
{
    for (uint32_t i = 0; i < e->count && i < 64; i++)
        if (e->values[i].field == TRACE_FIELD_NAME)
            return e->fixed >> i & 1;
    return false;
}

static inline void collect_metadata(struct worker *w, struct result *r, const struct trace_event *e,
                                    uint32_t row)
{
    uint32_t *silent = &w->silent[e->shape % SILENT];

    if (e->shape != 0 && *silent == e->shape && e->class == TRACE_EVENT)
        return;
    if (!part_add_metadata(r->part, w->ix->texts, e, r->chunk.text, (uint32_t)r->chunk.number,
                           row) &&
        e->shape != 0 && name_is_fixed(e))
        *silent = e->shape;
}

static int scan_chunk(struct worker *w, struct result *r)
{
    struct trace_event event;
    struct trace_counts counts;
    struct hasher hasher;
    size_t hashed = 0;
    uint32_t row = 0;
    int rc;

    hasher_begin(&hasher, r->chunk.text_offset);
    trace_scan_begin(w->scanner, r->chunk.text, r->chunk.len, r->run->unit);
    chunk_builder_begin(w->builder, w->scanner);
    while ((rc = trace_scan_next(w->scanner, &event)) == 1) {
        rc = chunk_builder_add(w->builder, &event);
        if (rc < 0)
            return rc;
        collect_metadata(w, r, &event, row++);
        if (event.offset - hashed >= HASH_PIECE)
            hash_to(&hasher, r->chunk.text, &hashed, event.offset);
    }
    if (rc < 0)
        return rc;
    part_end_metadata(r->part, w->ix->texts);
    trace_scan_counts(w->scanner, &counts);
    r->part->counts = counts;
    hash_to(&hasher, r->chunk.text, &hashed, r->chunk.len);
    r->part->text_sum = hasher_end(&hasher);
    if (counts.brackets > 0 && closes_array(r->chunk.text, r->chunk.len))
        r->part->finished = true;
    return r->part->error;
}

static int take_hashes(struct worker *w, struct result *r)
{
    for (unsigned i = 0; i < w->index_params->dimension_count; i++) {
        const uint64_t *hashes;
        size_t n = chunk_builder_hashes(w->builder, i, &hashes);
        if (n == 0)
            continue;
        r->hashes[i] = malloc(n * sizeof *hashes);
        if (!r->hashes[i])
            return -ENOMEM;
        memcpy(r->hashes[i], hashes, n * sizeof *hashes);
        r->hash_count[i] = (uint32_t)n;
    }
    return 0;
}

/* The value waits for its commit, so it is stored without slack. */
static int build_chunk(struct worker *w, struct result *r, struct chunk_built *ret)
{
    struct buf *value = &w->value;

    buf_clear(value);
    int rc = chunk_builder_finish(w->builder, (uint32_t)r->chunk.number, value, ret);
    if (rc)
        return rc;
    r->value.data = malloc(value->len);
    if (!r->value.data)
        return -ENOMEM;
    memcpy(r->value.data, value->data, value->len);
    r->value.len = r->value.cap = r->value_len = value->len;
    return 0;
}

static int encode_chunk(struct worker *w, struct result *r)
{
    struct chunk_texts texts = {text_by_id, w->ix->texts, true, NULL, NULL};
    struct chunk_view *view;
    struct chunk_built built;
    struct column column;
    int rc = build_chunk(w, r, &built);

    if (rc)
        return rc;
    r->rows = built.rows;
    r->part->counts.bad_dur += built.bad_dur;
    rc = take_hashes(w, r);
    if (rc == 0 && r->part->names.count)
        rc = names_encode(w->ix, r->part, &r->names);
    buf_done(&r->part->lines); /* not needed any more */
    if (rc)
        return rc;
    rc = chunk_view_new(r->value.data, r->value.len, &texts, &view);
    if (rc)
        return rc;
    r->other = chunk_find(view, text_of("@other"), &column) == 0;
    rc = part_add_chunk(r->part, w->ix->texts, view);
    chunk_view_free(view);
    return rc;
}

/* Creates the scanner, and recreates the builder if the job has other index parameters than the
 * last one: few files have index parameters of their own. */
static int prepare_buffers(struct worker *w, struct index_params *t)
{
    struct chunk_options options = {.intern = intern,
                                    .arg = w->ix->texts,
                                    .dimensions = t->dimensions,
                                    .bloom_rate = t->bloom_rate};
    int rc = w->scanner ? 0 : trace_scanner_new(NULL, &w->scanner);

    if (rc || (w->builder && index_params_same(w->index_params, t)))
        return rc;
    chunk_builder_free(w->builder);
    w->builder = NULL;
    rc = chunk_builder_new(&options, &w->builder);
    index_params_release(w->index_params);
    w->index_params = index_params_ref(t);
    return rc;
}

static void drop_buffers(struct worker *w)
{
    chunk_builder_free(w->builder);
    trace_scanner_free(w->scanner);
    buf_done(&w->value);
    w->builder = NULL;
    w->scanner = NULL;
    memset(w->silent, 0, sizeof w->silent);
}

static void scan_job(struct worker *w, struct result *r)
{
    struct trace_chunk done;

    r->text_len = r->chunk.len;
    if (!atomic_load(&r->run->cancelled)) {
        r->part = part_new();
        r->error = r->part ? prepare_buffers(w, r->run->index_params) : -ENOMEM;
        if (r->error == 0)
            r->error = failpoint("ingest.scan") ? -errno : scan_chunk(w, r);
        if (r->error == 0)
            r->error = encode_chunk(w, r);
    }
    /* Buffers of a chunk of more than the default size are not kept, nor those that an error may
     * have left half done. */
    if (r->error ||
        (w->index_params && w->index_params->checkpoint_size > w->ix->options.checkpoint_size))
        drop_buffers(w);
    done = r->chunk; /* its number and position are still needed */
    trace_chunk_done(&done);
    r->chunk.text = NULL;
    r->chunk.cap = 0;
    /* The remaining credits are about the remaining memory. */
    size_t freed = r->value.cap + 65536 < r->credits ? r->credits - r->value.cap - 65536 : 0;
    r->credits -= freed;
    ingest_give_credits(w->in, freed);
}

/* Returns NULL if there will be no more jobs. */
static struct result *next_job(struct worker *w)
{
    struct ingest *in = w->in;
    int64_t until = clock_mono_ns() + IDLE_NS;

    pthread_mutex_lock(&in->lock);
    while (!in->jobs && !in->readers_gone) {
        pulse_beat();
        if (ahead_help(in))
            continue;
        pulse_rest();
        if (w->builder && clock_cond_wait(&in->jobs_cond, &in->lock, until) == ETIMEDOUT)
            drop_buffers(w);
        else if (!w->builder)
            pthread_cond_wait(&in->jobs_cond, &in->lock);
    }
    struct result *r = in->jobs;
    if (r) {
        in->jobs = r->next;
        if (!in->jobs)
            in->jobs_end = &in->jobs;
    }
    pthread_mutex_unlock(&in->lock);
    pulse_beat();
    return r;
}

void *ingest_worker_main(void *arg)
{
    struct ingest_worker *self = arg;
    struct ingest *in = self->in;
    struct worker w = {.in = in, .ix = in->ix};
    struct result *r;

    pthread_setname_np(pthread_self(), "dft-scan");
    pulse_own(&self->pulse);
    while ((r = next_job(&w))) {
        ingest_yield(in);
        share_enter(in);
        scan_job(&w, r);
        if (share_leave(in))
            drop_buffers(&w); /* the next job creates new ones */
        ingest_post(in, r);
    }
    drop_buffers(&w);
    index_params_release(w.index_params);
    return NULL;
}
