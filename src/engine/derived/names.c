/* names.c - names behind hashes, and the hosts of processes. */
#include "engine/derived/names.h"

#include "engine/derived/keys.h"

#include <errno.h>

/* Searching a hash among the names of a file costs about as much as taking ROW of them in a row; of
 * more than MOST there is no need. */
enum { ROW = 16, MOST = 1 << 19 };

uint32_t query_resolve(struct query *q, const struct index_file *file, int64_t pid,
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
    return query_resolve(q, file, p->pid, INDEX_HH, p->host);
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

/* ---- of a worker, which keeps them while it scans a file ------------------------------------- */

static uint64_t hash_of(uint32_t kind, uint32_t hash)
{
    return (uint64_t)hash * 4 + kind;
}

static void forget_other_file(struct scan_worker *w)
{
    if (w->resolved_file == w->chunk.file)
        return;
    w->resolved.count = 0;
    hash_index_done(&w->resolved_index);
    w->resolved_file = w->chunk.file;
    w->resolved_all = false;
}

static const struct resolved_name *find_resolved(const struct scan_worker *w, uint32_t kind,
                                                 uint32_t hash)
{
    const struct hash_index *x = &w->resolved_index;

    for (struct hash_match m = hash_index_find(x, hash_of(kind, hash)); hash_index_next(x, &m);) {
        const struct resolved_name *r = &w->resolved.at[m.position];
        if (r->hash == hash && r->kind == kind)
            return r;
    }
    return NULL;
}

static int add_resolved(struct scan_worker *w, uint32_t kind, uint32_t hash, uint32_t name,
                        bool depends)
{
    int rc = vec_push(&w->resolved, {kind, hash, name, depends});

    return rc < 0 ? rc
                  : hash_index_add(&w->resolved_index, hash_of(kind, hash),
                                   (uint32_t)w->resolved.count - 1);
}

/* The names of all records of the file, in a row. */
static int resolve_all(struct scan_worker *w)
{
    const struct index_file *file = w->chunk.file;
    int rc = 0;

    w->resolved_all = true;
    for (uint32_t i = 0; rc == 0 && i < file->name_count; i++) {
        const struct index_name *n = &file->names[i];
        if (!find_resolved(w, n->kind, n->hash))
            rc = add_resolved(w, n->kind, n->hash, n->value, false);
    }
    return rc;
}

static int resolve_one(struct scan_worker *w, enum index_name_kind kind, uint32_t hash)
{
    uint32_t name = index_name_in(w->chunk.file, kind, hash);
    bool depends = name == INDEX_NO_TEXT && snapshot_file_count(w->query->snapshot) > 1;

    if (name == INDEX_NO_TEXT && !depends)
        name = query_resolve(w->query, w->chunk.file, INT64_MIN, kind, hash);
    return add_resolved(w, kind, hash, name, depends);
}

/* Of the file at hand. NULL: no memory. */
static const struct resolved_name *resolved_of_hash(struct scan_worker *w,
                                                    enum index_name_kind kind, uint32_t hash)
{
    uint32_t names = w->chunk.file->name_count;

    forget_other_file(w);
    const struct resolved_name *r = find_resolved(w, kind, hash);
    if (!r && !w->resolved_all && names <= MOST && w->resolved.count > names / ROW) {
        if (resolve_all(w) < 0)
            return NULL;
        r = find_resolved(w, kind, hash);
    }
    return r || resolve_one(w, kind, hash) < 0 ? r : find_resolved(w, kind, hash);
}

int worker_resolve(struct scan_worker *w, enum index_name_kind kind, uint32_t hash, int64_t pid,
                   bool pid_known, uint32_t *ret_name, bool *ret_depends)
{
    const struct resolved_name *r = resolved_of_hash(w, kind, hash);

    if (!r)
        return -ENOMEM;
    *ret_depends = r->depends && !pid_known;
    *ret_name = r->name;
    if (r->depends && pid_known)
        *ret_name = query_resolve(w->query, w->chunk.file, pid, kind, hash);
    return 0;
}
