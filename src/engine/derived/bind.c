/* bind.c - how each column comes about in the chunk at hand: by its kind, of its parts. */
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int bind_stored(struct scan_worker *w, struct bound *b)
{
    const struct path_info *info = &b->source->info;
    struct column first, second, other;
    bool has_first = chunk_find(w->chunk.view, info->column, &first) == 0;
    bool has_second = info->other.len > 0 && chunk_find(w->chunk.view, info->other, &second) == 0;

    if (has_first && has_second) /* a top-level field before an argument */
        return bind_without(w, b, source_bind(w, b->source->part[0]),
                            source_bind(w, b->source->part[1]), NULL);
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

    if (!table)
        return -ENOMEM;
    memset(table, 0, words * sizeof(*table));
    for (uint32_t i = 0; i < ph->entries; i++) {
        struct column_entry e = bound_entry(w, ph, i);
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
    struct bound *dur = b->part[0] = source_bind(w, b->source->part[0]);
    int rc = 0;

    if (dur->shape != SHAPE_NULL && !dur->nulls)
        return bind_column(w, b, &dur->column);
    struct bound *ph = b->part[1] = source_bind(w, b->source->part[1]);
    struct bound *bad = b->part[2] = source_bind(w, b->source->part[2]);
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
    struct bound *ts = b->part[0] = source_bind(w, b->source->part[0]);
    struct bound *dur = b->part[1] = source_bind(w, b->source->part[1]);
    bool has_dur = dur->shape == SHAPE_TIME;

    if (ts->shape != SHAPE_TIME)
        return bind_null(b);
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

    if (s->interval_ns <= 0) {
        b->form = FORM_ZERO;
        b->shape = SHAPE_TIME;
        b->nulls = false;
        b->min = b->max = 0;
        return 0;
    }
    struct bound *ts = b->part[0] = source_bind(w, s->part[0]);
    if (ts->shape != SHAPE_TIME)
        return bind_null(b);
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
    const struct bound *ts = source_bind(w, b->source->part[0]);
    const struct bound *dur = source_bind(w, b->source->part[1]);
    const struct bound *stored = b->source->clip == CLIP_TS ? ts : dur;
    int64_t from = 0, to = 0;

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
        return bind_bytes(w, b, source_bind(w, b->source->part[0]));
    case PATH_HOST:
    case PATH_FILE:
    case PATH_CMD:
    case PATH_EXEC:
        return bind_text(w, b);
    case PATH_RANK:
        return bind_rank(w, b, source_bind(w, b->source->part[0]),
                         source_bind(w, b->source->part[1]));
    case PATH_TRACE:
        return bind_trace(w, b);
    case PATH_BUCKET:
        return bind_bucket(w, b);
    }
    return -EINVAL;
}

/* NULL: no memory. */
static struct bound *bound_at(struct scan_worker *w, const struct source *s)
{
    if (s->id >= w->bound.count && vec_extend(&w->bound, w->query->source_count) < 0)
        return NULL;
    struct bound **b = &w->bound.at[s->id];
    if (!*b && (*b = calloc(1, sizeof(**b))))
        (*b)->source = s;
    return *b;
}

static void forget_chunk(struct bound *b)
{
    b->i64.batch = b->f64.batch = b->keys.batch = b->codes.batch = b->valid.batch = UINT32_MAX;
    b->has_key_table = false;
    b->code_count = 0;
    b->codes_of = NULL;
    b->dense_count = 0;
    b->remap = NULL;
    b->entries = 0;
}

struct bound *source_bind(struct scan_worker *w, const struct source *s)
{
    static struct bound nothing = {.form = FORM_NULL, .shape = SHAPE_NULL, .nulls = true};
    struct bound *b = bound_at(w, s);

    if (worker_fails(w, b ? 0 : -ENOMEM))
        return &nothing; /* what is null is never written to */
    if (b->serial != w->serial) {
        forget_chunk(b);
        (void)bind_null(b);
        if (worker_fails(w, bind_kind(w, b)))
            (void)bind_null(b);
        b->serial = w->serial;
    }
    return b;
}
