/* path.c - top-level fields, aliases, derived names; any other bare name is an argument. */
#include "path.h"
#include "dftracerd/query.h"

#include <errno.h>
#include <string.h>

enum { STORED_MAX = 4000 }; /* bytes of a path that can be a dimension */

static const struct {
    const char *path;
    enum path_kind kind;
    const char *column;
    bool time, bytes;
} known[] = {
    {"name", PATH_COLUMN, "name"},
    {"cat", PATH_COLUMN, "cat"},
    {"pid", PATH_COLUMN, "pid"},
    {"tid", PATH_COLUMN, "tid"},
    {"ts", PATH_COLUMN, "ts", .time = true},
    {"te", PATH_TE, "", .time = true},
    {"dur", PATH_DUR, "dur", .time = true},
    {"ph", PATH_COLUMN, "ph"},
    {"id", PATH_COLUMN, "id"},
    {"type", PATH_COLUMN, "type"},
    {"hhash", PATH_COLUMN, "args.hhash"},
    {"fhash", PATH_COLUMN, "args.fhash"},
    {"shash", PATH_COLUMN, "args.shash"},
    {"host", PATH_HOST, ""},
    {"file", PATH_FILE, ""},
    {"cmd", PATH_CMD, ""},
    {"exec", PATH_EXEC, ""},
    {"rank", PATH_RANK, ""},
    {"trace", PATH_TRACE, ""},
    {"size", PATH_COLUMN, "size", .bytes = true},
};

static bool starts_with(struct text t, const char *prefix)
{
    size_t len = strlen(prefix);

    return t.len >= len && memcmp(t.ptr, prefix, len) == 0;
}

static bool contains(struct text t, const char *word)
{
    return memmem(t.ptr, t.len, word, strlen(word)) != NULL;
}

/* Arguments that count bytes, by their names. */
static bool is_bytes(struct text path)
{
    static const char *const exact[] = {"args.ret", "args.count", "args.offset", "args.ret_sum"};

    for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++) {
        if (text_eq(path, text_of(exact[i])))
            return true;
    }
    return contains(path, "size") || contains(path, "bytes");
}

static int resolve_bare(struct text path, struct arena *arena, struct path_info *ret)
{
    char *argument = arena_alloc(arena, path.len + 6);

    if (!argument)
        return -ENOMEM;
    memcpy(argument, "args.", 5);
    memcpy(argument + 5, path.ptr, path.len);
    ret->column = path;
    ret->other = (struct text){argument, path.len + 5};
    ret->hash = trace_path_is_hash(ret->other);
    ret->bytes = !ret->hash && is_bytes(ret->other);
    return 0;
}

int path_resolve(struct text path, struct arena *arena, struct path_info *ret)
{
    struct path_info info = {.kind = PATH_COLUMN, .column = path};
    int rc = 0;

    for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
        if (!text_eq(path, text_of(known[i].path)))
            continue;
        *ret = (struct path_info){.kind = known[i].kind,
                                  .column = text_of(known[i].column),
                                  .time = known[i].time,
                                  .bytes = known[i].bytes};
        ret->hash = ret->kind == PATH_COLUMN && trace_path_is_hash(ret->column);
        return 0;
    }
    if (starts_with(path, "args.")) {
        info.hash = trace_path_is_hash(path);
        info.bytes = !info.hash && is_bytes(path);
    } else if (!starts_with(path, "@")) {
        rc = resolve_bare(path, arena, &info);
    }
    if (rc == 0)
        *ret = info;
    return rc;
}

int query_stored_path(struct text path, struct arena *arena, const char **ret)
{
    struct path_info info;
    int rc = path.len && path.len <= STORED_MAX && path.ptr[0] != '@'
                 ? path_resolve(path, arena, &info)
                 : -EINVAL;

    if (rc < 0)
        return rc;
    if (info.kind != PATH_COLUMN && info.kind != PATH_DUR)
        return -EINVAL;
    *ret = arena_strdup(arena, info.other.len ? info.other : info.column);
    return *ret ? 0 : -ENOMEM;
}
