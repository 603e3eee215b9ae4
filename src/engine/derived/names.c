/* names.c - names of hashes, and the hosts of processes. */
#include "engine/derived/names.h"

#include "engine/derived/keys.h"

uint32_t query_resolve_name(struct query *q, const struct index_file *file, int64_t pid,
                            enum index_name_kind kind, uint32_t hash)
{
    bool conflict = false;
    uint32_t name = index_resolve(q->snapshot, file, pid, kind, hash, &conflict);

    if (conflict && keys_mark(q, (unsigned)kind, hash))
        query_count(q, &(struct query_counters){.name_conflicts = 1});
    return name == INDEX_NO_TEXT ? hash : name;
}

uint32_t process_host(struct query *q, const struct index_file *file, const struct index_process *p)
{
    if (p->host == INDEX_NO_TEXT || !p->host_is_hash)
        return p->host;
    return query_resolve_name(q, file, p->pid, INDEX_HH, p->host);
}

uint32_t only_host_of_pid(struct query *q, const struct index_file *file, int64_t pid)
{
    uint32_t only = INDEX_NO_TEXT, count;
    const uint32_t *at = index_processes_of_pid(file, pid, &count);

    for (uint32_t i = 0; i < count; i++) {
        const struct index_process *p = &file->processes[at[i]];
        if (p->host == INDEX_NO_TEXT)
            continue;
        uint32_t host = process_host(q, file, p);
        if (only != INDEX_NO_TEXT && only != host)
            return INDEX_NO_TEXT;
        only = host;
    }
    return only;
}
