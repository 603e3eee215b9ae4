/* plan.c - opens a query: files, tests, and the chunks that are not excluded. */
#include "engine/plan/plan.h"

#include "engine/plan/covered_find.h"

#include <string.h>

void selection_init(struct selection *s)
{
    *s = (struct selection){
        .phases = PHASE_DATA, .dirs_param = "dir", .files_param = "file", .within_param = "within"};
}

/* Sets the counters of files, and q->complete. */
static void count_files(struct query *q, const struct selection *selection)
{
    q->complete = snapshot_is_listed(q->snapshot) &&
                  query_selection_is_complete(&q->env, q->snapshot, selection);
    q->counters.files = q->file_count;
    q->counters.generation = snapshot_generation(q->snapshot);
    for (size_t i = 0; i < q->file_count; i++) {
        const struct index_file *file = snapshot_file(q->snapshot, q->files[i]);
        q->counters.damaged_files += index_file_is_incomplete(file);
        if (file->state == INDEX_PENDING || file->state == INDEX_INDEXING ||
            file->state == INDEX_GROWING)
            q->complete = false;
    }
}

int query_open(const struct query_env *env, struct snapshot *snapshot,
               const struct selection *selection, struct budget *budget, struct err *err,
               struct query **ret)
{
    struct query *q = NULL;
    int rc = query_open_empty(env, snapshot, budget, selection->phases & PHASE_ANY, &q);

    if (rc == 0)
        q->find_covered = covered_find;
    if (rc == 0)
        rc = query_select_files(env, snapshot, selection, err, &q->files, &q->file_count);
    if (rc == 0)
        rc = query_make_tests(q, selection, err);
    if (rc == 0)
        rc = within_open(q, selection, err);
    if (rc == 0)
        rc = query_make_places(q);
    if (rc < 0) {
        query_close(q);
        return err_set_code(err, rc);
    }
    count_files(q, selection);
    *ret = q;
    return 0;
}
