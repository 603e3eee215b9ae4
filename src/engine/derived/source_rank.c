/* source_rank.c - the rank of the process that an object belongs to.
 *
 * A process is (name of the host, pid). Its rank is the one its own file tells, else the first that
 * any file of the snapshot tells, in path order: a table of all processes with a rank, made when
 * the first query asks.
 */
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED = 1024 }; /* processes until the budget is asked whether to continue */

struct rank_entry {
    int64_t pid, rank;
    uint32_t host; /* text id of the name, INDEX_NO_TEXT = null */
    uint32_t file; /* position in the snapshot */
};
struct rank_table {
    size_t count, cap;
    struct rank_entry *entries; /* sorted by (pid, host, file) */
    int64_t min, max;           /* of all ranks */
};

/* ---- the table ------------------------------------------------------------------------------- */

uint32_t process_host(struct query *q, const struct index_file *file, const struct index_process *p)
{
    if (p->host == INDEX_NO_TEXT || !p->host_is_hash)
        return p->host;
    return query_resolve(q, file, p->pid, INDEX_HH, p->host);
}

uint32_t only_host_of_pid(struct query *q, const struct index_file *file, int64_t pid)
{
    uint32_t only = INDEX_NO_TEXT, count;
    const uint32_t *at = index_processes_of_pid(file, pid, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct index_process *p = &file->processes[at[i]];
        if (p->host == INDEX_NO_TEXT)
            continue;
        uint32_t host = process_host(q, file, p);
        if (only != INDEX_NO_TEXT && only != host)
            return INDEX_NO_TEXT;
        only = host;
    }
    return only;
}

static int cmp_entries(const void *a, const void *b)
{
    const struct rank_entry *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static int add_rank(struct query *q, struct rank_table *t, uint32_t position,
                    const struct index_process *p)
{
    const struct index_file *file = snapshot_file(q->snapshot, position);

    if (t->count == t->cap) {
        size_t cap = t->cap ? t->cap * 2 : 64;
        struct rank_entry *more = realloc(t->entries, cap * sizeof(*more));
        if (!more)
            return -ENOMEM;
        t->entries = more;
        t->cap = cap;
    }
    uint32_t host = process_host(q, file, p);
    if (host == INDEX_NO_TEXT)
        host = only_host_of_pid(q, file, p->pid);
    t->min = t->count == 0 || p->rank < t->min ? p->rank : t->min;
    t->max = t->count == 0 || p->rank > t->max ? p->rank : t->max;
    t->entries[t->count++] =
        (struct rank_entry){.pid = p->pid, .rank = p->rank, .host = host, .file = position};
    return 0;
}

static int make_table(struct query *q, struct rank_table **ret)
{
    struct rank_table *t = calloc(1, sizeof(*t));
    int rc = t ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < snapshot_file_count(q->snapshot); i++) {
        const struct index_file *file = snapshot_file(q->snapshot, i);
        for (uint32_t k = 0; rc == 0 && k < file->process_count; k++) {
            rc = k % LOOKED ? 0 : budget_check(q->budget);
            if (rc == 0 && file->processes[k].rank != INT64_MIN)
                rc = add_rank(q, t, i, &file->processes[k]);
        }
    }
    if (rc < 0) {
        rank_table_free(t);
        return rc;
    }
    if (t->count > 0)
        qsort(t->entries, t->count, sizeof(*t->entries), cmp_entries);
    *ret = t;
    return 0;
}

void rank_table_free(struct rank_table *t)
{
    if (!t)
        return;
    free(t->entries);
    free(t);
}

/* Two workers may make it at once; one of them wins. */
static int table_of(struct query *q, const struct rank_table **ret)
{
    struct rank_table *made = NULL, *none = NULL;

    if (!atomic_load(&q->ranks)) {
        int rc = make_table(q, &made);
        if (rc < 0)
            return rc;
        if (!atomic_compare_exchange_strong(&q->ranks, &none, made))
            rank_table_free(made);
    }
    *ret = atomic_load(&q->ranks);
    return 0;
}

/* INT64_MIN when nobody tells one. */
static int64_t rank_of(const struct rank_table *t, uint32_t file, uint32_t host, int64_t pid)
{
    size_t from = 0, to = t->count;
    struct rank_entry key = {.pid = pid, .host = host};

    while (from < to) { /* the first entry of (pid, host) */
        size_t middle = from + (to - from) / 2;
        if (cmp_entries(&t->entries[middle], &key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    int64_t rank = INT64_MIN;
    for (size_t i = from; i < t->count && t->entries[i].pid == pid && t->entries[i].host == host;
         i++) {
        if (t->entries[i].file == file)
            return t->entries[i].rank;
        rank = rank == INT64_MIN ? t->entries[i].rank : rank;
    }
    return rank;
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Processes come in runs of rows or alternate among a few: the last answers are kept. */
enum { MEMO = 256, PIDS_MOST = 1 << 16 };
struct memo {
    int64_t pid, rank;
    uint32_t host;
    bool used;
};
struct ranks {
    struct scan_worker *worker;
    const struct rank_table *table;
    struct bound *pid, *host;
    uint32_t *host_ids; /* of the codes of host; in remap_memory */
    struct memo memo[MEMO];
    uint32_t found;
};

static int read_host_ids(struct ranks *r, struct bound *b)
{
    struct column_entry e;
    bool coded = r->host->shape == SHAPE_TEXT || r->host->shape == SHAPE_MIXED;

    r->host_ids = grow_to(&b->remap_memory, (r->host->entries + 1ul) * sizeof(*r->host_ids));
    if (!r->host_ids)
        return -ENOMEM;
    for (uint32_t i = 0; coded && i < r->host->entries; i++) {
        int rc = bound_entry(r->worker, r->host, i, &e);
        if (rc < 0)
            return rc;
        r->host_ids[i] = INDEX_NO_TEXT;
        if (e.type == TRACE_TEXT)
            r->host_ids[i] = e.text_id != INDEX_NO_TEXT
                                 ? e.text_id
                                 : index_text_find(r->worker->query->env.index, e.text);
    }
    r->host_ids[r->host->entries] = INDEX_NO_TEXT;
    return 0;
}

static int64_t rank_of_process(struct ranks *r, int64_t pid, uint32_t host)
{
    struct memo *m = &r->memo[((uint64_t)pid * 31 + host) % MEMO];

    if (!m->used || m->pid != pid || m->host != host)
        *m = (struct memo){pid, rank_of(r->table, r->worker->chunk.place.file, host, pid), host,
                           true};
    return m->rank;
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

/* Of the rows of a batch. */
struct processes {
    const int64_t *pids;
    const uint64_t *valid;
    const uint32_t *codes; /* of the hosts; NULL: none has one */
};

static int read_processes(struct ranks *r, struct scan_batch *batch, struct processes *ret)
{
    int rc = bound_i64(batch, r->pid, &ret->pids, &ret->valid);

    ret->codes = NULL;
    if (rc == 0 && r->host->shape != SHAPE_NULL)
        rc = bound_codes(batch, r->host, &ret->codes);
    return rc;
}

/* INT64_MIN: it has none. */
static int64_t rank_of_row(struct ranks *r, const struct processes *of, uint32_t i)
{
    if (!batch_is_valid(of->valid, i))
        return INT64_MIN;
    return rank_of_process(r, of->pids[i], of->codes ? r->host_ids[of->codes[i]] : INDEX_NO_TEXT);
}

/* Where the rows end that are of the process of row i. */
static uint32_t run_end(const struct processes *of, uint32_t i, uint32_t rows)
{
    const int64_t pid = of->pids[i];
    const uint32_t code = of->codes ? of->codes[i] : 0;

    for (i++; i < rows && of->pids[i] == pid && (!of->codes || of->codes[i] == code); i++)
        if (!batch_is_valid(of->valid, i))
            break;
    return i;
}

static int fill_batch(struct ranks *r, struct bound *b, struct scan_batch *batch)
{
    struct processes of;
    int rc = read_processes(r, batch, &of);

    for (uint32_t i = 0, end; rc == 0 && i < batch->rows; i = end) {
        int64_t rank = rank_of_row(r, &of, i);
        end = batch_is_valid(of.valid, i) ? run_end(&of, i, batch->rows) : i + 1;
        if (rank != INT64_MIN)
            put_rank(r, b, batch->first + i, batch->first + end, rank);
    }
    return rc;
}

static int fill_all(struct ranks *r, struct bound *b)
{
    struct scan_batch batch;
    int rc = 0;

    memset(b->rows_memory.data, 0, (r->worker->chunk.rows + 64) * sizeof(int64_t));
    for (uint32_t first = 0; rc == 0 && first < r->worker->chunk.rows; first += SCAN_BATCH) {
        batch_at(r->worker, first, &batch);
        rc = fill_batch(r, b, &batch);
    }
    return rc;
}

static int fill_chunk(struct ranks *r, struct bound *b)
{
    uint32_t n = r->worker->chunk.rows;
    size_t words = n / 64 + 2 + SCAN_WORDS;

    if (!grow_to(&b->rows_memory, (n + 64) * sizeof(int64_t)) ||
        !grow_to(&b->rows_valid, words * 8))
        return -ENOMEM;
    memset(b->rows_valid.data, 0, words * 8);
    int rc = read_host_ids(r, b);
    return rc < 0 ? rc : fill_all(r, b);
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
    b->nano = false;
    b->nulls = true;
    return 0;
}

int ranks_of_rows(struct scan_batch *batch, struct bound *b, int64_t *out, uint64_t *valid)
{
    struct ranks *r = b->rows_memory.data;
    struct processes of;
    int rc = read_processes(r, batch, &of);

    for (uint32_t i = 0; rc == 0 && i < batch->rows; i++) {
        int64_t rank = rank_of_row(r, &of, i);
        out[i] = rank == INT64_MIN ? 0 : rank;
        valid[i / 64] |= (uint64_t)(rank != INT64_MIN) << i % 64;
    }
    return rc;
}

/* ---- by pid: where all rows are of one host -------------------------------------------------- */

/* Marks the pids that rows have. */
static int mark_pids(struct ranks *r, struct bound *b, uint8_t *seen)
{
    const int64_t *pids;
    const uint64_t *valid, least = (uint64_t)b->base, span = (uint64_t)b->step;
    struct scan_batch batch;
    int rc = bound_dense(r->worker, r->pid);

    memset(seen, span == 1, span);
    for (uint32_t i = 0; rc == 0 && i < r->pid->dense_count; i++)
        seen[(uint64_t)((const int64_t *)r->pid->dense_values.data)[i] - least] = 1;
    if (rc != -EDOM)
        return rc;
    rc = 0;
    for (uint32_t first = 0; rc == 0 && span > 1 && first < r->worker->chunk.rows;
         first += SCAN_BATCH) {
        batch_at(r->worker, first, &batch);
        rc = bound_i64(&batch, r->pid, &pids, &valid);
        for (uint32_t i = 0; rc == 0 && i < batch.rows; i++) {
            uint64_t at = (uint64_t)pids[i] - least;
            if (at < span)
                seen[at] = 1;
        }
    }
    return rc;
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
            rank = rank_of(r->table, r->worker->chunk.place.file, host, pid);
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
    b->nano = false;
    b->nulls |= r->found == 0;
    return rc;
}

bool rank_of_pid(const struct bound *b, int64_t pid, int64_t *ret)
{
    uint64_t at = (uint64_t)pid - (uint64_t)b->base;
    const int64_t *ranks = b->rows_memory.data;

    if (!batch_is_valid(b->rows_valid.data, at))
        return false;
    *ret = ranks[at];
    return true;
}

int bind_rank(struct scan_worker *w, struct bound *b)
{
    struct ranks r = {.worker = w};
    int rc = table_of(w->query, &r.table);

    if (rc == 0)
        rc = source_bind(w, b->source->part[0], &r.pid);
    if (rc == 0)
        rc = source_bind(w, b->source->part[1], &r.host);
    if (rc == 0 && r.table->count > 0 && r.pid->shape == SHAPE_INT && is_by_pid(&r))
        return bind_pids(&r, b);
    if (rc == 0 && r.table->count > 0 && r.pid->shape == SHAPE_INT && w->chunk.wanted)
        return bind_batches(&r, b);
    if (rc == 0 && r.table->count > 0 && r.pid->shape == SHAPE_INT)
        rc = fill_chunk(&r, b);
    b->form = r.found ? FORM_ROWS : FORM_NULL;
    b->shape = r.found ? SHAPE_INT : SHAPE_NULL;
    b->nano = false;
    b->nulls = r.found < w->chunk.rows;
    return rc;
}
