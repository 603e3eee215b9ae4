/* watch_hints.c - converts inotify events to names that the watcher checks. */
#include "daemon/watch_hints.h"

#include "dftracerd/failpoint.h"
#include "dftracerd/vec.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <unistd.h>

#define HINTS_MAX 4096 /* with more hints, a scan is cheaper */
#define APPEARED (IN_CREATE | IN_MOVED_TO)
#define VANISHED (IN_DELETE | IN_MOVED_FROM)
#define WRITTEN (IN_MODIFY | IN_CLOSE_WRITE | IN_ATTRIB)
#define ITSELF (IN_DELETE_SELF | IN_MOVE_SELF)

struct directory {
    size_t root;
    unsigned depth;
    char *path, *name;
};
struct hints {
    int fd;
    bool (*wants)(const char *name);
    VEC(struct directory *) directories; /* by watch descriptor: small numbers that only increase */
    struct hint *hints;
    uint32_t hint_count;
    struct intern *names; /* names of the hints */
    struct arena arena;
    bool lost;
};

int hints_new(bool (*wants)(const char *name), struct hints **ret)
{
    struct hints *n = calloc(1, sizeof *n);
    if (!n)
        return -ENOMEM;
    n->wants = wants;
    n->names = intern_new();
    n->fd = inotify_init1(IN_NONBLOCK | IN_CLOEXEC);
    if (n->fd < 0 || !n->names) {
        int rc = n->fd < 0 ? -errno : -ENOMEM;
        hints_free(n);
        return rc;
    }
    *ret = n;
    return 0;
}

static void directory_free(struct directory *d)
{
    if (!d)
        return;
    free(d->path);
    free(d->name);
    free(d);
}

void hints_free(struct hints *n)
{
    if (!n)
        return;
    for (uint32_t i = 0; i < n->directories.count; i++)
        directory_free(n->directories.at[i]);
    vec_done(&n->directories);
    free(n->hints);
    intern_free(n->names);
    arena_done(&n->arena);
    if (n->fd >= 0)
        close(n->fd);
    free(n);
}

int hints_fd(const struct hints *n)
{
    return n->fd;
}

/* ---- directories ----------------------------------------------------------------------------- */

static struct directory *directory_new(size_t root, const char *path, const char *name,
                                       unsigned depth)
{
    struct directory *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    *d = (struct directory){root, depth, strdup(path), strdup(name)};
    if (d->path && d->name)
        return d;
    directory_free(d);
    return NULL;
}

int hints_watch(struct hints *n, size_t root, const char *path, const char *name, unsigned depth)
{
    int wd = inotify_add_watch(n->fd, path,
                               APPEARED | VANISHED | WRITTEN | ITSELF | IN_ONLYDIR |
                                   IN_EXCL_UNLINK | IN_DONT_FOLLOW);
    struct directory *d;
    if (wd < 0)
        return -errno;
    if (vec_extend(&n->directories, (size_t)wd + 1) < 0)
        return -ENOMEM;
    d = n->directories.at[wd];
    /* A renamed directory keeps its descriptor. */
    if (d && d->root == root && strcmp(d->path, path) == 0)
        return 0;
    d = directory_new(root, path, name, depth);
    if (!d)
        return -ENOMEM;
    directory_free(n->directories.at[wd]);
    n->directories.at[wd] = d;
    return 0;
}

/* ---- events ---------------------------------------------------------------------------------- */

static void add_hint(struct hints *n, const struct directory *d, const char *file)
{
    struct buf name = {0}, path = {0};
    struct hint hint = {.root = d->root, .depth = d->depth};
    buf_printf(&name, "%s%s%s", d->name, *d->name ? "/" : "", file);
    buf_printf(&path, "%s/%s", d->path, file);
    if (!n->hints)
        n->hints = malloc(HINTS_MAX * sizeof *n->hints);
    bool full = name.error || path.error || !n->hints || n->hint_count == HINTS_MAX;
    int64_t before = intern_count(n->names),
            id = full ? -1 : intern_add(n->names, (struct text){name.data, name.len});
    if (id < 0) {
        n->lost = true;
    } else if (id >= before) {
        hint.name = arena_strdup(&n->arena, (struct text){name.data, name.len});
        hint.path = arena_strdup(&n->arena, (struct text){path.data, path.len});
        if (hint.name && hint.path)
            n->hints[n->hint_count++] = hint;
        else
            n->lost = true;
    }
    buf_done(&name);
    buf_done(&path);
}

static void handle_event(struct hints *n, const struct inotify_event *e)
{
    struct directory *d =
        e->wd >= 0 && (uint32_t)e->wd < n->directories.count ? n->directories.at[e->wd] : NULL;
    if (e->mask & IN_Q_OVERFLOW)
        n->lost = true;
    if (!d)
        return;
    if (e->mask & IN_IGNORED) {
        directory_free(d);
        n->directories.at[e->wd] = NULL;
        return;
    }
    if (e->mask & IN_MOVE_SELF)
        /* its path has changed; if it is still inside a root, the scan adds it again */
        inotify_rm_watch(n->fd, e->wd);
    if (e->mask & (ITSELF | IN_UNMOUNT) || (e->mask & VANISHED && e->mask & IN_ISDIR))
        n->lost = true;
    else if (e->len == 0 || (e->mask & IN_ISDIR && !(e->mask & APPEARED)))
        return;
    else if (e->mask & IN_ISDIR || n->wants(e->name))
        add_hint(n, d, e->name);
}

bool hints_read(struct hints *n)
{
    _Alignas(struct inotify_event) char events[64 << 10];
    ssize_t len;
    if (failpoint("watch.read"))
        n->lost = true;
    while ((len = read(n->fd, events, sizeof events)) > 0) {
        for (char *p = events; p < events + len;) {
            const struct inotify_event *e = (const void *)p;
            handle_event(n, e);
            p += sizeof *e + e->len;
        }
    }
    return n->lost || n->hint_count > 0;
}

size_t hints_list(const struct hints *n, const struct hint **ret)
{
    *ret = n->hints;
    return n->hint_count;
}

bool hints_lost(const struct hints *n)
{
    return n->lost;
}

void hints_clear(struct hints *n)
{
    bool used = intern_count(n->names) > 0;
    struct intern *fresh = used ? intern_new() : NULL;
    if (fresh) {
        intern_free(n->names);
        n->names = fresh;
    }
    /* Without memory for new names, old names hide new hints, until a later call replaces them. */
    n->lost = used && !fresh;
    n->hint_count = 0;
    arena_done(&n->arena);
    n->arena = (struct arena){0};
}
