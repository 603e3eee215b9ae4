/* resolve.c - resolves a hash to a name: by its own file, the file of the parent process, or all
 * files if they agree. */
#include "index/catalog/snapshot.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>

#define CONFLICT 0xFFFFFFFEu

/* Names and processes of one snapshot, created on first use. */
struct known_name {
    uint32_t hash, value; /* value: CONFLICT if files differ */
    uint8_t kind;
};
/* The file of a process. */
struct process_file {
    uint32_t host, file; /* file: its position in the snapshot */
    int64_t pid;
};
struct resolver {
    VEC(struct known_name) names;
    VEC(struct process_file) files;
    struct hash_index name_index, file_index;
};

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    vec_done(&r->names);
    vec_done(&r->files);
    hash_index_done(&r->name_index);
    hash_index_done(&r->file_index);
    free(r);
}

static struct known_name *find_name(const struct resolver *r, uint8_t kind, uint32_t hash)
{
    const struct hash_index *x = &r->name_index;

    for (struct hash_match m = hash_index_find(x, hash_index_mix(hash, kind));
         hash_index_next(x, &m);)
        if (r->names.at[m.position].hash == hash && r->names.at[m.position].kind == kind)
            return &r->names.at[m.position];
    return NULL;
}

static const struct process_file *find_process_file(const struct resolver *r, uint32_t host,
                                                    int64_t pid)
{
    const struct hash_index *x = &r->file_index;

    for (struct hash_match m = hash_index_find(x, hash_index_mix((uint64_t)pid, host));
         hash_index_next(x, &m);)
        if (r->files.at[m.position].pid == pid && r->files.at[m.position].host == host)
            return &r->files.at[m.position];
    return NULL;
}

static int add_name(struct resolver *r, const struct index_name *n)
{
    struct known_name *known = find_name(r, n->kind, n->hash);

    if (known) {
        if (known->value != n->value)
            known->value = CONFLICT;
        return 0;
    }
    int rc =
        hash_index_add(&r->name_index, hash_index_mix(n->hash, n->kind), (uint32_t)r->names.count);
    return rc ? rc : vec_push(&r->names, {.hash = n->hash, .kind = n->kind, .value = n->value});
}

/* The first name of each hash: names are sorted by (kind, hash, position). */
static int add_names(struct resolver *r, const struct index_file *f)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->name_count && rc == 0; i++) {
        const struct index_name *n = &f->names[i];
        if (n->kind > INDEX_SH)
            break;
        if (i == 0 || n[-1].kind != n->kind || n[-1].hash != n->hash)
            rc = add_name(r, n);
    }
    return rc;
}

/* The file of a process is the first one that contains it. */
static int add_process_files(struct resolver *r, const struct index_file *f, uint32_t file)
{
    int rc = 0;

    for (uint32_t i = 0; i < f->process_count && rc == 0; i++) {
        const struct index_process *p = &f->processes[i];
        if (find_process_file(r, p->host, p->pid))
            continue;
        rc = hash_index_add(&r->file_index, hash_index_mix((uint64_t)p->pid, p->host),
                            (uint32_t)r->files.count);
        rc = rc ? rc : vec_push(&r->files, {.host = p->host, .file = file, .pid = p->pid});
    }
    return rc;
}

static struct resolver *make_resolver(const struct snapshot *s)
{
    struct resolver *r = calloc(1, sizeof *r);
    int rc = r ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        rc = add_names(r, &s->views[i]->pub);
        rc = rc ? rc : add_process_files(r, &s->views[i]->pub, i);
    }
    if (rc) {
        resolver_free(r);
        r = NULL;
    }
    return r;
}

static struct resolver *resolver_of(const struct snapshot *snapshot)
{
    struct snapshot *s = (struct snapshot *)snapshot;

    pthread_mutex_lock(&s->resolver_lock);
    if (!s->resolver)
        s->resolver = make_resolver(s);
    struct resolver *r = s->resolver;
    pthread_mutex_unlock(&s->resolver_lock);
    return r;
}

uint32_t index_name_in_file(const struct index_file *f, enum index_name_kind kind, uint32_t hash)
{
    uint32_t low = 0, high = f->name_count;

    while (low < high) {
        uint32_t mid = low + (high - low) / 2;
        const struct index_name *n = &f->names[mid];
        if (n->kind < kind || (n->kind == kind && n->hash < hash))
            low = mid + 1;
        else
            high = mid;
    }
    if (low < f->name_count && f->names[low].kind == kind && f->names[low].hash == hash)
        return f->names[low].value;
    return INDEX_NO_TEXT;
}

static const struct index_process *process_in_file(const struct index_file *f, int64_t pid)
{
    uint32_t count;
    const uint32_t *at = index_processes_of_pid(f, pid, &count);

    return count ? &f->processes[*at] : NULL;
}

static uint32_t name_in_parent(const struct snapshot *s, const struct resolver *r,
                               const struct index_file *file, int64_t pid,
                               enum index_name_kind kind, uint32_t hash)
{
    const struct index_process *p = pid == INT64_MIN ? NULL : process_in_file(file, pid);

    if (!p || p->ppid == INT64_MIN)
        return INDEX_NO_TEXT;
    const struct process_file *found = find_process_file(r, p->host, p->ppid);
    if (!found || &s->views[found->file]->pub == file)
        return INDEX_NO_TEXT;
    return index_name_in_file(&s->views[found->file]->pub, kind, hash);
}

uint32_t index_resolve(const struct snapshot *s, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash, bool *ret_conflict)
{
    if (ret_conflict)
        *ret_conflict = false;
    if (hash == INDEX_NO_TEXT)
        return INDEX_NO_TEXT;
    uint32_t value = index_name_in_file(file, kind, hash);
    if (value != INDEX_NO_TEXT)
        return value;
    const struct resolver *r = resolver_of(s);
    if (!r)
        return INDEX_NO_TEXT;
    value = name_in_parent(s, r, file, pid, kind, hash);
    if (value != INDEX_NO_TEXT)
        return value;
    const struct known_name *known = find_name(r, (uint8_t)kind, hash);
    if (!known)
        return INDEX_NO_TEXT;
    if (known->value != CONFLICT)
        return known->value;
    if (ret_conflict)
        *ret_conflict = true;
    return INDEX_NO_TEXT;
}
