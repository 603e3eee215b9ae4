/* te.c - the column te: ts + dur, or ts if there is no dur. */
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

enum { TS, DUR }; /* parts */

static const int64_t *te_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    struct binding *ts = b->part[TS], *dur = b->part[DUR];
    const uint64_t *valid;
    const int64_t *starts = binding_i64(batch, ts, &valid);
    /* 0 in null rows, where te is ts */
    const int64_t *lengths = dur->shape == SHAPE_TIME ? binding_i64(batch, dur, NULL) : NULL;

    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t start = time_in(starts[i], ts->nano, b->nano);
        out[i] = lengths ? add_clamped(start, time_in(lengths[i], dur->nano, b->nano)) : start;
    }
    clear_nulls(batch, valid, out);
    b->i64.valid = valid;
    b->i64.few = ts->i64.few || (lengths && dur->i64.few);
    return out;
}

static int bind_te(struct scan_worker *w, struct binding *b)
{
    struct binding *ts = bind_part(w, b, TS), *dur = bind_part(w, b, DUR);
    bool has_dur = dur->shape == SHAPE_TIME;

    if (ts->shape != SHAPE_TIME)
        return 0;
    b->nano = ts->nano || (has_dur && dur->nano);
    b->nulls = ts->nulls;
    b->same_nulls = ts;
    int64_t shortest =
        has_dur && (!dur->nulls || dur->min < 0) ? time_in(dur->min, dur->nano, b->nano) : 0;
    int64_t longest =
        has_dur && (!dur->nulls || dur->max > 0) ? time_in(dur->max, dur->nano, b->nano) : 0;
    return bind_integers(b, &derived_te, SHAPE_TIME,
                         add_clamped(time_in(ts->min, ts->nano, b->nano), shortest),
                         add_clamped(time_in(ts->max, ts->nano, b->nano), longest));
}

const struct column_kind derived_te = {.parts = {"ts", "dur"}, .bind = bind_te, .i64 = te_i64};
