/* unreadable_dirs.c - directories that cannot be read: files below them are kept, and there may be
 * more. */
#include "index/catalog/unreadable_dirs.h"
#include "index/catalog/catalog.h"

#include <stdlib.h>
#include <string.h>

struct unreadable_dirs {
    atomic_uint refs;
    size_t count;
    char **dirs; /* sorted by their bytes */
};

static void unreadable_dirs_free(struct unreadable_dirs *d)
{
    for (size_t i = 0; d->dirs && i < d->count; i++)
        free(d->dirs[i]);
    free(d->dirs);
    free(d);
}

void unreadable_dirs_release(struct unreadable_dirs *d)
{
    if (d && atomic_fetch_sub(&d->refs, 1) == 1)
        unreadable_dirs_free(d);
}

struct unreadable_dirs *unreadable_dirs_ref(struct unreadable_dirs *d)
{
    if (d)
        atomic_fetch_add(&d->refs, 1);
    return d;
}

size_t unreadable_dirs_count(const struct unreadable_dirs *d)
{
    return d ? d->count : 0;
}

const char *unreadable_dirs_get(const struct unreadable_dirs *d, size_t i)
{
    return d->dirs[i];
}

static int compare_dirs(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct unreadable_dirs *unreadable_dirs_new(const char *const *dirs, size_t count)
{
    struct unreadable_dirs *d = calloc(1, sizeof *d);

    if (!d)
        return NULL;
    atomic_init(&d->refs, 1);
    d->dirs = calloc(count, sizeof *d->dirs);
    while (d->dirs && d->count < count && (d->dirs[d->count] = strdup(dirs[d->count])))
        d->count++;
    if (d->count < count) {
        unreadable_dirs_free(d);
        return NULL;
    }
    qsort(d->dirs, count, sizeof *d->dirs, compare_dirs);
    return d;
}

static bool is_same_list(const struct unreadable_dirs *a, const struct unreadable_dirs *b)
{
    bool same = unreadable_dirs_count(a) == unreadable_dirs_count(b);

    for (size_t i = 0; same && i < unreadable_dirs_count(a); i++)
        same = strcmp(a->dirs[i], b->dirs[i]) == 0;
    return same;
}

static int compare_prefix(const void *key, const void *dir)
{
    const struct text *t = key;
    const char *s = *(char *const *)dir;
    int cmp = strncmp(t->ptr, s, t->len);

    return cmp ? cmp : s[t->len] ? -1 : 0;
}

static bool has_dir(const struct unreadable_dirs *d, struct text dir)
{
    return bsearch(&dir, d->dirs, d->count, sizeof *d->dirs, compare_prefix) != NULL;
}

bool unreadable_dirs_covers(const struct unreadable_dirs *d, const char *name)
{
    bool found = d && has_dir(d, TEXT(""));

    for (const char *slash = d ? strchr(name, '/') : NULL; slash && !found;
         slash = strchr(slash + 1, '/'))
        found = has_dir(d, (struct text){name, (size_t)(slash - name)});
    return found;
}

/* Files that could not be opened because their directory was unreadable are retried at once, not
 * after a minute. */
static void retry_below(struct index *ix, const struct unreadable_dirs *before)
{
    for (uint32_t i = 0; i < ix->entries.count && before; i++) {
        struct entry *e = ix->entries.at[i];
        if (unreadable_dirs_covers(before, e->name) &&
            !unreadable_dirs_covers(ix->unreadable_dirs, e->name))
            e->check_ns = 0;
    }
}

int index_set_unreadable_dirs(struct index *ix, const char *const *dirs, size_t count)
{
    struct unreadable_dirs *fresh = count ? unreadable_dirs_new(dirs, count) : NULL, *before;

    if (count && !fresh)
        return -ENOMEM;
    pthread_mutex_lock(&ix->lock);
    before = ix->unreadable_dirs;
    bool changed = !is_same_list(before, fresh);
    ix->unreadable_dirs = fresh;
    if (changed) {
        retry_below(ix, before);
        catalog_changed(ix);
    }
    pthread_mutex_unlock(&ix->lock);
    unreadable_dirs_release(before);
    if (changed)
        catalog_notify(ix);
    return 0;
}
