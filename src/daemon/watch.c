/* watch.c - walks the roots. Regular files only; symlinks where they lead to a place inside the same root. */
#include "watch.h"

#include "log.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64

struct watch {
    struct index *index;
    const struct roots *roots;
    struct intern *names; /* every name ever offered                    */
    uint32_t *seen;       /* by name id: round in which it was there    */
    size_t seen_cap;
    uint32_t round;
    bool listed;
    bool unreadable
        [OPTIONS_LIST_MAX]; /* a part of the root could not be read: nothing is known to be gone */
    bool told[OPTIONS_LIST_MAX]; /* that it is unreadable, in the log */
};

int watch_new(struct index *ix, const struct roots *roots, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof *w);
    if (!w || !(w->names = intern_new()))
        return free(w), -ENOMEM;
    w->index = ix;
    w->roots = roots;
    *ret = w;
    return 0;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    intern_free(w->names);
    free(w->seen);
    free(w);
}

static bool ends_with(const char *s, const char *tail)
{
    size_t n = strlen(s), m = strlen(tail);
    return n > m && strcmp(s + n - m, tail) == 0;
}

static bool is_trace_name(const char *name)
{
    return strncmp(name, ".nfs", 4) != 0 && (ends_with(name, ".pfw") || ends_with(name, ".pfw.gz"));
}

static int note_seen(struct watch *w, const char *name)
{
    int64_t id = intern_add(w->names, text_of(name));
    if (id < 0)
        return (int)id;
    if ((size_t)id >= w->seen_cap) {
        size_t cap = w->seen_cap ? 2 * w->seen_cap : 1024;
        uint32_t *grown = realloc(w->seen, cap * sizeof *grown);
        if (!grown)
            return -ENOMEM;
        memset(grown + w->seen_cap, 0, (cap - w->seen_cap) * sizeof *grown);
        w->seen = grown;
        w->seen_cap = cap;
    }
    w->seen[id] = w->round;
    return 0;
}

/* Whether a symlink stays inside its root. */
static bool leads_inside(const struct watch *w, size_t root, const char *path)
{
    char *real = realpath(path, NULL);
    bool ok = real && roots_inside(real, w->roots->paths[root]);
    free(real);
    return ok;
}

static void walk(struct watch *w, size_t root, const char *path, const char *name, unsigned depth,
                 atomic_bool *stop);

static void visit(struct watch *w, size_t root, const char *path, const char *name, unsigned depth,
                  atomic_bool *stop)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return;
    bool link = S_ISLNK(st.st_mode);
    if (link && (!leads_inside(w, root, path) || stat(path, &st) < 0))
        return;
    /* A linked directory is read where it really stands; following it, too, would answer twice. */
    if (S_ISDIR(st.st_mode) && !link) {
        walk(w, root, path, name, depth + 1, stop);
        return;
    }
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (!S_ISREG(st.st_mode) || !is_trace_name(base))
        return;
    if (note_seen(w, name) == 0)
        index_offer(w->index, name, path);
}

/* A directory below the root that we may not read holds nothing for us, and one that has just vanished is gone. Other
 * errors (a server that does not answer) say nothing about its files. */
static void note_unreadable(struct watch *w, size_t root, const char *path, unsigned depth,
                            int error)
{
    if (depth > 0 && (error == ENOENT || error == EACCES))
        return;
    w->unreadable[root] = true;
    if (!w->told[root])
        log_line(LOG_LEVEL_WARNING, "directory_unreadable path=%s error=\"%s\"", path,
                 strerror(error));
    w->told[root] = true;
}

static void walk(struct watch *w, size_t root, const char *path, const char *name, unsigned depth,
                 atomic_bool *stop)
{
    if (depth > DEPTH_MAX || atomic_load(stop))
        return;
    DIR *d = opendir(path);
    if (!d) {
        note_unreadable(w, root, path, depth, errno);
        return;
    }
    char below[PATH_MAX], below_name[PATH_MAX];
    struct dirent *e;
    while (errno = 0, (e = readdir(d)) && !atomic_load(stop)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int a = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        int b =
            snprintf(below_name, sizeof below_name, "%s%s%s", name, *name ? "/" : "", e->d_name);
        if (a > 0 && a < PATH_MAX && b > 0 && b < PATH_MAX)
            visit(w, root, below, below_name, depth, stop);
    }
    if (!e && errno)
        note_unreadable(w, root, path, depth, errno);
    closedir(d);
}

/* Which root a name belongs to: its label, or the only one. */
static size_t root_of(const struct watch *w, struct text name)
{
    for (size_t i = 0; i < w->roots->count; i++) {
        size_t n = strlen(w->roots->labels[i]);
        if (n == 0 ||
            (name.len > n && name.ptr[n] == '/' && memcmp(name.ptr, w->roots->labels[i], n) == 0))
            return i;
    }
    return 0;
}

static void forget_gone(struct watch *w)
{
    for (uint32_t id = 0; id < intern_count(w->names); id++) {
        struct text t = intern_text(w->names, id);
        if (w->seen[id] + 1 != w->round)
            continue;
        if (w->unreadable[root_of(w, t)]) {
            w->seen[id] = w->round; /* as if it were there, until the root can be read again */
            continue;
        }
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)t.len, t.ptr);
        index_forget(w->index, name);
        log_line(LOG_LEVEL_INFO, "file_gone name=%s", name);
    }
}

/* Files of an earlier run that have vanished meanwhile: known to the catalog, never seen. */
static void forget_from_before(struct watch *w)
{
    struct snapshot *s = index_snapshot(w->index);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++) {
        const struct index_file *f = snapshot_file(s, i);
        if (intern_find(w->names, text_of(f->name)) < 0 &&
            !w->unreadable[root_of(w, text_of(f->name))])
            index_forget(w->index, f->name);
    }
    snapshot_release(s);
}

int watch_scan(struct watch *w, atomic_bool *stop)
{
    w->round++;
    for (size_t i = 0; i < w->roots->count; i++) {
        w->unreadable[i] = false;
        walk(w, i, w->roots->paths[i], w->roots->labels[i], 0, stop);
        w->told[i] &= w->unreadable[i];
    }
    if (atomic_load(stop))
        return ERR_CANCELLED;
    forget_gone(w);
    if (!w->listed) {
        forget_from_before(w);
        index_listed(w->index);
        w->listed = true;
    }
    return 0;
}
