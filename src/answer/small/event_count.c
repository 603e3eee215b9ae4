/* event_count.c - how many objects a selection has, file by file. */
#include "dftracerd/event_count.h"
#include "engine/derived/keys.h"
#include "engine/group/groups.h"

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

/* By the paths of files, each of which has one. */
static int take_counts(struct query *q, struct groups *found, uint64_t *counts)
{
    struct groups_of_set *s = &found->set[0];
    const uint32_t *files;
    size_t n = query_files(q, &files);
    int rc = group_table_place(&s->map.table);

    for (size_t i = 0; i < n && rc == 0; i++) {
        struct text name = text_of(snapshot_file(query_snapshot(q), files[i])->name);
        struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = name};
        uint64_t key;
        rc = key_of_entry(q, &e, &key);
        int64_t group = rc < 0 ? rc : group_table_find(&s->map.table, &key);
        counts[i] = group < 0 ? 0 : *group_count(s, (uint32_t)group);
    }
    return rc;
}

static int count_by_scan(struct query *q, uint64_t *counts, struct err *err)
{
    const struct source *trace;
    const struct group_set set = {.keys = &trace, .width = 1};
    const struct grouping g = {
        .query = q, .budget = query_budget(q), .set_count = 1, .sets = &set, .spreads = true};
    struct groups *found = NULL;
    int rc = query_source(q, TEXT("trace"), &trace);

    rc = rc < 0 ? rc : groups_scan(&g, &found, err);
    rc = rc < 0 ? rc : take_counts(q, found, counts);
    groups_free(found);
    return rc < 0 ? err_set(err, rc, "%s", err_text(rc)) : 0;
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
