/* root.c - the root, and opening of files below it. */
#include "replay/root/root_parts.h"

#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

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

int root_open_below(const struct root *r, const char *path, int flags)
{
    return open_beneath(r->fd, path, flags, RESOLVE_NO_SYMLINKS | RESOLVE_NO_XDEV);
}

/* Opens the directory of a file, also below a --map. */
static int open_parent(const struct root *r, const struct file *f, const char **ret_last)
{
    char dir[PATH_MAX] = ".";
    const char *slash = strrchr(f->below, '/');
    *ret_last = slash ? slash + 1 : f->below;
    if (slash) {
        memcpy(dir, f->below, (size_t)(slash - f->below));
        dir[slash - f->below] = '\0';
    }
    const int flags = O_PATH | O_DIRECTORY;
    return f->map >= 0 ? open_beneath(r->maps[f->map], dir, flags, 0)
                       : root_open_below(r, dir, flags);
}

int root_open_parent(const struct root *r, const struct file *f, const char **ret_last)
{
    return f->map >= 0 ? ROOT_READ_ONLY : open_parent(r, f, ret_last);
}

/* ---- the root itself ------------------------------------------------------------------------- */

static int make_root(struct root *r, const struct replay_options *o, struct err *err)
{
    char name[] = "dftracer-replay-XXXXXX";
    const char *dir = o->root ? o->root : mkdtemp(name);
    if (!dir)
        return err_set(err, -errno, "cannot create a directory here: %s", strerror(errno));
    r->made = !o->root || mkdir(dir, 0777) == 0;
    if (!r->made && errno != EEXIST)
        return err_set(err, -errno, "%s: %s", dir, strerror(errno));
    r->fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC | (r->made ? O_NOFOLLOW : 0));
    r->path = r->fd < 0 ? NULL : realpath(dir, NULL);
    return r->path ? 0 : err_set(err, -errno, "%s: %s", dir, strerror(errno));
}

int root_open(struct root *r, const struct replay_options *o, struct shared *s, struct err *err)
{
    *r = (struct root){.shared = s, .fd = -1};
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
    int probe = root_open_below(r, ".", O_PATH | O_DIRECTORY);
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
    if (!r->shared)
        return;
    for (unsigned i = 0; i < REPLAY_MAPS_MAX; i++)
        if (r->maps[i] >= 0)
            close(r->maps[i]);
    if (r->fd >= 0)
        close(r->fd);
    free(r->path);
}

int root_free_bytes(const struct root *r, uint64_t *ret)
{
    struct statvfs s;
    if (fstatvfs(r->fd, &s) < 0)
        return -errno;
    *ret = (uint64_t)s.f_bavail * s.f_frsize;
    return 0;
}

/* ---- files ----------------------------------------------------------------------------------- */

uint64_t root_identity(int dir, const char *name)
{
    struct statx s;
    if (statx(dir, name, AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH),
              STATX_TYPE | STATX_INO | STATX_BTIME, &s) < 0)
        return 0;
    bool born = s.stx_mask & STATX_BTIME;
    const uint64_t of[] = {s.stx_ino, s.stx_mode & S_IFMT, born ? (uint64_t)s.stx_btime.tv_sec : 0,
                           born ? s.stx_btime.tv_nsec : 0};
    return text_hash((struct text){(const char *)of, sizeof of}) | 1;
}

bool root_is_ours(const struct file *f, int dir, const char *name)
{
    return f->made && f->identity && f->identity == root_identity(dir, name);
}

void root_made(struct file *f, int dir, const char *name)
{
    f->identity = root_identity(dir, name);
    f->made = true;
}

static bool changes(int flags)
{
    return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* Opens an existing file, if these flags are allowed for it. */
static int open_existing(struct root *r, const struct file *f, int flags)
{
    struct stat s;
    int rc = 0, open_flags = (flags & ~(O_CREAT | O_EXCL | O_TRUNC)) | O_NONBLOCK;
    if (flags & O_TRUNC && (flags & O_ACCMODE) == O_RDONLY)
        open_flags |= O_RDWR; /* ftruncate needs it */
    int fd = root_open_below(r, f->below, open_flags);
    if (fd == -ENXIO) /* it is a pipe or socket without a reader */
        return ROOT_NOT_PLAIN;
    if (fd < 0)
        return fd;
    if (fstat(fd, &s) < 0)
        rc = -errno;
    else if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        rc = ROOT_NOT_PLAIN;
    else if (changes(flags) && !root_is_ours(f, fd, ""))
        rc = ROOT_NOT_OURS;
    else if (flags & O_TRUNC && s.st_size && ftruncate(fd, 0) < 0)
        rc = -errno;
    if (rc < 0)
        close(fd);
    return rc < 0 ? rc : fd;
}

/* Creates the file, or opens an existing one. The lock of the file is held. */
static int create_file(struct root *r, struct file *f, int flags)
{
    int fd = root_open_below(r, f->below, flags | O_EXCL);
    if (fd == -EEXIST && !(flags & O_EXCL))
        return open_existing(r, f, flags);
    if (fd < 0)
        return fd;
    root_made(f, fd, "");
    return fd;
}

static int open_mapped(const struct root *r, const struct file *f, int flags)
{
    struct stat s;
    if (changes(flags))
        return ROOT_READ_ONLY;
    int rc = root_stat(r, f, &s); /* opening a device may have effects */
    if (rc < 0)
        return rc;
    if (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode))
        return ROOT_NOT_PLAIN;
    int fd =
        open_beneath(r->maps[f->map], f->below, (flags & O_DIRECTORY) | O_RDONLY | O_NONBLOCK, 0);
    if (fd >= 0 && (fstat(fd, &s) < 0 || (!S_ISREG(s.st_mode) && !S_ISDIR(s.st_mode)))) {
        close(fd);
        return ROOT_NOT_PLAIN;
    }
    return fd;
}

int root_open_file(struct root *r, struct file *f, int flags)
{
    if (f->map >= 0)
        return open_mapped(r, f, flags);
    if (!(flags & O_CREAT) || (f->made && !(flags & O_EXCL))) {
        int fd = open_existing(r, f, flags);
        bool again = fd == ROOT_NOT_OURS || (fd == -ENOENT && flags & O_CREAT);
        if (!again)
            return fd;
    }
    shared_lock(r->shared, f); /* another thread may be creating it */
    int fd = flags & O_CREAT ? create_file(r, f, flags) : open_existing(r, f, flags);
    shared_unlock(r->shared, f);
    return fd;
}

int root_stat(const struct root *r, const struct file *f, struct stat *ret)
{
    int fd = f->map >= 0 ? open_beneath(r->maps[f->map], f->below, O_PATH, 0)
                         : root_open_below(r, f->below, O_PATH | O_NOFOLLOW);
    if (fd < 0)
        return fd;
    int rc = fstat(fd, ret) < 0 ? -errno : 0;
    close(fd);
    return rc;
}

ssize_t root_readlink(const struct root *r, const struct file *f, char *out, size_t size)
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
    switch (code) {
    case ROOT_NOT_OURS:
        return "the file was not made by this replay";
    case ROOT_READ_ONLY:
        return "the file of a --map is read only";
    case ROOT_NOT_PLAIN:
        return "not a regular file or directory";
    default:
        return err_text(code);
    }
}
