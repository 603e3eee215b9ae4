/* source_rank.c - the rank of the process that an object belongs to, in one chunk: by pid, by row,
 * or a batch at a time.
 */
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/ranks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- rows ------------------------------------------------------------------------------------ */

enum { PIDS_MOST = 1 << 16 };
static int read_host_ids(struct ranks *r, struct bound *b)
{
    r->host_ids = grow_to(&b->remap_memory, (r->host->entries + 1ul) * sizeof(*r->host_ids));
    if (!r->host_ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < r->host->entries; i++) {
        struct column_entry e = bound_entry(r->worker, r->host, i);
        r->host_ids[i] = INDEX_NO_TEXT;
        if (e.type == TRACE_TEXT)
            r->host_ids[i] = e.text_id != INDEX_NO_TEXT
                                 ? e.text_id
                                 : index_text_find(r->worker->query->env.index, e.text);
    }
    r->host_ids[r->host->entries] = INDEX_NO_TEXT;
    return 0;
}

/* To the rows from `from` to before `to`. */
static void put_rank(struct ranks *r, struct bound *b, uint32_t from, uint32_t to, int64_t rank)
{
    int64_t *out = b->rows_memory.data;
    uint64_t *valid = b->rows_valid.data;

    b->min = r->found == 0 || rank < b->min ? rank : b->min;
    b->max = r->found == 0 || rank > b->max ? rank : b->max;
    r->found += to - from;
    for (uint32_t row = from; row < to; row++)
        out[row] = rank;
    for (uint32_t row = from, next; row < to; row = next) {
        next = (row / 64 + 1) * 64 < to ? (row / 64 + 1) * 64 : to;
        valid[row / 64] |= UINT64_MAX >> (64 - (next - row)) << row % 64;
    }
}

/* Where the rows end that are of the process of row i. */
static uint32_t run_end(const struct processes *of, uint32_t i, uint32_t rows)
{
    const int64_t pid = of->pids[i];
    const uint32_t code = of->codes[i];

    for (i++; i < rows && of->pids[i] == pid && of->codes[i] == code; i++)
        if (!batch_is_valid(of->valid, i))
            break;
    return i;
}

static void fill_batch(struct ranks *r, struct bound *b, struct scan_batch *batch)
{
    const struct processes of = bound_processes(batch, r->pid, r->host);

    for (uint32_t i = 0, end; i < batch->rows; i = end) {
        int64_t rank = rank_of_row(r, &of, i);
        end = batch_is_valid(of.valid, i) ? run_end(&of, i, batch->rows) : i + 1;
        if (rank != INT64_MIN)
            put_rank(r, b, batch->first + i, batch->first + end, rank);
    }
}

static int fill_chunk(struct ranks *r, struct bound *b)
{
    uint32_t n = r->worker->chunk.rows;
    size_t words = n / 64 + 2 + SCAN_WORDS;
    struct scan_batch batch;

    if (!grow_to(&b->rows_memory, (n + 64) * sizeof(int64_t)) ||
        !grow_to(&b->rows_valid, words * 8))
        return -ENOMEM;
    memset(b->rows_valid.data, 0, words * 8);
    memset(b->rows_memory.data, 0, (n + 64) * sizeof(int64_t));
    int rc = read_host_ids(r, b);
    for (uint32_t first = 0; rc == 0 && first < n; first += SCAN_BATCH) {
        batch_at(r->worker, first, &batch);
        fill_batch(r, b, &batch);
    }
    return rc;
}

/* ---- a batch at a time: where few rows are wanted, and their pids and hosts mostly are, too */

static int bind_batches(struct ranks *r, struct bound *b)
{
    struct ranks *kept = grow_to(&b->rows_memory, sizeof(*kept));
    int rc = kept ? read_host_ids(r, b) : -ENOMEM;

    if (rc < 0)
        return rc;
    *kept = *r;
    b->form = FORM_PROCESS;
    b->shape = SHAPE_INT;
    b->min = r->table->min;
    b->max = r->table->max;
    return 0;
}

/* ---- by pid: where all rows are of one host -------------------------------------------------- */

/* Marks the pids that rows have. */
static int mark_pids(struct ranks *r, struct bound *b, uint8_t *seen)
{
    const uint64_t least = (uint64_t)b->base, span = (uint64_t)b->step;
    struct scan_batch batch;
    int rc = bound_dense(r->worker, r->pid);

    memset(seen, span == 1, span);
    for (uint32_t i = 0; rc == 0 && i < r->pid->dense_count; i++)
        seen[(uint64_t)((const int64_t *)r->pid->dense_values.data)[i] - least] = 1;
    if (rc != -EDOM)
        return rc;
    for (uint32_t first = 0; span > 1 && first < r->worker->chunk.rows; first += SCAN_BATCH) {
        batch_at(r->worker, first, &batch);
        const int64_t *pids = bound_i64(&batch, r->pid, NULL);
        for (uint32_t i = 0; i < batch.rows; i++) {
            uint64_t at = (uint64_t)pids[i] - least;
            if (at < span)
                seen[at] = 1;
        }
    }
    return 0;
}

/* A table of ranks, which source_read.c reads with the pids of a batch. */
static int fill_pids(struct ranks *r, struct bound *b, uint32_t host)
{
    size_t span = (size_t)(r->pid->max - r->pid->min) + 1;
    int64_t *ranks = grow_to(&b->rows_memory, span * sizeof(*ranks));
    uint64_t *valid = grow_to(&b->rows_valid, (span / 64 + 1) * sizeof(*valid));
    uint8_t *seen = grow_to(&b->x_table, span);

    if (!ranks || !valid || !seen)
        return -ENOMEM;
    b->part[0] = r->pid;
    b->base = r->pid->min;
    b->step = (int64_t)span;
    b->nulls = false;
    memset(ranks, 0, span * sizeof(*ranks));
    memset(valid, 0, (span / 64 + 1) * sizeof(*valid));
    int rc = mark_pids(r, b, seen);
    for (size_t i = 0; rc == 0 && i < span; i++) {
        int64_t rank = INT64_MIN, pid = b->base + (int64_t)i;
        if (seen[i])
            rank = rank_table_find(r->table, r->worker->chunk.place.file, host, pid);
        b->nulls |= seen[i] && rank == INT64_MIN;
        if (rank == INT64_MIN)
            continue;
        ranks[i] = rank;
        valid[i / 64] |= (uint64_t)1 << i % 64;
        b->min = r->found == 0 || rank < b->min ? rank : b->min;
        b->max = r->found == 0 || rank > b->max ? rank : b->max;
        r->found++;
    }
    return rc;
}

/* Few enough pids, each with its one rank. */
static bool is_by_pid(const struct ranks *r)
{
    if (r->worker->chunk.wanted && r->pid->min != r->pid->max)
        return false;
    bool one_host = r->host->shape == SHAPE_NULL ||
                    (r->host->shape == SHAPE_TEXT && r->host->entries == 1 && !r->host->nulls);

    return one_host && !r->pid->nulls && (uint64_t)r->pid->max - (uint64_t)r->pid->min < PIDS_MOST;
}

static int bind_pids(struct ranks *r, struct bound *b)
{
    int rc = read_host_ids(r, b);

    if (rc == 0) /* behind the last: what rows without a host have */
        rc = fill_pids(r, b, r->host_ids[0]);
    b->form = r->found ? FORM_RANK : FORM_NULL;
    b->shape = r->found ? SHAPE_INT : SHAPE_NULL;
    b->nulls |= r->found == 0;
    return rc;
}

int bind_rank(struct scan_worker *w, struct bound *b, struct bound *pid, struct bound *host)
{
    struct ranks r = {.worker = w, .pid = pid, .host = host};
    int rc = rank_table_of(w->query, &r.table);

    if (rc == 0 && r.table->entries.count > 0 && r.pid->shape == SHAPE_INT && is_by_pid(&r))
        return bind_pids(&r, b);
    if (rc == 0 && r.table->entries.count > 0 && r.pid->shape == SHAPE_INT && w->chunk.wanted)
        return bind_batches(&r, b);
    if (rc == 0 && r.table->entries.count > 0 && r.pid->shape == SHAPE_INT)
        rc = fill_chunk(&r, b);
    b->form = r.found ? FORM_ROWS : FORM_NULL;
    b->shape = r.found ? SHAPE_INT : SHAPE_NULL;
    b->nulls = r.found < w->chunk.rows;
    return rc;
}
