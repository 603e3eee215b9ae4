/* resolve.c - the name behind a hash: its own file, the parent process's, then all files if they
 * agree. */
#include "index/catalog/snapshot.h"
#include "index/summary/part.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define CONFLICT 0xFFFFFFFEu

/* Of one snapshot, made when first asked for. */
struct known {
    uint32_t hash, value;
    uint8_t kind;
};
struct home {
    uint32_t host, file;
    int64_t pid;
}; /* a process was seen in a file */
struct resolver {
    struct known *names;
    uint32_t name_count, name_cap;
    struct map name_map;
    struct home *homes;
    uint32_t home_count, home_cap;
    struct map home_map;
};

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    free(r->names);
    free(r->homes);
    map_done(&r->name_map);
    map_done(&r->home_map);
    free(r);
}

static bool same_known(const void *array, uint32_t i, const void *key)
{
    const struct known *a = (const struct known *)array + i, *b = key;

    return a->hash == b->hash && a->kind == b->kind;
}

static bool same_home(const void *array, uint32_t i, const void *key)
{
    const struct home *a = (const struct home *)array + i, *b = key;

    return a->pid == b->pid && a->host == b->host;
}

static int add_name(struct resolver *r, const struct index_name *n)
{
    struct known key = {.hash = n->hash, .kind = n->kind, .value = n->value};
    uint64_t hash = map_mix(n->hash, n->kind);
    uint32_t i = map_find(&r->name_map, hash, same_known, r->names, &key);

    if (i != MAP_NONE) {
        if (r->names[i].value != n->value)
            r->names[i].value = CONFLICT;
        return 0;
    }
    if (!ARRAY_ROOM(r->names, r->name_count, r->name_cap) ||
        map_add(&r->name_map, hash, r->name_count) < 0)
        return -ENOMEM;
    r->names[r->name_count++] = key;
    return 0;
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

/* A process is at home in the first file that has it. */
static int add_homes(struct resolver *r, const struct index_file *f, uint32_t file)
{
    for (uint32_t i = 0; i < f->process_count; i++) {
        struct home key = {.host = f->processes[i].host, .file = file, .pid = f->processes[i].pid};
        uint64_t hash = map_mix((uint64_t)key.pid, key.host);

        if (map_find(&r->home_map, hash, same_home, r->homes, &key) != MAP_NONE)
            continue;
        if (!ARRAY_ROOM(r->homes, r->home_count, r->home_cap) ||
            map_add(&r->home_map, hash, r->home_count) < 0)
            return -ENOMEM;
        r->homes[r->home_count++] = key;
    }
    return 0;
}

static struct resolver *make_resolver(const struct snapshot *s)
{
    struct resolver *r = calloc(1, sizeof *r);
    int rc = r ? 0 : -ENOMEM;

    for (uint32_t i = 0; i < s->count && rc == 0; i++) {
        rc = add_names(r, &s->views[i]->pub);
        rc = rc ? rc : add_homes(r, &s->views[i]->pub, i);
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
    struct resolver *r;

    pthread_mutex_lock(&s->resolver_lock);
    if (!s->resolver)
        s->resolver = make_resolver(s);
    r = s->resolver;
    pthread_mutex_unlock(&s->resolver_lock);
    return r;
}

uint32_t index_name_in(const struct index_file *f, enum index_name_kind kind, uint32_t hash)
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
    struct home key;
    uint32_t i;

    if (!p || p->ppid == INT64_MIN)
        return INDEX_NO_TEXT;
    key = (struct home){.host = p->host, .pid = p->ppid};
    i = map_find(&r->home_map, map_mix((uint64_t)key.pid, key.host), same_home, r->homes, &key);
    if (i == MAP_NONE || &s->views[r->homes[i].file]->pub == file)
        return INDEX_NO_TEXT;
    return index_name_in(&s->views[r->homes[i].file]->pub, kind, hash);
}

uint32_t index_resolve(const struct snapshot *s, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash, bool *ret_conflict)
{
    struct known key = {.hash = hash, .kind = (uint8_t)kind};
    const struct resolver *r;
    uint32_t value, i;

    if (ret_conflict)
        *ret_conflict = false;
    if (hash == INDEX_NO_TEXT)
        return INDEX_NO_TEXT;
    value = index_name_in(file, kind, hash);
    if (value != INDEX_NO_TEXT)
        return value;
    r = resolver_of(s);
    if (!r)
        return INDEX_NO_TEXT;
    value = name_in_parent(s, r, file, pid, kind, hash);
    if (value != INDEX_NO_TEXT)
        return value;
    i = map_find(&r->name_map, map_mix(hash, (uint64_t)kind), same_known, r->names, &key);
    if (i == MAP_NONE)
        return INDEX_NO_TEXT;
    if (r->names[i].value != CONFLICT)
        return r->names[i].value;
    if (ret_conflict)
        *ret_conflict = true;
    return INDEX_NO_TEXT;
}
