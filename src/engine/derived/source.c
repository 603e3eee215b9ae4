/* source.c - the columns that a query uses. */
#include "engine/derived/columns.h"
#include "engine/derived/derived.h"
#include "engine/derived/within.h"

#include <errno.h>
#include <string.h>

static struct source *find_source(struct query *q, struct text path, bool exact)
{
    for (struct source *s = q->sources; s; s = s->next) {
        if (s->info.kind != PATH_BUCKET && !s->clip && s->exact == exact && text_eq(s->path, path))
            return s;
    }
    return NULL;
}

static int source_add(struct query *q, struct text path, struct source **ret)
{
    struct source *s = arena_alloc(&q->arena, sizeof(*s));
    char *copy = arena_strdup(&q->arena, path);

    if (!s || !copy)
        return -ENOMEM;
    s->path = (struct text){copy, path.len};
    s->id = q->source_count++;
    s->next = q->sources;
    q->sources = s;
    *ret = s;
    return 0;
}

/* A stored column by its exact name, without any meaning of the name. */
static int source_stored(struct query *q, struct text column, struct source **ret)
{
    *ret = find_source(q, column, true);
    if (*ret)
        return 0;
    int rc = source_add(q, column, ret);
    if (rc < 0)
        return rc;
    const struct known_column *known = known_column(column);
    (*ret)->exact = true;
    (*ret)->info =
        (struct path_info){.kind = PATH_COLUMN,
                           .column = (*ret)->path,
                           .time = known && known->stored && known->shown.unit == UNIT_US};
    return 0;
}

static int add_parts(struct query *q, struct source *s)
{
    int rc = 0;

    if (s->info.kind == PATH_DUR) {
        rc = source_stored(q, TEXT("dur"), &s->part[0]);
        if (rc == 0)
            rc = source_of(q, TEXT("ph"), &s->part[1]);
        if (rc == 0)
            rc = source_of(q, TEXT("@bad_dur"), &s->part[2]);
    } else if (s->info.kind == PATH_TE) {
        rc = source_of(q, TEXT("ts"), &s->part[0]);
        if (rc == 0)
            rc = source_of(q, TEXT("dur"), &s->part[1]);
    } else if (s->info.kind == PATH_RANK) {
        rc = source_stored(q, TEXT("pid"), &s->part[0]);
        if (rc == 0)
            rc = source_of(q, TEXT("host"), &s->part[1]);
    } else if (s->info.kind == PATH_BYTES) {
        rc = source_stored(q, s->info.column, &s->part[0]);
    } else if (s->info.kind == PATH_COLUMN && s->info.other.len > 0) {
        rc = source_stored(q, s->info.column, &s->part[0]);
        if (rc == 0)
            rc = source_stored(q, s->info.other, &s->part[1]);
    }
    return rc;
}

int source_of(struct query *q, struct text path, struct source **ret)
{
    struct source *s = find_source(q, path, false);

    if (s) {
        *ret = s;
        return 0;
    }
    int rc = source_add(q, path, &s);
    if (rc == 0)
        rc = path_resolve(s->path, &q->arena, &s->info);
    if (rc == 0)
        rc = add_parts(q, s);
    if (rc == 0)
        *ret = s;
    return rc;
}

int source_clipped(struct query *q, struct source *ts, struct source *dur, int clip,
                   struct source **ret)
{
    const struct source *stored = clip == CLIP_TS ? ts : dur;
    int rc = source_add(q, stored->path, ret);

    if (rc < 0)
        return rc;
    (*ret)->info = stored->info;
    (*ret)->clip = clip;
    (*ret)->part[0] = ts;
    (*ret)->part[1] = dur;
    (*ret)->read = within_read;
    return 0;
}

int source_clipped_te(struct query *q, struct source *ts, struct source *dur, struct source **ret)
{
    int rc = source_add(q, TEXT("te"), ret);

    if (rc < 0)
        return rc;
    (*ret)->info = (struct path_info){.kind = PATH_TE, .time = true, .number = true};
    (*ret)->clip = CLIP_TE;
    (*ret)->part[0] = ts;
    (*ret)->part[1] = dur;
    return 0;
}

/* What answers read; filters have source_of(). */
int query_source(struct query *q, struct text path, const struct source **ret)
{
    struct source *s;

    *ret = within_source(q, path);
    if (*ret)
        return 0;
    int rc = source_of(q, path, &s);

    if (rc == 0)
        *ret = s;
    return rc;
}

int query_source_bucket(struct query *q, __int128 interval_ns, __int128 origin_ns,
                        const struct source **ret)
{
    struct source *s;
    int rc = source_add(q, TEXT("time_bucket"), &s);

    if (rc < 0)
        return rc;
    s->info = (struct path_info){.kind = PATH_BUCKET, .time = true};
    s->interval_ns = interval_ns;
    s->origin_ns = origin_ns;
    s->part[0] = (struct source *)within_source(q, TEXT("ts"));
    rc = s->part[0] ? 0 : source_of(q, TEXT("ts"), &s->part[0]);
    if (rc == 0)
        *ret = s;
    return rc;
}

int query_source_folded(struct query *q, const struct source *s, const struct group_table *kept,
                        const struct source **ret)
{
    struct source *own;
    int rc = source_add(q, s->path, &own);

    if (rc < 0)
        return rc;
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
