/* measure_encode.c - encodes sketches. The bytes depend on the values only, not on the order in
 * which they were added or merged.
 *
 *   kind (1: empty, 2: whole numbers, 3: doubles, 4: bins), varint count, then
 *   2: the values ascending: zigzag of the first, differences
 *   3: the values ascending, 8 bytes each
 *   4: min and max (8 bytes each), varint number of bins, then for each the step from the bin
 *      before and its count
 */
#include "base/measure_sketch.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { EMPTY = 1, WHOLE, DOUBLES, BINS };

static void put_varint(struct buf *out, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        buf_putc(out, (char)(v | 128));
    buf_putc(out, (char)v);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void put_values(const struct sketch *s, struct buf *out)
{
    double v[SKETCH_EXACT];
    bool whole = true;
    int64_t before = 0;

    memcpy(v, s->values, s->count * sizeof(*v));
    qsort(v, s->count, sizeof(*v), sketch_compare);
    for (uint64_t i = 0; i < s->count; i++)
        whole &= fabs(v[i]) < 4503599627370496.0 && v[i] == floor(v[i]);
    buf_putc(out, whole ? WHOLE : DOUBLES);
    put_varint(out, s->count);
    if (!whole) {
        buf_append(out, v, s->count * sizeof(*v));
        return;
    }
    for (uint64_t i = 0; i < s->count; i++) {
        int64_t now = (int64_t)v[i], step = now - before;
        put_varint(out, i ? (uint64_t)step : (uint64_t)step << 1 ^ (uint64_t)(step >> 63));
        before = now;
    }
}

static void put_bins(const struct sketch *s, struct buf *out)
{
    uint32_t before = 0, bins = 0;

    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);)
        bins++;
    buf_putc(out, BINS);
    put_varint(out, s->count);
    buf_append(out, &s->min, sizeof(s->min));
    buf_append(out, &s->max, sizeof(s->max));
    put_varint(out, bins);
    for (struct sketch_walk w = sketch_walk(s); sketch_walk_next(s, &w);) {
        put_varint(out, w.bin - before);
        put_varint(out, w.count);
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

struct bytes {
    const uint8_t *at, *end;
    bool bad;
};

static uint64_t take_varint(struct bytes *b)
{
    uint64_t v = 0;

    for (unsigned shift = 0; b->at < b->end && shift < 64; shift += 7) {
        uint8_t byte = *b->at++;
        v |= (uint64_t)(byte & 127) << shift;
        if (byte < 128)
            return v;
    }
    b->bad = true;
    return 0;
}

static double take_double(struct bytes *b)
{
    double d = 0;

    if (b->end - b->at < 8) {
        b->bad = true;
        return 0;
    }
    memcpy(&d, b->at, 8);
    b->at += 8;
    b->bad |= isnan(d);
    return d;
}

static int take_whole(struct bytes *b, struct sketch *s, uint64_t count)
{
    int64_t now = 0;
    int rc = 0;

    for (uint64_t i = 0; rc == 0 && !b->bad && i < count; i++) {
        uint64_t step = take_varint(b);
        now = i ? (int64_t)((uint64_t)now + step) : (int64_t)(step >> 1 ^ -(step & 1));
        rc = sketch_add(s, (double)now);
    }
    return rc;
}

/* Counts must add up, and bins must ascend and be those of doubles. The lower end of each bin is
 * added as a value, which sets the bins; min and max are set afterwards. */
static int take_bins(struct bytes *b, struct sketch *s, uint64_t count)
{
    double min = take_double(b), max = take_double(b);
    uint64_t bins = take_varint(b), sum = 0, bin = 0;
    int rc = 0;

    b->bad |= !(min <= max) || bins == 0;
    for (uint64_t i = 0; rc == 0 && !b->bad && i < bins; i++) {
        uint64_t step = take_varint(b), n = take_varint(b);
        b->bad |= (i > 0 && step == 0) || n == 0 || n > count - sum || step > UINT32_MAX ||
                  bin + step > UINT32_MAX;
        if (b->bad)
            break;
        bin += step;
        sum += n;
        double value = sketch_bin_value((uint32_t)bin, false);
        if (isnan(value) || sketch_bin(value) != bin) {
            b->bad = true;
            break;
        }
        rc = sketch_add_many(s, value, n);
    }
    b->bad |= sum != count || count <= SKETCH_EXACT || !s->binned;
    s->min = min;
    s->max = max;
    return rc;
}

ssize_t sketch_decode(const void *data, size_t len, struct sketch **ret)
{
    struct bytes b = {data, (const uint8_t *)data + len, len == 0};
    struct sketch *s = sketch_new();
    unsigned kind = b.bad ? 0 : *b.at++;
    uint64_t count = 0;
    int rc = 0;

    if (s == NULL)
        return -ENOMEM;
    if (kind != EMPTY)
        count = take_varint(&b);
    b.bad |= kind < EMPTY || kind > BINS ||
             ((kind == WHOLE || kind == DOUBLES) && (count == 0 || count > SKETCH_EXACT));
    if (!b.bad && kind == WHOLE)
        rc = take_whole(&b, s, count);
    else if (!b.bad && kind == DOUBLES)
        for (uint64_t i = 0; rc == 0 && !b.bad && i < count; i++)
            rc = sketch_add(s, take_double(&b));
    else if (!b.bad && kind == BINS)
        rc = take_bins(&b, s, count);
    if (rc < 0 || b.bad) {
        sketch_free(s);
        return rc < 0 ? rc : ERR_CORRUPT;
    }
    *ret = s;
    return b.at - (const uint8_t *)data;
}
