/* bind.c - how each column comes about in the chunk at hand: by its kind, of its parts. */
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A top-level field before an argument. */
static int bind_both(struct scan_worker *w, struct bound *b)
{
    struct bound *first, *second;
    int rc = source_bind(w, b->source->part[0], &first);

    rc = rc < 0 ? rc : source_bind(w, b->source->part[1], &second);
    return rc < 0 ? rc : bind_without(w, b, first, second, NULL);
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

/* Times as `within` clips them; see within.h. */
static int bind_clip(struct scan_worker *w, struct bound *b)
{
    struct bound *ts, *dur;
    int64_t from = 0, to = 0;
    int rc = source_bind(w, b->source->part[0], &ts);

    rc = rc < 0 ? rc : source_bind(w, b->source->part[1], &dur);
    if (rc < 0)
        return rc;
    const struct bound *stored = b->source->clip == CLIP_TS ? ts : dur;
    if (!bound_times(ts, dur, &from, &to) || stored->shape != SHAPE_TIME)
        return bind_null(b);
    b->form = FORM_CLIP;
    b->shape = SHAPE_TIME;
    b->nano = true;
    b->nulls = stored->nulls;
    b->min = b->source->clip == CLIP_TS ? from : 0;
    b->max = b->source->clip == CLIP_TS ? to : time_in(stored->max, stored->nano, true);
    if (b->max < b->min)
        b->max = b->min;
    return 0;
}

static int bind_bytes_of(struct scan_worker *w, struct bound *b)
{
    struct bound *stored;
    int rc = source_bind(w, b->source->part[0], &stored);

    return rc < 0 ? rc : bind_bytes(w, b, stored);
}

static int bind_rank_of(struct scan_worker *w, struct bound *b)
{
    struct bound *pid, *host;
    int rc = source_bind(w, b->source->part[0], &pid);

    rc = rc < 0 ? rc : source_bind(w, b->source->part[1], &host);
    return rc < 0 ? rc : bind_rank(w, b, pid, host);
}

static int bind_kind(struct scan_worker *w, struct bound *b)
{
    if (b->source->clip == CLIP_TS || b->source->clip == CLIP_DUR)
        return bind_clip(w, b);
    switch (b->source->info.kind) {
    case PATH_COLUMN:
        return bind_stored(w, b);
    case PATH_DUR:
        return bind_dur(w, b);
    case PATH_TE:
        return bind_te(w, b);
    case PATH_BYTES:
        return bind_bytes_of(w, b);
    case PATH_HOST:
    case PATH_FILE:
    case PATH_CMD:
    case PATH_EXEC:
        return bind_text(w, b);
    case PATH_RANK:
        return bind_rank_of(w, b);
    case PATH_TRACE:
        return bind_trace(w, b);
    case PATH_BUCKET:
        return bind_bucket(w, b);
    }
    return -EINVAL;
}

static int bound_at(struct scan_worker *w, const struct source *s, struct bound **ret)
{
    int rc = s->id < w->bound.count ? 0 : vec_extend(&w->bound, w->query->source_count);

    if (rc < 0)
        return rc;
    struct bound **b = &w->bound.at[s->id];
    if (!*b && (*b = calloc(1, sizeof(**b))))
        (*b)->source = s;
    *ret = *b;
    return *b ? 0 : -ENOMEM;
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
