/* place.c - chooses the directory of the index: local, writable, and owned by the user. At HPC
 * sites, home directories are on NFS or Lustre, which LMDB does not support. */
#include "daemon/roots.h"

#include "dftracerd/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int place_check_own(const char *path, mode_t refused, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return err_set_param(err, -ENOTDIR, "index-dir", "%s is not a directory", path);
    if (st.st_uid != geteuid())
        return err_set_param(err, -EPERM, "index-dir", "%s belongs to another user", path);
    if (st.st_mode & refused)
        return err_set_param(err, -EPERM, "index-dir", "%s is writable by other users", path);
    return 0;
}

int place_make_own(const char *path, mode_t refused, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return err_set_param(err, -errno, "index-dir", "cannot create %s: %s", path,
                             strerror(errno));
    return place_check_own(path, refused, err);
}

/* Returns the directory that contains a path (*new*); `name`: the last part of the path. */
static char *parent_of(const char *path, struct text *name)
{
    size_t n = strlen(path);
    while (n > 1 && path[n - 1] == '/')
        n--;
    size_t at = n;
    while (at > 0 && path[at - 1] != '/')
        at--;
    *name = (struct text){path + at, n - at};
    return at ? strndup(path, at) : strdup(".");
}

/* Checks whether place_make_own would succeed, without creating anything. */
static int may_make_own(const char *path, mode_t refused, struct err *err)
{
    struct text name;
    struct stat st;
    bool there = lstat(path, &st) == 0 || errno != ENOENT;
    char *folder = parent_of(path, &name);
    int rc = there ? place_check_own(path, refused, err) : 0;
    if (rc == 0 && (!folder || access(there ? path : folder, W_OK | X_OK) < 0))
        rc = err_set_param(err, -errno, "index-dir", "cannot %s %s: %s",
                           there ? "write to" : "create", path, strerror(errno));
    free(folder);
    return rc;
}

/* Like realpath, but only the parent directory needs to exist. */
static char *real_place(const char *path)
{
    char *real = realpath(path, NULL), *all = NULL;
    if (real || errno != ENOENT)
        return real;
    struct text name;
    char *folder = parent_of(path, &name);
    real = folder ? realpath(folder, NULL) : NULL;
    if (real &&
        asprintf(&all, "%s/%.*s", strcmp(real, "/") == 0 ? "" : real, (int)name.len, name.ptr) < 0)
        all = NULL;
    free(folder);
    free(real);
    return all;
}

/* A directory that was chosen explicitly may be writable by its group, but one that this program
 * chooses may not. */
#define EXPLICIT_REFUSED 002
#define CHOSEN_REFUSED 022

static int explicit_place(const char *dir, bool make, char **ret, struct err *err)
{
    int rc = make ? place_make_own(dir, EXPLICIT_REFUSED, err)
                  : may_make_own(dir, EXPLICIT_REFUSED, err);
    if (rc < 0)
        return rc;
    char *real = real_place(dir);
    if (!real)
        return -errno;
    struct text name;
    char *folder = access(real, F_OK) == 0 ? strdup(real) : parent_of(real, &name);
    const char *network = folder ? index_network_name(folder) : NULL;
    if (network)
        err_set_param(
            err, -EREMOTE, "index-dir",
            "%s is on %s: the index requires a local file system (LMDB maps it into memory)", dir,
            network);
    rc = !folder ? -ENOMEM : network ? -EREMOTE : 0;
    free(folder);
    if (rc < 0)
        return free(real), rc;
    *ret = real;
    return 0;
}

static bool paths_overlap(const char *a, const char *b)
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
        if (paths_overlap(real, r->paths[i]))
            rc = err_set_param(err, -EINVAL, "output-dir",
                               "%s and the directory of traces %s must not contain one another",
                               real, r->paths[i]);
    if (rc == 0 && paths_overlap(real, index_path))
        rc = err_set_param(err, -EINVAL, "output-dir",
                           "%s and the index directory %s must not contain one another", real,
                           index_path);
    if (rc < 0)
        return free(real), rc;
    *ret = real;
    return 0;
}

/* Returns whether the base is below a root: nothing is written there without --index-dir. */
static bool inside_roots(const struct roots *r, const char *base)
{
    char *real = realpath(base, NULL);
    bool inside = !real;
    for (size_t i = 0; i < r->count && !inside; i++)
        inside = roots_inside(real, r->paths[i]);
    free(real);
    return inside;
}

static int try_base(const struct roots *r, const char *base, uint64_t hash, bool make, char **ret)
{
    struct err quiet = {0};
    char parent[4096], path[4200];
    if (!base || base[0] != '/' || access(base, W_OK | X_OK) < 0 || index_network_name(base) ||
        inside_roots(r, base))
        return -EACCES;
    snprintf(parent, sizeof parent, "%s/dftracerd-%u", base, (unsigned)geteuid());
    snprintf(path, sizeof path, "%s/%016llx", parent, (unsigned long long)hash);
    int rc = make ? place_make_own(parent, CHOSEN_REFUSED, &quiet)
                  : may_make_own(parent, CHOSEN_REFUSED, &quiet);
    if (rc == 0 && (make || access(parent, F_OK) == 0))
        rc = make ? place_make_own(path, CHOSEN_REFUSED, &quiet)
                  : may_make_own(path, CHOSEN_REFUSED, &quiet);
    err_done(&quiet);
    if (rc == 0 && !(*ret = strdup(path)))
        rc = -ENOMEM;
    return rc;
}

/* Creates a base and the directories above it; existing ones may belong to any user. */
static int make_base(const char *base, struct err *err)
{
    char path[4096];
    struct stat st;
    size_t n = strlen(base);
    if (n >= sizeof path)
        return err_set_param(err, -ENAMETOOLONG, "index-base", "%.100s...: the path is too long",
                             base);
    for (size_t i = 1; i <= n; i++) {
        if (base[i] != '/' && base[i] != '\0')
            continue;
        snprintf(path, sizeof path, "%.*s", (int)i, base);
        if (mkdir(path, 0777) < 0 && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
            return err_set_param(err, -errno, "index-base", "cannot create the directory %s: %s",
                                 base, strerror(errno));
    }
    return 0;
}

static int place_in_base(const char *base, uint64_t hash, bool make, char **ret, struct err *err)
{
    char *path = NULL;
    struct stat st;
    int rc = make ? make_base(base, err) : 0;
    if (rc < 0)
        return rc;
    if (stat(base, &st) == 0) {
        /* Other users could replace the index. */
        if (st.st_mode & EXPLICIT_REFUSED && !(st.st_mode & S_ISVTX))
            return err_set_param(err, -EPERM, "index-base", "%s is writable by other users", base);
        if (asprintf(&path, "%s/%016llx", base, (unsigned long long)hash) < 0)
            return -ENOMEM;
        rc = explicit_place(path, make, ret, err);
        if (rc < 0 && err && err->code) /* it names --index-dir, which was not given */
            memcpy(err->param, "index-base", sizeof("index-base"));
        free(path);
        return rc;
    }
    /* The lowest existing directory above a base (*new*). */
    struct text name;
    char *folder = strdup(base);
    while (folder && access(folder, F_OK) < 0 && errno == ENOENT) {
        char *above = parent_of(folder, &name);
        free(folder);
        folder = above;
    }
    if (!folder || access(folder, W_OK | X_OK) < 0)
        rc = err_set_param(err, -errno, "index-base", "cannot create the directory %s: %s", base,
                           strerror(errno));
    free(folder);
    if (rc == 0 && asprintf(ret, "%s/%016llx", base, (unsigned long long)hash) < 0)
        rc = -ENOMEM;
    return rc;
}

int place_choose(const struct roots *r, const struct options *o, bool make, char **ret,
                 struct err *err)
{
    if (o->index_dir)
        return explicit_place(o->index_dir, make, ret, err);
    struct buf text = {0};
    for (size_t i = 0; i < r->count; i++)
        buf_printf(&text, "%s=%s\n", r->labels[i], r->paths[i]);
    uint64_t hash = text_hash((struct text){text.data, text.len});
    buf_done(&text);
    if (o->index_base)
        return place_in_base(o->index_base, hash, make, ret, err);
    const char *bases[] = {getenv("DFTRACERD_INDEX_DIR"),
                           getenv("CACHE_DIRECTORY"),
                           getenv("XDG_CACHE_HOME"),
                           getenv("TMPDIR"),
                           "/var/tmp",
                           "/tmp"};
    for (size_t i = 0; i < sizeof bases / sizeof *bases; i++)
        if (try_base(r, bases[i], hash, make, ret) == 0)
            return 0;
    return err_set_param(err, -EACCES, "index-dir",
                         "no local, writable directory for the index: choose one with --index-dir");
}
