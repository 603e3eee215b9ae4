/* event_count.c - counts the selected objects of each file. */
#include "dftracerd/event_count.h"
#include "engine/derived/keys.h"
#include "engine/group/groups.h"

/* Counts the objects of each path. */
static int count_by_scan(struct query *q, uint64_t *counts, struct err *err)
{
    const struct source *trace;
    const struct group_set set = {.keys = &trace, .width = 1};
    const struct grouping g = {
        .query = q, .budget = query_budget(q), .set_count = 1, .sets = &set, .spreads = true};
    struct groups *found = NULL;
    const uint32_t *files;
    size_t n = query_files(q, &files);
    int rc = query_source(q, TEXT("trace"), &trace);

    rc = rc < 0 ? rc : groups_scan(&g, &found, err);
    struct groups_of_set *s = rc < 0 ? NULL : &found->set[0];
    rc = rc < 0 ? rc : group_table_place(&s->map.table);
    for (size_t i = 0; i < n && rc == 0; i++) {
        struct text name = text_of(snapshot_file(query_snapshot(q), files[i])->name);
        struct column_entry e = {.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = name};
        uint64_t key;
        rc = key_of_entry(q, &e, &key);
        int64_t group = rc < 0 ? rc : group_table_find(&s->map.table, &key);
        counts[i] = group < 0 ? 0 : *group_count(s, (uint32_t)group);
    }
    groups_free(found);
    return rc < 0 ? err_set_code(err, rc) : 0;
}

int query_count_files(struct query *q, struct err *err, uint64_t *ret_counts)
{
    const uint32_t *files;
    size_t n = query_files(q, &files);
    unsigned phases = query_phases(q);
    bool from_catalog = query_unfiltered(q);

    for (size_t i = 0; i < n && from_catalog; i++) {
        const struct index_file *f = snapshot_file(query_snapshot(q), files[i]);
        const struct trace_counts *c = &f->counts;
        /* A file that is still being indexed has chunks, but no counters yet. */
        from_catalog = f->state == INDEX_READY || f->state == INDEX_GROWING || f->chunk_count == 0;
        ret_counts[i] = f->chunk_count == 0 ? 0
                                            : (phases & PHASE_EVENTS ? c->events : 0) +
                                                  (phases & PHASE_COUNTERS ? c->counters : 0) +
                                                  (phases & PHASE_AGGREGATED ? c->aggregated : 0) +
                                                  (phases & PHASE_METADATA ? c->metadata : 0);
    }
    return from_catalog ? 0 : count_by_scan(q, ret_counts, err);
}
