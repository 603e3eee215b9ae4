/* find.c - /find: the next selected object by time; and queries that begin with a given object. */
#include "dftracerd/find.h"
#include "engine/group/worker.h"

/* The position of an object in the order of time (ns, which may exceed 64 bits), file and row. */
struct object_place {
    __int128 ts;
    uint32_t file, chunk, row;
};
struct find_job {
    const struct find_options *options;
    struct object_place at; /* if has_place */
};
/* The slot of the only group. */
struct nearest {
    struct object_place best; /* valid if beyond > 0 */
    uint64_t untimed;         /* objects without ts */
    uint64_t beyond;          /* objects that may be the answer */
};

static int compare_u32(uint32_t a, uint32_t b)
{
    return (a > b) - (a < b);
}

static int place_compare(const struct object_place *a, const struct object_place *b)
{
    if (a->ts != b->ts)
        return a->ts < b->ts ? -1 : 1;
    if (a->file != b->file)
        return compare_u32(a->file, b->file);
    return a->chunk != b->chunk ? compare_u32(a->chunk, b->chunk) : compare_u32(a->row, b->row);
}

/* Returns true if the object may be the answer. */
static bool is_beyond(const struct find_job *job, const struct object_place *s)
{
    const struct find_options *o = job->options;

    if (!o->has_at)
        return true;
    if (!o->has_place)
        return o->backward ? s->ts <= o->at_ns : s->ts >= o->at_ns;
    return o->backward ? place_compare(s, &job->at) < 0 : place_compare(s, &job->at) > 0;
}

/* Adds `count` objects that may be the answer; `s` is the nearest of them. */
static void nearest_update(const struct find_job *job, struct nearest *n,
                           const struct object_place *s, uint64_t count)
{
    int cmp = n->beyond && count ? place_compare(s, &n->best) : -1;

    if (count && (n->beyond == 0 || (job->options->backward ? cmp > 0 : cmp < 0)))
        n->best = *s;
    n->beyond += count;
}

/* ---- accumulator ----------------------------------------------------------------------------- */

static int nearest_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct find_job *job = w->grouping->arg;
    const struct groups_of_set *s = &w->found->set[set];
    struct nearest *n = group_slot(s, 0, acc);
    const uint64_t *valid;
    bool nano;
    const int64_t *values = batch_i64(b, s->accs[acc].spec->column, &valid, &nano);

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        if (!batch_is_valid(valid, row)) {
            n->untimed++;
            continue;
        }
        const struct object_place place = {(__int128)values[row] * (nano ? 1 : 1000),
                                           b->chunk->place.file, b->chunk->place.chunk,
                                           batch_place(b, row)};
        nearest_update(job, n, &place, is_beyond(job, &place));
    }
    return 0;
}

static int nearest_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                         const void *other, pthread_mutex_t *shared)
{
    const struct nearest *n = other;
    struct nearest *to = slot;
    (void)acc, (void)from, (void)shared;

    to->untimed += n->untimed;
    nearest_update(into->grouping->arg, to, &n->best, n->beyond);
    return 0;
}

static const struct acc_kind acc_nearest = {
    .size = sizeof(struct nearest), .wide = true, .add = nearest_add, .merge = nearest_merge};

/* ---- the answer ------------------------------------------------------------------------------ */

static void set_found(const struct query *q, const struct find_job *job, struct groups *found,
                      struct find_result *ret)
{
    const struct groups_of_set *set = &found->set[0];

    if (set->map.table.count == 0)
        return;
    const struct nearest *n = group_slot(set, 0, 0);
    ret->untimed = n->untimed;
    ret->objects = *group_count(set, 0) - n->untimed;
    if (n->beyond == 0)
        return;
    ret->position = job->options->backward ? n->beyond : ret->objects - n->beyond + 1;
    ret->file = n->best.file;
    const struct index_file *file = snapshot_file(query_snapshot(q), n->best.file);
    ret->object = n->best.row;
    for (uint32_t i = 0; i < n->best.chunk; i++)
        ret->object += file->chunks[i].rows;
}

int query_find(struct query *q, const struct find_options *o, struct find_result *ret,
               struct err *err)
{
    struct find_job job = {.options = o};
    struct acc_spec nearest = {.kind = &acc_nearest};
    static const struct group_hooks hooks = {.batch = groups_add_all};
    const struct group_set set = {.accs = &nearest, .acc_count = 1};
    const struct grouping g = {.query = q,
                               .budget = query_budget(q),
                               .set_count = 1,
                               .sets = &set,
                               .hooks = &hooks,
                               .arg = &job,
                               .spreads = true};
    struct groups *found = NULL;
    int rc = query_source(q, TEXT("ts"), &nearest.column);

    *ret = (struct find_result){0};
    if (o->has_place) { /* a position beyond the end of the file comes after all others */
        const struct index_file *file = snapshot_file(query_snapshot(q), o->file);
        uint64_t row = o->object;
        uint32_t chunk = index_file_chunk(file, &row);
        job.at = (struct object_place){o->at_ns, o->file, chunk, (uint32_t)row};
    }
    rc = rc < 0 ? rc : groups_scan(&g, &found, err);
    if (rc == 0)
        set_found(q, &job, found, ret);
    groups_free(found);
    if (rc < 0)
        return err_set_code(err, rc);
    query_counters(q, &ret->counters);
    ret->complete = query_complete(q);
    return 0;
}

/* ---- a query that begins with an object ------------------------------------------------------ */

/* The object at which a query begins. */
struct first_object {
    uint32_t file, chunk, row;
};

static bool keep_place(void *arg, struct scan_place *place)
{
    const struct first_object *w = arg;

    if (place->file != w->file || place->chunk != w->chunk)
        return false;
    place->first_row = w->row;
    return true;
}

int query_begin_at(struct query *q, uint32_t file, uint64_t object)
{
    const struct index_file *f = snapshot_file(query_snapshot(q), file);
    struct first_object w = {.file = file};

    w.chunk = index_file_chunk(f, &object);
    if (w.chunk == f->chunk_count)
        return ERR_NOT_FOUND;
    w.row = (uint32_t)object;
    scan_keep_places(q, keep_place, &w);
    return 0;
}
