/* event_count.c - how many objects a selection has, file by file. */
#include "dftracerd/event_count.h"
#include "engine/scan/scan.h"

#include <errno.h>
#include <stdlib.h>

/* Chunks of a file that is still being indexed are there already, but its counters are not. */
static bool is_counted(const struct index_file *f)
{
    return f->state == INDEX_READY || f->state == INDEX_GROWING || f->chunk_count == 0;
}

static bool catalog_knows(struct query *q)
{
    const uint32_t *files;
    size_t n = query_files(q, &files);

    if (!query_unfiltered(q))
        return false;
    for (size_t i = 0; i < n; i++)
        if (!is_counted(snapshot_file(query_snapshot(q), files[i])))
            return false;
    return true;
}

static uint64_t count_of_file(const struct index_file *f, unsigned phases)
{
    const struct trace_counts *c = &f->counts;

    if (f->chunk_count == 0)
        return 0;
    return (phases & PHASE_EVENTS ? c->events : 0) + (phases & PHASE_COUNTERS ? c->counters : 0) +
           (phases & PHASE_AGGREGATED ? c->aggregated : 0) +
           (phases & PHASE_METADATA ? c->metadata : 0);
}

static int share_counts(void *arg, unsigned worker, void **ret_state)
{
    (void)worker;
    *ret_state = arg;
    return 0;
}

static int count_batch(void *state, struct scan_batch *b)
{
    _Atomic uint64_t *by_file = state;

    atomic_fetch_add_explicit(&by_file[b->chunk->place.file], b->count, memory_order_relaxed);
    return 0;
}

/* Counters by position in the snapshot; only those of selected files are ever added to. */
static int count_by_scan(struct query *q, uint64_t *counts, struct err *err)
{
    const uint32_t *files;
    size_t n = query_files(q, &files);
    _Atomic uint64_t *by_file =
        calloc(snapshot_file_count(query_snapshot(q)) + 1, sizeof(*by_file));
    struct scan_sink sink = {.arg = by_file, .worker_begin = share_counts, .batch = count_batch};

    if (!by_file)
        return err_set(err, -ENOMEM, "%s", err_text(-ENOMEM));
    int rc = scan_run(q, &sink, err);
    for (size_t i = 0; i < n; i++)
        counts[i] = atomic_load(&by_file[files[i]]);
    free(by_file);
    return rc;
}

int query_count_files(struct query *q, struct err *err, uint64_t *ret_counts)
{
    const uint32_t *files;
    size_t n = query_files(q, &files);

    if (!catalog_knows(q))
        return count_by_scan(q, ret_counts, err);
    for (size_t i = 0; i < n; i++)
        ret_counts[i] = count_of_file(snapshot_file(query_snapshot(q), files[i]), query_phases(q));
    return 0;
}
