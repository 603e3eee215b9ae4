/* replay_root.c - every access to the file system, kept below the root. */
#include "root.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Guards `made` of all files while one is created, removed or renamed. */
static pthread_mutex_t made_lock = PTHREAD_MUTEX_INITIALIZER;

static int open_beneath(int at, const char *path, int flags, uint64_t resolve)
{
    struct open_how how = {
        .flags = (uint64_t)(unsigned)(flags | O_CLOEXEC | (flags & O_PATH ? 0 : O_NOCTTY)),
        .mode = flags & O_CREAT ? 0666 : 0,
        .resolve = RESOLVE_BENEATH | RESOLVE_NO_MAGICLINKS | resolve};
    for (;;) {
        long fd = syscall(SYS_openat2, at, path, &how, sizeof how);
        if (fd >= 0)
            return (int)fd;
        if (errno != EINTR && errno != EAGAIN)
            return -errno;
    }
}

static int open_in_root(const struct root *r, const char *path, int flags)
{
    return open_beneath(r->fd, path, flags, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

/* The directory of a file, and the last part of its path. */
static int open_parent(const struct root *r, const struct file *f, const char **ret_last)
{
    char dir[PATH_MAX];
    const char *slash = strrchr(f->below, '/');
    if (f->map >= 0)
        return ROOT_READ_ONLY;
    *ret_last = slash ? slash + 1 : f->below;
    if (!slash)
        return open_in_root(r, ".", O_PATH | O_DIRECTORY);
    memcpy(dir, f->below, (size_t)(slash - f->below));
    dir[slash - f->below] = '\0';
    return open_in_root(r, dir, O_PATH | O_DIRECTORY);
}

/* ---- the root itself ---- */

static int make_root(struct root *r, const struct replay_options *o, struct err *err)
{
    char name[] = "dftracer-replay-XXXXXX";
    const char *dir = o->root ? o->root : mkdtemp(name);
    if (!dir)
        return err_set(err, -errno, "cannot create a directory here: %s", strerror(errno));
    r->made = !o->root || mkdir(dir, 0777) == 0;
    if (!r->made && errno != EEXIST)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    r->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r->path = r->fd < 0 ? NULL : realpath(dir, NULL);
    return r->path ? 0 : err_set(err, -errno, "%s: %s", dir, strerror(errno));
}

int root_open(struct root *r, const struct replay_options *o, struct err *err)
{
    *r = (struct root){.fd = -1};
    for (unsigned i = 0; i < REPLAY_MAPS_MAX; i++)
        r->maps[i] = -1;
    for (unsigned i = 0; i < o->map_count; i++) {
        r->maps[i] = open(o->maps[i].to, O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (r->maps[i] < 0)
            return err_set(err, -errno, "--map: %s: %s", o->maps[i].to, strerror(errno));
    }
    int rc = make_root(r, o, err);
    if (rc < 0)
        return rc;
    int probe = open_in_root(r, ".", O_PATH | O_DIRECTORY);
    if (probe < 0)
        return err_set(
            err, probe,
            "openat2 does not work here (%s): the replay needs Linux 5.6 or later, and a "
            "sandbox that permits it, to stay below its root",
            strerror(-probe));
    close(probe);
    return 0;
}

void root_close(struct root *r)
{
    for (unsigned i = 0; i < REPLAY_MAPS_MAX; i++)
        if (r->maps[i] >= 0)
            close(r->maps[i]);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
    r->path = NULL;
}

int root_free_bytes(const struct root *r, uint64_t *ret)
{
    struct statvfs s;
    if (fstatvfs(r->fd, &s) < 0)
        return -errno;
    *ret = (uint64_t)s.f_bavail * s.f_frsize;
    return 0;
}

/* ---- files ---- */

/* Sockets, pipes and devices that lie in the root are not opened. */
static int only_plain(int fd)
{
    struct stat s;
    if (fd < 0)
        return fd;
    if (fstat(fd, &s) == 0 && (S_ISREG(s.st_mode) || S_ISDIR(s.st_mode)))
        return fd;
    close(fd);
    return ROOT_NOT_OURS;
}

static bool changes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

static int create_file(struct root *r, struct file *f, int flags)
{
    pthread_mutex_lock(&made_lock);
    int fd = open_in_root(r, f->below, flags | (f->made ? 0 : O_EXCL));
    if (fd >= 0)
        f->made = true;
    pthread_mutex_unlock(&made_lock);
    if (fd == -EEXIST && !(flags & O_EXCL))
        return changes(flags) ? ROOT_NOT_OURS
                              : only_plain(open_in_root(r, f->below, O_RDONLY | O_NONBLOCK));
    return fd;
}

int root_open_file(struct root *r, struct file *f, int flags)
{
    if (f->map >= 0) {
        if (changes(flags))
            return ROOT_READ_ONLY;
        return only_plain(open_beneath(r->maps[f->map], f->below,
                                       (flags & O_DIRECTORY) | O_RDONLY | O_NONBLOCK, 0));
    }
    if (flags & O_CREAT)
        return create_file(r, f, flags | O_NONBLOCK);
    if (changes(flags) && !f->made) {
        struct stat s;
        int rc = root_stat(r, f, &s);
        return rc < 0 ? rc : ROOT_NOT_OURS;
    }
    return only_plain(open_in_root(r, f->below, flags | O_NONBLOCK));
}

int root_make_dir(struct root *r, struct file *f)
{
    const char *last;
    int dir = open_parent(r, f, &last);
    if (dir < 0)
        return dir;
    pthread_mutex_lock(&made_lock);
    int rc = mkdirat(dir, last, 0777) < 0 ? -errno : 0;
    if (rc == 0)
        f->made = true;
    pthread_mutex_unlock(&made_lock);
    close(dir);
    return rc;
}

/* A file that is there, but is not ours. */
static int not_ours(int dir, const char *last)
{
    struct stat s;
    return fstatat(dir, last, &s, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : ROOT_NOT_OURS;
}

int root_remove(struct root *r, struct file *f, bool is_dir)
{
    const char *last;
    int dir = open_parent(r, f, &last), rc;
    if (dir < 0)
        return dir;
    pthread_mutex_lock(&made_lock);
    if (!f->made) {
        rc = not_ours(dir, last);
    } else {
        rc = unlinkat(dir, last, is_dir ? AT_REMOVEDIR : 0) < 0 ? -errno : 0;
        f->made = rc < 0;
    }
    pthread_mutex_unlock(&made_lock);
    close(dir);
    return rc;
}

/* rename and link, whose rules are the same but for what becomes of `from`. */
static int change_two(struct root *r, struct file *from, struct file *to, bool is_rename)
{
    const char *last, *last_to;
    struct stat s;
    int dir = open_parent(r, from, &last), rc = dir;
    int dir_to = dir < 0 ? dir : open_parent(r, to, &last_to);
    if (dir_to < 0) {
        rc = dir_to;
        goto out;
    }
    pthread_mutex_lock(&made_lock);
    bool is_dir = fstatat(dir, last, &s, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(s.st_mode);
    if (!from->made)
        rc = not_ours(dir, last);
    else if (!is_rename)
        rc = linkat(dir, last, dir_to, last_to, 0) < 0 ? -errno : 0;
    else if (renameat2(dir, last, dir_to, last_to, to->made ? 0 : 1 /* RENAME_NOREPLACE */) == 0)
        rc = 0;
    else
        rc = errno == EEXIST && !to->made ? ROOT_NOT_OURS : -errno;
    if (rc == 0) {
        to->made = true;
        to->tree = is_rename && is_dir;
        if (is_rename && from != to)
            from->made = false;
    }
    pthread_mutex_unlock(&made_lock);
out:
    if (dir >= 0)
        close(dir);
    if (dir_to >= 0)
        close(dir_to);
    return rc;
}

int root_rename(struct root *r, struct file *from, struct file *to)
{
    return change_two(r, from, to, true);
}

int root_link(struct root *r, struct file *from, struct file *to)
{
    return change_two(r, from, to, false);
}

/* The target is a path below the root, whatever it was: nothing follows it. */
int root_symlink(struct root *r, const struct file *target, struct file *to)
{
    const char *last;
    int dir = open_parent(r, to, &last);
    if (dir < 0)
        return dir;
    pthread_mutex_lock(&made_lock);
    int rc = symlinkat(target->below, dir, last) < 0 ? -errno : 0;
    if (rc == 0)
        to->made = true;
    pthread_mutex_unlock(&made_lock);
    close(dir);
    return rc;
}

int root_stat(struct root *r, const struct file *f, struct stat *ret)
{
    int at = f->map >= 0 ? r->maps[f->map] : r->fd;
    int fd = open_beneath(at, f->below, O_PATH | O_NOFOLLOW, f->map >= 0 ? 0 : RESOLVE_NO_XDEV);
    if (fd < 0)
        return fd;
    int rc = fstat(fd, ret) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

ssize_t root_readlink(struct root *r, const struct file *f, char *out, size_t size)
{
    const char *last;
    int dir = open_parent(r, f, &last);
    if (dir < 0)
        return dir;
    ssize_t n = readlinkat(dir, last, out, size);
    n = n < 0 ? -errno : n;
    close(dir);
    return n;
}

const char *root_error(int code)
{
    if (code == ROOT_NOT_OURS)
        return "the file was not made by this replay";
    return code == ROOT_READ_ONLY ? "the file of a --map is read only" : strerror(-code);
}

/* ---- removal ---- */

/* Everything in a directory that is ours as a whole; takes `fd`. */
static void remove_within(int fd)
{
    DIR *d = fdopendir(fd);
    if (!d) {
        close(fd);
        return;
    }
    for (struct dirent *e; (e = readdir(d));) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        if (unlinkat(fd, e->d_name, 0) == 0 || (errno != EISDIR && errno != EPERM))
            continue;
        int sub = openat(fd, e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (sub >= 0)
            remove_within(sub);
        unlinkat(fd, e->d_name, AT_REMOVEDIR);
    }
    closedir(d);
}

static int compare_deepest_first(const void *a, const void *b)
{
    const struct file *const *x = a, *const *y = b;
    return strcmp((*y)->below, (*x)->below); /* what is in a directory has its path as prefix */
}

size_t root_clean(struct root *r, struct files *f)
{
    size_t count = 0, left = 0;
    struct file **made = malloc((files_count(f) + 1) * sizeof *made);
    for (size_t i = 0; made && i < files_count(f); i++)
        if (f->files[i]->made)
            made[count++] = f->files[i];
    qsort(made, count, sizeof *made, compare_deepest_first);
    for (size_t i = 0; i < count; i++) {
        if (made[i]->tree) {
            int fd = open_in_root(r, made[i]->below, O_RDONLY | O_DIRECTORY);
            if (fd >= 0)
                remove_within(fd);
        }
        int rc = root_remove(r, made[i], false);
        if (rc == -EISDIR || rc == -EPERM)
            rc = root_remove(r, made[i], true);
        left += rc < 0 && rc != -ENOENT;
    }
    free(made);
    if (r->made && rmdir(r->path) < 0)
        left++;
    return left;
}
