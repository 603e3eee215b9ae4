/* ranks.h - ranks of processes: the table of a query, and a chunk's processes looked up in it.
 *
 * Used by:   source_rank.c, source_read.c, source_dense.c; query_close frees the table.
 * Threads:   the table does not change once it is made; struct ranks belongs to one worker.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_RANKS_H
#define DFTRACERD_ENGINE_DERIVED_RANKS_H

#include "engine/derived/batch.h"
#include "engine/derived/derived.h"

struct rank_entry;
struct rank_table {
    VEC(struct rank_entry) entries; /* sorted by (pid, host, file) */
    int64_t min, max;               /* of all ranks */
};
/* The query's, made for the first worker that needs it; borrowed. -ENOMEM, why the query is to
 * stop.
 */
int rank_table_of(struct query *q, const struct rank_table **ret);
void rank_table_free(struct rank_table *t);
/* INT64_MIN: the process has none. host: text id of its name; file: position in the snapshot. */
int64_t rank_table_find(const struct rank_table *t, uint32_t file, uint32_t host, int64_t pid);

/* Processes come in runs of rows or alternate among a few: the last answers are kept. */
enum { RANK_MEMO = 256 };
struct rank_memo {
    int64_t pid, rank;
    uint32_t host;
    bool used;
};
struct ranks {
    struct scan_worker *worker;
    const struct rank_table *table;
    struct bound *pid, *host;
    uint32_t *host_ids; /* of the codes of host; in remap_memory */
    struct rank_memo memo[RANK_MEMO];
    uint32_t found;
};

/* Of the rows of a batch. */
struct processes {
    const int64_t *pids;
    const uint64_t *valid;
    const uint32_t *codes; /* of the hosts */
};

static inline int64_t rank_of_process(struct ranks *r, int64_t pid, uint32_t host)
{
    struct rank_memo *m = &r->memo[((uint64_t)pid * 31 + host) % RANK_MEMO];

    if (!m->used || m->pid != pid || m->host != host)
        *m = (struct rank_memo){
            pid, rank_table_find(r->table, r->worker->chunk.place.file, host, pid), host, true};
    return m->rank;
}

/* INT64_MIN: it has none. */
static inline int64_t rank_of_row(struct ranks *r, const struct processes *of, uint32_t i)
{
    if (!batch_is_valid(of->valid, i))
        return INT64_MIN;
    return rank_of_process(r, of->pids[i], r->host_ids[of->codes[i]]);
}
/* FORM_PROCESS: of each row, and a bit in `valid`, which is empty, where it has one. */
void ranks_of_rows(struct ranks *r, const struct processes *of, uint32_t rows, int64_t *out,
                   uint64_t *valid);
/* FORM_RANK, of a pid that rows have; false: none */
bool rank_of_pid(const struct bound *b, int64_t pid, int64_t *ret);
/* In source_read.c. */
struct processes bound_processes(struct scan_batch *batch, struct bound *pid, struct bound *host);

#endif
