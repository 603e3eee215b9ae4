/* empty.c - opens queries without tests, and closes queries. */
#include "engine/derived/covered.h"
#include "engine/derived/keys.h"
#include "engine/derived/ranks.h"
#include "engine/derived/within.h"
#include "engine/plan/plan.h"

#include <errno.h>
#include <stdlib.h>

int query_open_empty(const struct query_env *env, struct snapshot *snapshot, struct budget *budget,
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
    int rc = query_open_empty(&of->env, of->snapshot, of->budget, PHASE_ANY, &q);

    *ret = q;
    if (rc < 0)
        return rc;
    q->find_covered = of->find_covered;
    q->files = malloc(sizeof(*q->files));
    if (!q->files)
        return -ENOMEM;
    q->files[0] = file;
    q->file_count = 1;
    return 0;
}

void query_close(struct query *q)
{
    if (!q)
        return;
    within_free(q->within);
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
