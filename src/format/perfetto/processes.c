/* processes.c - a (host, pid) pair is one process: it keeps its pid, unless another host
 * has that already. */
#include "format/perfetto/aggregate.h"

#include <stdlib.h>

void perfetto_init(struct perfetto *p, struct budget *budget)
{
    p->budget = budget;
    p->processes.budget = p->lanes.budget = p->items.budget = p->process_index.budget = budget;
}

void perfetto_done(struct perfetto *p)
{
    vec_done(&p->processes);
    hash_index_done(&p->process_index);
    vec_done(&p->lanes);
    vec_done(&p->items);
    free(p->parts);
    free(p->boundaries);
}

static uint64_t hash_process(int64_t pid, struct text host)
{
    return text_hash(host) ^ (uint64_t)pid * 0x9E3779B97F4A7C15ull;
}

static struct perfetto_process *find_process(const struct perfetto *p, int64_t pid,
                                             struct text host, uint64_t hash)
{
    const struct hash_index *x = &p->process_index;

    for (struct hash_match m = hash_index_find(x, hash); hash_index_next(x, &m);) {
        struct perfetto_process *known = &p->processes.at[m.position];
        if (known->pid == pid && text_eq(known->host, host))
            return known;
    }
    return NULL;
}

int64_t perfetto_process_of(struct perfetto *p, int64_t pid, struct text host)
{
    uint64_t hash = hash_process(pid, host);
    const struct perfetto_process *known = find_process(p, pid, host, hash);

    if (known)
        return known - p->processes.at;
    int rc = vec_reserve(&p->processes, 1);
    rc = rc < 0 ? rc : hash_index_add(&p->process_index, hash, (uint32_t)p->processes.count);
    if (rc < 0)
        return rc;
    /* texts live as long as the query */
    p->processes.at[p->processes.count] = (struct perfetto_process){.pid = pid, .host = host};
    return (int64_t)p->processes.count++;
}

/* A hash is resolved as in the file that has the process. */
static void name_hosts_of_file(struct perfetto *p, struct query *q, const struct index_file *file)
{
    const struct index *index = query_index(q);

    for (uint32_t i = 0; i < file->process_count; i++) {
        const struct index_process *seen = &file->processes[i];
        if (!seen->host_is_hash || seen->host == INDEX_NO_TEXT)
            continue;
        struct text host = index_text(index, seen->host);
        struct perfetto_process *known =
            find_process(p, seen->pid, host, hash_process(seen->pid, host));
        if (!known || known->host_name.len)
            continue;
        uint32_t name =
            index_resolve(query_snapshot(q), file, seen->pid, INDEX_HH, seen->host, NULL);
        if (name != INDEX_NO_TEXT)
            known->host_name = index_text(index, name);
    }
}

void perfetto_name_hosts(struct perfetto *p, struct query *q)
{
    const uint32_t *files;
    size_t count = query_files(q, &files);

    for (size_t i = 0; i < count && p->processes.count; i++)
        name_hosts_of_file(p, q, snapshot_file(query_snapshot(q), files[i]));
}

static int compare_processes(const void *a, const void *b, void *arg)
{
    const struct perfetto_process *all = arg, *x = &all[*(const uint32_t *)a],
                                  *y = &all[*(const uint32_t *)b];

    if (x->pid != y->pid)
        return x->pid < y->pid ? -1 : 1;
    return text_cmp(x->host, y->host);
}

/* A process keeps its pid if no other has it; the others get numbers after all of these. */
int perfetto_name_processes(struct perfetto *p)
{
    uint32_t *order = malloc((p->processes.count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->processes.count; i++) {
        order[i] = i;
        if (perfetto_is_id(p->processes.at[i].pid) && p->processes.at[i].pid >= next)
            next = p->processes.at[i].pid + 1;
    }
    qsort_r(order, p->processes.count, sizeof(*order), compare_processes, p->processes.at);
    for (uint32_t i = 0; i < p->processes.count; i++) {
        struct perfetto_process *process = &p->processes.at[order[i]];
        bool taken = i > 0 && p->processes.at[order[i - 1]].pid == process->pid;
        bool stays = perfetto_is_id(process->pid) && !taken;
        process->written_pid = stays ? process->pid : next++;
    }
    free(order);
    return 0;
}
