/* source.c - the columns that a query uses, and the table of their kinds. */
#include "engine/derived/bind.h"
#include "engine/derived/within.h"

#include <string.h>

static const struct column_kind *const kinds[] = {
    [PATH_COLUMN] = &derived_column, [PATH_TE] = &derived_te,     [PATH_BYTES] = &derived_bytes,
    [PATH_HOST] = &derived_host,     [PATH_FILE] = &derived_file, [PATH_CMD] = &derived_cmd,
    [PATH_EXEC] = &derived_exec,     [PATH_RANK] = &derived_rank, [PATH_TRACE] = &derived_trace,
    [PATH_BUCKET] = &derived_bucket,
};

static struct source *find_source(struct query *q, struct text path, bool exact)
{
    for (struct source *s = q->sources; s; s = s->next) {
        if (!s->unlisted && s->exact == exact && text_eq(s->path, path))
            return s;
    }
    return NULL;
}

static struct source *source_add(struct query *q, struct text path)
{
    struct source *s = arena_alloc(&q->arena, sizeof(*s));
    char *copy = arena_strdup(&q->arena, path);

    if (!s || !copy)
        return NULL;
    s->path = (struct text){copy, path.len};
    s->id = q->source_count++;
    s->next = q->sources;
    q->sources = s;
    return s;
}

/* Returns the source of the stored column with this name, which may mean another column in a query.
 */
static struct source *source_stored(struct query *q, struct text column)
{
    const struct known_column *known = known_column(column);
    struct source *s = find_source(q, column, true);

    if (s || !(s = source_add(q, column)))
        return s;
    s->exact = true;
    s->info = (struct path_info){.kind = PATH_COLUMN,
                                 .column = s->path,
                                 .time = known && known->stored && known->shown.unit == UNIT_US};
    s->kind = &derived_column;
    return s;
}

static void add_parts(struct query *q, struct source *s)
{
    s->kind = kinds[s->info.kind];
    for (unsigned i = 0; i < PARTS_MAX && s->kind->parts[i]; i++) {
        const char *path = s->kind->parts[i];
        s->part[i] =
            path[0] == '=' ? source_stored(q, text_of(path + 1)) : source_of(q, text_of(path));
    }
    if (s->kind == &derived_column && s->info.other.len > 0) {
        s->part[0] = source_stored(q, s->info.column);
        s->part[1] = source_of(q, s->info.other);
    }
}

struct source *source_of(struct query *q, struct text path)
{
    struct source *s = find_source(q, path, false);

    if (!s) {
        s = source_add(q, path);
        if (s && path_resolve(s->path, &q->arena, &s->info) == 0)
            add_parts(q, s);
    }
    return q->arena.error ? NULL : s;
}

struct source *source_like(struct query *q, const struct source *like,
                           const struct column_kind *kind, const struct source *first,
                           const struct source *second)
{
    struct source *s = like ? source_add(q, like->path) : NULL;

    if (!s)
        return NULL;
    s->info = like->info;
    s->kind = kind ? kind : like->kind;
    s->unlisted = true;
    s->part[0] = first;
    s->part[1] = second;
    return s;
}

/* For answers, which read clipped times if the query clips. Filters use source_of(). */
int query_source(struct query *q, struct text path, const struct source **ret)
{
    const struct source *clipped = within_source(q, path);

    *ret = clipped ? clipped : source_of(q, path);
    return *ret ? 0 : q->arena.error;
}

int query_source_bucket(struct query *q, __int128 interval_ns, __int128 origin_ns,
                        const struct source **ret)
{
    struct source *s = source_add(q, TEXT("time_bucket"));

    if (!s)
        return q->arena.error;
    s->info = (struct path_info){.kind = PATH_BUCKET, .time = true};
    s->kind = &derived_bucket;
    s->unlisted = true;
    s->interval_ns = interval_ns;
    s->origin_ns = origin_ns;
    *ret = s;
    return query_source(q, TEXT("ts"), &s->part[0]);
}

int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret)
{
    struct source *folded = source_add(q, s->path);

    if (!folded)
        return q->arena.error;
    struct source *next = folded->next;
    unsigned id = folded->id;
    *folded = *s;
    folded->next = next;
    folded->id = id;
    folded->unlisted = folded->folded = true;
    folded->kept = kept;
    *ret = folded;
    return 0;
}

struct text source_path(const struct source *s)
{
    return s->path;
}

bool source_is_time(const struct source *s)
{
    return s->info.time;
}
