/* column.c - stored columns by their names; a bare name is a field of the line or an argument. */
#include "engine/derived/bind.h"

static int bind_named(struct scan_worker *w, struct binding *b)
{
    const struct path_info *info = &b->source->info;
    struct column first, second, other;
    bool has_first = chunk_find(w->chunk.view, info->column, &first) == 0;
    bool has_second = info->other.len > 0 && chunk_find(w->chunk.view, info->other, &second) == 0;

    if (has_first && has_second) /* a top-level field before an argument */
        return bind_merged(w, b, bind_part(w, b, 0), bind_part(w, b, 1), NULL);
    if (has_first)
        return bind_stored(w, b, &first);
    if (has_second)
        return bind_stored(w, b, &second);
    if (!b->source->exact && info->column.len > 0 && info->column.ptr[0] != '@' &&
        !column_is_computed(info->column) && chunk_find(w->chunk.view, TEXT("@other"), &other) == 0)
        return bind_other(w, b, &other, info->other.len > 0 ? info->other : info->column);
    return 0;
}

const struct column_kind derived_column = {.bind = bind_named};
