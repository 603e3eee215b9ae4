/* place.c - chooses the directory of the index: local, writable, and owned by the user. At HPC
 * sites, home directories are on NFS or Lustre, which LMDB does not support. */
#include "daemon/roots.h"

#include "dftracerd/index.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* `problem`: what the directory is or what cannot be done with it. */
static int own_error(struct err *err, int code, const char *option, const char *path,
                     const char *problem)
{
    return err_set_param(err, code, option ? option : "", "%s directory %s %s",
                         option ? "index" : "runtime", path, problem);
}

/* Like own_error, with the text of errno. */
static int own_errno(struct err *err, const char *option, const char *path, const char *action)
{
    int code = errno;
    char problem[120];
    snprintf(problem, sizeof problem, "cannot be %s: %s", action, strerror(code));
    return own_error(err, -code, option, path, problem);
}

int place_check_own(const char *path, mode_t refused, const char *option, struct err *err)
{
    struct stat st;
    if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
        return own_error(err, -ENOTDIR, option, path, "is not a directory");
    if (st.st_uid != geteuid())
        return own_error(err, -EPERM, option, path, "belongs to another user");
    if (st.st_mode & refused)
        return own_error(err, -EPERM, option, path, "is writable by other users");
    return 0;
}

int place_make_own(const char *path, mode_t refused, const char *option, struct err *err)
{
    if (mkdir(path, 0700) < 0 && errno != EEXIST)
        return own_errno(err, option, path, "created");
    return place_check_own(path, refused, option, err);
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

/* If `make`: place_make_own; otherwise checks whether that would succeed. */
static int prepare_own(const char *path, mode_t refused, bool make, const char *option,
                       struct err *err)
{
    struct text name;
    struct stat st;
    if (make)
        return place_make_own(path, refused, option, err);
    bool exists = lstat(path, &st) == 0 || errno != ENOENT;
    char *folder = parent_of(path, &name);
    int rc = exists ? place_check_own(path, refused, option, err) : 0;
    if (rc == 0 && (!folder || access(exists ? path : folder, W_OK | X_OK) < 0))
        rc = own_errno(err, option, path, exists ? "written to" : "created");
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

/* `option`: --index-dir or --index-base, without the dashes. */
static int choose_explicit(const char *dir, bool make, const char *option, char **ret,
                           struct err *err)
{
    int rc = prepare_own(dir, EXPLICIT_REFUSED, make, option, err);
    if (rc < 0)
        return rc;
    char *real = real_place(dir);
    if (!real)
        return -errno;
    struct text name;
    char *folder = access(real, F_OK) == 0 ? strdup(real) : parent_of(real, &name);
    const char *network = folder ? index_refused_filesystem(folder) : NULL;
    if (network)
        err_set_param(
            err, -EREMOTE, option,
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
    char *real = realpath(dir, NULL), *index = NULL;
    int rc = !real || access(real, W_OK | X_OK) < 0 ? -errno : 0;
    if (rc < 0)
        err_set_param(err, rc, "output-dir", "cannot write to %s: %s", dir, strerror(-rc));
    for (size_t i = 0; i < r->count && rc == 0; i++)
        if (paths_overlap(real, r->paths[i]))
            rc = err_set_param(err, -EINVAL, "output-dir",
                               "%s and the directory of traces %s must not contain one another",
                               real, r->paths[i]);
    if (rc == 0) /* $TMPDIR may contain a symlink */
        index = real_place(index_path);
    if (rc == 0 && paths_overlap(real, index ? index : index_path))
        rc = err_set_param(err, -EINVAL, "output-dir",
                           "%s and the index directory %s must not contain one another", real,
                           index_path);
    free(index);
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
    char parent[4096], path[4200];
    if (!base || base[0] != '/' || access(base, W_OK | X_OK) < 0 ||
        index_refused_filesystem(base) || inside_roots(r, base))
        return -EACCES;
    snprintf(parent, sizeof parent, "%s/dftracerd-%u", base, (unsigned)geteuid());
    snprintf(path, sizeof path, "%s/%016llx", parent, (unsigned long long)hash);
    int rc = prepare_own(parent, CHOSEN_REFUSED, make, "index-dir", NULL);
    if (rc == 0 && (make || access(parent, F_OK) == 0))
        rc = prepare_own(path, CHOSEN_REFUSED, make, "index-dir", NULL);
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
        int why = mkdir(path, 0777) < 0 ? errno : 0;
        if (why && (stat(path, &st) < 0 || !S_ISDIR(st.st_mode)))
            return err_set_param(err, -why, "index-base", "cannot create the directory %s: %s",
                                 base, strerror(why));
    }
    return 0;
}

static int choose_in_base(const char *base, uint64_t hash, bool make, char **ret, struct err *err)
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
        rc = choose_explicit(path, make, "index-base", ret, err);
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
        return choose_explicit(o->index_dir, make, "index-dir", ret, err);
    struct buf text = {0};
    for (size_t i = 0; i < r->count; i++)
        buf_printf(&text, "%s=%s\n", r->labels[i], r->paths[i]);
    uint64_t hash = text_hash((struct text){text.data, text.len});
    buf_done(&text);
    if (o->index_base)
        return choose_in_base(o->index_base, hash, make, ret, err);
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
