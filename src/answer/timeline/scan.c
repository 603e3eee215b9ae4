/* scan.c - from columns to cells; workers. */
#include "answer/timeline/slices.h"
#include "answer/timeline/work.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- cells ----------------------------------------------------------------------------------- */

/* Fills group, and by_row: where most rows are selected it is cheaper to number all. */
static int find_groups(struct worker *w, struct scan_batch *b)
{
    int rc = b->count < b->rows / 2 ? -EDOM : group_map_rows(&w->groups, b, w->group);

    w->by_row = rc != -EDOM;
    return w->by_row ? rc : group_map_batch(&w->groups, b, w->group);
}

static int add_any(struct worker *w, const struct scan_batch *b, const struct batch_times *t)
{
    int rc = 0;

    for (uint32_t j = 0; j < b->count && rc == 0; j++) {
        int64_t start;
        if (!time_of(t, batch_row(b, j), &start)) {
            w->own.untimed++;
            continue;
        }
        rc = timeline_add(&w->own, w->job->plan, group_of(w, b, j), start,
                          end_of(t, batch_row(b, j)));
        w->own.objects++;
    }
    return rc;
}

/* All of the chunk's, in ns, from 0 and below TIMELINE_NS_PLAIN? Null rows are 0. */
static bool is_plain(struct scan_chunk *c, const struct source *s)
{
    int64_t min, max, most = (int64_t)TIMELINE_NS_PLAIN;

    if (!scan_range(c, s, &min, &max))
        return scan_shape(c, s) == SHAPE_NULL;
    return min >= 0 && max < (scan_is_nano(c, s) ? most : most / 1000);
}

#define always_inline inline __attribute__((always_inline)) /* loops for what is constant there */

/* Each row a ts, all of them and of dur plain. */
static always_inline int add_plain(struct worker *w, uint32_t n, const uint16_t *select,
                                   bool by_row, const struct batch_times *t)
{
    struct timeline_cells *all = w->own.cells.at;
    const uint64_t *starts = (const uint64_t *)t->ts, *lengths = (const uint64_t *)t->dur;
    const uint64_t start_unit = t->ts_nano ? 1 : 1000, length_unit = t->dur_nano ? 1 : 1000;
    const uint32_t *groups = w->group;
    int rc = 0;

    for (uint32_t j = 0; j < n && rc == 0; j++) {
        uint32_t row = select ? select[j] : j;
        if (by_row && __builtin_expect(groups[j] == 0, 0))
            continue;
        uint64_t start = starts[row] * start_unit, ns = lengths[row] * length_unit;
        struct timeline_cells *cells = &all[groups[j] - by_row];
        uint64_t at = start - cells->begin, sum;
        if (at < cells->room && at + ns < cells->room &&
            !__builtin_add_overflow(cells->at->busy, ns, &sum)) {
            cells->at->busy = sum;
            cells->at->count++;
            continue;
        }
        rc = timeline_add(&w->own, w->job->plan, groups[j] - by_row, (int64_t)start,
                          (int64_t)(start + ns));
    }
    return rc;
}

static int add_rows(struct worker *w, const struct scan_batch *b, const struct batch_times *t)
{
    int rc = vec_extend(&w->own.cells, w->groups.table.count);

    if (rc < 0)
        return rc;
    if (!w->plain || (t->ts_valid && !batch_all_valid(b, t->ts_valid)))
        return add_any(w, b, t);
    w->own.objects += b->count;
    if (w->by_row)
        return add_plain(w, b->rows, NULL, true, t);
    if (b->select)
        return add_plain(w, b->count, b->select, false, t);
    return add_plain(w, b->count, NULL, false, t);
}

/* ---- colors ---------------------------------------------------------------------------------- */

/* The group's, which has parts. */
static int add_color(struct job *job, struct group_table *colors, const uint64_t *group_keys)
{
    const uint64_t *key = group_keys + job->plan->width - 1;
    int64_t n = *key == QUERY_KEY_NULL ? 0 : group_table_add(colors, key);

    if (n == ERR_ROW_LIMIT)
        atomic_store(&job->crowded, true);
    return n < 0 ? (int)n : 0;
}

/* Those of new groups: the sooner it is known that there are too many, the less is made in vain. */
static int add_colors(struct worker *w)
{
    int rc = 0;

    for (; w->job->plan->colors_most && w->colors_of < w->groups.table.count && rc == 0;
         w->colors_of++)
        if (w->own.cells.at[w->colors_of].parts)
            rc = add_color(w->job, &w->colors, group_table_keys(&w->groups.table, w->colors_of));
    return rc;
}

/* ---- workers --------------------------------------------------------------------------------- */

static int batch(void *state, struct scan_batch *b)
{
    struct worker *w = state;
    int rc = 0;

    if (b->chunk->wanted)
        return w->job->again ? timeline_offer_few(w, b) : timeline_add_tuples(w, b);
    const struct batch_times t = batch_times(b, w->job->plan->ts, w->job->plan->dur);
    if (!w->job->again) {
        rc = find_groups(w, b);
        rc = rc < 0 ? rc : add_rows(w, b, &t);
        rc = rc < 0 ? rc : add_colors(w);
    }
    return rc < 0 ? rc : timeline_offer_rows(w, b, &t);
}

static int worker_begin(void *arg, unsigned number, void **ret_state)
{
    struct job *job = arg;
    const struct timeline_plan *p = job->plan;
    struct worker *w = calloc(1, sizeof(*w));
    (void)number;

    if (!w)
        return -ENOMEM;
    int rc = picks_init(&w->own, p, job->most);
    if (rc < 0) {
        timeline_found_done(&w->own);
        free(w);
        return rc;
    }
    w->job = job;
    if (job->again) {
        w->own.picks.full = job->found->picks.full;
        w->own.picks.least = job->found->picks.least;
    }
    group_table_init(&w->colors, 1, p->colors_most, p->budget);
    group_map_init(&w->groups, p->keys, p->width, 0, p->budget);
    group_map_init(&w->tuples, p->names, 2, 0, p->budget);
    *ret_state = w;
    return 0;
}

static int chunk_plan(void *state, struct scan_chunk *c)
{
    struct worker *w = state;
    const struct timeline_plan *p = w->job->plan;
    const struct timeline_picks *picks = &w->own.picks;

    if (w->job->again)
        return timeline_density_again(&w->density, p, picks, c);
    int rc = timeline_density_plan(&w->density, p, picks, c);
    if (rc == 0 && c->wanted && p->slices)
        w->job->found->slices.chunks.at[c->position].longest =
            timeline_density_most(&w->density.chunk);
    return rc;
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct worker *w = state;
    const struct timeline_plan *p = w->job->plan;

    if (c->wanted || w->job->again)
        return 0;
    w->plain = is_plain(c, p->ts) && is_plain(c, p->dur);
    return group_map_chunk(&w->groups, c);
}

static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    struct worker *w = state;
    (void)ret_part;

    if (!c->wanted || w->job->again) /* it was scanned, or only looked at for picks */
        return 0;
    int rc =
        timeline_density_end(&w->density, w->job->plan, &w->own, c->position, w->job->most > 0, c);
    return rc < 0 ? rc : add_colors(w);
}

static int take_pending(struct job *job, const struct timeline_density *d)
{
    int rc = 0;

    for (size_t i = 0; i < d->pending.count && rc == 0; i++)
        rc = vec_push(&job->pending, d->pending.at[i]);
    return rc;
}

/* What the worker numbered, by the numbers of all. Groups of objects without ts alone have no
 * parts. */
static int merge(struct job *job, struct worker *w)
{
    struct timeline_found *f = job->found;
    int rc = 0;

    for (uint32_t i = 0; i < w->groups.table.count && i < w->own.cells.count && rc == 0; i++) {
        if (!w->own.cells.at[i].parts)
            continue;
        const uint64_t *keys = group_table_keys(&w->groups.table, i);
        rc = job->plan->colors_most ? add_color(job, &job->colors, keys) : 0;
        int64_t group = rc < 0 ? rc : group_table_add(&f->groups, keys);
        rc = group < 0 ? (int)group : timeline_take(f, job->plan, (uint32_t)group, &w->own, i);
    }
    picks_cut(&w->own.picks);
    for (uint32_t i = 0; i < w->own.picks.count && rc == 0; i++) {
        struct timeline_pick pick = w->own.picks.picks[i];
        const uint64_t *group_keys = group_table_keys(&w->groups.table, pick.group);
        const uint64_t *tuple_keys = group_table_keys(&w->tuples.table, pick.tuple);
        if (!picks_want(&f->picks, &pick))
            continue;
        int64_t group = group_table_add(&f->groups, group_keys);
        int64_t tuple = group_table_add(&f->tuples, tuple_keys);
        if (group < 0 || tuple < 0)
            return (int)(group < 0 ? group : tuple);
        pick.group = (uint32_t)group;
        pick.tuple = (uint32_t)tuple;
        picks_add(&f->picks, &pick);
    }
    f->objects += w->own.objects;
    f->untimed += w->own.untimed;
    return rc < 0 ? rc : take_pending(job, &w->density);
}

static int worker_end(void *arg, unsigned number, void *state, bool failed)
{
    struct job *job = arg;
    struct worker *w = state;
    int rc = failed ? 0 : merge(job, w);
    (void)number;

    group_table_done(&w->colors);
    group_map_done(&w->groups);
    group_map_done(&w->tuples);
    timeline_found_done(&w->own);
    timeline_density_done(&w->density);
    free(w);
    return rc;
}

static int run(struct job *job, struct err *err)
{
    struct scan_sink sink = {.arg = job,
                             .gathers = true,
                             .apart = true,
                             .worker_begin = worker_begin,
                             .chunk_plan = chunk_plan,
                             .chunk_begin = chunk_begin,
                             .batch = batch,
                             .chunk_end = chunk_end,
                             .worker_end = worker_end};
    int rc = scan_run(job->plan->query, &sink, err);

    picks_cut(&job->found->picks);
    return rc;
}

/* ---- picks among the rows that densities do not tell ----------------------------------------- */

struct keeper {
    const bool *keep; /* by position */
    size_t position;
};

static bool is_kept(void *arg, struct scan_place *place)
{
    struct keeper *k = arg;
    (void)place;

    return k->keep[k->position++];
}

/* Chunks in which a row may be as long as the last pick are looked at once more. */
static int run_again(struct job *job, struct err *err)
{
    const struct timeline_picks *picks = &job->found->picks;
    const struct scan_place *places;
    size_t n = scan_places(job->plan->query, &places), marked = 0;

    if (job->pending.count == 0 || picks->count >= job->found->objects)
        return 0;
    bool *keep = calloc(n + 1, sizeof(*keep));
    struct keeper keeper = {.keep = keep};
    if (!keep)
        return -ENOMEM;
    for (size_t i = 0; i < job->pending.count; i++) {
        const struct timeline_pending *at = &job->pending.at[i];
        keep[at->position] = !picks->full || at->rest_dur >= picks->least.dur;
        marked += keep[at->position];
    }
    if (marked > 0)
        scan_keep_places(job->plan->query, is_kept, &keeper);
    free(keep);
    job->again = true;
    return marked > 0 ? run(job, err) : 0;
}

int timeline_scan(const struct timeline_plan *plan, uint32_t most, struct timeline_found *ret,
                  struct err *err)
{
    struct job job = {
        .plan = plan, .found = ret, .most = most, .pending = {.budget = plan->budget}};
    int rc = picks_init(ret, plan, most);

    group_table_init(&job.colors, 1, plan->colors_most, plan->budget);
    rc = rc < 0 || !plan->slices ? rc : timeline_prepare_slices(plan, ret);
    rc = rc < 0 ? rc : run(&job, err);
    rc = rc < 0 || !plan->slices ? rc : timeline_collect_slices(plan, ret, err);
    rc = rc < 0 ? rc : run_again(&job, err);
    ret->crowded = atomic_load(&job.crowded);
    group_table_done(&job.colors);
    vec_done(&job.pending);
    return rc;
}
