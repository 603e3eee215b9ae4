/* archive_writer_dir.c - writes files to a directory below the output directory, where all appear
 * at once.
 *
 * Each run has its own directory below the output directory:
 *
 *   .dftracerd-1f0c.../making/7 incomplete
 *   .dftracerd-1f0c.../made/io/x.gz complete, and on the disk
 *
 * At the end, `made` is renamed to the requested path. A run locks its directory, which
 * distinguishes it from those of killed processes.
 */
#include "rewrite/beneath.h"
#include "base/write_all.h"

#include "dftracerd/failpoint.h"

#include <dirent.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

struct dir_archive_writer {
    struct archive_writer base;
    char *place; /* the output directory */
    char *path;  /* requested path below it */
    bool force;
    int place_fd, run_fd, making_fd, made_fd; /* -1 if not open */
    char run[40];                             /* name of the run's own directory in `place` */
    uint64_t files;                           /* number of files so far */
};                                            /* with `force`, the list has the complete files */

static int set_failed(struct err *err, const char *what, const char *name, int number)
{
    return err_set(err, -number, "cannot %s %s: %s", what, name, strerror(number));
}

static int refuse_existing(struct err *err, const char *path)
{
    return err_set_param(err, -EEXIST, "output",
                         "%s already exists; force=true replaces files in it", path);
}

/* ---- paths ----------------------------------------------------------------------------------- */

/* Checks that the target does not exist, or with `force` is a directory. */
static int check_target(const struct dir_archive_writer *d, struct err *err)
{
    struct stat st;
    const char *last;
    int dir = beneath_parent(d->place_fd, d->path, false, &last);
    if (dir == -ENOENT)
        return 0;
    int rc = dir < 0 ? dir : fstatat(dir, last, &st, AT_SYMLINK_NOFOLLOW) < 0 ? -errno : 0;
    if (dir >= 0)
        close(dir);
    if (rc < 0)
        return rc == -ENOENT ? 0 : set_failed(err, "access", d->path, -rc);
    if (!d->force)
        return refuse_existing(err, d->path);
    return S_ISDIR(st.st_mode)
               ? 0
               : err_set_param(err, -ENOTDIR, "output", "%s is not a directory", d->path);
}

/* ---- removal --------------------------------------------------------------------------------- */

static int remove_one(const char *path, const struct stat *st, int flag, struct FTW *ftw)
{
    (void)st, (void)flag, (void)ftw;
    remove(path);
    return 0;
}

/* Removes a directory with its content. It takes two descriptors, however deep the directory is. */
static void remove_tree(const char *place, const char *name)
{
    struct buf path = {0};
    buf_printf(&path, "%s/%s", place, name);
    buf_putc(&path, '\0');
    if (!path.error)
        nftw(path.data, remove_one, 2, FTW_DEPTH | FTW_PHYS);
    buf_done(&path);
}

void archive_writer_remove_stale(const char *base)
{
    DIR *dir = opendir(base);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        if (strncmp(entry->d_name, ARCHIVE_WRITER_PREFIX, strlen(ARCHIVE_WRITER_PREFIX)) != 0)
            continue;
        int fd = beneath_dir(dirfd(dir), text_of(entry->d_name), false);
        if (fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) == 0)
            remove_tree(base, entry->d_name);
        if (fd >= 0)
            close(fd);
    }
    if (dir)
        closedir(dir);
}

/* ---- files ----------------------------------------------------------------------------------- */

static int dir_file_new(struct archive_writer *w, struct err *err, struct archive_writer_file *f)
{
    struct dir_archive_writer *d = (struct dir_archive_writer *)w;
    char name[24];
    f->number = d->files++;
    num_format_u64(f->number, name);
    f->fd = failpoint("archive_writer.make")
                ? -1
                : openat(d->making_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return f->fd < 0 ? set_failed(err, "create", "a file in the output directory", errno) : 0;
}

static int dir_file_write(struct archive_writer_file *f, struct text data, struct err *err)
{
    int rc = failpoint("archive_writer.write") ? -errno : write_all(f->fd, data);
    return rc ? set_failed(err, "write", "a file in the output directory", -rc) : 0;
}

static void dir_file_drop(struct archive_writer_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
}

static int dir_file_finish(struct archive_writer_file *f, struct err *err)
{
    struct dir_archive_writer *d = (struct dir_archive_writer *)f->archive_writer;
    char number[24];
    num_format_u64(f->number, number);
    if (failpoint("archive_writer.sync") || fsync(f->fd) < 0)
        return set_failed(err, "write", f->name, errno);
    const char *last;
    int into = beneath_parent(d->made_fd, f->name, true, &last);
    if (into < 0)
        return set_failed(err, "create", f->name, -into);
    int rc = failpoint("archive_writer.finish")
                 ? -1
                 : renameat2(d->making_fd, number, into, last, RENAME_NOREPLACE);
    /* This file system does not support RENAME_NOREPLACE; names are unique. */
    if (rc < 0 && errno == EINVAL)
        rc = renameat(d->making_fd, number, into, last);
    if (rc < 0)
        rc = set_failed(err, "create", f->name, errno);
    close(into);
    if (rc < 0)
        return rc;
    close(f->fd);
    f->fd = -1;
    if (d->force)
        archive_writer_add_file(&d->base, f);
    else
        archive_writer_file_drop(f);
    return 0;
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Moves one file, and replaces an existing one. */
static int replace_file(const struct dir_archive_writer *d, int target, const char *name)
{
    const char *last;
    int from = beneath_parent(d->made_fd, name, false, &last);
    int into = from < 0 ? from : beneath_parent(target, name, true, &last);
    int rc = into < 0 ? into : 0;
    if (rc == 0 && (failpoint("archive_writer.replace") || renameat(from, last, into, last) < 0))
        rc = -errno;
    if (rc == 0)
        fsync(into);
    if (from >= 0)
        close(from);
    if (into >= 0)
        close(into);
    return rc;
}

/* Moves files in the order of their completion: files that describe others come after them. */
static int replace_all(const struct dir_archive_writer *d, int parent, const char *last,
                       struct err *err)
{
    int target = beneath_dir(parent, text_of(last), false), rc = 0;
    if (target < 0)
        return set_failed(err, "open", d->path, -target);
    for (const struct archive_writer_file *f = d->base.first; f && rc == 0; f = f->next)
        if ((rc = replace_file(d, target, f->name)) < 0)
            set_failed(err, "replace", f->name, -rc);
    close(target);
    return rc;
}

static int rename_new(const struct dir_archive_writer *d, int parent, const char *last)
{
    struct stat st;
    if (!failpoint("archive_writer.rename") &&
        renameat2(d->run_fd, "made", parent, last, RENAME_NOREPLACE) == 0)
        return 0;
    if (errno != EINVAL)
        return -errno;
    /* The file system cannot check and rename atomically; rename() never replaces a directory that
     * is not empty. */
    if (fstatat(parent, last, &st, AT_SYMLINK_NOFOLLOW) == 0)
        return -EEXIST;
    return renameat(d->run_fd, "made", parent, last) < 0 ? -errno : 0;
}

/* Renames the output to the requested path. */
static int move_made(const struct dir_archive_writer *d, struct err *err)
{
    const char *last;
    int parent = beneath_parent(d->place_fd, d->path, true, &last);
    if (parent < 0)
        return set_failed(err, "create", d->path, -parent);
    syncfs(d->made_fd); /* names of files and directories; their bytes are on the disk already */
    int rc = rename_new(d, parent, last);
    if (rc == -EEXIST && d->force)
        rc = replace_all(d, parent, last, err);
    else if (rc == -EEXIST) /* created meanwhile */
        refuse_existing(err, d->path);
    else if (rc < 0)
        set_failed(err, "create", d->path, -rc);
    if (rc == 0)
        fsync(parent);
    close(parent);
    return rc;
}

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* Other requests may use all other descriptors. */
static void remove_run(struct dir_archive_writer *d)
{
    close_fd(&d->made_fd);
    close_fd(&d->making_fd);
    if (d->run[0])
        remove_tree(d->place, d->run);
    d->run[0] = '\0';
}

static int dir_end(struct archive_writer *w, struct buf *out, struct err *err)
{
    struct dir_archive_writer *d = (struct dir_archive_writer *)w;
    (void)out;
    size_t existing_len = beneath_existing_len(d->place_fd, d->path);
    int rc = move_made(d, err);
    failpoint("archive_writer.end");
    remove_run(d); /* before the end is reported: then only the output is left */
    if (rc < 0)
        beneath_remove_empty(d->place_fd, d->path, existing_len);
    return rc;
}

static void dir_done(struct archive_writer *w)
{
    struct dir_archive_writer *d = (struct dir_archive_writer *)w;
    close_fd(&d->place_fd);
    remove_run(d);
    close_fd(&d->run_fd); /* releases the lock, too */
    free(d->place);
    free(d->path);
}

static const struct archive_writer_ops dir_ops = {
    .file_new = dir_file_new,
    .write = dir_file_write,
    .finish = dir_file_finish,
    .drop = dir_file_drop,
    .end = dir_end,
    .done = dir_done,
};

/* ---- the beginning --------------------------------------------------------------------------- */

static int make_and_open(int at, const char *name)
{
    if (failpoint("archive_writer.run") || mkdirat(at, name, 0777) < 0)
        return -1;
    int fd = beneath_dir(at, text_of(name), false);
    if (fd >= 0)
        return fd;
    unlinkat(at, name, AT_REMOVEDIR);
    errno = -fd;
    return -1;
}

static int begin_run(struct dir_archive_writer *d, struct err *err)
{
    uint64_t number;
    char name[sizeof d->run];
    d->place_fd = open(d->place, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (d->place_fd < 0)
        return set_failed(err, "open", "the output directory", errno);
    int rc = check_target(d, err);
    if (rc < 0)
        return rc;
    if (getrandom(&number, sizeof number, 0) != sizeof number)
        number = (uint64_t)clock_real_ns();
    snprintf(name, sizeof name, ARCHIVE_WRITER_PREFIX "%016llx", (unsigned long long)number);
    d->run_fd = make_and_open(d->place_fd, name);
    if (d->run_fd < 0)
        return set_failed(err, "write to", "the output directory", errno);
    memcpy(d->run, name, sizeof name);
    /* Without support for locks, no directory is considered to be of a killed process. */
    flock(d->run_fd, LOCK_EX | LOCK_NB);
    d->making_fd = make_and_open(d->run_fd, "making");
    if (d->making_fd >= 0)
        d->made_fd = make_and_open(d->run_fd, "made");
    return d->made_fd < 0 ? set_failed(err, "write to", "the output directory", errno) : 0;
}

int archive_writer_dir_new(const char *base, const char *path, bool force, struct err *err,
                           struct archive_writer **ret)
{
    if (!path_is_safe_below(text_of(path), false))
        return err_set_param(err, ERR_PARAM, "output",
                             "`output` must be a path below the output directory, without empty "
                             "parts, `.`, `..` and names that start with " ARCHIVE_WRITER_PREFIX);
    struct dir_archive_writer *d = calloc(1, sizeof *d);
    if (!d)
        return -ENOMEM;
    *d = (struct dir_archive_writer){.base.ops = &dir_ops,
                                     .place = strdup(base),
                                     .path = strdup(path),
                                     .force = force,
                                     .place_fd = -1,
                                     .run_fd = -1,
                                     .making_fd = -1,
                                     .made_fd = -1};
    int rc = d->place && d->path ? begin_run(d, err) : -ENOMEM;
    if (rc < 0)
        archive_writer_free(&d->base);
    else
        *ret = &d->base;
    return rc;
}
