/* files.c - tables of paths and files. */
#include "replay/shared/files.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

int files_init(struct files *f, const struct replay_options *o, struct shared *s)
{
    *f = (struct files){.shared = s,
                        .names = intern_new(),
                        .belows = intern_new(),
                        .options = o,
                        .bytes_max = UINT64_MAX};
    return f->names && f->belows ? 0 : -ENOMEM;
}

void files_done(struct files *f)
{
    vec_done(&f->paths);
    vec_done(&f->files);
    intern_free(f->names);
    intern_free(f->belows);
}

/* The key of a file in the table: its map, and its path below it. */
struct file_key {
    char data[sizeof(int) + PATH_MAX];
    struct text text;
};

static void key_init(struct file_key *key, struct text below, int map)
{
    memcpy(key->data, &map, sizeof map);
    memcpy(key->data + sizeof map, below.ptr, below.len);
    key->text = (struct text){key->data, sizeof map + below.len};
}

/* Returns the directory of a path below the root; "." for paths with one part. */
static struct text directory_of(struct text below)
{
    const char *slash = memrchr(below.ptr, '/', below.len);
    return slash ? (struct text){below.ptr, (size_t)(slash - below.ptr)} : TEXT(".");
}

struct file *files_above(struct files *f, struct file *file)
{
    struct text below = text_of(file->below);
    uint32_t count = intern_count(f->belows);
    struct file_key key;
    if (file->above_known == count || file->map >= 0)
        return file->above;
    file->above_known = count;
    file->above = NULL;
    while (!file->above && !text_eq(below, TEXT("."))) {
        below = directory_of(below);
        key_init(&key, below, -1);
        int64_t id = intern_find(f->belows, key.text);
        file->above = id < 0 ? NULL : files_at(f, (size_t)id);
    }
    return file->above;
}

static struct file *find_file(struct files *f, struct text below, int map)
{
    struct file_key key;
    key_init(&key, below, map);
    int64_t id = intern_add(f->belows, key.text);
    if (id < 0 || vec_extend(&f->files, (size_t)id + 1) < 0)
        return NULL;
    if (!f->files.at[id]) {
        struct file *file = shared_alloc(f->shared, sizeof *file);
        if (!file || !(file->below = shared_text(f->shared, below)))
            return NULL;
        file->map = map;
        f->files.at[id] = file;
        struct file *above = files_above(f, file);
        if (above)
            above->is_dir = true;
    }
    return f->files.at[id];
}

struct file *files_parent(struct files *f, const struct file *file)
{
    if (file->map >= 0 || strcmp(file->below, ".") == 0)
        return NULL;
    return find_file(f, directory_of(text_of(file->below)), -1);
}

void files_find_directories(struct files *f)
{
    for (size_t i = 0; i < files_count(f); i++) {
        struct file *file = files_at(f, i), *above = file ? files_above(f, file) : NULL;
        if (above)
            above->is_dir = true;
    }
}

/* Returns the file whose path has `to` in place of `from`; NULL if `file` is not below `from`, or
 * the new path is too long. */
static struct file *moved_file(struct files *f, const struct file *file, const struct file *from,
                               const struct file *to)
{
    char below[PATH_MAX];
    size_t len = strlen(from->below);
    if (file->map >= 0 || strncmp(file->below, from->below, len) != 0 || file->below[len] != '/')
        return NULL;
    int n = snprintf(below, sizeof below, "%s%s", to->below, file->below + len);
    return n < (int)sizeof below ? find_file(f, (struct text){below, (size_t)n}, -1) : NULL;
}

int files_move(struct files *f, struct file *from, struct file *to, struct moved **ret)
{
    size_t count = files_count(f); /* files that are added here are not moved */
    for (size_t i = 0; i < count; i++) {
        struct file *old = files_at(f, i), *new = old ? moved_file(f, old, from, to) : NULL;
        if (!new || new == old)
            continue;
        struct moved *m = shared_alloc(f->shared, sizeof *m);
        if (!m)
            return -ENOMEM;
        new->arrives = true;
        *m = (struct moved){old, new, *ret};
        *ret = m;
    }
    return 0;
}

size_t files_count(const struct files *f)
{
    return intern_count(f->belows);
}

size_t files_named(const struct files *f)
{
    return f->named;
}

struct file *files_at(const struct files *f, size_t i)
{
    return i < f->files.count ? f->files.at[i] : NULL;
}

void files_reset(struct files *f)
{
    for (size_t i = 0; i < files_count(f); i++) {
        struct file *file = files_at(f, i);
        if (!file)
            continue;
        file->first = FIRST_UNKNOWN;
        file->size = 0;
        file->truncated = false;
        memset(file->planned, 0, sizeof file->planned);
        memset(file->ended, 0, sizeof file->ended);
        memset(file->awaited, 0, sizeof file->awaited);
        memset(file->end_ns, 0, sizeof file->end_ns);
    }
}

/* Writes the parts of `name` without `.`, `..` and empty ones to out. Returns why it is refused,
 * else NULL. */
static const char *path_reduce(struct text name, char out[static PATH_MAX], size_t *ret_len)
{
    struct text rest = name, part;
    size_t len = 0;
    if (memchr(name.ptr, '\0', name.len))
        return "the path contains a NUL byte";
    while (text_split(&rest, '/', &part)) {
        if (!part.len || text_eq(part, TEXT(".")))
            continue;
        if (text_eq(part, TEXT(".."))) {
            if (!len)
                return "the path leaves the root with `..`";
            const char *slash = memrchr(out, '/', len);
            len = slash ? (size_t)(slash - out) : 0;
            continue;
        }
        if (part.len > NAME_MAX || len + part.len + 2 > PATH_MAX)
            return "the path is too long";
        if (len)
            out[len++] = '/';
        memcpy(out + len, part.ptr, part.len);
        len += part.len;
    }
    *ret_len = len;
    return NULL;
}

/* Returns whether `name` lies in the directory `from`; *rest: the part below it. */
static bool path_within(struct text name, const char *from, struct text *rest)
{
    struct text dir = text_of(from);
    while (dir.len > 1 && dir.ptr[dir.len - 1] == '/')
        dir.len--;
    if (dir.len == 1 && *dir.ptr == '/')
        dir.len = 0;
    if (!text_starts(name, dir) || (name.len > dir.len && name.ptr[dir.len] != '/'))
        return false;
    *rest = (struct text){name.ptr + dir.len, name.len - dir.len};
    return true;
}

static int path_resolve(struct files *f, struct text name, struct path *p)
{
    char out[PATH_MAX];
    struct text rest = name;
    size_t len = 0;
    int map = -1;
    for (unsigned i = 0; i < f->options->map_count && map < 0; i++)
        if (path_within(name, f->options->maps[i].from, &rest))
            map = (int)i;
    p->refusal = path_reduce(rest, out, &len);
    if (p->refusal)
        return 0;
    struct text below = len ? (struct text){out, len} : TEXT(".");
    p->file = find_file(f, below, map);
    if (!p->file)
        return -ENOMEM;
    f->named += !p->file->named;
    p->file->named = true;
    return 0;
}

struct path *files_path(struct files *f, struct text name)
{
    int64_t id = intern_add(f->names, name);
    if (id < 0 || vec_extend(&f->paths, (size_t)id + 1) < 0)
        return NULL;
    if (!f->paths.at[id]) {
        struct path *p = shared_alloc(f->shared, sizeof *p + name.len + 1);
        if (!p)
            return NULL;
        memcpy(p->name, name.ptr, name.len);
        if (path_resolve(f, name, p) < 0)
            return NULL;
        f->paths.at[id] = p;
    }
    return f->paths.at[id];
}
