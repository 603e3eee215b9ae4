/* path.c - resolves names of a query: to columns of the table, or to arguments. */
#include "engine/lang/path.h"

#include <errno.h>
#include <string.h>

/* Bytes of a path: with "args." it has to fit into the 4,096 of a dimension (index.h). */
enum { STORED_MAX = 4000 };

/* Returns true for arguments whose values are sizes. */
static bool is_size(struct text path)
{
    static const char *const exact[] = {"args.ret", "args.count", "args.offset", "args.ret_sum"};

    for (size_t i = 0; i < sizeof(exact) / sizeof(*exact); i++) {
        if (text_eq(path, text_of(exact[i])))
            return true;
    }
    return memmem(path.ptr, path.len, "size", 4) || memmem(path.ptr, path.len, "bytes", 5);
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
    ret->bytes = !ret->hash && is_size(ret->other);
    return 0;
}

static struct path_info info_of(const struct known_column *c)
{
    struct path_info info = {.kind = c->kind,
                             .column = text_of(c->stored ? c->stored : ""),
                             .time = c->shown.unit == UNIT_US,
                             .bytes = c->shown.unit == UNIT_BYTES};

    if (c->kind == PATH_COLUMN)
        info.hash = trace_path_is_hash(info.column);
    else
        info.number = strcmp(c->shown.type, "int") == 0 || strcmp(c->shown.type, "float") == 0;
    return info;
}

int path_resolve(struct text path, struct arena *arena, struct path_info *ret)
{
    const struct known_column *c = known_column(path);
    struct path_info info = {.kind = PATH_COLUMN, .column = path};
    int rc = 0;

    if (c) {
        *ret = info_of(c);
        return 0;
    }
    if (text_starts(path, TEXT("args."))) {
        info.hash = trace_path_is_hash(path);
        info.bytes = !info.hash && is_size(path);
    } else if (!text_starts(path, TEXT("@"))) { /* a column that the index makes for itself */
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
    if (info.kind != PATH_COLUMN && info.kind != PATH_BYTES)
        return -EINVAL;
    *ret = arena_strdup(arena, info.other.len ? info.other : info.column);
    return *ret ? 0 : -ENOMEM;
}
