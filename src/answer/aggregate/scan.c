/* scan.c - the sets of groups of a plan, and which rows are added to which. */
#include "answer/aggregate/scan.h"
#include "answer/aggregate/passes.h"

#include <errno.h>
#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------ */

/* Adds the rows that belong to the pass. */
static int rows_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    struct class_rows *rows = w->own;
    struct scan_batch some = *b;
    int rc = rows->filter ? pass_filter_batch(rows->filter, b, set, &some) : 0;

    return rc < 0 || some.count == 0 ? rc : groups_add(w, &some, set);
}

/* Adds the rows of the batch in class_rows.rows[set]. */
static int class_add(struct group_worker *w, const struct scan_batch *all, unsigned set,
                     uint32_t count)
{
    struct scan_batch some = *all;

    some.select = ((struct class_rows *)w->own)->rows[set];
    some.count = count;
    return count ? rows_add(w, &some, set) : 0;
}

static int batch_add(struct group_worker *w, struct scan_batch *b)
{
    const struct aggregate_plan *p = worker_plan(w);
    struct class_rows *rows = w->own;
    uint32_t events = 0, others = 0, count[SETS];

    if (!p->classes || rows->only_events)
        return rows_add(w, b, SET_EVENT);
    const int64_t *class = batch_i64(b, p->class, NULL, NULL);
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        rows->rows[SET_EVENT][events] = (uint16_t)row;
        rows->other_rows[others] = (uint16_t)row;
        events += class[row] == TRACE_EVENT;
        others += class[row] == TRACE_COUNTER || class[row] == TRACE_AGGREGATED;
    }
    if (events == b->count)
        return rows_add(w, b, SET_EVENT);
    /* Without a mask, values are read for all rows: those that were read for the rows of one class
     * would not be enough for the next. */
    struct scan_batch all = *b;
    all.mask = NULL;
    for (unsigned i = 0; i < p->width; i++)
        (void)batch_keys(&all, p->key_sources[i]);
    int rc = class_add(w, &all, SET_EVENT, events);
    if (rc < 0 || others == 0)
        return rc;
    counters_sort(p, rows, &all, others, count);
    for (unsigned set = SET_PROFILE; set < SETS && rc == 0; set++)
        rc = class_add(w, &all, set, count[set]);
    return rc;
}

/* group_set.add while prefixes are counted: for system rows, it is also found which measures have
 * values. */
static int tally_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    group_count_rows(&w->found->set[set], w->group, b->count);
    return groups_accumulate(w, b, set, worker_plan(w)->requested_measures);
}

/* ---- workers and chunks ---------------------------------------------------------------------- */

static int worker_begin(struct group_worker *w)
{
    const struct aggregate_plan *p = worker_plan(w);
    struct class_rows *rows = w->own = calloc(1, sizeof(*rows));

    if (!rows)
        return -ENOMEM;
    int rc = p->pass ? pass_filter_new(p, &rows->filter) : 0;
    if (rc < 0)
        free(rows);
    return rc;
}

static int worker_end(struct group_worker *w, bool failed)
{
    struct class_rows *rows = w->own;
    (void)failed;

    pass_filter_free(rows->filter);
    free(rows);
    return 0;
}

static int chunk_begin(struct group_worker *w, struct scan_chunk *c)
{
    struct class_rows *rows = w->own;

    if (rows->filter)
        pass_filter_chunk_begin(rows->filter);
    rows->only_events = c->file->counts.counters + c->file->counts.aggregated == 0 &&
                        !(query_phases(c->query) & PHASE_METADATA);
    return 0;
}

static int chunk_end(struct group_worker *w, struct scan_chunk *c)
{
    struct class_rows *rows = w->own;

    if (rows->filter)
        pass_filter_chunk_end(rows->filter, c->position);
    return 0;
}

static bool chunk_skip(void *arg, size_t position)
{
    const struct pass *pass = ((const struct aggregate_plan *)arg)->pass;

    return pass &&
           (pass->chunks[position].max < pass->from || pass->chunks[position].min >= pass->to);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static const struct acc_kind *const keep_accs[] = {
    [KEEP_FIRST] = &acc_first, [KEEP_LAST] = &acc_last, [KEEP_DISTINCT] = &acc_distinct};

static struct group_set set_make(const struct aggregate_plan *p, unsigned set,
                                 struct acc_spec *accs)
{
    enum { PACKED_KEYS = 4 }; /* tuples of fewer keys are short enough */
    struct group_set ret = {.keys = p->key_sources, .width = p->width, .accs = accs};

    if (set == SET_SYSTEM || !p->tally) {
        for (unsigned i = 0; i < plan_measures(p, set); i++) {
            const struct measure *m = &p->measures.at[i];
            accs[i] = (struct acc_spec){.kind = &acc_number,
                                        .column = m->source,
                                        .with = m->with,
                                        .sample = m->sample,
                                        .shape = p->shape};
        }
        ret.acc_count = plan_measures(p, set);
    }
    if (p->tally) {
        ret.add = set == SET_SYSTEM ? tally_add : NULL;
        return ret;
    }
    ret.pack = p->width >= PACKED_KEYS && !p->parts; /* plan_keys needs tuples */
    ret.add = set != SET_EVENT ? counters_add : p->split ? split_add : NULL;
    if (!p->general)
        accs[ret.acc_count++] =
            (struct acc_spec){.kind = &acc_extent, .column = p->ts, .with = p->dur};
    for (unsigned i = 0; i < p->keep_count; i++)
        accs[ret.acc_count++] = (struct acc_spec){
            .kind = keep_accs[p->keeps[i].kind], .column = p->keeps[i].source, .with = p->ts};
    if (p->intervals)
        accs[ret.acc_count++] =
            (struct acc_spec){.kind = &acc_intervals, .column = p->ts, .with = p->dur};
    return ret;
}

int plan_grouping(struct aggregate_plan *p)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .skip = chunk_skip,
                                             .chunk_begin = chunk_begin,
                                             .chunk_end = chunk_end,
                                             .batch = batch_add};
    size_t max = p->measures.count + p->keep_count + 2;
    struct acc_spec *accs = arena_alloc(p->arena, SETS * max * sizeof(*accs));

    if (!accs)
        return -ENOMEM;
    for (unsigned set = 0; set < SETS; set++)
        p->sets[set] = set_make(p, set, accs + set * max);
    p->grouping = (struct grouping){.query = p->query,
                                    .budget = p->budget,
                                    .limit = p->max_groups,
                                    .exact = p->exact,
                                    .set_count = SETS,
                                    .sets = p->sets,
                                    .translate_keys = p->parts ? plan_keys : NULL,
                                    .hooks = &hooks,
                                    .arg = p,
                                    .spreads = true}; /* a pass does not: the scan before failed */
    return 0;
}
