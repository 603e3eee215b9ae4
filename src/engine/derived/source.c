/* source.c - the columns that a query uses, and how each comes about in the chunk at hand. */
#include "engine/plan/plan.h"
#include "engine/plan/within.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---------------------------------------------------------------------------------- */

void *grow_to(struct grow *g, size_t bytes)
{
    if (bytes <= g->cap)
        return g->data;
    size_t cap = g->cap * 2 > bytes ? g->cap * 2 : bytes;
    cap = (cap + 63) & ~(size_t)63;
    void *data = aligned_alloc(64, cap);
    if (!data)
        return NULL;
    free(g->data);
    g->data = data;
    g->cap = cap;
    return data;
}

void grow_done(struct grow *g)
{
    free(g->data);
    *g = (struct grow){0};
}

/* ---- sources of a query ---------------------------------------------------------------------- */

static struct source *find_source(struct query *q, struct text path)
{
    for (struct source *s = q->sources; s; s = s->next) {
        if (s->info.kind != PATH_BUCKET && !s->clip && text_eq(s->path, path))
            return s;
    }
    return NULL;
}

int source_add(struct query *q, struct text path, struct source **ret)
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

/* A stored column by its exact name, without any meaning of the name ("=" in front keeps it apart
 * in the list). */
static int source_stored(struct query *q, struct text column, struct source **ret)
{
    char name[600];

    if (column.len + 1 > sizeof(name))
        return -ENOMEM;
    name[0] = '=';
    memcpy(name + 1, column.ptr, column.len);
    struct text path = {name, column.len + 1};
    *ret = find_source(q, path);
    if (*ret)
        return 0;
    int rc = source_add(q, path, ret);
    if (rc < 0)
        return rc;
    (*ret)->info =
        (struct path_info){.kind = PATH_COLUMN, .column = {(*ret)->path.ptr + 1, column.len}};
    const struct known_column *known = known_column(column);
    (*ret)->info.time = known && known->stored && known->shown.unit == UNIT_US;
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
    } else if (s->info.kind == PATH_COLUMN && s->info.other.len > 0 && s->info.column.len < 500) {
        rc = source_stored(q, s->info.column, &s->part[0]);
        if (rc == 0)
            rc = source_stored(q, s->info.other, &s->part[1]);
    }
    return rc;
}

int source_of(struct query *q, struct text path, struct source **ret)
{
    struct source *s = find_source(q, path);

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

int source_clipped(struct query *q, struct source *stored, int clip, struct source **ret)
{
    int rc = source_add(q, stored->path, ret);

    if (rc < 0)
        return rc;
    (*ret)->info = stored->info;
    (*ret)->clip = clip;
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

struct text source_path(const struct source *s)
{
    return s->path;
}

bool source_is_time(const struct source *s)
{
    return s->info.time;
}

/* ---- binding to a chunk ---------------------------------------------------------------------- */

static enum scan_shape shape_of(enum column_type type)
{
    static const enum scan_shape shapes[] = {
        [COLUMN_INT] = SHAPE_INT,   [COLUMN_TIME] = SHAPE_TIME, [COLUMN_DOUBLE] = SHAPE_DOUBLE,
        [COLUMN_BOOL] = SHAPE_BOOL, [COLUMN_TEXT] = SHAPE_TEXT, [COLUMN_MIXED] = SHAPE_MIXED,
    };

    return shapes[type];
}

int bind_column(struct scan_worker *w, struct bound *b, const struct column *c)
{
    b->form = FORM_STORED;
    b->column = *c;
    b->shape = shape_of(c->type);
    b->nano = c->type == COLUMN_TIME && c->nano;
    b->nulls = c->nulls > 0;
    b->min = c->min;
    b->max = c->max;
    b->entries = c->entries;
    b->ids = NULL;
    if (c->nulls == c->rows) {
        b->form = FORM_NULL;
        b->shape = SHAPE_NULL;
        return 0;
    }
    return c->type == COLUMN_TEXT ? column_entry_ids(w->chunk.view, &b->column, &b->ids) : 0;
}

int bind_null(struct bound *b)
{
    b->form = FORM_NULL;
    b->shape = SHAPE_NULL;
    b->nulls = true;
    return 0;
}

static int bind_stored(struct scan_worker *w, struct bound *b)
{
    const struct path_info *info = &b->source->info;
    struct column first, second, other;
    bool has_first = chunk_find(w->chunk.view, info->column, &first) == 0;
    bool has_second = info->other.len > 0 && chunk_find(w->chunk.view, info->other, &second) == 0;

    if (has_first && has_second)
        return bind_both(w, b);
    if (has_first)
        return bind_column(w, b, &first);
    if (has_second)
        return bind_column(w, b, &second);
    if (info->column.len > 0 && info->column.ptr[0] != '@' && !column_is_computed(info->column) &&
        chunk_find(w->chunk.view, TEXT("@other"), &other) == 0)
        return bind_other(w, b, &other, info->other.len > 0 ? info->other : info->column);
    return bind_null(b);
}

/* Which entries of ph make an X event. */
static int judge_ph(struct scan_worker *w, struct bound *b, struct bound *ph)
{
    uint32_t hits = 0, words = ph->entries / 32 + 1,
             *table = grow_to(&b->x_table, words * sizeof(*table));
    struct column_entry e;

    if (!table)
        return -ENOMEM;
    memset(table, 0, words * sizeof(*table));
    for (uint32_t i = 0; i < ph->entries; i++) {
        int rc = bound_entry(w, ph, i, &e);
        if (rc < 0)
            return rc;
        bool is_x = (e.type == TRACE_TEXT && text_eq(e.text, TEXT("X"))) ||
                    (e.type == TRACE_INT && e.i == 1);
        table[i / 32] |= (uint32_t)is_x << i % 32;
        hits += is_x;
    }
    b->x_all = hits == ph->entries && !ph->nulls;
    b->x_none = hits == 0;
    return 0;
}

static int bind_dur(struct scan_worker *w, struct bound *b)
{
    struct bound *dur, *ph, *bad;
    int rc = source_bind(w, b->source->part[0], &dur);

    if (rc == 0 && dur->shape != SHAPE_NULL && !dur->nulls) {
        rc = bind_column(w, b, &dur->column);
        return rc;
    }
    if (rc == 0)
        rc = source_bind(w, b->source->part[1], &ph);
    if (rc == 0)
        rc = source_bind(w, b->source->part[2], &bad);
    if (rc < 0)
        return rc;
    b->part[0] = dur;
    b->part[1] = ph;
    b->part[2] = bad;
    b->x_none = ph->shape == SHAPE_NULL || ph->shape == SHAPE_DOUBLE || ph->shape == SHAPE_BOOL;
    b->x_all = false;
    if (ph->shape == SHAPE_TEXT || ph->shape == SHAPE_MIXED) {
        rc = judge_ph(w, b, ph);
    } else if (ph->shape == SHAPE_INT) {
        b->x_all = ph->min == 1 && ph->max == 1 && !ph->nulls;
        b->x_none = ph->min > 1 || ph->max < 1;
    }
    if (rc < 0)
        return rc;
    bool stored = dur->shape == SHAPE_TIME;
    b->x_all = b->x_all && bad->shape == SHAPE_NULL;
    if (b->x_none)
        return stored ? bind_column(w, b, &dur->column) : bind_null(b);
    b->form = FORM_DUR;
    b->shape = SHAPE_TIME;
    b->nano = stored && dur->nano;
    b->nulls = !b->x_all;
    b->min = stored && dur->min < 0 ? dur->min : 0;
    b->max = stored && dur->max > 0 ? dur->max : 0;
    return 0;
}

static int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

int64_t time_in(int64_t value, bool nano, bool to_nano)
{
    int64_t scaled;

    if (nano || !to_nano)
        return value;
    if (__builtin_mul_overflow(value, (int64_t)1000, &scaled))
        return value < 0 ? INT64_MIN : INT64_MAX;
    return scaled;
}

static int bind_te(struct scan_worker *w, struct bound *b)
{
    struct bound *ts, *dur;
    int rc = source_bind(w, b->source->part[0], &ts);

    if (rc == 0)
        rc = source_bind(w, b->source->part[1], &dur);
    if (rc < 0)
        return rc;
    if (ts->shape != SHAPE_TIME)
        return bind_null(b);
    bool has_dur = dur->shape == SHAPE_TIME;
    b->part[0] = ts;
    b->part[1] = dur;
    b->form = FORM_TE;
    b->shape = SHAPE_TIME;
    b->nulls = ts->nulls;
    b->nano = ts->nano || (has_dur && dur->nano);
    int64_t shortest =
        has_dur && (!dur->nulls || dur->min < 0) ? time_in(dur->min, dur->nano, b->nano) : 0;
    int64_t longest =
        has_dur && (!dur->nulls || dur->max > 0) ? time_in(dur->max, dur->nano, b->nano) : 0;
    b->min = add_clamped(time_in(ts->min, ts->nano, b->nano), shortest);
    b->max = add_clamped(time_in(ts->max, ts->nano, b->nano), longest);
    return 0;
}

int64_t bucket_floor(int64_t value, int64_t base, int64_t step)
{
    return (int64_t)floor_to((__int128)value - base, step);
}

static int bind_bucket(struct scan_worker *w, struct bound *b)
{
    const struct source *s = b->source;
    struct bound *ts;

    if (s->interval_ns <= 0) {
        b->form = FORM_ZERO;
        b->shape = SHAPE_TIME;
        b->nano = b->nulls = false;
        b->min = b->max = 0;
        return 0;
    }
    int rc = source_bind(w, s->part[0], &ts);
    if (rc < 0)
        return rc;
    if (ts->shape != SHAPE_TIME)
        return bind_null(b);
    b->part[0] = ts;
    b->form = FORM_BUCKET;
    b->shape = SHAPE_TIME;
    b->nulls = ts->nulls;
    b->nano = ts->nano || s->interval_ns % 1000 != 0 || s->origin_ns % 1000 != 0;
    __int128 unit = b->nano ? 1 : 1000;
    b->step = s->interval_ns / unit > INT64_MAX ? INT64_MAX : (int64_t)(s->interval_ns / unit);
    b->base = (int64_t)(s->origin_ns / unit);
    b->min = bucket_floor(time_in(ts->min, ts->nano, b->nano), b->base, b->step);
    b->max = bucket_floor(time_in(ts->max, ts->nano, b->nano), b->base, b->step);
    return 0;
}

/* The same name in every row. */
static int bind_trace(struct scan_worker *w, struct bound *b)
{
    struct column_entry *e = grow_to(&b->entry_memory, sizeof(*e));
    struct text name = text_of(w->chunk.file->name);

    if (!e)
        return -ENOMEM;
    *e = (struct column_entry){.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = name};
    b->form = FORM_SINGLE;
    b->shape = SHAPE_TEXT;
    b->entry = e;
    b->entries = 1;
    b->nulls = false;
    return 0;
}

static int bind_kind(struct scan_worker *w, struct bound *b)
{
    if (b->source->clip == CLIP_TS || b->source->clip == CLIP_DUR)
        return within_bind(w, b);
    switch (b->source->info.kind) {
    case PATH_COLUMN:
        return bind_stored(w, b);
    case PATH_DUR:
        return bind_dur(w, b);
    case PATH_TE:
        return bind_te(w, b);
    case PATH_BYTES:
        return bind_bytes(w, b);
    case PATH_HOST:
    case PATH_FILE:
    case PATH_CMD:
    case PATH_EXEC:
        return bind_text(w, b);
    case PATH_RANK:
        return bind_rank(w, b);
    case PATH_TRACE:
        return bind_trace(w, b);
    case PATH_BUCKET:
        return bind_bucket(w, b);
    }
    return -EINVAL;
}

static int bound_at(struct scan_worker *w, const struct source *s, struct bound **ret)
{
    if (s->id >= w->bound_count) {
        unsigned count = w->query->source_count;
        struct bound **more = realloc(w->bound, count * sizeof(*more));
        if (!more)
            return -ENOMEM;
        memset(more + w->bound_count, 0, (count - w->bound_count) * sizeof(*more));
        w->bound = more;
        w->bound_count = count;
    }
    if (!w->bound[s->id]) {
        w->bound[s->id] = calloc(1, sizeof(struct bound));
        if (!w->bound[s->id])
            return -ENOMEM;
        w->bound[s->id]->source = s;
    }
    *ret = w->bound[s->id];
    return 0;
}

static void forget_lanes(struct bound *b)
{
    b->i64.batch = b->f64.batch = b->keys.batch = b->codes.batch = b->valid.batch = UINT32_MAX;
    b->has_key_table = false;
    b->code_count = 0;
    b->codes_of = NULL;
    b->dense_count = 0;
}

int source_bind(struct scan_worker *w, const struct source *s, struct bound **ret)
{
    struct bound *b;
    int rc = bound_at(w, s, &b);

    if (rc < 0)
        return rc;
    if (b->serial != w->serial) {
        forget_lanes(b);
        b->remap = NULL;
        b->entries = 0;
        rc = bind_kind(w, b);
        if (rc < 0)
            return rc;
        b->serial = w->serial;
    }
    *ret = b;
    return 0;
}

static void lane_done(struct lane *l)
{
    grow_done(&l->memory);
}

void bound_free(struct bound *b)
{
    if (!b)
        return;
    arena_done(&b->arena);
    grow_done(&b->entry_memory);
    grow_done(&b->remap_memory);
    grow_done(&b->rows_memory);
    grow_done(&b->rows_valid);
    grow_done(&b->x_table);
    grow_done(&b->key_table);
    grow_done(&b->dense_values);
    grow_done(&b->dense_codes);
    grow_done(&b->dense_numbers);
    lane_done(&b->i64);
    lane_done(&b->f64);
    lane_done(&b->keys);
    lane_done(&b->codes);
    lane_done(&b->valid);
    free(b);
}
