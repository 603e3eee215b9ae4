/* within.c - selects the rows that overlap the united intervals of `within`, and clips their times
 * to these. */
#include "engine/derived/within.h"
#include "engine/derived/bind.h"

#include <stdlib.h>
#include <string.h>

enum { SCOPES_CHECKED_MAX = 256 }; /* with more scopes, chunks are not skipped */

void within_free(struct within *in)
{
    if (!in)
        return;
    dsl_done(&in->dsl);
    group_table_done(&in->scopes);
    vec_done(&in->spans);
    vec_done(&in->first);
    free(in);
}

const struct source *within_source(const struct query *q, struct text path)
{
    const struct within *in = q->within;

    if (!in || !in->clip_te)
        return NULL;
    if (text_eq(path, TEXT("ts")))
        return in->clip_ts;
    if (text_eq(path, TEXT("dur")))
        return in->clip_dur;
    return text_eq(path, TEXT("te")) ? in->clip_te : NULL;
}

/* ---- spans of a scope ------------------------------------------------------------------------ */

void within_spans_of(const struct query *q, const uint64_t *thread, struct within_part *ret)
{
    const struct within *in = q->within;
    int64_t scope = group_table_find(&in->scopes, thread); /* reads the first in->width keys */

    *ret = (struct within_part){0};
    if (scope < 0)
        return;
    ret->spans = in->spans.at + in->first.at[scope];
    ret->count = in->first.at[scope + 1] - in->first.at[scope];
}

/* A cursor over the rows of a batch. For the current row: its times, the spans of its scope, and
 * the position of the first span that it overlaps. */
struct overlap_cursor {
    const struct query *query;
    struct batch_times times;
    const uint64_t *keys[3]; /* of the scope, by row */
    uint64_t scope[3];
    bool has_scope; /* false until the first row with a time */
    int64_t ts, te;
    struct within_part part;
    size_t first; /* in part.spans */
};

static struct overlap_cursor overlap_begin(struct scan_batch *b)
{
    const struct within *in = b->chunk->query->within;
    struct overlap_cursor o = {.query = b->chunk->query, .times = batch_times(b, in->ts, in->dur)};

    for (unsigned i = 0; i < in->width; i++)
        o.keys[i] = batch_keys(b, in->keys[i]);
    return o;
}

/* Returns false if the row has no time, or overlaps no span of its scope. */
static bool overlap_find(struct overlap_cursor *o, uint32_t row)
{
    uint64_t changed = !o->has_scope;

    if (!batch_times_of(&o->times, row, &o->ts, &o->te))
        return false;
    for (unsigned i = 0; i < o->query->within->width; i++) {
        changed |= o->scope[i] ^ o->keys[i][row];
        o->scope[i] = o->keys[i][row];
    }
    if (changed) {
        within_spans_of(o->query, o->scope, &o->part);
        o->first = 0;
    }
    o->has_scope = true;
    o->first = spans_find(o->part.spans, o->part.count, o->first, o->ts, o->te);
    return o->first < o->part.count;
}

/* ---- filtering ------------------------------------------------------------------------------- */

bool within_clips(const struct query *q)
{
    return q->within && q->within->clip_te;
}

void within_stored_times(struct query *q, const struct source **ret_ts,
                         const struct source **ret_dur)
{
    *ret_ts = q->within->ts;
    *ret_dur = q->within->dur;
}

int64_t within_length(const struct within_part *p, size_t *hint, int64_t ts, int64_t te,
                      int64_t *ret_from)
{
    size_t at = spans_find(p->spans, p->count, *hint, ts, te);

    *ret_from = ts;
    *hint = at;
    if (at == p->count)
        return 0;
    *ret_from = ts > p->spans[at].lo ? ts : p->spans[at].lo;
    return spans_clip(p->spans, p->count, at, ts, te);
}

bool within_filters(const struct query *q)
{
    return q->within && q->within->ready;
}

bool within_skips(struct scan_worker *w)
{
    const struct within *in = w->query->within;
    int64_t from, to;

    if (w->query->no_pruning)
        return false;
    if (!binding_time_limits(source_bind(w, in->ts), source_bind(w, in->dur), &from, &to))
        return true;
    bool skips = in->scopes.count <= SCOPES_CHECKED_MAX;
    for (uint32_t k = 0; skips && k < in->scopes.count; k++) {
        const struct span *s = in->spans.at + in->first.at[k];
        size_t n = in->first.at[k + 1] - in->first.at[k];
        /* `to` itself may be an instant. */
        skips = spans_find(s, n, 0, from, to == INT64_MAX ? to : to + 1) == n;
    }
    return skips;
}

void within_select(struct scan_batch *b, uint64_t *mask)
{
    struct overlap_cursor o = overlap_begin(b);
    uint64_t left[SCAN_WORDS] = {0};

    for (uint32_t j = 0; j < b->count; j++) {
        uint32_t row = batch_row(b, j);
        left[row / 64] |= (uint64_t)overlap_find(&o, row) << row % 64;
    }
    memcpy(mask, left, sizeof(left));
}

/* ---- clipping -------------------------------------------------------------------------------- */

/* Rows that overlap no span have the value 0: only batches of a whole chunk contain such rows. */
static const int64_t *clip_times(struct scan_batch *batch, struct binding *b, bool start,
                                 int64_t *out)
{
    struct overlap_cursor o = overlap_begin(batch);

    memset(out, 0, batch->rows * sizeof(*out));
    for (uint32_t j = 0; j < batch->count; j++) {
        uint32_t row = batch_row(batch, j);
        if (!overlap_find(&o, row))
            continue;
        int64_t lo = o.part.spans[o.first].lo;
        out[row] = start ? (o.ts > lo ? o.ts : lo)
                         : spans_clip(o.part.spans, o.part.count, o.first, o.ts, o.te);
    }
    b->i64.valid = start ? o.times.ts_valid : o.times.dur_valid;
    clear_nulls(batch, b->i64.valid, out);
    b->i64.few = true; /* only selected rows were computed */
    return out;
}

static const int64_t *clip_ts(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    return clip_times(batch, b, true, out);
}

static const int64_t *clip_dur(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    return clip_times(batch, b, false, out);
}

enum { TS, DUR }; /* parts */
static int bind_clipped(struct scan_worker *w, struct binding *b)
{
    struct binding *ts = bind_part(w, b, TS), *dur = bind_part(w, b, DUR);
    bool start = b->source->kind == &within_clipped_ts;
    int64_t from = 0, to = 0;

    if (!binding_time_limits(ts, dur, &from, &to) || (!start && dur->shape != SHAPE_TIME))
        return 0;
    b->same_nulls = start ? ts : dur;
    b->nulls = b->same_nulls->nulls;
    b->nano = true;
    if (!start) {
        from = 0;
        to = time_in(dur->max, dur->nano, true);
    }
    return bind_integers(b, b->source->kind, SHAPE_TIME, from, to < from ? from : to);
}

const struct column_kind within_clipped_ts = {.bind = bind_clipped, .i64 = clip_ts};
const struct column_kind within_clipped_dur = {.bind = bind_clipped, .i64 = clip_dur};
