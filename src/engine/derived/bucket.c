/* bucket.c - the column of time buckets: the start of the bucket that an object begins in. */
#include "dftracerd/kernel.h"
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

/* Returns the origin of the buckets, in the unit of the bound source. */
static int64_t bucket_base(const struct binding *b)
{
    return (int64_t)(b->source->origin_ns / (b->nano ? 1 : 1000));
}

/* Returns the start of the bucket of a time, relative to the base. */
static int64_t bucket_floor(int64_t value, int64_t base, int64_t step)
{
    return (int64_t)floor_to((__int128)value - base, step);
}

/* Times are mostly in order, so the bucket of the row before is tried first. */
static const int64_t *bucket_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    struct binding *ts = b->part[0];
    const uint64_t *valid;
    const int64_t *starts = binding_i64(batch, ts, &valid);
    int64_t from = 0, to = 0, value = 0; /* `value` is the bucket of [from, to); empty at first */
    const int64_t base = bucket_base(b);

    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t start = time_in(starts[i], ts->nano, b->nano);
        if (start < from || start >= to) {
            value = bucket_floor(start, base, b->step);
            from = add_clamped(value, base);
            to = add_clamped(from, b->step);
        }
        out[i] = value;
    }
    clear_nulls(batch, valid, out);
    b->i64.valid = valid;
    b->i64.few = ts->i64.few;
    return out;
}

static bool bucket_steps(struct scan_batch *batch, struct binding *b, const uint64_t **ret_valid,
                         uint32_t *out)
{
    struct binding *ts = b->part[0];
    int64_t first;

    if (ts->nano != b->nano || __builtin_add_overflow(b->min, bucket_base(b), &first))
        return false;
    kernels()->divide(binding_i64(batch, ts, ret_valid), batch->rows, first, (uint64_t)b->step,
                      b->code_count - 1, out);
    return true;
}

static const int64_t *bucket_zero(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    (void)batch, (void)b, (void)out;
    return no_values.integers;
}

static int bind_bucket(struct scan_worker *w, struct binding *b)
{
    static const struct column_kind all_in_one = {.i64 = bucket_zero};
    const struct source *s = b->source;

    if (s->interval_ns <= 0) {
        b->nulls = false;
        return bind_integers(b, &all_in_one, SHAPE_TIME, 0, 0);
    }
    struct binding *ts = bind_part(w, b, 0);
    if (ts->shape != SHAPE_TIME)
        return 0;
    b->nano = ts->nano || s->interval_ns % 1000 != 0 || s->origin_ns % 1000 != 0;
    b->nulls = ts->nulls;
    b->same_nulls = ts;
    __int128 step = s->interval_ns / (b->nano ? 1 : 1000);
    b->step = step > INT64_MAX ? INT64_MAX : (int64_t)step;
    return bind_integers(
        b, &derived_bucket, SHAPE_TIME,
        bucket_floor(time_in(ts->min, ts->nano, b->nano), bucket_base(b), b->step),
        bucket_floor(time_in(ts->max, ts->nano, b->nano), bucket_base(b), b->step));
}

const struct column_kind derived_bucket = {
    .bind = bind_bucket, .i64 = bucket_i64, .steps = bucket_steps};
