/* rank.c - the column rank: the rank of the process that an object belongs to. */
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/ranks.h"

#include <errno.h>
#include <string.h>

enum { PID, HOST };                     /* parts */
enum { RANKS, VALID, HOST_IDS, STATE }; /* in binding.own */
enum { MEMO = 256 };

/* Consecutive rows have the same process, or one of a few: the last results are kept. */
struct memo {
    int64_t pid, rank;
    uint32_t host;
    bool used;
};
/* To find the ranks of rows: binding.own[STATE]. */
struct ranks {
    const struct rank_table *table;
    uint32_t *host_ids;     /* text ids by code of the host */
    struct memo memo[MEMO]; /* by hash of (pid, host) */
};

/* Returns INT64_MIN if the process has no rank. */
static int64_t rank_of_process(struct scan_worker *w, struct ranks *r, int64_t pid, uint32_t host)
{
    struct memo *m = &r->memo[((uint64_t)pid * 31 + host) % MEMO];

    if (!m->used || m->pid != pid || m->host != host)
        *m = (struct memo){pid, rank_table_find(r->table, w->chunk.place.file, host, pid), host,
                           true};
    return m->rank;
}

/* ---- ranks by process ------------------------------------------------------------------------ */

/* If few rows may be selected, only these are set: pids of the others are unknown. */
static const int64_t *rank_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    struct ranks *r = b->own[STATE].data;
    const uint64_t *valid;
    const int64_t *pids = binding_i64(batch, b->part[PID], &valid);
    const uint32_t *codes = binding_codes(batch, b->part[HOST]);
    uint64_t *mask = lane_mask(out);
    uint32_t count, last = UINT32_MAX;
    const uint32_t *few = batch->places ? NULL : batch_few(batch, &count);
    int64_t rank = INT64_MIN;

    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t k = 0; k < (few ? count : batch->rows); k++) {
        uint32_t i = few ? few[k] - batch->first : k;
        out[i] = 0;
        if (!batch_is_valid(valid, i))
            continue;
        if (last == UINT32_MAX || pids[i] != pids[last] || codes[i] != codes[last])
            rank = rank_of_process(batch->chunk->worker, r, pids[i], r->host_ids[codes[i]]);
        last = i;
        out[i] = rank == INT64_MIN ? 0 : rank;
        mask[i / 64] |= (uint64_t)(rank != INT64_MIN) << i % 64;
    }
    b->i64.valid = lane_valid(batch, mask);
    b->i64.few = few || b->part[PID]->i64.few || b->part[HOST]->codes.few;
    return out;
}

static int read_host_ids(struct scan_worker *w, struct binding *host, struct scratch *memory,
                         uint32_t **ret)
{
    uint32_t *ids = *ret = scratch_reserve(memory, (host->entries + 1ul) * sizeof(*ids));

    if (!ids)
        return -ENOMEM;
    for (uint32_t i = 0; i < host->entries; i++) {
        struct column_entry e = binding_entry(w, host, i);
        ids[i] = INDEX_NO_TEXT;
        if (e.type == TRACE_TEXT)
            ids[i] = e.text_id != INDEX_NO_TEXT ? e.text_id
                                                : index_text_find(w->query->env.index, e.text);
    }
    ids[host->entries] = INDEX_NO_TEXT;
    return 0;
}

/* Computes the ranks of all rows of the chunk, so that their minimum and maximum are exact. */
static int bind_chunk(struct scan_worker *w, struct binding *b)
{
    uint32_t rows = w->chunk.rows, found = 0;
    int64_t out[SCAN_BATCH + SCAN_WORDS], min = INT64_MAX, max = INT64_MIN;
    uint64_t *valid;
    int64_t *values = whole_alloc(w, b, &valid);
    struct scan_batch batch;

    if (!values)
        return -ENOMEM;
    for (uint32_t first = 0; first < rows; first += SCAN_BATCH) {
        batch_at(w, first, &batch);
        (void)rank_i64(&batch, b, out);
        memcpy(values + first, out, batch.rows * sizeof(*out));
        memcpy(valid + first / 64, lane_mask(out), (batch.rows + 63) / 64 * sizeof(*valid));
    }
    for (uint32_t i = 0; i < rows; i++) {
        bool has_rank = batch_is_valid(valid, i);
        found += has_rank;
        min = has_rank && values[i] < min ? values[i] : min;
        max = has_rank && values[i] > max ? values[i] : max;
    }
    b->nulls = found < rows;
    return found ? bind_whole(b, min, max) : 0;
}

/* ---- ranks by pid: all rows have the same host ----------------------------------------------- */

/* Pids that are not in the table occur only in rows that cannot be selected. */
static const int64_t *rank_of_pids(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    struct binding *pid = b->part[PID];
    const int64_t *pids = binding_i64(batch, pid, NULL), *ranks = b->own[RANKS].data;
    const uint64_t first = (uint64_t)pid->min, span = (uint64_t)pid->max - first + 1;
    const uint64_t *known = b->own[VALID].data;
    uint64_t *mask = lane_mask(out);

    for (uint32_t i = 0; i < batch->rows; i++) {
        uint64_t at = (uint64_t)pids[i] - first;
        out[i] = ranks[at < span ? at : 0];
    }
    memset(mask, b->nulls ? 0 : 0xFF, SCAN_WORDS * 8);
    for (uint32_t i = 0; b->nulls && i < batch->rows; i++) {
        uint64_t at = (uint64_t)pids[i] - first;
        mask[i / 64] |= (uint64_t)(at < span && batch_is_valid(known, (uint32_t)at)) << i % 64;
    }
    b->i64.few = pid->i64.few;
    b->i64.valid = lane_valid(batch, mask);
    return out;
}

static bool rank_of_pid(const struct binding *b, int64_t pid, int64_t *ret)
{
    uint64_t at = (uint64_t)pid - (uint64_t)b->part[PID]->min;

    *ret = ((const int64_t *)b->own[RANKS].data)[at];
    return batch_is_valid(b->own[VALID].data, (uint32_t)at);
}

/* Makes a table of the ranks of all pids in the chunk. */
static int bind_pids(struct scan_worker *w, struct binding *b, const struct rank_table *table,
                     uint32_t host)
{
    static const struct column_kind by_pid = {.i64 = rank_of_pids, .of_part = rank_of_pid};
    const struct binding *pid = b->part[PID];
    bool one = pid->min == pid->max;
    const int64_t *pids = one ? &pid->min : pid->dense_values.data;
    const uint32_t count = one ? 1 : pid->dense_count;
    size_t span = (size_t)(pid->max - pid->min) + 1;
    int64_t *ranks = scratch_reserve(&b->own[RANKS], span * sizeof(*ranks)), min = INT64_MAX,
            max = INT64_MIN;
    uint64_t *valid = scratch_reserve(&b->own[VALID], (span / 64 + 1) * sizeof(*valid));
    uint32_t found = 0;

    if (!ranks || !valid)
        return -ENOMEM;
    memset(ranks, 0, span * sizeof(*ranks));
    memset(valid, 0, (span / 64 + 1) * sizeof(*valid));
    for (uint32_t i = 0; i < count; i++) {
        int64_t rank = rank_table_find(table, w->chunk.place.file, host, pids[i]);
        size_t at = (size_t)(pids[i] - pid->min);
        if (rank == INT64_MIN)
            continue;
        ranks[at] = rank;
        valid[at / 64] |= (uint64_t)1 << at % 64;
        min = rank < min ? rank : min;
        max = rank > max ? rank : max;
        found++;
    }
    b->nulls = found < count;
    return found ? bind_integers(b, &by_pid, SHAPE_INT, min, max) : 0;
}

/* ---- binding --------------------------------------------------------------------------------- */

/* Returns 0 if the pid determines the rank, else -EDOM or an error. If few rows may be selected,
 * the pids are not read, so they count only if all are the same. */
static int rank_depends_on_pid(struct scan_worker *w, struct binding *pid,
                               const struct binding *host)
{
    bool one_host = host->shape == SHAPE_NULL ||
                    (host->shape == SHAPE_TEXT && host->entries == 1 && !host->nulls);

    if (!one_host || pid->nulls)
        return -EDOM;
    if (pid->min == pid->max)
        return 0;
    return w->chunk.wanted ? -EDOM : binding_number_values(w, pid, true);
}

static int bind_rank(struct scan_worker *w, struct binding *b)
{
    struct binding *pid = bind_part(w, b, PID), *host = bind_part(w, b, HOST);
    struct ranks *r = scratch_reserve(&b->own[STATE], sizeof(*r));
    const struct rank_table *table;
    uint32_t *host_ids;
    int rc = r ? rank_table_of(w->query, &table) : -ENOMEM;

    if (rc < 0 || table->entries.count == 0 || pid->shape != SHAPE_INT)
        return rc;
    rc = read_host_ids(w, host, &b->own[HOST_IDS], &host_ids);
    if (rc < 0)
        return rc;
    rc = rank_depends_on_pid(w, pid, host);
    if (rc != -EDOM) /* host_ids[0] is the only host; or without one, the id for null */
        return rc < 0 ? rc : bind_pids(w, b, table, host_ids[0]);
    *r = (struct ranks){.table = table, .host_ids = host_ids};
    if (!w->chunk.wanted)
        return bind_chunk(w, b);
    return bind_integers(b, &derived_rank, SHAPE_INT, table->min, table->max);
}

const struct column_kind derived_rank = {
    .parts = {"pid", "host"}, .bind = bind_rank, .i64 = rank_i64};
