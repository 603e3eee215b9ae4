/* rank_table.c - the ranks of all processes of a snapshot.
 *
 * A process is (name of the host, pid). Its rank is taken from its own file, or from the first file
 * of the snapshot, in path order, that has it. The table has all processes with a rank, and is made
 * when a query first needs it.
 */
#include "engine/derived/names.h"
#include "engine/derived/ranks.h"

#include <errno.h>
#include <stdlib.h>

enum { PROCESSES_CHECKED = 1024 }; /* processes between two checks of the budget */

struct rank_entry {
    int64_t pid, rank;
    uint32_t host; /* text id of the name, INDEX_NO_TEXT = null */
    uint32_t file; /* position in the snapshot */
};

static int cmp_entries(const void *a, const void *b)
{
    const struct rank_entry *x = a, *y = b;

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    if (x->host != y->host)
        return x->host < y->host ? -1 : 1;
    return (x->file > y->file) - (x->file < y->file);
}

static int add_rank(struct query *q, struct rank_table *t, uint32_t position,
                    const struct index_process *p)
{
    const struct index_file *file = snapshot_file(q->snapshot, position);
    uint32_t host = process_host(q, file, p);

    if (host == INDEX_NO_TEXT)
        host = only_host_of_pid(q, file, p->pid);
    t->min = t->entries.count == 0 || p->rank < t->min ? p->rank : t->min;
    t->max = t->entries.count == 0 || p->rank > t->max ? p->rank : t->max;
    return vec_push(&t->entries, {.pid = p->pid, .rank = p->rank, .host = host, .file = position});
}

static int make_table(struct query *q, struct rank_table **ret)
{
    struct rank_table *t = calloc(1, sizeof(*t));
    int rc = t ? 0 : -ENOMEM;

    for (uint32_t i = 0; rc == 0 && i < snapshot_file_count(q->snapshot); i++) {
        const struct index_file *file = snapshot_file(q->snapshot, i);
        for (uint32_t k = 0; rc == 0 && k < file->process_count; k++) {
            rc = k % PROCESSES_CHECKED ? 0 : budget_check(q->budget);
            if (rc == 0 && file->processes[k].rank != INT64_MIN)
                rc = add_rank(q, t, i, &file->processes[k]);
        }
    }
    if (rc < 0) {
        rank_table_free(t);
        return rc;
    }
    if (t->entries.count > 0)
        qsort(t->entries.at, t->entries.count, sizeof(*t->entries.at), cmp_entries);
    *ret = t;
    return 0;
}

void rank_table_free(struct rank_table *t)
{
    if (!t)
        return;
    vec_done(&t->entries);
    free(t);
}

/* Two workers may make the table at the same time; one of them is kept. */
int rank_table_of(struct query *q, const struct rank_table **ret)
{
    struct rank_table *made = NULL, *none = NULL;

    if (!atomic_load(&q->ranks)) {
        int rc = make_table(q, &made);
        if (rc < 0)
            return rc;
        if (!atomic_compare_exchange_strong(&q->ranks, &none, made))
            rank_table_free(made);
    }
    *ret = atomic_load(&q->ranks);
    return 0;
}

int64_t rank_table_find(const struct rank_table *t, uint32_t file, uint32_t host, int64_t pid)
{
    const struct rank_entry *entries = t->entries.at;
    size_t from = 0, to = t->entries.count;
    struct rank_entry key = {.pid = pid, .host = host};

    while (from < to) { /* the first entry of (pid, host) */
        size_t middle = from + (to - from) / 2;
        if (cmp_entries(&entries[middle], &key) < 0)
            from = middle + 1;
        else
            to = middle;
    }
    int64_t rank = INT64_MIN;
    for (size_t i = from; i < t->entries.count && entries[i].pid == pid && entries[i].host == host;
         i++) {
        if (entries[i].file == file)
            return entries[i].rank;
        rank = rank == INT64_MIN ? entries[i].rank : rank;
    }
    return rank;
}
