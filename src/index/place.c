/* place.c - the directory of the index: checks its file system and owner, and locks it. */
#include "index/place.h"

#include "dftracerd/failpoint.h"
#include "dftracerd/index.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

/* File systems that do not guarantee coherent memory maps and locks, which LMDB needs (lmdb.h,
 * "remote filesystems"). */
static const struct {
    unsigned long type;
    const char *name;
} refused[] = {{0x6969, "NFS"},
               {0x0BD00BD0, "Lustre"},
               {0x47504653, "GPFS"},
               {0xFF534D42, "CIFS"},
               {0xFE534D42, "SMB2"},
               {0x517B, "SMB"},
               {0x65735546, "FUSE"},
               {0x19830326, "BeeGFS"},
               {0x00C36400, "Ceph"},
               {0x5346414F, "AFS"},
               {0x6B414653, "AFS"},
               {0x013111A8, "IBRIX"},
               {0xAAD7AAEA, "PanFS"},
               {0x73757245, "Coda"},
               {0x01021997, "9P"},
               {0x7461636F, "OCFS2"},
               {0x01161970, "GFS2"},
               {0x20030528, "OrangeFS"},
               {0x786F4256, "a VirtualBox shared folder"}};

const char *place_refused(unsigned long type)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].type == (type & 0xFFFFFFFFul))
            return refused[i].name;
    return NULL;
}

const char *index_refused_filesystem(const char *path)
{
    struct statfs fs;

    return statfs(path, &fs) < 0 ? NULL : place_refused((unsigned long)fs.f_type);
}

static int make_parents(const char *path)
{
    char *copy = strdup(path), *p;
    int rc = 0;

    if (!copy)
        return -ENOMEM;
    for (p = copy + 1; rc == 0 && (p = strchr(p, '/')); p++) {
        *p = 0;
        rc = mkdir(copy, 0700) < 0 && errno != EEXIST ? -errno : 0;
        *p = '/';
    }
    free(copy);
    return rc;
}

int place_prepare(const char *path, bool read_only, struct err *err)
{
    struct statfs fs;
    struct stat st;
    int rc;

    if (!read_only) {
        rc = make_parents(path);
        if (rc)
            return err_set(err, rc, "%s: %s", path, err_text(rc));
        if ((failpoint("place.make") || mkdir(path, 0700) < 0) && errno != EEXIST)
            return err_set(err, -errno, "%s: %s", path, strerror(errno));
    }
    if (stat(path, &st) < 0 || statfs(path, &fs) < 0)
        return err_set(err, -errno, "%s: %s", path, strerror(errno));
    if (!S_ISDIR(st.st_mode))
        return err_set(err, -ENOTDIR, "%s is not a directory", path);
    const char *name = place_refused((unsigned long)fs.f_type);
    if (name)
        return err_set(err, ERR_STORE,
                       "%s is on %s: the index requires a local file system (--index-dir)", path,
                       name);
    if (read_only)
        return 0;
    if (st.st_uid != geteuid())
        return err_set(err, -EPERM, "%s belongs to another user", path);
    if ((st.st_mode & 077) && chmod(path, 0700) < 0)
        return err_set(err, -errno, "%s is accessible to other users: %s", path, strerror(errno));
    return 0;
}

int place_lock(const char *path, struct err *err, int *ret_fd)
{
    char name[4096], pid[32];

    if (snprintf(name, sizeof name, "%s/dftracerd.lock", path) >= (int)sizeof name)
        return err_set(err, -ENAMETOOLONG, "%s: %s", path, strerror(ENAMETOOLONG));
    int fd =
        failpoint("place.lock") ? -1 : open(name, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd < 0)
        return err_set(err, -errno, "%s: %s", name, strerror(errno));
    if (flock(fd, LOCK_EX | LOCK_NB) < 0) {
        ssize_t n = pread(fd, pid, sizeof pid - 1, 0);
        pid[n > 0 ? n : 0] = 0;
        pid[strcspn(pid, "\n")] = 0;
        close(fd);
        return err_set(err, ERR_STORE_BUSY, "%s is in use by another daemon (process %s)", path,
                       pid[0] ? pid : "unknown");
    }
    int len = snprintf(pid, sizeof pid, "%ld\n", (long)getpid());
    if (ftruncate(fd, 0) < 0 || pwrite(fd, pid, (size_t)len, 0) != len) {
        /* The process id is only for the message above: not worth failing for. */
    }
    *ret_fd = fd;
    return 0;
}

static bool opening_name(const char *path, char *name, size_t size)
{
    return snprintf(name, size, "%s/opening", path) < (int)size;
}

bool place_is_opening(const char *path)
{
    char name[4096];

    return opening_name(path, name, sizeof name) && access(name, F_OK) == 0;
}

void place_set_opening(const char *path, bool opening)
{
    char name[4096];

    if (!opening_name(path, name, sizeof name))
        return;
    if (!opening) {
        unlink(name);
        return;
    }
    /* On a full disk the mark is missing, which does no harm. */
    int fd = open(name, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
    if (fd >= 0)
        close(fd);
}

int place_clear(const char *path)
{
    static const char *const files[] = {"data.mdb", "lock.mdb", "damaged", "opening"};
    char name[4096];

    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        if (snprintf(name, sizeof name, "%s/%s", path, files[i]) >= (int)sizeof name)
            return -ENAMETOOLONG;
        if ((failpoint("place.clear") || unlink(name) < 0) && errno != ENOENT)
            return -errno;
    }
    return 0;
}
