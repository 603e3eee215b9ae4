/* column.c - stored columns by their names; a bare name is a field of the line or an argument. */
#include "engine/derived/bind.h"

enum { FIELD, ARGUMENT }; /* parts of a bare name */

/* Binds to the column of the field. In rows without the field, a bare name is the argument. */
static int bind_field(struct scan_worker *w, struct binding *b, const struct column *field)
{
    struct binding *argument = b->source->info.other.len > 0 ? bind_part(w, b, ARGUMENT) : NULL;

    if (argument && argument->shape != SHAPE_NULL)
        return bind_merged(w, b, bind_part(w, b, FIELD), argument, NULL);
    return bind_stored(w, b, field);
}

/* If the argument has a column, the field is not searched in "@other": all of that would be parsed
 * for each bare name. */
static int bind_named(struct scan_worker *w, struct binding *b)
{
    const struct path_info *info = &b->source->info;
    struct column c;

    if (chunk_find(w->chunk.view, info->column, &c) == 0)
        return bind_field(w, b, &c);
    if (info->other.len > 0 && chunk_find(w->chunk.view, info->other, &c) == 0)
        return bind_stored(w, b, &c);
    if (!b->source->exact && info->column.len > 0 && info->column.ptr[0] != '@' &&
        !column_is_computed(info->column) && chunk_find(w->chunk.view, TEXT("@other"), &c) == 0)
        return bind_other(w, b, &c, info->column, info->other);
    return 0;
}

const struct column_kind derived_column = {.bind = bind_named};
