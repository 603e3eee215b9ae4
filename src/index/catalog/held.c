/* held.c - directories that cannot be read: files below them are kept, and there may be more.
 */
#include "index/catalog/held.h"
#include "index/catalog/catalog.h"

#include <stdlib.h>
#include <string.h>

struct held {
    atomic_uint refs;
    size_t count;
    char **dirs; /* sorted by their bytes */
};

static void held_free(struct held *h)
{
    for (size_t i = 0; h->dirs && i < h->count; i++)
        free(h->dirs[i]);
    free(h->dirs);
    free(h);
}

void held_release(struct held *h)
{
    if (h && atomic_fetch_sub(&h->refs, 1) == 1)
        held_free(h);
}

struct held *held_ref(struct held *h)
{
    if (h)
        atomic_fetch_add(&h->refs, 1);
    return h;
}

size_t held_count(const struct held *h)
{
    return h ? h->count : 0;
}

const char *held_dir(const struct held *h, size_t i)
{
    return h->dirs[i];
}

static int compare_dirs(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static struct held *held_new(const char *const *dirs, size_t count)
{
    struct held *h = calloc(1, sizeof *h);

    if (!h)
        return NULL;
    atomic_init(&h->refs, 1);
    h->dirs = calloc(count, sizeof *h->dirs);
    while (h->dirs && h->count < count && (h->dirs[h->count] = strdup(dirs[h->count])))
        h->count++;
    if (h->count < count) {
        held_free(h);
        return NULL;
    }
    qsort(h->dirs, count, sizeof *h->dirs, compare_dirs);
    return h;
}

static bool is_same_list(const struct held *a, const struct held *b)
{
    bool same = held_count(a) == held_count(b);

    for (size_t i = 0; same && i < held_count(a); i++)
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

static bool has_dir(const struct held *h, struct text dir)
{
    return bsearch(&dir, h->dirs, h->count, sizeof *h->dirs, compare_prefix) != NULL;
}

bool held_covers(const struct held *h, const char *name)
{
    bool found = h && has_dir(h, TEXT(""));

    for (const char *slash = h ? strchr(name, '/') : NULL; slash && !found;
         slash = strchr(slash + 1, '/'))
        found = has_dir(h, (struct text){name, (size_t)(slash - name)});
    return found;
}

/* Files that could not be opened because their directory was unreadable are retried at once, not
 * after a minute. */
static void retry_below(struct index *ix, const struct held *before)
{
    for (uint32_t i = 0; i < ix->entries.count && before; i++) {
        struct entry *e = ix->entries.at[i];

        if (held_covers(before, e->name) && !held_covers(ix->held, e->name))
            e->check_ns = 0;
    }
}

int index_hold(struct index *ix, const char *const *dirs, size_t count)
{
    struct held *fresh = count ? held_new(dirs, count) : NULL, *before;
    bool changed;

    if (count && !fresh)
        return -ENOMEM;
    pthread_mutex_lock(&ix->lock);
    before = ix->held;
    changed = !is_same_list(before, fresh);
    ix->held = fresh;
    if (changed) {
        retry_below(ix, before);
        catalog_changed(ix);
    }
    pthread_mutex_unlock(&ix->lock);
    held_release(before);
    if (changed)
        catalog_notify(ix);
    return 0;
}
