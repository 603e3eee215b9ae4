/* place.c - where the index lives: local, writable, ours. At HPC sites the home is on NFS or Lustre, where LMDB must not be. */
#include "roots.h"

#include "dftracerd/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int place_make_own(const char *path, mode_t refused, struct err *err)
{
    struct stat st;
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set_param(err, -errno, "index-dir", "cannot make %s: %s", path, strerror(errno));
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set_param(err, -ENOTDIR, "index-dir", "%s is not a directory", path);
    if (st.st_uid != geteuid())
        return err_set_param(err, -EPERM, "index-dir", "%s belongs to another user", path);
    if (st.st_mode & refused)
        return err_set_param(err, -EPERM, "index-dir", "%s can be written by other users", path);
    return 0;
}

static int explicit_place(const char *dir, char **ret, struct err *err)
{
    int rc = place_make_own(dir, 002, err);
    if (rc < 0)
        return rc;
    const char *network = index_network_name(dir);
    if (network)
        return err_set_param(
            err, -EREMOTE, "index-dir",
            "%s is on %s: the index needs a local file system (LMDB maps it into memory)", dir,
            network);
    *ret = realpath(dir, NULL);
    return *ret ? 0 : -errno;
}

static bool overlap(const char *a, const char *b)
{
    return roots_inside(a, b) || roots_inside(b, a);
}

int place_output(const struct roots *r, const char *index_path, const char *dir, char **ret,
                 struct err *err)
{
    if (!dir)
        return 0;
    char *real = realpath(dir, NULL);
    int rc = !real || access(real, W_OK | X_OK) < 0 ? -errno : 0;
    if (rc < 0)
        err_set_param(err, rc, "output-dir", "cannot write to %s: %s", dir, strerror(-rc));
    for (size_t i = 0; i < r->count && rc == 0; i++)
        if (overlap(real, r->paths[i]))
            rc = err_set_param(err, -EINVAL, "output-dir",
                               "%s and the traces in %s must not lie in one another", real,
                               r->paths[i]);
    if (rc == 0 && overlap(real, index_path))
        rc = err_set_param(err, -EINVAL, "output-dir",
                           "%s and the index in %s must not lie in one another", real, index_path);
    if (rc < 0)
        return free(real), rc;
    *ret = real;
    return 0;
}

/* Nothing is written below a root unless --index-dir says so. */
static bool inside_roots(const struct roots *r, const char *base)
{
    char *real = realpath(base, NULL);
    bool inside = !real;
    for (size_t i = 0; i < r->count && !inside; i++)
        inside = roots_inside(real, r->paths[i]);
    free(real);
    return inside;
}

static int try_base(const struct roots *r, const char *base, uint64_t hash, char **ret)
{
    struct err quiet = {0};
    char parent[4096], path[4200];
    if (!base || base[0] != '/' || access(base, W_OK | X_OK) < 0 || index_network_name(base) ||
        inside_roots(r, base))
        return -EACCES;
    snprintf(parent, sizeof parent, "%s/dftracerd-%u", base, (unsigned)geteuid());
    snprintf(path, sizeof path, "%s/%016llx", parent, (unsigned long long)hash);
    int rc = place_make_own(parent, 022, &quiet);
    if (rc == 0)
        rc = place_make_own(path, 022, &quiet);
    err_done(&quiet);
    if (rc == 0 && !(*ret = strdup(path)))
        rc = -ENOMEM;
    return rc;
}

static uint64_t roots_hash(const struct roots *r)
{
    struct buf b = {0};
    for (size_t i = 0; i < r->count; i++)
        buf_printf(&b, "%s=%s\n", r->labels[i], r->paths[i]);
    uint64_t h = text_hash((struct text){b.data, b.len});
    buf_done(&b);
    return h;
}

int place_choose(const struct roots *r, const char *index_dir, char **ret, struct err *err)
{
    if (index_dir)
        return explicit_place(index_dir, ret, err);
    uint64_t hash = roots_hash(r);
    const char *bases[] = {getenv("DFTRACERD_INDEX_DIR"),
                           getenv("CACHE_DIRECTORY"),
                           getenv("XDG_CACHE_HOME"),
                           getenv("TMPDIR"),
                           "/var/tmp",
                           "/tmp"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (try_base(r, bases[i], hash, ret) == 0)
            return 0;
    return err_set_param(err, -EACCES, "index-dir",
                         "no local, writable directory for the index: name one with --index-dir");
}
