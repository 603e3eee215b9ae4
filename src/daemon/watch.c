/* watch.c - scans the roots, and between scans checks the files that inotify reports. Only regular
 * files count, and symlinks that lead to one inside the same root. A directory that cannot be
 * listed is not treated as empty: its files stay, and answers are marked incomplete. */
#include "daemon/watch.h"

#include "daemon/log.h"
#include "daemon/watch_hints.h"

#include "dftracerd/failpoint.h"
#include "dftracerd/vec.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEPTH_MAX 64
#define DEAD_NAMES_MAX 4096
#define LOGGED_MAX 100 /* maximum number of unreadable directories that one scan logs */
/* a burst of changes is handled once */
#define DEBOUNCE_NS 50000000ll
/* interval for files that change all the time: each check reads their last chunk */
#define CHECK_NS 250000000ll
#define QUICK_SCAN_NS 2000000000ll /* a waiting client causes no scan that takes longer */
#define SCAN_SHARE 20              /* scans may take 1/20 of the time */

struct watch {
    struct index *index;
    const struct roots *roots;
    struct intern *names; /* names of the files that were offered */
    VEC(uint32_t) seen;   /* by id of the name: last round in which it was found */
    uint32_t round;
    bool listed;
    struct intern
        *unreadable; /* unreadable directories: files below them are not considered gone */
    struct intern *unreadable_before; /* during a scan: those of the previous scan */
    uint32_t logged;                  /* number of them that this scan has logged */
    bool incomplete;        /* descriptors or memory were short: no file is considered gone */
    bool incomplete_logged; /* `incomplete` was logged */
    dev_t device[OPTIONS_LIST_MAX];
    bool network[OPTIONS_LIST_MAX]; /* inotify does not report changes by other hosts */
    bool limited;                   /* the limit of watches was reached, and logged */
    bool depth_logged;              /* a directory was too deep, and logged */
    struct hints *hints;            /* NULL if inotify is not available */
    int wake_fd;
    atomic_bool requested;      /* a scan was requested */
    _Atomic int64_t scanned_ns; /* when the last completed check for a client began */
    void (*on_scan)(void *arg);
    void *on_scan_arg;
};

static bool is_trace_name(const char *name)
{
    return strncmp(name, ".nfs", 4) != 0 &&
           (index_is_trace(text_of(name)) || index_is_archive(text_of(name)));
}

int watch_new(struct index *ix, const struct roots *roots, struct watch **ret)
{
    struct watch *w = calloc(1, sizeof *w);
    if (!w || !(w->names = intern_new()) || !(w->unreadable = intern_new())) {
        intern_free(w ? w->names : NULL);
        return free(w), -ENOMEM;
    }
    w->index = ix;
    w->roots = roots;
    w->wake_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int rc = w->wake_fd < 0 ? -errno : hints_new(is_trace_name, &w->hints);
    if (rc < 0)
        log_line(LOG_LEVEL_WARNING, "no_inotify error=\"%s\"", err_text(rc));
    *ret = w;
    return 0;
}

void watch_free(struct watch *w)
{
    if (!w)
        return;
    hints_free(w->hints);
    if (w->wake_fd >= 0)
        close(w->wake_fd);
    intern_free(w->names);
    intern_free(w->unreadable);
    vec_done(&w->seen);
    free(w);
}

static int record_seen(struct watch *w, const char *name)
{
    /* first, so that every name has a round even if memory is short */
    int rc = vec_extend(&w->seen, (size_t)intern_count(w->names) + 1);
    int64_t id = rc < 0 ? rc : intern_add(w->names, text_of(name));
    if (id < 0)
        return (int)id;
    w->seen.at[id] = w->round;
    return 0;
}

/* Returns whether a symlink leads to a path inside its root. */
static bool leads_inside(const struct watch *w, size_t root, const char *path)
{
    char *real = realpath(path, NULL);
    bool ok = real && roots_inside(real, w->roots->paths[root]);
    free(real);
    return ok;
}

/* ---- directories that cannot be read --------------------------------------------------------- */

static bool is_shortage(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* lost+found belongs to the file system, and only administrators can read it. */
static bool is_of_file_system(const char *name)
{
    const char *slash = strrchr(name, '/');
    return strcmp(slash ? slash + 1 : name, "lost+found") == 0;
}

/* The error concerns this process, not the file or directory, and is valid for this scan only. */
static void record_shortage(struct watch *w, const char *path, int error)
{
    w->incomplete = true;
    if (!w->incomplete_logged)
        log_line(LOG_LEVEL_WARNING,
                 "scan_incomplete path=%s error=\"%s\" effect=\"no file is treated as deleted\"",
                 path, strerror(error));
    w->incomplete_logged = true;
}

/* A directory below the root that has vanished is gone. Any other error leaves open what is below
 * it. */
static void record_unreadable(struct watch *w, size_t root, const char *path, const char *name,
                              int error)
{
    bool is_root = strcmp(name, w->roots->labels[root]) == 0;
    uint32_t before = intern_count(w->unreadable);
    if (!is_root && (error == ENOENT || error == ENOTDIR))
        return;
    if (!is_root && error == EACCES && is_of_file_system(name))
        return;
    if (is_shortage(error) || intern_add(w->unreadable, text_of(name)) < 0) {
        record_shortage(w, path, is_shortage(error) ? error : ENOMEM);
        return;
    }
    bool known = w->unreadable_before && intern_find(w->unreadable_before, text_of(name)) >= 0;
    if (intern_count(w->unreadable) == before || known || w->logged++ > LOGGED_MAX)
        return;
    if (w->logged <= LOGGED_MAX)
        log_line(LOG_LEVEL_WARNING, "directory_unreadable path=%s error=\"%s\"", path,
                 strerror(error));
    else
        log_line(LOG_LEVEL_WARNING,
                 "directory_unreadable more=true effect=\"further directories are not logged\"");
}

/* Returns whether the name is an unreadable directory or below one. */
static bool is_unreadable(const struct watch *w, struct text name)
{
    if (intern_count(w->unreadable) == 0)
        return false;
    bool found = intern_find(w->unreadable, TEXT("")) >= 0 || intern_find(w->unreadable, name) >= 0;
    for (size_t i = 0; i < name.len && !found; i++)
        found = name.ptr[i] == '/' && intern_find(w->unreadable, (struct text){name.ptr, i}) >= 0;
    return found;
}

static int report_unreadable(struct watch *w)
{
    uint32_t count = intern_count(w->unreadable), n = 0;
    char **dirs = calloc(count + 1ul, sizeof *dirs);
    int rc = dirs ? 0 : -ENOMEM;
    for (; dirs && n < count; n++) {
        struct text name = intern_text(w->unreadable, n);
        if (!(dirs[n] = strndup(name.ptr, name.len)))
            break;
    }
    if (rc == 0)
        rc = n < count ? -ENOMEM
                       : index_set_unreadable_dirs(w->index, (const char *const *)dirs, count);
    for (uint32_t i = 0; i < n; i++)
        free(dirs[i]);
    free(dirs);
    return rc;
}

/* ---- the scan -------------------------------------------------------------------------------- */

static void scan_directory(struct watch *w, size_t root, const char *path, const char *name,
                           unsigned depth, atomic_bool *stop);

/* Handles one entry. Returns 0, or the errno if it is unknown what the entry is. */
static int visit_entry(struct watch *w, size_t root, const char *path, const char *name,
                       unsigned depth, atomic_bool *stop)
{
    struct stat st;
    if (lstat(path, &st) < 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    bool link = S_ISLNK(st.st_mode);
    if (link && (!leads_inside(w, root, path) || stat(path, &st) < 0))
        return 0;
    /* A linked directory is read at its real path; following the link would count it twice. */
    if (S_ISDIR(st.st_mode) && !link) {
        scan_directory(w, root, path, name, depth + 1, stop);
        return 0;
    }
    const char *base = strrchr(name, '/') ? strrchr(name, '/') + 1 : name;
    if (!S_ISREG(st.st_mode) || !is_trace_name(base))
        return 0;
    if (record_seen(w, name) < 0 || index_offer(w->index, name, path) == -ENOMEM)
        record_shortage(w, path, ENOMEM);
    return 0;
}

/* The watch is added before the directory is read, so that no change is missed. */
static void watch_directory(struct watch *w, size_t root, const char *path, const char *name,
                            unsigned depth)
{
    if (!w->hints || w->network[root] || w->limited)
        return;
    int rc = hints_watch(w->hints, root, path, name, depth);
    if (rc != -ENOSPC && rc != -ENOMEM)
        return;
    w->limited = true;
    log_line(
        LOG_LEVEL_WARNING,
        "watch_limit path=%s error=\"%s\" effect=\"changes are found by directory scans only\"",
        path, err_text(rc));
}

static bool is_too_deep(struct watch *w, const char *path, unsigned depth)
{
    if (depth <= DEPTH_MAX)
        return false;
    if (!w->depth_logged)
        log_line(LOG_LEVEL_WARNING, "directory_too_deep path=%s effect=\"it is not scanned\"",
                 path);
    return w->depth_logged = true;
}

static void scan_directory(struct watch *w, size_t root, const char *path, const char *name,
                           unsigned depth, atomic_bool *stop)
{
    if (is_too_deep(w, path, depth) || atomic_load(stop))
        return;
    watch_directory(w, root, path, name, depth);
    DIR *d = opendir(path);
    if (!d) {
        record_unreadable(w, root, path, name, errno);
        return;
    }
    char below[PATH_MAX], below_name[PATH_MAX];
    struct dirent *e;
    while (errno = 0, (e = failpoint("watch.list") ? NULL : readdir(d)) && !atomic_load(stop)) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        int a = snprintf(below, sizeof below, "%s/%s", path, e->d_name);
        int b =
            snprintf(below_name, sizeof below_name, "%s%s%s", name, *name ? "/" : "", e->d_name);
        int error = a > 0 && a < PATH_MAX && b > 0 && b < PATH_MAX
                        ? visit_entry(w, root, below, below_name, depth, stop)
                        : 0;
        /* If a mount does not respond, it is unreadable itself; otherwise this directory does not
         * allow access to its entries. */
        if (error && error != EACCES && e->d_type == DT_DIR)
            record_unreadable(w, root, below, below_name, error);
        else if (error && (e->d_type != DT_REG || is_trace_name(e->d_name)))
            record_unreadable(w, root, path, name, error);
    }
    if (!e && errno)
        record_unreadable(w, root, path, name, errno);
    closedir(d);
}

/* Returns the root of a name: that with its label, or the only one. */
static size_t root_of(const struct watch *w, struct text name)
{
    for (size_t i = 0; i < w->roots->count; i++) {
        size_t n = strlen(w->roots->labels[i]);
        if (n == 0 || (name.len >= n && (name.len == n || name.ptr[n] == '/') &&
                       memcmp(name.ptr, w->roots->labels[i], n) == 0))
            return i;
    }
    return 0;
}

static void forget_file(struct watch *w, const char *name)
{
    if (index_forget(w->index, name) == 0)
        log_line(LOG_LEVEL_INFO, "file_missing name=%s", name);
}

static void forget_gone(struct watch *w)
{
    for (uint32_t id = 0; id < intern_count(w->names); id++) {
        struct text t = intern_text(w->names, id);
        if (w->seen.at[id] + 1 != w->round)
            continue;
        if (w->incomplete || is_unreadable(w, t)) {
            w->seen.at[id] =
                w->round; /* considered present until the directory can be read again */
            continue;
        }
        char name[PATH_MAX];
        snprintf(name, sizeof name, "%.*s", (int)t.len, t.ptr);
        forget_file(w, name);
    }
}

static void forget_unseen(struct watch *w, const struct index_file *f)
{
    int64_t id = intern_find(w->names, text_of(f->name));
    if ((id < 0 || w->seen.at[id] != w->round) && !w->incomplete &&
        !is_unreadable(w, text_of(f->name)))
        forget_file(w, f->name);
}

/* The table keeps names of files that are gone; if they are the majority, it is rebuilt. Without
 * memory, a later call retries. */
static void drop_dead_names(struct watch *w)
{
    uint32_t all = intern_count(w->names), live = 0;
    for (uint32_t id = 0; id < all; id++)
        live += w->seen.at[id] == w->round;
    if (all < 2 * live + DEAD_NAMES_MAX)
        return;
    struct intern *fresh = intern_new();
    bool whole = fresh != NULL;
    for (uint32_t id = 0; id < all && whole; id++)
        if (w->seen.at[id] == w->round)
            whole = intern_add(fresh, intern_text(w->names, id)) >= 0;
    if (!whole) {
        intern_free(fresh);
        return;
    }
    intern_free(w->names);
    w->names = fresh;
    for (uint32_t id = 0; id < w->seen.count; id++)
        w->seen.at[id] = id < live ? w->round : 0;
}

static bool is_empty(const char *path)
{
    DIR *d = opendir(path);
    size_t n = 0;
    while (d && n < 3 && readdir(d))
        n++;
    if (d)
        closedir(d);
    return d && n < 3; /* . and .. */
}

/* Nothing is mounted at the root any more: the directory below is readable, but unrelated. */
static bool is_unmounted(struct watch *w, size_t root)
{
    struct stat st;
    if (stat(w->roots->paths[root], &st) < 0)
        return false;
    if (w->device[root] && st.st_dev != w->device[root] && is_empty(w->roots->paths[root]))
        return true;
    w->device[root] = st.st_dev;
    w->network[root] = index_refused_filesystem(w->roots->paths[root]) != NULL;
    return false;
}

static void scan_root(struct watch *w, size_t root, atomic_bool *stop)
{
    const char *path = w->roots->paths[root], *label = w->roots->labels[root];
    if (is_unmounted(w, root)) {
        record_unreadable(w, root, path, label, ENODEV);
        return;
    }
    scan_directory(w, root, path, label, 0, stop);
    /* the root was moved away during the scan, which then found nothing */
    if (access(path, F_OK) < 0)
        record_unreadable(w, root, path, label, errno);
}

/* Logs directories that can be read again. Those that are gone show in their files. */
static void log_readable(struct watch *w)
{
    for (uint32_t i = 0; i < intern_count(w->unreadable_before); i++) {
        struct text name = intern_text(w->unreadable_before, i);
        size_t root = root_of(w, name), n = strlen(w->roots->labels[root]);
        char path[2 * PATH_MAX];
        if (is_unreadable(w, name) || w->logged > LOGGED_MAX)
            continue;
        n += n > 0 && n < name.len; /* the label and its slash */
        snprintf(path, sizeof path, "%s%s%.*s", w->roots->paths[root], n < name.len ? "/" : "",
                 (int)(name.len - n), name.ptr + n);
        if (access(path, F_OK) < 0)
            continue;
        w->logged++;
        log_line(LOG_LEVEL_INFO, "directory_readable path=%s", path);
    }
}

/* Returns false if it must be repeated: no memory, or `stop`. */
static bool scan_roots(struct watch *w, struct intern *unreadable, atomic_bool *stop)
{
    w->unreadable_before = w->unreadable;
    w->unreadable = unreadable;
    w->logged = 0;
    w->incomplete = false;
    for (size_t i = 0; i < w->roots->count; i++)
        scan_root(w, i, stop);
    bool whole = !atomic_load(stop);
    if (whole && !w->incomplete)
        log_readable(w);
    intern_free(w->unreadable_before);
    w->unreadable_before = NULL;
    return whole && report_unreadable(w) == 0;
}

int watch_scan(struct watch *w, atomic_bool *stop)
{
    struct intern *unreadable = intern_new();
    if (!unreadable)
        return -ENOMEM;
    w->round++;
    if (!scan_roots(w, unreadable, stop))
        w->incomplete = true;
    if (atomic_load(stop))
        return ERR_CANCELLED;
    failpoint("watch.walked");
    forget_gone(w);
    /* The catalog may have files of an earlier process that have vanished since, and were never
     * seen. They are checked with every scan, because a root may not exist at first, and a
     * duplicate shows only when the other file is gone. */
    struct snapshot *s = index_snapshot(w->index);
    for (uint32_t i = 0; i < snapshot_file_count(s); i++)
        if (!snapshot_file(s, i)->archive) /* members are forgotten with their archive */
            forget_unseen(w, snapshot_file(s, i));
    for (uint32_t i = 0; i < snapshot_archive_count(s); i++)
        forget_unseen(w, snapshot_archive(s, i));
    snapshot_release(s);
    drop_dead_names(w);
    w->incomplete_logged &= w->incomplete;
    if (!w->listed && !w->incomplete) {
        index_listed(w->index);
        w->listed = true;
    }
    return 0;
}

/* ---- between scans --------------------------------------------------------------------------- */

/* Checks one reported name. Returns false if more than this name may be gone. */
static bool check_hint(struct watch *w, const struct hint *h, atomic_bool *stop)
{
    struct stat st;
    if (lstat(h->path, &st) == 0) {
        visit_entry(w, h->root, h->path, h->name, h->depth, stop);
        return true;
    }
    int64_t id = intern_find(w->names, text_of(h->name));
    if (errno != ENOENT || id < 0)
        return errno == ENOENT;
    char directory[PATH_MAX];
    snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(h->path, '/') - h->path), h->path);
    if (access(directory, F_OK) < 0)
        return false;
    w->seen.at[id] = 0;
    forget_file(w, h->name);
    return true;
}

static void wait_for_events(struct watch *w, int64_t until_ns)
{
    struct pollfd fds[] = {{.fd = w->wake_fd, .events = POLLIN},
                           {.fd = w->hints ? hints_fd(w->hints) : -1, .events = POLLIN}};
    int64_t ms = (until_ns - clock_mono_ns() + 999999) / 1000000;
    uint64_t ignored;
    poll(fds, 2, ms < 0 ? 0 : ms > 3600000 ? 3600000 : (int)ms);
    if (read(w->wake_fd, &ignored, sizeof ignored) < 0)
        return; /* no event */
}

struct schedule {
    int64_t rescan_ns, next_scan_ns, took_ns;
    int64_t check_at_ns, checked_ns;
};

/* Scans the roots. The longer a scan takes, the later the next one begins. */
static void run_scan(struct watch *w, struct schedule *s, atomic_bool *stop)
{
    int64_t begin = clock_mono_ns();
    watch_scan(w, stop);
    s->took_ns = clock_mono_ns() - begin;
    int64_t rest = s->took_ns * (SCAN_SHARE - 1);
    s->next_scan_ns = begin + s->took_ns + (rest > s->rescan_ns ? rest : s->rescan_ns);
}

/* Checks the names that inotify has reported. Returns false if all roots must be scanned. */
static bool check_hints(struct watch *w, struct schedule *s, atomic_bool *stop)
{
    uint32_t unreadable = intern_count(w->unreadable);
    s->check_at_ns = INT64_MAX;
    s->checked_ns = clock_mono_ns();
    const struct hint *list;
    size_t n = hints_list(w->hints, &list);
    bool enough = !hints_lost(w->hints);
    for (size_t i = 0; i < n && enough && !atomic_load(stop); i++)
        enough = check_hint(w, &list[i], stop);
    hints_clear(w->hints);
    return (intern_count(w->unreadable) == unreadable || report_unreadable(w) == 0) && enough;
}

/* Scans without delay, for a waiting client. Pending events of inotify are read first. */
static void scan_now(struct watch *w, struct schedule *s, atomic_bool *stop)
{
    bool enough = w->hints && !w->limited;
    if (w->hints)
        hints_read(w->hints);
    for (size_t i = 0; i < w->roots->count && enough; i++)
        enough = !w->network[i];
    enough = enough && check_hints(w, s, stop);
    if (!enough && s->took_ns < QUICK_SCAN_NS)
        run_scan(w, s, stop);
}

void watch_run(struct watch *w, uint64_t rescan_ms, atomic_bool *stop)
{
    struct schedule s = {.rescan_ns = (int64_t)rescan_ms * 1000000, .check_at_ns = INT64_MAX};
    while (!atomic_load(stop)) {
        bool requested = atomic_exchange(&w->requested, false);
        int64_t now = clock_mono_ns();
        if (now >= s.next_scan_ns)
            run_scan(w, &s, stop);
        else if (requested)
            scan_now(w, &s, stop);
        else if (now < s.check_at_ns)
            wait_for_events(w, s.check_at_ns < s.next_scan_ns ? s.check_at_ns : s.next_scan_ns);
        else if (!check_hints(w, &s, stop) && now + 3 * s.took_ns < s.next_scan_ns)
            s.next_scan_ns = now + 3 * s.took_ns;
        if (requested) {
            atomic_store(&w->scanned_ns, now);
            if (w->on_scan)
                w->on_scan(w->on_scan_arg);
        }
        if (w->hints && hints_read(w->hints) && s.check_at_ns == INT64_MAX) {
            int64_t after = s.checked_ns + CHECK_NS, settled = clock_mono_ns() + DEBOUNCE_NS;
            s.check_at_ns = after > settled ? after : settled;
        }
    }
}

bool watch_scanned_since(struct watch *w, int64_t since_ns)
{
    if (atomic_load(&w->scanned_ns) >= since_ns)
        return true;
    atomic_store(&w->requested, true);
    watch_wake(w);
    return false;
}

void watch_on_scan(struct watch *w, void (*call)(void *arg), void *arg)
{
    w->on_scan = call;
    w->on_scan_arg = arg;
}

void watch_wake(struct watch *w)
{
    uint64_t one = 1;
    if (w->wake_fd >= 0 && write(w->wake_fd, &one, sizeof one) < 0)
        return; /* the thread is already awake */
}
