/* scan.c - groups the selected rows of a query, for all sets in one pass. */
#include "dftracerd/failpoint.h"
#include "engine/derived/covered.h"
#include "engine/group/encode.h"
#include "engine/group/worker.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

struct job {
    const struct grouping *grouping;
    const struct groups_local *local; /* NULL: all chunks */
    size_t number;                    /* in local->places */
    struct groups *found;             /* NULL: no worker has ended yet */
    struct group_doubles doubles;
};

/* ---- batches --------------------------------------------------------------------------------- */

int groups_accumulate(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned first)
{
    const struct groups_of_set *s = &w->found->set[set];
    int rc = 0;

    for (unsigned i = first; i < s->acc_count && rc == 0; i++)
        rc = s->accs[i].spec->kind->add(w, b, set, i);
    return rc;
}

int groups_find(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    struct groups_of_set *s = &w->found->set[set];
    int rc = s->map_ready ? 0 : group_map_chunk(&s->map, b->chunk);

    s->map_ready = true;
    rc = rc < 0 ? rc : group_map_batch(&s->map, b, w->group);
    return rc < 0 ? rc : groups_grow(w->found, set);
}

int groups_find_few(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    int rc = group_map_few(&w->found->set[set].map, b, w->group);

    return rc < 0 ? rc : groups_grow(w->found, set);
}

int groups_add(struct group_worker *w, struct scan_batch *b, unsigned set)
{
    struct groups_of_set *s = &w->found->set[set];
    const struct group_set *spec = &w->grouping->sets[set];
    int rc = groups_find(w, b, set);

    if (rc < 0 || spec->add)
        return rc < 0 ? rc : spec->add(w, b, set);
    w->row_counter = dense_sums_row_counter(w, b, set);
    if (w->row_counter == UINT_MAX)
        group_count_rows(s, w->group, b->count);
    rc = groups_accumulate(w, b, set, 0);
    w->row_counter = UINT_MAX;
    return rc;
}

int64_t groups_single_group(struct group_worker *w, unsigned set)
{
    int64_t group = group_table_add(&w->found->set[set].map.table, NULL);
    int rc = group < 0 ? (int)group : groups_grow(w->found, set);

    return rc < 0 ? rc : group;
}

int groups_add_all(struct group_worker *w, struct scan_batch *b)
{
    int rc = 0;

    for (unsigned i = 0; i < w->found->set_count && rc == 0; i++) {
        int64_t group = groups_single_group(w, i);
        if (group < 0)
            return (int)group;
        *group_count(&w->found->set[i], (uint32_t)group) += b->count;
        rc = groups_accumulate(w, b, i, 0);
    }
    return rc;
}

static int add_batch(void *state, struct scan_batch *b)
{
    struct group_worker *w = state;
    const struct group_hooks *hooks = w->grouping->hooks;
    int rc = 0;

    w->rows += b->count;
    w->all_rows += b->count;
    if (hooks && hooks->batch)
        return hooks->batch(w, b);
    for (unsigned i = 0; i < w->found->set_count && rc == 0; i++)
        rc = groups_add(w, b, i);
    return rc;
}

static int add_values(void *state, const struct scan_values *v)
{
    struct group_worker *w = state;
    int rc = w->grouping->hooks->values(w, v);

    w->rows += rc < 0 ? 0 : v->count;
    w->all_rows += rc < 0 ? 0 : v->count;
    return rc;
}

/* ---- workers and chunks ---------------------------------------------------------------------- */

static void worker_free(struct group_worker *w)
{
    const struct grouping *g = w->grouping;

    for (unsigned i = 0; w->dense_sums && i < g->set_count; i++)
        dense_sums_free(&g->sets[i], w->dense_sums[i]);
    free(w->dense_sums);
    vec_done(&w->entries);
    groups_free(w->found);
    free(w);
}

static int worker_init(struct group_worker *w)
{
    const struct grouping *g = w->grouping;
    int rc = groups_new(g, &w->found);

    w->dense_sums = rc < 0 ? NULL : calloc(g->set_count + 1, sizeof(struct dense_sums *));
    rc = rc == 0 && !w->dense_sums ? -ENOMEM : rc;
    for (unsigned i = 0; i < g->set_count && rc == 0; i++) {
        rc = g->sets[i].pack ? group_map_pack(&w->found->set[i].map) : 0;
        rc = rc < 0 ? rc : dense_sums_new(&g->sets[i], &w->dense_sums[i]);
    }
    return rc == 0 && g->hooks && g->hooks->worker_begin ? g->hooks->worker_begin(w) : rc;
}

static int worker_begin(void *arg, unsigned worker, void **ret_state)
{
    struct job *job = arg;
    struct group_worker *w = calloc(1, sizeof(*w));
    (void)worker;

    if (!w)
        return -ENOMEM;
    w->grouping = job->grouping;
    w->row_counter = UINT_MAX;
    int rc = worker_init(w);
    if (rc < 0)
        worker_free(w);
    else
        *ret_state = w;
    return rc;
}

/* For tests: encodes and decodes groups, as if another process had sent them. */
static int send_to_self(const struct grouping *g, struct groups **found)
{
    struct buf bytes = {0};
    struct groups *got = NULL;
    int rc = groups_encode(*found, false, &bytes);

    rc = rc < 0 ? rc : groups_decode(g, (struct text){bytes.data, bytes.len}, false, &got);
    buf_done(&bytes);
    if (rc < 0)
        return rc;
    groups_free(*found);
    *found = got;
    for (unsigned i = 0; i < got->set_count && rc == 0; i++)
        rc = group_table_place(&got->set[i].map.table);
    return rc;
}

static int merge_found(struct job *job, struct group_worker *w)
{
    int rc = failpoint("group.send") ? send_to_self(job->grouping, &w->found) : 0;

    if (rc == 0 && !job->found && job->grouping->translate_keys)
        rc = groups_new(job->grouping, &job->found);
    if (rc < 0 || job->found)
        return rc < 0 ? rc : groups_merge(job->found, w->found, 0);
    job->found = w->found;
    w->found = NULL;
    return 0;
}

static int worker_end(void *arg, unsigned worker, void *state, bool failed)
{
    struct job *job = arg;
    struct group_worker *w = state;
    const struct group_hooks *hooks = job->grouping->hooks;
    int rc = 0;
    (void)worker;

    for (unsigned i = 0; i < job->grouping->set_count && !failed && rc == 0; i++)
        rc = dense_sums_end(w, i);
    if (hooks && hooks->worker_end) {
        int ended = hooks->worker_end(w, failed || rc < 0);
        rc = rc < 0 ? rc : ended;
    }
    if (!failed && rc == 0)
        rc = merge_found(job, w);
    worker_free(w);
    return rc;
}

/* Returns true if this process does not scan the chunk. A remote rank also determines whether only
 * rank 0 can scan it. */
static bool is_left_out(const struct job *job, const struct groups_local *local, size_t position)
{
    const struct query *q = job->grouping->query;
    const struct scan_place *p = &q->places[position];
    unsigned rank = index_chunk_rank(q->env.index, snapshot_file(q->snapshot, p->file), p->chunk);
    bool listed = rank < local->rank_count && local->ranks[rank];
    bool *rank_0_only = &local->places[job->number][position].rank_0_only;

    if (!local->remote)
        return !listed && !*rank_0_only;
    if (listed)
        *rank_0_only = covered_by_others(q, position);
    return !listed || *rank_0_only;
}

static bool skip_place(void *arg, size_t position)
{
    const struct job *job = arg;
    const struct grouping *g = job->grouping;

    return (job->local && is_left_out(job, job->local, position)) ||
           (g->hooks && g->hooks->skip && g->hooks->skip(g->arg, position));
}

static int chunk_plan(void *state, struct scan_chunk *c)
{
    struct group_worker *w = state;

    return w->grouping->hooks->chunk_plan(w, c);
}

static int chunk_begin(void *state, struct scan_chunk *c)
{
    struct group_worker *w = state;
    const struct group_hooks *hooks = w->grouping->hooks;
    int rc = 0;

    for (unsigned i = 0; i < w->found->set_count; i++)
        w->found->set[i].map_ready = false;
    if (w->rows >= SAMPLE_FOLD_ROWS) {
        w->rows = 0;
        rc = sample_fold(&w->found->memory);
    }
    return rc == 0 && hooks && hooks->chunk_begin ? hooks->chunk_begin(w, c) : rc;
}

static int chunk_end(void *state, struct scan_chunk *c, void **ret_part)
{
    struct group_worker *w = state;
    const struct group_hooks *hooks = w->grouping->hooks;
    struct doubles_part *part = NULL;
    int rc = hooks && hooks->chunk_end ? hooks->chunk_end(w, c) : 0;

    rc = rc < 0 ? rc : doubles_detach(w, &part);
    *ret_part = part;
    return rc;
}

static int send_part_to_self(const struct grouping *g, void **part)
{
    struct buf bytes = {0};
    struct doubles_part *got = NULL;
    int rc = doubles_encode(g, *part, &bytes);

    rc = rc < 0 ? rc : doubles_decode(g, (struct text){bytes.data, bytes.len}, &got);
    buf_done(&bytes);
    if (rc == 0) {
        free(*part);
        *part = got;
    }
    return rc;
}

static int merge_part(void *arg, size_t position, void *part, bool failed)
{
    struct job *job = arg;
    int rc = failpoint("group.send_doubles") ? send_part_to_self(job->grouping, &part) : 0;

    if (job->local && !failed && rc == 0) {
        job->local->places[job->number][position].part = part;
        return 0;
    }
    int merged = doubles_merge(job->grouping, &job->doubles, part, failed || rc < 0);
    return rc < 0 ? rc : merged;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static struct scan_sink sink_of(struct job *job)
{
    const struct grouping *g = job->grouping;
    bool knows_values = g->hooks && g->hooks->values;

    return (struct scan_sink){.arg = job,
                              .ends_first = g->ends_first,
                              .apart = g->apart,
                              .gathers = true,
                              .only = knows_values ? g->only : NULL,
                              .values = knows_values ? add_values : NULL,
                              .worker_begin = worker_begin,
                              .skip =
                                  job->local || (g->hooks && g->hooks->skip) ? skip_place : NULL,
                              .chunk_plan = g->hooks && g->hooks->chunk_plan ? chunk_plan : NULL,
                              .chunk_begin = chunk_begin,
                              .batch = add_batch,
                              .chunk_end = chunk_end,
                              .merge = merge_part,
                              .worker_end = worker_end};
}

/* Sets the result of a job. The doubles become a part of it. */
static int job_end(struct job *job, struct groups_job *ret)
{
    int rc = ret->error;

    if (rc == 0 && !job->found)
        rc = groups_new(job->grouping, &job->found);
    ret->found = job->found;
    if (job->found)
        job->found->doubles = job->doubles;
    else
        doubles_done(&job->doubles);
    return rc;
}

int groups_scan_local(struct groups_job *jobs, size_t count, const struct groups_local *local)
{
    struct job *all = calloc(count, sizeof(*all));
    struct scan_sink *sinks = calloc(count, sizeof(*sinks));
    struct scan_job *scans = calloc(count, sizeof(*scans));
    int rc = all && sinks && scans ? 0 : -ENOMEM;

    for (size_t i = 0; i < count; i++)
        jobs[i].found = NULL;
    for (size_t i = 0; i < count && rc == 0; i++) {
        all[i].grouping = jobs[i].grouping;
        all[i].local = local;
        all[i].number = i;
        rc = doubles_init(&all[i].doubles, jobs[i].grouping);
        sinks[i] = sink_of(&all[i]);
        scans[i] = (struct scan_job){.query = jobs[i].grouping->query, .sink = &sinks[i]};
    }
    rc = rc < 0 ? rc : scan_run_all(scans, count);
    for (size_t i = 0; i < count && all && scans; i++) {
        jobs[i].error = rc < 0 ? rc : scans[i].error;
        jobs[i].error = job_end(&all[i], &jobs[i]);
    }
    free(all);
    free(sinks);
    free(scans);
    return rc;
}

/* ---- quantities ------------------------------------------------------------------------------ */

void group_moments(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                   struct moments *ret)
{
    int_moments_expand(f, group_slot(&f->set[set], group, acc), ret);
}

const struct float_moments *group_doubles_of(const struct groups *f, unsigned set, uint32_t group,
                                             unsigned acc)
{
    uint64_t keys[GROUP_KEYS_MAX];

    if (!f->doubles.set || f->doubles.set[set].float_moments.count == 0)
        return NULL;
    group_map_keys(&f->set[set].map, group, keys);
    return doubles_find(&f->doubles.set[set], keys, acc);
}

void group_quantity(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                    struct quantity *ret)
{
    const struct float_moments *doubles = group_doubles_of(f, set, group, acc);
    struct sampled_moments *c = group_slot(&f->set[set], group, acc);

    *ret = (struct quantity){.sample = f->set[set].accs[acc].spec->sample ? &c->sample : NULL};
    group_moments(f, set, group, acc, &ret->moments);
    if (doubles)
        ret->doubles = doubles->m;
}

int quantity_add(struct sample_memory *memory, struct quantity *into, const struct quantity *from)
{
    if (from->moments.count)
        moments_merge(&into->moments, &from->moments);
    if (from->doubles.count)
        moments_f64_merge(&into->doubles, &from->doubles);
    return into->sample && from->sample ? sample_merge(memory, into->sample, from->sample) : 0;
}
