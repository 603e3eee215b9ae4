/* plan.c - opening a query: files, tests, the chunks that are left. */
#include "engine/plan/plan.h"
#include "engine/plan/within.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void selection_init(struct selection *s)
{
    memset(s, 0, sizeof(*s));
    s->phases = PHASE_DATA;
}

/* ---- tests of a selection -------------------------------------------------------------------- */

static const struct {
    const char *name, *query;
} presets[] = {
    {"io", "cat in [\"POSIX\", \"STDIO\"] and name in [\"read\", \"write\", \"open\", \"close\", "
           "\"pread\", \"pwrite\", "
           "\"pread64\", \"pwrite64\", \"readv\", \"writev\", \"fopen\", \"fclose\", \"fread\", "
           "\"fwrite\", \"lseek\", "
           "\"stat\", \"fstat\", \"lseek64\", \"fstat64\"]"},
    {"compute", "cat in [\"compute\", \"comm\", \"device\", \"ai_framework\", \"ai_root\"]"},
    {"dlio", "cat in [\"compute\", \"data\", \"dataloader\", \"comm\", \"device\", \"checkpoint\", "
             "\"pipeline\", "
             "\"ai_framework\", \"ai_root\", \"dlio_benchmark\", \"reader\", \"storage\", "
             "\"config\", \"data_loader\"]"},
};

/* Presets ignore the case of cat: tracers write POSIX and posix. Queries of users compare it as
 * written. */
void query_ignore_case_of_cat(struct dsl_node *n)
{
    n->nocase = n->nocase || (n->op == DSL_IN && text_eq(n->path, TEXT("cat")));
    for (struct dsl_node *c = n->op <= DSL_NOT ? n->child : NULL; c; c = c->next)
        query_ignore_case_of_cat(c);
}

static int parse_preset(struct query *q, const char *name, struct err *err)
{
    for (size_t i = 0; i < sizeof(presets) / sizeof(*presets); i++) {
        if (strcmp(presets[i].name, name) != 0)
            continue;
        int rc = dsl_parse(text_of(presets[i].query), err, &q->preset);
        if (rc == 0)
            query_ignore_case_of_cat(q->preset.root);
        return rc;
    }
    return err_set_param(err, ERR_PARAM, "preset",
                         "unknown preset \"%s\": expected io, compute or dlio", name);
}

/* window: it is one of time_range. Before the first such one both are the same. */
static int and_test(struct query *q, struct test *t, bool window)
{
    bool same = q->timeless == q->root;
    int rc = test_both(q, q->root, t, &q->root);

    if (rc < 0 || window)
        return rc;
    if (!same)
        return test_both(q, q->timeless, t, &q->timeless);
    q->timeless = q->root;
    return 0;
}

static int and_node(struct query *q, const struct dsl_node *node, bool window)
{
    struct test *t;

    if (!node)
        return 0;
    int rc = test_compile(q, node, &t);
    return rc < 0 ? rc : and_test(q, t, window);
}

int query_and_time(struct query *q, const char *path, enum compare op, int64_t ns, bool window)
{
    struct dsl_node *n = arena_alloc(&q->arena, sizeof(*n));
    struct literal *l = arena_alloc(&q->arena, sizeof(*l));

    if (!n || !l)
        return -ENOMEM;
    *l = (struct literal){.type = LITERAL_TIME, .ns = {ns, false}};
    *n = (struct dsl_node){
        .op = DSL_COMPARE, .compare = op, .path = text_of(path), .literals = l, .literal_count = 1};
    int rc = path_resolve(n->path, &q->arena, &n->info);
    return rc < 0 ? rc : and_node(q, n, window);
}

static int and_ranges(struct query *q, const struct selection *s)
{
    int rc = 0;

    if (s->has_time_range)
        rc = query_and_time(q, "ts", COMPARE_LE, s->time_to_ns, true);
    if (rc == 0 && s->has_time_range)
        rc = query_and_time(q, s->overlap ? "te" : "ts", COMPARE_GE, s->time_from_ns, true);
    if (rc == 0 && s->has_min_duration)
        rc = query_and_time(q, "dur", COMPARE_GE, s->min_duration_ns, false);
    if (rc == 0 && s->has_max_duration)
        rc = query_and_time(q, "dur", COMPARE_LE, s->max_duration_ns, false);
    return rc;
}

static int parse_query(struct query *q, struct text text, struct err *err)
{
    int rc = dsl_parse(text, err, &q->dsl);

    if (rc == ERR_QUERY_SYNTAX && err && !err->param[0])
        snprintf(err->param, sizeof(err->param), "query");
    return rc;
}

static int make_tests(struct query *q, const struct selection *s, struct err *err)
{
    int rc = parse_query(q, s->query, err);

    if (rc == 0 && s->preset)
        rc = parse_preset(q, s->preset, err);
    q->unfiltered = !q->dsl.root && !s->preset && !s->has_time_range && !s->has_min_duration &&
                    !s->has_max_duration && !s->within.ptr;
    if (rc == 0 && (s->phases & PHASE_ANY) != PHASE_ANY)
        rc = test_classes(q, s->phases, &q->root);
    q->timeless = q->root;
    if (rc == 0)
        rc = and_ranges(q, s);
    if (rc == 0)
        rc = and_node(q, q->preset.root, false);
    return rc < 0 ? rc : and_node(q, q->dsl.root, false);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

int query_make_places(struct query *q)
{
    size_t total = 0;

    for (size_t i = 0; i < q->file_count; i++)
        total += snapshot_file(q->snapshot, q->files[i])->chunk_count;
    free(q->places);
    q->places = malloc((total + 1) * sizeof(*q->places));
    if (!q->places)
        return -ENOMEM;
    q->place_count = 0;
    for (size_t i = 0; i < q->file_count; i++) {
        const struct index_file *file = snapshot_file(q->snapshot, q->files[i]);
        /* An unfiltered question may be answered from summaries: its chunks are judged when it is
         * scanned. */
        if (q->root && !q->unfiltered && !q->no_pruning && !test_may_match_file(q, q->root, file))
            continue;
        for (uint32_t k = 0; k < file->chunk_count; k++)
            q->places[q->place_count++] = (struct scan_place){.file = q->files[i], .chunk = k};
    }
    q->counters.chunks_total = total;
    q->counters.chunks_skipped = total - q->place_count;
    return 0;
}

static void look_at_files(struct query *q, const struct selection *selection)
{
    q->complete =
        snapshot_is_listed(q->snapshot) && query_select_whole(&q->env, q->snapshot, selection);
    q->counters.files = q->file_count;
    q->counters.generation = snapshot_generation(q->snapshot);
    for (size_t i = 0; i < q->file_count; i++) {
        const struct index_file *file = snapshot_file(q->snapshot, q->files[i]);
        q->counters.damaged_files += index_file_lacks(file);
        if (file->state == INDEX_PENDING || file->state == INDEX_INDEXING ||
            file->state == INDEX_GROWING)
            q->complete = false;
    }
}

void query_disable_pruning(struct query *q)
{
    q->no_pruning = true;
    (void)query_make_places(q);
}

/* ---- open and close -------------------------------------------------------------------------- */

/* Without files. Also where it fails *ret is to be closed. */
static int open_empty(const struct query_env *env, struct snapshot *snapshot, struct budget *budget,
                      unsigned phases, struct query **ret)
{
    struct query *q = calloc(1, sizeof(*q));

    if (!q)
        return -ENOMEM;
    q->env = *env;
    q->snapshot = snapshot_ref(snapshot);
    q->budget = budget ? budget : &q->own_budget;
    q->phases = phases;
    pthread_mutex_init(&q->lock, NULL);
    *ret = q;
    return keys_init(q);
}

int query_open_file(const struct query *of, uint32_t file, struct query **ret)
{
    struct query *q = NULL;
    int rc = open_empty(&of->env, of->snapshot, of->budget, PHASE_ANY, &q);

    *ret = q;
    if (rc < 0)
        return rc;
    q->files = malloc(sizeof(*q->files));
    if (!q->files)
        return -ENOMEM;
    q->files[0] = file;
    q->file_count = 1;
    return 0;
}

int query_open(const struct query_env *env, struct snapshot *snapshot,
               const struct selection *selection, struct budget *budget, struct err *err,
               struct query **ret)
{
    struct query *q = NULL;
    int rc = open_empty(env, snapshot, budget, selection->phases & PHASE_ANY, &q);

    if (rc == 0)
        rc = query_select_files(env, snapshot, selection, err, &q->files, &q->file_count);
    if (rc == 0)
        rc = make_tests(q, selection, err);
    if (rc == 0)
        rc = within_open(q, selection, err);
    if (rc == 0)
        rc = query_make_places(q);
    if (rc < 0) {
        query_close(q);
        return err_set(err, rc, "%s", err_text(rc));
    }
    look_at_files(q, selection);
    *ret = q;
    return 0;
}

void query_close(struct query *q)
{
    if (!q)
        return;
    within_free(q->within, q->budget);
    keys_done(q);
    rank_table_free(atomic_load(&q->ranks));
    covered_files_free(q->covered, q->budget);
    dsl_done(&q->dsl);
    dsl_done(&q->preset);
    free(q->files);
    free(q->places);
    arena_done(&q->arena);
    snapshot_release(q->snapshot);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

/* ---- looking at a query ---------------------------------------------------------------------- */

struct snapshot *query_snapshot(const struct query *q)
{
    return q->snapshot;
}

size_t query_files(const struct query *q, const uint32_t **ret)
{
    *ret = q->files;
    return q->file_count;
}

bool query_complete(const struct query *q)
{
    return q->complete;
}

bool query_unfiltered(const struct query *q)
{
    return q->unfiltered;
}

struct index *query_index(const struct query *q)
{
    return q->env.index;
}

const struct query_env *query_environment(const struct query *q)
{
    return &q->env;
}

struct budget *query_budget(const struct query *q)
{
    return q->budget;
}

unsigned query_phases(const struct query *q)
{
    return q->phases;
}

size_t scan_places(const struct query *q, const struct scan_place **ret)
{
    *ret = q->places;
    return q->place_count;
}

void scan_keep_places(struct query *q, bool (*keep)(void *arg, struct scan_place *place), void *arg)
{
    size_t kept = 0;

    for (size_t i = 0; i < q->place_count; i++) {
        if (keep(arg, &q->places[i]))
            q->places[kept++] = q->places[i];
    }
    q->place_count = kept;
}

static uint32_t rows_of_place(const struct query *q, const struct scan_place *p)
{
    return snapshot_file(q->snapshot, p->file)->chunks[p->chunk].rows;
}

int scan_split_places(struct query *q, uint32_t rows)
{
    size_t count = 0, n = 0;

    rows = rows < SCAN_BATCH ? SCAN_BATCH : rows / SCAN_BATCH * SCAN_BATCH;
    for (size_t i = 0; i < q->place_count; i++)
        count += 1 + rows_of_place(q, &q->places[i]) / rows;
    struct scan_place *places = malloc((count + 1) * sizeof(*places));
    if (!places)
        return -ENOMEM;
    for (size_t i = 0; i < q->place_count; i++) {
        struct scan_place p = q->places[i];
        uint32_t all = rows_of_place(q, &p), end = p.first_row / rows * rows + rows;
        for (; end < all; p.first_row = end, end += rows) {
            places[n] = p;
            places[n++].end_row = end;
            p.rest = true;
        }
        places[n++] = p;
    }
    free(q->places);
    q->places = places;
    q->place_count = n;
    return 0;
}

/* ---- counters -------------------------------------------------------------------------------- */

void query_count(struct query *q, const struct query_counters *add)
{
    struct query_counters *c = &q->counters;

    pthread_mutex_lock(&q->lock);
    c->chunks_scanned += add->chunks_scanned;
    c->chunks_skipped += add->chunks_skipped;
    c->chunks_from_summary += add->chunks_from_summary;
    c->rows_scanned += add->rows_scanned;
    c->rows_selected += add->rows_selected;
    c->name_conflicts += add->name_conflicts;
    pthread_mutex_unlock(&q->lock);
}

void query_counters(const struct query *q, struct query_counters *ret)
{
    struct query *own = (struct query *)q; /* only its lock is touched */

    pthread_mutex_lock(&own->lock);
    *ret = q->counters;
    pthread_mutex_unlock(&own->lock);
}
