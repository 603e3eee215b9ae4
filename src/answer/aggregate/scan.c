/* scan.c - the sets of groups of a plan, and which rows go to which. */
#include "answer/aggregate/scan.h"
#include "answer/aggregate/passes.h"

#include <errno.h>
#include <stdlib.h>

/* ---- rows ------------------------------------------------------------------------------------ */

static int rows_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    struct class_rows *rows = w->own;
    struct scan_batch some;
    int of_pass = rows->filter ? pass_filter_batch(rows->filter, b, set, &some) : 1;

    return of_pass <= 0 ? of_pass : groups_add(w, of_pass == 2 ? &some : b, set);
}

/* Some rows of a batch. It has no mask: what was decoded for a few rows may not be enough. */
static int some_rows_add(struct group_worker *w, struct scan_batch *b, unsigned set, uint32_t count)
{
    struct class_rows *rows = w->own;
    struct scan_batch some = *b;

    if (count == 0)
        return 0;
    some.mask = NULL;
    some.select = rows->of[set];
    some.count = count;
    return rows_add(w, &some, set);
}

static int batch(struct group_worker *w, struct scan_batch *b)
{
    const struct aggregate_plan *p = worker_plan(w);
    struct class_rows *rows = w->own;
    uint32_t events = 0, others = 0, count[SETS];

    if (!p->classes || rows->only_events)
        return rows_add(w, b, SET_EVENT);
    const int64_t *class = batch_i64(b, p->class, NULL, NULL);
    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        rows->of[SET_EVENT][events] = (uint16_t)row;
        rows->of[SETS][others] = (uint16_t)row;
        events += class[row] == TRACE_EVENT;
        others += class[row] == TRACE_COUNTER || class[row] == TRACE_AGGREGATED;
    }
    if (events == b->count)
        return rows_add(w, b, SET_EVENT);
    struct scan_batch all = *b;
    all.mask = NULL;
    for (unsigned i = 0; i < p->width; i++) /* of all rows, not of some first */
        (void)batch_keys(&all, p->key_sources[i]);
    int rc = some_rows_add(w, b, SET_EVENT, events);
    if (rc < 0 || others == 0)
        return rc;
    counters_sort(p, rows, &all, rows->of[SETS], others, count);
    for (unsigned set = SET_PROFILE; set < SETS && rc == 0; set++)
        rc = some_rows_add(w, b, set, count[set]);
    return rc;
}

/* Where prefixes are counted: of system rows also which measures have values. */
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
        pass_filter_chunk(rows->filter);
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

static bool skip(void *arg, size_t position)
{
    const struct pass *pass = ((const struct aggregate_plan *)arg)->pass;

    return pass &&
           (pass->chunks[position].most < pass->from || pass->chunks[position].least >= pass->to);
}

/* ---- sets ------------------------------------------------------------------------------------ */

static const struct acc_kind *const kept_as[] = {
    [KEEP_FIRST] = &acc_first, [KEEP_LAST] = &acc_last, [KEEP_DISTINCT] = &acc_distinct};

static struct group_set set_of(const struct aggregate_plan *p, unsigned set, struct acc_spec *accs)
{
    enum { SEVERAL = 4 }; /* tuples of fewer keys are small enough */
    struct group_set ret = {.keys = p->key_sources, .width = p->width, .accs = accs};

    if (set == SET_SYSTEM || !p->tally) {
        for (unsigned i = 0; i < plan_measures(p, set); i++) {
            const struct measure *m = &p->measures[i];
            accs[i] = (struct acc_spec){.kind = &acc_number,
                                        .column = m->source,
                                        .with = m->also,
                                        .sample = m->sample,
                                        .shape = p->shape};
        }
        ret.acc_count = plan_measures(p, set);
    }
    if (p->tally) {
        ret.add = set == SET_SYSTEM ? tally_add : NULL;
        return ret;
    }
    ret.pack = p->width >= SEVERAL && !p->parts; /* parts are taken from keys that are there */
    ret.add = set != SET_EVENT ? counters_add : p->split ? split_add : NULL;
    if (!p->general)
        accs[ret.acc_count++] =
            (struct acc_spec){.kind = &acc_extent, .column = p->ts, .with = p->dur};
    for (unsigned i = 0; i < p->keep_count; i++)
        accs[ret.acc_count++] = (struct acc_spec){
            .kind = kept_as[p->keeps[i].what], .column = p->keeps[i].source, .with = p->ts};
    if (p->intervals)
        accs[ret.acc_count++] =
            (struct acc_spec){.kind = &acc_intervals, .column = p->ts, .with = p->dur};
    return ret;
}

int plan_grouping(struct aggregate_plan *p)
{
    static const struct group_hooks hooks = {.worker_begin = worker_begin,
                                             .worker_end = worker_end,
                                             .skip = skip,
                                             .chunk_begin = chunk_begin,
                                             .chunk_end = chunk_end,
                                             .batch = batch};
    size_t most = p->measure_count + p->keep_count + 2;
    struct acc_spec *accs = arena_alloc(p->arena, SETS * most * sizeof(*accs));

    if (!accs)
        return -ENOMEM;
    for (unsigned set = 0; set < SETS; set++)
        p->sets[set] = set_of(p, set, accs + set * most);
    p->grouping = (struct grouping){.query = p->query,
                                    .budget = p->budget,
                                    .limit = p->max_groups,
                                    .exact = p->exact,
                                    .set_count = SETS,
                                    .sets = p->sets,
                                    .translate_keys = p->parts ? plan_keys : NULL,
                                    .hooks = &hooks,
                                    .arg = p,
                                    .spreads = !p->pass};
    return 0;
}
