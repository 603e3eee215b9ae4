/* density_put.c - decides which chunks have densities, and writes them. */
#include "column/chunk/density.h"

#include <errno.h>
#include <stdlib.h>

static struct column_build *find_column(struct column_build *const *columns, unsigned count,
                                        const char *path)
{
    for (unsigned i = 0; i < count; i++)
        if (text_eq(columns[i]->path, text_of(path)))
            return columns[i];
    return NULL;
}

/* ---- tuples ---------------------------------------------------------------------------------- */

static bool has_nulls(const struct chunk_builder *b, const struct column_build *c)
{
    return stage_count(c) < b->rows;
}

/* Returns -EDOM for values of other or several types. */
static int refine_tuples(struct chunk_builder *b, const struct column_build *c)
{
    if (c == NULL)
        return 0;
    if (c->type == BUILD_SEVERAL_TYPES)
        return -EDOM;
    struct stage_range range = stage_range(c);
    if (range.min == range.max && !has_nulls(b, c))
        return 0;
    if (c->type != TRACE_INT && c->type != TRACE_TEXT)
        return -EDOM;
    const int64_t *values = stage_values(b, c);
    if (values == NULL)
        return -ENOMEM;
    if (has_nulls(b, c))
        return density_refine_nulls(b->density, values, c->valid);
    return density_refine(b->density, values, &range);
}

/* The tuples of each set are a refinement of those of the set before. */
static int find_tuples(struct chunk_builder *b, struct column_build *const *columns, unsigned count,
                       unsigned set)
{
    static const char *const paths[] = {"@class", "args.hhash", "args.hostname",
                                        "pid",    "tid",        "cat"};
    int rc = 0;

    if (set == DENSITY_BY_NAME)
        return refine_tuples(b, find_column(columns, count, "name"));
    rc = density_begin(b->density, b->rows);
    for (unsigned i = 0; rc == 0 && i < sizeof(paths) / sizeof(*paths); i++)
        rc = refine_tuples(b, find_column(columns, count, paths[i]));
    return rc;
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Returns true for integers that are not negative and, in ns, not too large. */
static bool are_valid_times(const struct column_build *c, int64_t unit)
{
    struct stage_range range = stage_range(c);

    return c->type == TRACE_INT && c->is_time && range.min >= 0 &&
           range.max <= DENSITY_TIME_MAX / unit;
}

/* Reads times in ns; null rows get `null`. Returns -EDOM if they are not valid. */
static int read_times(struct chunk_builder *b, const struct column_build *c, int64_t null,
                      struct buf *to)
{
    int64_t *out = density_reserve(to, b->rows * sizeof(*out)),
            unit = c != NULL && !c->nano ? 1000 : 1;
    const int64_t *values = NULL;

    if (out == NULL)
        return -ENOMEM;
    if (c != NULL && !are_valid_times(c, unit))
        return -EDOM;
    if (c != NULL && (values = stage_values(b, c)) == NULL)
        return -ENOMEM;
    if (c != NULL && !has_nulls(b, c)) {
        for (uint32_t row = 0; row < b->rows; row++)
            out[row] = values[row] * unit;
        return 0;
    }
    for (uint32_t row = 0; row < b->rows; row++) {
        bool has = c != NULL && (c->valid[row / 64] >> row % 64 & 1);
        out[row] = has ? *values++ * unit : null;
    }
    return 0;
}

/* Converts dur to te. A row without ts gets that of its neighbour, which is only used to choose a
 * level. */
static void find_range(struct density_work *w)
{
    int64_t *ts = density_i64(&w->buf[DENSITY_TS]), *te = density_i64(&w->buf[DENSITY_TE]),
            last = 0;

    w->min_ts = INT64_MAX;
    w->max_te = -1;
    for (uint32_t row = 0; row < w->rows; row++) {
        if (ts[row] < 0) {
            ts[row] = last;
            te[row] = -1;
            continue;
        }
        last = ts[row];
        te[row] += ts[row];
        w->min_ts = ts[row] < w->min_ts ? ts[row] : w->min_ts;
        w->max_te = te[row] > w->max_te ? te[row] : w->max_te;
    }
}

static int find_times(struct chunk_builder *b, struct column_build *const *columns, unsigned count,
                      uint32_t *ret_unit)
{
    const struct column_build *ts = find_column(columns, count, "ts"),
                              *dur = find_column(columns, count, "dur");
    struct density_work *w = b->density;
    int rc = ts == NULL ? -EDOM : read_times(b, ts, -1, &w->buf[DENSITY_TS]);

    rc = rc < 0 ? rc : read_times(b, dur, 0, &w->buf[DENSITY_TE]);
    if (rc == 0 && has_nulls(b, ts)) {
        bool bad = false;
        /* Only metadata may have no time. */
        const int64_t *classes = stage_values(b, &b->column[BUILD_CLASS]);
        for (uint32_t row = 0; classes != NULL && row < b->rows; row++)
            bad |= density_i64(&w->buf[DENSITY_TS])[row] < 0 && classes[row] != TRACE_METADATA;
        rc = classes == NULL ? -ENOMEM : bad ? -EDOM : 0;
    }
    if (rc < 0)
        return rc;
    w->rows = b->rows;
    find_range(w);
    *ret_unit = ts->nano || (dur != NULL && dur->nano) ? 1 : 1000;
    return w->max_te < 0 ? -EDOM : 0;
}

/* ---- bytes ----------------------------------------------------------------------------------- */

struct putter {
    struct chunk_builder *b;
    struct density_work *w;
    struct density_dir dir;
    struct buf *out;
    size_t start, bytes; /* bytes: of the encoded chunk, beyond a number of bytes for each row */
};

static struct section put_stream(struct putter *p, size_t n)
{
    uint32_t begin = section_begin(p->out, p->start, n);

    if (p->out->error == 0)
        pack_encode(p->b->encoder, (const int64_t *)(const void *)p->b->scratch.data, n,
                    PACK_NO_DICT, p->out);
    return section_end(p->out, p->start, begin);
}

static struct section put_rows(struct putter *p, const uint32_t *rows, uint32_t n)
{
    int64_t *values = build_scratch(p->b, n, p->out);

    for (uint32_t i = 0; values != NULL && i < n; i++)
        values[i] = rows[i];
    return put_stream(p, n);
}

static void put_level(struct putter *p, struct density_streams *ret)
{
    const struct density_work *w = p->w;
    const struct density_cell *all = density_cell_array(&w->buf[DENSITY_SORTED]);
    unsigned bits = pack_bit_length((uint64_t)((w->max_te >> w->shift) - w->base));
    int64_t *values = build_scratch(p->b, w->count, p->out);

    *ret = (struct density_streams){
        .base = w->base, .cells = w->count, .shift = (uint8_t)w->shift, .bits = (uint8_t)bits};
    if (values == NULL)
        return;
    for (uint32_t i = 0; i < w->count; i++)
        values[i] = (int64_t)((all[i].key >> 32) << bits | (uint32_t)all[i].key);
    ret->keys = put_stream(p, w->count);
    for (uint32_t i = 0; i < w->count; i++)
        values[i] = all[i].begins;
    ret->begins = put_stream(p, w->count);
    for (uint32_t i = 0; i < w->count; i++)
        values[i] = all[i].delta;
    ret->deltas = put_stream(p, w->count);
    for (uint32_t i = 0; i < w->count; i++) {
        int64_t begin = (w->base + (int64_t)(uint32_t)all[i].key) << w->shift;
        values[i] =
            (all[i].moment - density_moment_rest(&p->dir, all[i].delta, begin)) / p->dir.unit;
    }
    ret->moments = put_stream(p, w->count);
}

/* A coarser level is only written if it is much smaller. */
static void put_levels(struct putter *p, struct density_set_dir *ret)
{
    for (uint32_t max = p->w->count; p->w->count <= max; density_cells_merge(p->w)) {
        put_level(p, &ret->level[ret->levels++]);
        if (ret->levels == DENSITY_LEVELS)
            return;
        max = p->w->count / 2;
    }
}

static int put_set(struct putter *p, struct column_build *const *columns, unsigned count,
                   unsigned set)
{
    static const unsigned bytes[DENSITY_SETS] = {DENSITY_BYTES_BY_CAT, DENSITY_BYTES_BY_NAME};
    struct density_set_dir *dir = &p->dir.set[set];
    int rc = find_tuples(p->b, columns, count, set);

    rc = rc < 0 ? rc : density_cells_make(p->w, (uint32_t)(p->bytes / bytes[set]));
    if (rc < 0)
        return rc;
    dir->tuples = p->w->tuples;
    dir->rows = put_rows(p, density_u32(&p->w->buf[DENSITY_FIRST_ROWS]), dir->tuples);
    put_levels(p, dir);
    return p->out->error;
}

static void put_longest(struct putter *p)
{
    uint32_t rows[DENSITY_LONGEST];

    density_find_longest(p->w);
    for (uint32_t i = 0; i < p->w->longest_count; i++)
        rows[i] = p->w->longest[i].row;
    p->dir.longest = p->w->longest_count;
    p->dir.rest_dur = p->w->rest_dur;
    p->dir.longest_rows = put_rows(p, rows, p->w->longest_count);
    int64_t *durs = build_scratch(p->b, p->w->longest_count, p->out);
    for (uint32_t i = 0; durs != NULL && i < p->w->longest_count; i++)
        durs[i] = p->w->longest[i].dur;
    p->dir.longest_durs = put_stream(p, p->w->longest_count);
}

/* A chunk without the first set has no densities. */
static int put_all(struct putter *p, struct column_build *const *columns, unsigned count,
                   struct section *ret)
{
    size_t before = p->out->len;
    uint32_t begin = section_begin(p->out, p->start, sizeof(p->dir));

    buf_append(p->out, &p->dir, sizeof(p->dir));
    p->dir.min_ts = p->w->min_ts;
    p->dir.max_te = p->w->max_te;
    int rc = put_set(p, columns, count, DENSITY_BY_CAT);
    if (rc == 0) {
        put_longest(p);
        rc = put_set(p, columns, count, DENSITY_BY_NAME);
        rc = rc == -EDOM ? 0 : rc;
    }
    if (rc < 0 || p->out->error != 0) {
        p->out->len = before;
        return rc < 0 ? rc : p->out->error;
    }
    *ret = section_end(p->out, p->start, begin);
    memcpy(p->out->data + p->start + begin, &p->dir, sizeof(p->dir));
    return 0;
}

int density_put(struct chunk_builder *b, struct column_build *const *columns, unsigned count,
                size_t start, struct buf *out, struct section *ret)
{
    struct putter p = {.b = b, .out = out, .start = start};
    size_t bytes = out->len - start, fixed = (size_t)b->rows * DENSITY_BYTES_A_ROW;

    *ret = (struct section){0, 0};
    if (b->rows < DENSITY_ROWS_MIN || b->other_values > 0)
        return 0;
    if (b->density == NULL && (b->density = calloc(1, sizeof(*b->density))) == NULL)
        return -ENOMEM;
    p.w = b->density;
    p.bytes = bytes > fixed ? bytes - fixed : 0;
    int rc = find_times(b, columns, count, &p.dir.unit);
    rc = rc < 0 ? rc : put_all(&p, columns, count, ret);
    density_trim(b->density);
    return rc == -EDOM ? 0 : rc;
}
