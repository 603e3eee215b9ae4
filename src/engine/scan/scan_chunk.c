/* scan_chunk.c - the scan of one chunk by one worker: binds the tests, then runs the batches. */
#include "dftracerd/kernel.h"
#include "engine/derived/within.h"
#include "engine/filter/filter.h"
#include "engine/scan/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int scan_worker_new(struct query *q, struct scan_worker **ret)
{
    struct scan_worker *w = aligned_alloc(64, (sizeof(*w) + 63) & ~(size_t)63);

    if (!w)
        return -ENOMEM;
    memset(w, 0, sizeof(*w));
    w->query = q;
    w->tests = calloc(q->test_count + 1, sizeof(*w->tests));
    if (!w->tests) {
        free(w);
        return -ENOMEM;
    }
    *ret = w;
    return 0;
}

void scan_worker_free(struct scan_worker *w)
{
    if (!w)
        return;
    query_count(w->query, &w->counters);
    for (size_t i = 0; i < w->bindings.count; i++)
        binding_free(w->bindings.at[i]);
    for (unsigned i = 0; i < w->query->test_count; i++) {
        scratch_done(&w->tests[i].ranges);
        scratch_done(&w->tests[i].table);
        scratch_done(&w->tests[i].rows);
        vec_done(&w->tests[i].seen);
    }
    scratch_done(&w->other_rows);
    scratch_done(&w->values);
    vec_done(&w->bindings);
    free(w->tests);
    vec_done(&w->resolved);
    hash_index_done(&w->resolved_index);
    free(w);
}

/* ---- batches --------------------------------------------------------------------------------- */

/* Clears the bits of rows before the place's first one. */
static void mask_out_first(const struct scan_worker *w, const struct scan_batch *b, uint64_t *mask)
{
    uint32_t first = w->chunk.place.first_row;

    for (uint32_t i = 0; i < SCAN_WORDS && b->first + i * 64 < first; i++) {
        uint32_t gone = first - (b->first + i * 64);
        mask[i] = gone >= 64 ? 0 : mask[i] & (UINT64_MAX << gone);
    }
}

/* ---- gathered rows --------------------------------------------------------------------------- */

void scan_worker_gather(struct scan_worker *w)
{
    w->gathers = true;
}

/* Returns the result of a callback, or the error of a value that it has read. */
static int callback_result(const struct scan_worker *w, int rc)
{
    return w->error ? w->error : rc;
}

/* Passes the gathered rows to the sink. The current batch stays valid, but not its lanes. */
static int flush_gathered(struct scan_worker *w, const struct chunk_scan *s)
{
    struct gathered *g = &w->gathered;
    const uint64_t *interest = w->interest;

    if (g->count == 0)
        return 0;
    g->batch = (struct scan_batch){.chunk = &w->chunk,
                                   .number = BATCH_GATHERED | g->batches++,
                                   .places = g->places,
                                   .rows = g->count,
                                   .count = g->count,
                                   .mask = g->mask};
    memset(g->mask, 0, sizeof(g->mask));
    mask_fill(&g->batch, g->mask);
    g->count = 0;
    w->interest = NULL;
    int rc = callback_result(w, s->sink->batch(s->state, &g->batch));
    w->interest = interest;
    return rc;
}

static int gather_rows(struct scan_worker *w, const struct scan_batch *b,
                       const struct chunk_scan *s)
{
    struct gathered *g = &w->gathered;
    int rc = g->count + b->count > SCAN_BATCH ? flush_gathered(w, s) : 0;

    for (uint32_t j = 0; rc == 0 && j < b->count; j++)
        g->places[g->count++] = b->first + b->select[j];
    return rc;
}

/* Sets count and select from the mask. */
static void set_selected(struct scan_worker *w, struct scan_batch *b)
{
    if (mask_is_full(b, w->mask))
        return;
    b->count = mask_to_select(w->mask, b->rows, w->select);
    b->select = w->select;
}

/* Sets mask, count and select. */
static int select_rows(struct scan_worker *w, struct scan_batch *b)
{
    b->mask = w->mask;
    w->interest = w->chunk.wanted ? w->chunk.wanted + b->first / 64 : NULL;
    memset(w->mask, 0, sizeof(w->mask));
    if (w->chunk.tests_pass)
        mask_fill(b, w->mask);
    else if (w->rows)
        memcpy(w->mask, w->rows + b->first / 64, (b->rows + 63) / 64 * 8);
    else
        test_eval_root(w, b, w->root, w->mask);
    if (w->error || w->chunk.all)
        return w->error;
    mask_out_first(w, b, w->mask);
    for (uint32_t i = 0; w->chunk.wanted && i < SCAN_WORDS; i++)
        w->mask[i] &= w->chunk.wanted[b->first / 64 + i];
    w->interest = w->mask;
    set_selected(w, b);
    if (!w->chunk.within || b->count == 0)
        return 0;
    within_select(b, w->mask);
    set_selected(w, b);
    return w->error;
}

static bool has_rows(const uint64_t *mask, uint32_t rows)
{
    uint64_t bits = 0;

    for (uint32_t i = 0; i < (rows + 63) / 64; i++)
        bits |= mask[i];
    return bits != 0;
}

static int run_batch(struct scan_worker *w, uint32_t first, const struct chunk_scan *s)
{
    struct scan_batch *b = &w->batch;
    int rc = budget_check(w->query->budget);

    if (rc < 0)
        return rc;
    if (s->stop && atomic_load_explicit(s->stop, memory_order_relaxed))
        return ERR_CANCELLED;
    batch_at(w, first, b);
    if (w->chunk.wanted && !has_rows(w->chunk.wanted + first / 64, b->rows))
        return 0;
    w->counters.rows_scanned += b->rows;
    if (w->rows && !has_rows(w->rows + first / 64, b->rows))
        return 0;
    rc = select_rows(w, b);
    if (rc < 0 || b->count == 0)
        return rc;
    w->counters.rows_selected += b->count;
    if (w->gathers && b->select && b->count * BATCH_FEW <= b->rows)
        return gather_rows(w, b, s);
    rc = flush_gathered(w, s);
    return rc ? rc : callback_result(w, s->sink->batch(s->state, b));
}

/* ---- chunks ---------------------------------------------------------------------------------- */

static int open_place(struct scan_worker *w, size_t position)
{
    struct query *q = w->query;
    struct scan_chunk *c = &w->chunk;

    memset(c, 0, sizeof(*c));
    c->worker = w;
    c->query = q;
    c->position = position;
    c->place = q->places[position];
    c->file = snapshot_file(q->snapshot, c->place.file);
    c->info = &c->file->chunks[c->place.chunk];
    int rc = chunk_open(q->env.index, q->snapshot, c->file, c->place.chunk, &c->view);
    if (rc < 0)
        return rc;
    c->rows = chunk_rows(c->view);
    w->interest = NULL;
    w->error = 0;
    w->serial++;
    return 0;
}

/* Passes the values of the only source to the sink. Returns ERR_END if no batches are needed. */
static int run_values(struct scan_worker *w, const struct chunk_scan *s)
{
    const struct source *only = s->sink->only;
    struct scan_values v;

    if (!only || w->chunk.tests_pass || w->chunk.within || w->chunk.place.first_row > 0 ||
        w->chunk.place.end_row)
        return 0;
    int rc = test_values(w, w->root, only, &v) ? s->sink->values(s->state, &v) : -EDOM;
    if (rc < 0)
        return callback_result(w, rc == -EDOM ? 0 : rc);
    w->counters.rows_scanned += w->chunk.rows;
    w->counters.rows_selected += v.count;
    return ERR_END;
}

/* Evaluates tests on encoded columns for the whole chunk, before anything else is read of it. Sets
 * `many`. */
static int select_encoded(struct scan_worker *w)
{
    uint32_t words = (w->chunk.rows + 63) / 64;

    w->rows = w->chunk.tests_pass ? NULL : test_select_root(w, w->root);
    w->chunk.many =
        w->chunk.tests_pass || (w->rows && kernels()->count(w->rows, words) >= w->chunk.rows / 4);
    return w->error;
}

static int run_rows(struct scan_worker *w, struct chunk_scan *s)
{
    const struct scan_sink *sink = s->sink;
    uint32_t first = w->chunk.place.first_row / SCAN_BATCH * SCAN_BATCH;
    uint32_t end = w->chunk.place.end_row ? w->chunk.place.end_row : w->chunk.rows;

    w->gathered.count = w->gathered.batches = 0;
    w->rows = NULL;
    int rc = sink->only || w->chunk.wanted ? 0 : select_encoded(w);
    if (rc == 0 && sink->chunk_begin)
        rc = callback_result(w, sink->chunk_begin(s->state, &w->chunk));
    rc = rc ? rc : run_values(w, s);
    rc = rc == 0 && sink->only ? select_encoded(w) : rc;
    for (; rc == 0 && first < end; first += SCAN_BATCH)
        rc = run_batch(w, first, s);
    rc = rc ? rc : flush_gathered(w, s);
    if (rc == ERR_END)
        rc = 0;
    return rc == 0 && sink->chunk_end ? sink->chunk_end(s->state, &w->chunk, &s->part) : rc;
}

int chunk_run(struct scan_worker *w, size_t position, struct chunk_scan *s)
{
    enum tri tri = TRI_ALL;
    int rc = budget_check(w->query->budget);

    if (rc == 0)
        rc = open_place(w, position);
    if (rc < 0)
        return rc;
    w->chunk.wanted = s->rows;
    rc = s->sink->chunk_plan ? s->sink->chunk_plan(s->state, &w->chunk) : 0;
    w->root = w->chunk.wanted ? w->query->timeless : w->query->root;
    if (w->chunk.rows == 0)
        tri = TRI_NONE;
    else if (rc == 0 && w->root && !s->rows)
        tri = test_bind(w, w->root);
    w->chunk.within = within_filters(w->query) && !s->rows;
    if (rc == 0 && tri != TRI_NONE && w->chunk.within && within_skips(w))
        tri = TRI_NONE;
    w->chunk.tests_pass = tri == TRI_ALL;
    w->chunk.all = w->chunk.tests_pass && w->chunk.place.first_row == 0 &&
                   !w->chunk.place.end_row && !w->chunk.within && !w->chunk.wanted;
    bool counts = !w->chunk.place.continued && !s->rows && !s->sink->uncounted;
    w->counters.chunks_scanned += counts && tri != TRI_NONE;
    w->counters.chunks_skipped += counts && tri == TRI_NONE;
    rc = callback_result(w, rc);
    if (rc == 0 && tri == TRI_SOME && w->gathers)
        test_bind_only_codes(w, w->root);
    if (rc == 0 && tri != TRI_NONE)
        rc = run_rows(w, s);
    chunk_close(w->chunk.view);
    w->chunk.view = NULL;
    w->serial++; /* bindings to this chunk are no longer valid */
    return rc;
}

int scan_chunk_rows(struct scan_worker *w, size_t position, uint64_t *rows,
                    int (*batch)(void *arg, struct scan_batch *b), void *arg)
{
    const struct scan_sink sink = {.batch = batch};
    struct chunk_scan scan = {.sink = &sink, .state = arg, .rows = rows};

    index_query_running(w->query->env.index, 1);
    int rc = chunk_run(w, position, &scan);
    index_query_running(w->query->env.index, -1);
    query_count(w->query, &w->counters);
    memset(&w->counters, 0, sizeof(w->counters));
    return rc;
}

int scan_chunk(struct scan_worker *w, size_t position,
               int (*batch)(void *arg, struct scan_batch *b), void *arg)
{
    return scan_chunk_rows(w, position, NULL, batch, arg);
}
