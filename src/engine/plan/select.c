/* select.c - finds the files of a selection: dir, file, globs, recursive. */
#include "engine/plan/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- names in the index ---------------------------------------------------------------------- */

/* Removes empty and "." components and resolves "..". Returns false if it leads above the top.
 * `out` has no leading slash. */
static bool clean_path(const char *path, char *out)
{
    size_t len = 0;

    while (*path) {
        size_t n = strcspn(path, "/");
        if (n == 2 && path[0] == '.' && path[1] == '.') {
            if (len == 0)
                return false;
            while (len > 0 && out[--len] != '/')
                ;
        } else if (n > 0 && !(n == 1 && path[0] == '.')) {
            if (len > 0)
                out[len++] = '/';
            memcpy(out + len, path, n);
            len += n;
        }
        path += n;
        path += *path == '/';
    }
    out[len] = '\0';
    return true;
}

/* Returns the part of a clean absolute path after the root, or NULL if it is not below the root. */
static const char *part_below(const char *path, const char *root)
{
    size_t len = strlen(root);

    if (len == 0)
        return path;
    if (strncmp(path, root, len) != 0 || (path[len] != '/' && path[len] != '\0'))
        return NULL;
    return path[len] ? path + len + 1 : path + len;
}

static bool join_label(const char *label, const char *rest, char *out)
{
    int len = snprintf(out, PATH_MAX, "%s%s%s", label, *label && *rest ? "/" : "", rest);

    return len >= 0 && len < PATH_MAX;
}

static bool name_below_root(const struct query_env *env, const char *clean, bool real, char *out)
{
    char root[PATH_MAX], resolved[PATH_MAX];

    for (size_t i = 0; i < env->root_count; i++) {
        const char *path = env->root_paths[i];
        if (real && realpath(path, resolved))
            path = resolved;
        if (strlen(path) >= PATH_MAX || !clean_path(path, root))
            continue;
        const char *rest = part_below(clean, root);
        if (rest)
            return join_label(env->root_count > 1 && env->root_labels ? env->root_labels[i] : "",
                              rest, out);
    }
    return false;
}

/* Resolves links in an absolute path. The part after a file is the name of a member of an archive,
 * and is copied. */
static bool resolve_path(const char *path, char *out)
{
    char part[PATH_MAX];
    size_t len = strlen(path);

    memcpy(part, path, len + 1);
    while (!realpath(part, out)) {
        char *slash = errno == ENOTDIR ? strrchr(part, '/') : NULL;
        if (!slash)
            return false;
        *slash = '\0';
        len = (size_t)(slash - part);
    }
    size_t to = strlen(out), rest = strlen(path + len);
    if (to + rest >= PATH_MAX)
        return false;
    memcpy(out + to, path + len, rest + 1);
    return true;
}

/* Sets `out` to the name in the index of a path in a request. Returns false if it is outside of all
 * roots. */
static bool resolve_name(const struct query_env *env, const char *path, char *out)
{
    char clean[PATH_MAX], resolved[PATH_MAX];

    if (strlen(path) >= PATH_MAX || !clean_path(path, clean))
        return false;
    if (path[0] != '/') {
        memcpy(out, clean, strlen(clean) + 1);
        return true;
    }
    if (name_below_root(env, clean, false, out))
        return true;
    /* A link may lead into a root. */
    if (!resolve_path(path, resolved) || !clean_path(resolved, clean))
        return false;
    return name_below_root(env, clean, true, out);
}

/* ---- selection ------------------------------------------------------------------------------- */

struct chooser {
    const struct query_env *env;
    struct snapshot *snapshot;
    const struct selection *selection;
    struct err *err;
    uint32_t count; /* files of the snapshot */
    bool *in_dir, *in_file;
};

/* Returns true if the name is that of a file in the directory, or (recursive) below it. */
static bool is_in_dir(const char *name, const char *dir, bool recursive)
{
    size_t len = strlen(dir);
    const char *rest = name;

    if (len > 0) {
        if (strncmp(name, dir, len) != 0 || name[len] != '/')
            return false;
        rest = name + len + 1;
    }
    return recursive || !strchr(rest, '/');
}

/* Returns true for an archive whose members are not known yet. */
static bool is_unread_archive(const struct index_file *f)
{
    return f->is_archive && (f->state == INDEX_PENDING || f->state == INDEX_INDEXING);
}

/* Returns true for an archive that may have a member with this name. */
static bool may_contain(const struct index_file *f, const char *name)
{
    return is_unread_archive(f) && is_in_dir(name, f->name, true);
}

/* Opens the directory of a name in the index, which need not have traces. Returns a descriptor or
 * -errno. */
static int open_named(const struct query_env *env, const char *name)
{
    char path[PATH_MAX * 2], root[PATH_MAX], real[PATH_MAX];
    int rc = -ENOENT;

    for (size_t i = 0; i < env->root_count && rc < 0; i++) {
        const char *label = env->root_count > 1 && env->root_labels ? env->root_labels[i] : "",
                   *rest = part_below(name, label);
        if (!rest)
            continue;
        snprintf(path, sizeof(path), "%s/%s", env->root_paths[i], rest);
        /* A link may lead out of the root. */
        bool inside = realpath(env->root_paths[i], root) && realpath(path, real);
        if (inside && !part_below(real, strcmp(root, "/") == 0 ? "" : root))
            continue;
        int fd = inside ? open(real, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
        rc = fd < 0 ? -errno : fd;
    }
    return rc;
}

int query_open_dir(const struct query_env *env, const char *dir)
{
    char name[PATH_MAX];

    return resolve_name(env, dir, name) ? open_named(env, name) : -ENOENT;
}

static bool dir_exists(const struct query_env *env, const char *name)
{
    int fd = open_named(env, name);

    if (fd >= 0)
        close(fd);
    return fd >= 0;
}

static int choose_dir(struct chooser *c, const char *dir)
{
    char name[PATH_MAX];
    bool found = false, recursive = !c->selection->not_recursive, several = c->env->root_count > 1;

    if (!resolve_name(c->env, dir, name))
        return err_set_param(c->err, ERR_NOT_FOUND, c->selection->dirs_param,
                             "no such directory: %s", dir);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct index_file *f = snapshot_file(c->snapshot, i);
        const char *file = f->name;
        /* An archive is also a directory. In the directory that contains the archive, its members
         * count as files of that directory. */
        bool is_below = may_contain(f, name);
        bool inside =
            is_below || is_in_dir(file, name, true) || (f->is_archive && strcmp(file, name) == 0);
        if (f->archive && is_in_dir(f->archive, name, true))
            file = f->archive;
        found = found || inside;
        /* With several roots, the top has their labels: "directly in the top" means directly in one
         * of the roots. */
        const char *rest = several && !*name && strchr(file, '/') ? strchr(file, '/') + 1 : file;
        bool direct = is_below || is_in_dir(rest, name, false) || strcmp(file, name) == 0;
        c->in_dir[i] = c->in_dir[i] || (inside && (recursive || direct));
    }
    /* A directory that is inside of an unreadable one may exist. */
    for (size_t i = 0; i < snapshot_unreadable_count(c->snapshot) && !found; i++)
        found = is_in_dir(name, snapshot_unreadable(c->snapshot, i), true);
    if (!found && *name && !c->selection->allow_missing &&
        !snapshot_find_archive(c->snapshot, name) && !dir_exists(c->env, name))
        return err_set_param(c->err, ERR_NOT_FOUND, c->selection->dirs_param,
                             "no such directory: %s", dir);
    return 0;
}

/* Finds a file in the snapshot, whose files are sorted by name. */
static bool find_file(const struct chooser *c, const char *name, uint32_t *ret)
{
    uint32_t from = 0, to = c->count;

    while (from < to) {
        uint32_t middle = from + (to - from) / 2;
        int cmp = strcmp(snapshot_file(c->snapshot, middle)->name, name);
        if (cmp == 0) {
            *ret = middle;
            return true;
        }
        if (cmp < 0)
            from = middle + 1;
        else
            to = middle;
    }
    return false;
}

/* Selects all members of an archive. Returns false if there is no such archive. */
static bool choose_archive(struct chooser *c, const char *name)
{
    if (!snapshot_find_archive(c->snapshot, name))
        return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const struct index_file *f = snapshot_file(c->snapshot, i);
        bool is_member = strcmp(f->archive ? f->archive : f->name, name) == 0;
        c->in_file[i] = c->in_file[i] || is_member;
    }
    return true;
}

/* Selects archives that may have a member with this name. Returns false if there is none. */
static bool choose_unread_archive(struct chooser *c, const char *name)
{
    bool found = false;

    for (uint32_t i = 0; i < c->count; i++) {
        bool matches = may_contain(snapshot_file(c->snapshot, i), name);
        c->in_file[i] = c->in_file[i] || matches;
        found = found || matches;
    }
    return found;
}

/* Returns true if a member of an archive that is not read yet may match the pattern: the archive
 * matches the beginning of it. */
static bool may_contain_match(const struct index_file *f, const char *glob)
{
    char above[PATH_MAX];
    const char *end = glob;

    while (is_unread_archive(f) && (end = strchr(end, '/'))) {
        snprintf(above, sizeof(above), "%.*s", (int)(end++ - glob), glob);
        if (glob_match(above, f->name))
            return true;
    }
    return false;
}

static int choose_file(struct chooser *c, const char *file)
{
    char name[PATH_MAX];
    uint32_t position;
    bool glob = strpbrk(file, "*?[") != NULL, inside = resolve_name(c->env, file, name);

    if (inside && choose_archive(c, name))
        return 0;
    if (inside && find_file(c, name, &position)) { /* a name may contain '[' */
        c->in_file[position] = true;
        return 0;
    }
    if (inside && !glob && (choose_unread_archive(c, name) || c->selection->allow_missing))
        return 0;
    if (!inside || !glob)
        return err_set_param(c->err, ERR_NOT_FOUND, c->selection->files_param, "no such file: %s",
                             file);
    for (uint32_t i = 0; i < c->count; i++) {
        const struct index_file *f = snapshot_file(c->snapshot, i);
        c->in_file[i] = c->in_file[i] || glob_match(name, f->name) ||
                        (f->archive && glob_match(name, f->archive)) || may_contain_match(f, name);
    }
    return 0;
}

static int choose_all(struct chooser *c)
{
    const struct selection *s = c->selection;
    int rc = 0;

    for (size_t i = 0; rc == 0 && i < s->dir_count; i++)
        rc = choose_dir(c, s->dirs[i]);
    for (size_t i = 0; rc == 0 && i < s->file_count; i++)
        rc = choose_file(c, s->files[i]);
    if (rc < 0)
        return rc;
    if (s->dir_count == 0 && s->file_count == 0)
        return choose_dir(c, "");
    /* Files that are named explicitly may be in any directory, even if not recursive. */
    if (s->dir_count == 0)
        memset(c->in_dir, 1, c->count);
    return 0;
}

static int list_chosen(const struct chooser *c, uint32_t **ret, size_t *ret_count)
{
    uint32_t *files = malloc((c->count + 1) * sizeof(*files));
    size_t n = 0;

    if (!files)
        return -ENOMEM;
    for (uint32_t i = 0; i < c->count; i++) {
        if (c->in_dir[i] && (c->selection->file_count == 0 || c->in_file[i]))
            files[n++] = i;
    }
    *ret = files;
    *ret_count = n;
    return 0;
}

static int copy_positions(const struct selection *s, uint32_t **ret, size_t *ret_count)
{
    *ret = malloc((s->position_count + 1) * sizeof(**ret));
    if (!*ret)
        return -ENOMEM;
    memcpy(*ret, s->positions, s->position_count * sizeof(**ret));
    *ret_count = s->position_count;
    return 0;
}

int query_select_files(const struct query_env *env, struct snapshot *snapshot,
                       const struct selection *selection, struct err *err, uint32_t **ret,
                       size_t *ret_count)
{
    struct chooser c = {.env = env, .snapshot = snapshot, .selection = selection, .err = err};

    if (selection->positions)
        return copy_positions(selection, ret, ret_count);
    c.count = snapshot_file_count(snapshot);
    c.in_dir = calloc((size_t)c.count + 1, sizeof(bool));
    c.in_file = calloc((size_t)c.count + 1, sizeof(bool));
    int rc = c.in_dir && c.in_file ? choose_all(&c) : -ENOMEM;
    if (rc == 0)
        rc = list_chosen(&c, ret, ret_count);
    free(c.in_dir);
    free(c.in_file);
    return rc;
}

/* ---- unreadable directories ------------------------------------------------------------------ */

/* Returns true if a file may be both in the directory `name` and in the unreadable one. */
static bool dir_overlaps(const struct query_env *env, const char *name, bool recursive,
                         const char *unreadable)
{
    bool top = !*name && env->root_count > 1 && !strchr(unreadable, '/'); /* a root itself */

    return !*unreadable || strcmp(name, unreadable) == 0 || is_in_dir(name, unreadable, true) ||
           (recursive ? is_in_dir(unreadable, name, true) : top);
}

/* Returns true if a file that matches `name` may be in the unreadable directory: the directory
 * matches the beginning of the pattern, or the pattern has "**". */
static bool file_may_be_in(const char *name, const char *unreadable)
{
    char above[PATH_MAX];
    size_t literal = strcspn(name, "*?[\\"), len = strlen(unreadable);
    bool found = is_in_dir(name, unreadable, true);

    for (const char *end = strchr(name, '/'); end && !found; end = strchr(end + 1, '/')) {
        snprintf(above, sizeof(above), "%.*s", (int)(end - name), name);
        found = glob_match(above, unreadable);
    }
    return found ||
           (strstr(name, "**") && strncmp(name, unreadable, literal < len ? literal : len) == 0);
}

/* Returns true if the selection may include files of the unreadable directory. */
static bool may_be_chosen(const struct query_env *env, const struct selection *s,
                          const char *unreadable)
{
    char name[PATH_MAX];
    bool in_dir = s->dir_count == 0 &&
                  (s->file_count > 0 || dir_overlaps(env, "", !s->not_recursive, unreadable)),
         in_file = s->file_count == 0;

    for (size_t i = 0; i < s->dir_count && !in_dir; i++)
        in_dir = resolve_name(env, s->dirs[i], name) &&
                 dir_overlaps(env, name, !s->not_recursive, unreadable);
    for (size_t i = 0; i < s->file_count && in_dir && !in_file; i++)
        in_file = resolve_name(env, s->files[i], name) && file_may_be_in(name, unreadable);
    return in_dir && in_file;
}

bool query_selection_is_complete(const struct query_env *env, const struct snapshot *snapshot,
                                 const struct selection *selection)
{
    bool whole = true;

    if (selection->positions)
        return true;
    for (size_t i = 0; i < snapshot_unreadable_count(snapshot) && whole; i++)
        whole = !may_be_chosen(env, selection, snapshot_unreadable(snapshot, i));
    return whole;
}

/* ---- archives -------------------------------------------------------------------------------- */

/* Returns true if the selection names the archive itself. */
static bool is_archive_chosen(const struct query_env *env, const struct selection *s,
                              const char *archive)
{
    char name[PATH_MAX];
    bool in_dir = s->dir_count == 0, named = s->file_count == 0;

    for (size_t i = 0; i < s->dir_count && !in_dir; i++)
        in_dir = resolve_name(env, s->dirs[i], name) &&
                 (strcmp(name, archive) == 0 || is_in_dir(archive, name, !s->not_recursive));
    for (size_t i = 0; i < s->file_count && in_dir && !named; i++)
        named = resolve_name(env, s->files[i], name) &&
                (strcmp(name, archive) == 0 || glob_match(name, archive));
    return in_dir && named;
}

/* Returns true if one of the files is a member of the archive. */
static bool has_member(const struct snapshot *snapshot, const char *archive, const uint32_t *files,
                       size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const char *other = snapshot_file(snapshot, files[i])->archive;
        if (other && strcmp(other, archive) == 0)
            return true;
    }
    return false;
}

int query_select_archives(const struct query_env *env, struct snapshot *snapshot,
                          const struct selection *selection, struct err *err, uint32_t **ret,
                          size_t *ret_count)
{
    uint32_t *files = NULL, *list = NULL;
    size_t count = 0, n = 0;
    int rc = query_select_files(env, snapshot, selection, err, &files, &count);

    if (rc == 0 && !(list = malloc((snapshot_archive_count(snapshot) + 1) * sizeof(*list))))
        rc = -ENOMEM;
    for (uint32_t i = 0; rc == 0 && i < snapshot_archive_count(snapshot); i++) {
        const char *name = snapshot_archive(snapshot, i)->name;
        if (is_archive_chosen(env, selection, name) ||
            (selection->file_count && has_member(snapshot, name, files, count)))
            list[n++] = i;
    }
    free(files);
    *ret = list;
    *ret_count = n;
    return rc;
}
