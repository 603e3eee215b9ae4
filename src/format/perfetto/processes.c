/* processes.c - a (host, pid) pair is one process: it keeps its pid, unless another host
 * has that already. */
#include "format/perfetto/aggregate.h"

#include <stdlib.h>

int perfetto_grow(struct perfetto *p, void **array, size_t each, size_t count, size_t cap,
                  size_t *ret_cap)
{
    if (count < cap)
        return 0;
    size_t more = cap ? cap : 64;
    int rc = budget_charge(p->budget, more * each);
    if (rc < 0)
        return rc;
    p->charged += more * each;
    void *grown = realloc(*array, (cap + more) * each);
    if (!grown)
        return -ENOMEM;
    *array = grown;
    *ret_cap = cap + more;
    return 0;
}

static uint64_t hash_process(int64_t pid, struct text host)
{
    return text_hash(host) ^ (uint64_t)pid * 0x9E3779B97F4A7C15ull;
}

static int rehash(struct perfetto *p)
{
    uint32_t slots = p->slot_mask ? (p->slot_mask + 1) * 2 : 256;

    free(p->slots);
    p->slots = calloc(slots, sizeof(*p->slots));
    if (!p->slots)
        return -ENOMEM;
    p->slot_mask = slots - 1;
    for (uint32_t i = 0; i < p->process_count; i++) {
        uint32_t at =
            (uint32_t)hash_process(p->processes[i].pid, p->processes[i].host) & p->slot_mask;
        while (p->slots[at])
            at = (at + 1) & p->slot_mask;
        p->slots[at] = i + 1;
    }
    return 0;
}

/* Its slot, or the empty one where it is to go. */
static uint32_t slot_of(const struct perfetto *p, int64_t pid, struct text host)
{
    uint32_t at = (uint32_t)hash_process(pid, host) & p->slot_mask;

    for (; p->slots[at]; at = (at + 1) & p->slot_mask) {
        const struct perfetto_process *known = &p->processes[p->slots[at] - 1];
        if (known->pid == pid && text_eq(known->host, host))
            break;
    }
    return at;
}

int64_t perfetto_process_of(struct perfetto *p, int64_t pid, struct text host)
{
    size_t cap = p->process_cap;
    int rc = p->process_count * 2 >= p->slot_mask ? rehash(p) : 0;

    if (rc < 0)
        return rc;
    uint32_t at = slot_of(p, pid, host);
    if (p->slots[at])
        return p->slots[at] - 1;
    rc = perfetto_grow(p, (void **)&p->processes, sizeof(*p->processes), p->process_count, cap,
                       &cap);
    if (rc < 0)
        return rc;
    p->process_cap = (uint32_t)cap;
    p->processes[p->process_count] =
        (struct perfetto_process){.pid = pid, .host = host}; /* texts live as long as the query */
    p->slots[at] = ++p->process_count;
    return p->process_count - 1;
}

/* A hash means what it does in the file that has the process. */
static void name_hosts_of_file(struct perfetto *p, struct query *q, const struct index_file *file)
{
    const struct index *index = query_index(q);

    for (uint32_t i = 0; i < file->process_count; i++) {
        const struct index_process *seen = &file->processes[i];
        if (!seen->host_is_hash || seen->host == INDEX_NO_TEXT)
            continue;
        uint32_t slot = p->slots[slot_of(p, seen->pid, index_text(index, seen->host))];
        if (!slot || p->processes[slot - 1].host_name.len)
            continue;
        uint32_t name =
            index_resolve(query_snapshot(q), file, seen->pid, INDEX_HH, seen->host, NULL);
        if (name != INDEX_NO_TEXT)
            p->processes[slot - 1].host_name = index_text(index, name);
    }
}

void perfetto_name_hosts(struct perfetto *p, struct query *q)
{
    const uint32_t *files;
    size_t count = query_files(q, &files);

    for (size_t i = 0; i < count && p->process_count; i++)
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

/* Everyone keeps a pid that is its own alone; the others get numbers behind all of them. */
int perfetto_name_processes(struct perfetto *p)
{
    uint32_t *order = malloc((p->process_count + 1) * sizeof(*order));
    int64_t next = 1;

    if (!order)
        return -ENOMEM;
    for (uint32_t i = 0; i < p->process_count; i++) {
        order[i] = i;
        if (p->processes[i].pid >= next && p->processes[i].pid < INT32_MAX / 2)
            next = p->processes[i].pid + 1;
    }
    qsort_r(order, p->process_count, sizeof(*order), compare_processes, p->processes);
    for (uint32_t i = 0; i < p->process_count; i++) {
        struct perfetto_process *process = &p->processes[order[i]];
        bool taken = i > 0 && p->processes[order[i - 1]].pid == process->pid;
        bool fits = process->pid > 0 && process->pid < INT32_MAX / 2;
        process->told = fits && !taken ? process->pid : next++;
    }
    free(order);
    return 0;
}
