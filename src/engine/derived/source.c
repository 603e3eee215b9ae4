/* source.c - the columns that a query uses. */
#include "engine/derived/columns.h"
#include "engine/derived/derived.h"
#include "engine/derived/within.h"

#include <string.h>

static struct source *find_source(struct query *q, struct text path, bool exact)
{
    for (struct source *s = q->sources; s; s = s->next) {
        if (s->info.kind != PATH_BUCKET && !s->clip && s->exact == exact && text_eq(s->path, path))
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

/* A stored column by its exact name, without any meaning of the name. */
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
    return s;
}

static void add_parts(struct query *q, struct source *s)
{
    if (s->info.kind == PATH_DUR) {
        s->part[0] = source_stored(q, TEXT("dur"));
        s->part[1] = source_of(q, TEXT("ph"));
        s->part[2] = source_of(q, TEXT("@bad_dur"));
    } else if (s->info.kind == PATH_TE) {
        s->part[0] = source_of(q, TEXT("ts"));
        s->part[1] = source_of(q, TEXT("dur"));
    } else if (s->info.kind == PATH_RANK) {
        s->part[0] = source_stored(q, TEXT("pid"));
        s->part[1] = source_of(q, TEXT("host"));
    } else if (s->info.kind == PATH_BYTES) {
        s->part[0] = source_stored(q, s->info.column);
    } else if (s->info.kind == PATH_COLUMN && s->info.other.len > 0) {
        s->part[0] = source_stored(q, s->info.column);
        s->part[1] = source_stored(q, s->info.other);
    }
}

struct source *source_of(struct query *q, struct text path)
{
    struct source *s = find_source(q, path, false);

    if (s || !(s = source_add(q, path)) || path_resolve(s->path, &q->arena, &s->info) < 0)
        return q->arena.error ? NULL : s;
    add_parts(q, s);
    return q->arena.error ? NULL : s;
}

struct source *source_clipped(struct query *q, struct source *ts, struct source *dur, int clip)
{
    const struct source *stored = clip == CLIP_DUR ? dur : ts;
    struct source *s = source_add(q, clip == CLIP_TE ? TEXT("te") : stored->path);

    if (!s)
        return NULL;
    s->info = clip == CLIP_TE ? (struct path_info){.kind = PATH_TE, .time = true, .number = true}
                              : stored->info;
    s->clip = clip;
    s->part[0] = ts;
    s->part[1] = dur;
    s->read = clip == CLIP_TE ? NULL : within_read;
    return s;
}

/* What answers read; filters have source_of(). */
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
    s->interval_ns = interval_ns;
    s->origin_ns = origin_ns;
    *ret = s;
    return query_source(q, TEXT("ts"), &s->part[0]);
}

int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret)
{
    struct source *own = source_add(q, s->path);

    if (!own)
        return q->arena.error;
    struct source *next = own->next;
    unsigned id = own->id;
    *own = *s;
    own->next = next;
    own->id = id;
    own->folded = true;
    own->kept = kept;
    *ret = own;
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
