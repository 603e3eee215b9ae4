/* measure_encode.c - encodes sketches. The bytes depend on the values only, not on the order in
 * which they were added or merged.
 *
 *   kind (1: empty, 2: whole numbers, 3: doubles, 4: bins), and unless it is empty: varint count,
 *   then
 *   2: the values ascending: zigzag of the first, differences
 *   3: the values ascending, 8 bytes each
 *   4: min and max (8 bytes each), varint number of bins, then for each the step from the bin
 *      before and its count
 */
#include "base/measure_sketch.h"
#include "base/recbuf.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = 1, WHOLE, DOUBLES, BINS };

/* ---- writing --------------------------------------------------------------------------------- */

static void put_values(const struct sketch *s, struct buf *out)
{
    double v[SKETCH_EXACT];
    bool whole = true;

    sketch_sorted_values(s, v);
    for (uint64_t i = 0; i < s->count; i++)
        whole &= fabs(v[i]) < 4503599627370496.0 && v[i] == floor(v[i]);
    buf_putc(out, whole ? WHOLE : DOUBLES);
    rec_put_u(out, s->count);
    if (!whole) {
        buf_append(out, v, s->count * sizeof(*v));
        return;
    }
    rec_put_i(out, (int64_t)v[0]);
    for (uint64_t i = 1; i < s->count; i++)
        rec_put_u(out, (uint64_t)((int64_t)v[i] - (int64_t)v[i - 1]));
}

static void put_bins(const struct sketch *s, struct buf *out)
{
    uint32_t before = 0, bins = 0;

    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);)
        bins++;
    buf_putc(out, BINS);
    rec_put_u(out, s->count);
    buf_append(out, &s->min, sizeof(s->min));
    buf_append(out, &s->max, sizeof(s->max));
    rec_put_u(out, bins);
    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);) {
        rec_put_u(out, w.bin - before);
        rec_put_u(out, w.count);
        before = w.bin;
    }
}

void sketch_encode(const struct sketch *s, struct buf *out)
{
    if (s->count == 0)
        buf_putc(out, EMPTY);
    else if (s->binned)
        put_bins(s, out);
    else
        put_values(s, out);
}

/* ---- reading --------------------------------------------------------------------------------- */

static double read_double(struct rec *r)
{
    double d = 0;

    rec_array(r, &d, sizeof(d));
    r->bad |= isnan(d);
    return d;
}

static int read_whole(struct rec *r, struct sketch *s, uint64_t count)
{
    int64_t value = 0;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && !r->bad && i < count; i++) {
        value = i ? (int64_t)((uint64_t)value + rec_u(r)) : rec_i(r);
        rc = sketch_add(s, (double)value);
    }
    return rc;
}

/* Counts must add up, and bins must ascend and be those of doubles. The lower end of each bin is
 * added as a value, which sets the bins; min and max are set afterwards. */
static int read_bins(struct rec *r, struct sketch *s, uint64_t count)
{
    double min = read_double(r), max = read_double(r);
    uint64_t bins = rec_u(r), sum = 0, bin = 0;
    int rc = 0;

    r->bad |= !(min <= max) || bins == 0;
    for (uint64_t i = 0; rc == 0 && !r->bad && i < bins; i++) {
        uint64_t step = rec_u(r), n = rec_u(r);
        r->bad |= (i > 0 && step == 0) || n == 0 || n > count - sum || step > UINT32_MAX ||
                  bin + step > UINT32_MAX;
        if (r->bad)
            break;
        bin += step;
        sum += n;
        double value = sketch_bin_value((uint32_t)bin, false);
        if (isnan(value) || sketch_bin(value) != bin) {
            r->bad = true;
            break;
        }
        rc = sketch_add_many(s, value, n);
    }
    r->bad |= sum != count || count <= SKETCH_EXACT || !s->binned;
    s->min = min;
    s->max = max;
    return rc;
}

ssize_t sketch_decode(const void *data, size_t len, struct sketch **ret)
{
    struct rec r = rec_of((struct text){data, len});
    struct sketch *s = sketch_new();
    uint64_t kind = rec_choice(&r, BINS), count = kind == EMPTY ? 0 : rec_u(&r);
    int rc = 0;

    if (s == NULL)
        return -ENOMEM;
    r.bad |= kind < EMPTY ||
             ((kind == WHOLE || kind == DOUBLES) && (count == 0 || count > SKETCH_EXACT));
    if (kind == WHOLE)
        rc = read_whole(&r, s, count);
    for (uint64_t i = 0; kind == DOUBLES && rc == 0 && !r.bad && i < count; i++)
        rc = sketch_add(s, read_double(&r));
    if (kind == BINS && !r.bad)
        rc = read_bins(&r, s, count);
    if (rc < 0 || r.bad) {
        sketch_free(s);
        return rc < 0 ? rc : ERR_CORRUPT;
    }
    *ret = s;
    return r.ptr - (const uint8_t *)data;
}
