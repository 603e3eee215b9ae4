/* chunk_finish.c - encodes the columns of a chunk as one value. */
#include "column/chunk/density.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* State of the encoding. */
struct finish {
    struct chunk_builder *b;
    struct buf *out;
    size_t start;                  /* of the value in `out` */
    struct column_build **columns; /* columns with values, ascending by path */
    struct column_dir *dirs;
    unsigned count, bitmaps;
    uint16_t *bitmap_owner; /* bitmap -> a column that has these valid bits */
    struct bitmap_dir *bitmap_dirs;
    struct section density;
};

/* Returns the checksum of a section that has just been written, while it is in the cache. */
static uint32_t section_sum(const struct finish *f, struct section s)
{
    return f->out->error ? 0 : chunk_sum(f->out->data + f->start + s.offset, s.len);
}

/* ---- types ----------------------------------------------------------------------------------- */

/* Integers among doubles become doubles if all are exact. */
static bool all_doubles(struct chunk_builder *b, struct column_build *c)
{
    const int64_t exact = (int64_t)1 << 53, *values = stage_values(b, c);
    const char *types = c->types.data;

    if (values == NULL) {
        b->error = -ENOMEM;
        return false;
    }
    for (uint32_t i = 0; i < stage_count(c); i++)
        if (types[i] != TRACE_DOUBLE &&
            (types[i] != TRACE_INT || values[i] < -exact || values[i] > exact))
            return false;
    return c->as_double = true;
}

static enum column_type type_of_column(struct chunk_builder *b, struct column_build *c)
{
    switch (c->type) {
    case TRACE_INT:
        return c->is_time ? COLUMN_TIME : COLUMN_INT;
    case TRACE_DOUBLE:
        return COLUMN_DOUBLE;
    case TRACE_BOOL:
        return COLUMN_BOOL;
    case TRACE_TEXT:
        return COLUMN_TEXT;
    case BUILD_SEVERAL_TYPES:
        return all_doubles(b, c) ? COLUMN_DOUBLE : COLUMN_MIXED;
    default:
        return COLUMN_MIXED;
    }
}

/* ---- columns --------------------------------------------------------------------------------- */

/* Finds the smallest scale from `scale` on for which v * 10^scale is an integer that is exactly
 * v when divided by 10^scale. */
static int find_scale(double v, unsigned *scale, int64_t *ret)
{
    for (; *scale <= COLUMN_SCALES_MAX; ++*scale) {
        double x = v * column_pow10[*scale];
        if (!(fabs(x) < 9007199254740992.0))
            return -ERANGE;
        *ret = llrint(x);
        double back = (double)*ret / column_pow10[*scale];
        if (memcmp(&back, &v, sizeof(v)) == 0)
            return 0;
    }
    return -ERANGE;
}

/* Most doubles in traces have few decimal digits. A scale that suffices for one value also works
 * for values that need less, as long as these stay below 2^53: so one pass finds it, a second
 * one writes. */
static bool scale_doubles(const int64_t *bits, uint32_t n, int64_t *out, uint8_t *ret_scale)
{
    unsigned scale = 0;
    double v;

    for (unsigned pass = 0; pass < 2; pass++)
        for (uint32_t i = 0; i < n; i++) {
            unsigned before = scale;
            memcpy(&v, &bits[i], sizeof(v));
            if (find_scale(v, &scale, &out[i]) < 0 || (pass == 1 && scale != before))
                return false;
        }
    *ret_scale = (uint8_t)scale;
    return true;
}

static const int64_t *doubles_to_write(struct finish *f, const int64_t *values, uint32_t n,
                                       struct column_dir *dir)
{
    int64_t *out = build_scratch(f->b, n, f->out);
    double min = INFINITY, max = -INFINITY, v;
    for (uint32_t i = 0; i < n; i++) {
        memcpy(&v, &values[i], sizeof(v));
        min = v < min ? v : min;
        max = v > max ? v : max;
    }
    memcpy(&dir->min, &min, sizeof(min));
    memcpy(&dir->max, &max, sizeof(max));
    if (memcmp(&min, &max, sizeof(min)) == 0)
        dir->flags |= COLUMN_CONSTANT;
    dir->scale = COLUMN_SCALE_RAW;
    return out != NULL && scale_doubles(values, n, out, &dir->scale) ? out : values;
}

/* Writes the dictionary of a column, if it has one. Returns the integers for its stream of values.
 * NULL: f->out->error is set. */
static const int64_t *prepare_values(struct finish *f, const struct column_build *c,
                                     struct column_dir *dir)
{
    int64_t *values = stage_values(f->b, c);

    if (values == NULL) {
        f->out->error = -ENOMEM;
        return NULL;
    }
    switch (dir->type) {
    case COLUMN_TEXT:
        build_texts(f->b, c, f->start, f->out, dir);
        return values;
    case COLUMN_MIXED:
        if (build_mixed(f->b, c, values, f->start, f->out, dir) < 0)
            f->out->error = -ENOMEM;
        return values;
    case COLUMN_DOUBLE:
        return doubles_to_write(f, values, stage_count(c), dir);
    default:
        return values;
    }
}

static void put_values(struct finish *f, const struct column_build *c, const int64_t *values,
                       struct column_dir *dir)
{
    /* true: the ranges were measured for these values */
    bool staged = dir->type != COLUMN_DOUBLE && dir->type != COLUMN_MIXED;
    unsigned flags = dir->entries ? PACK_NO_DICT : 0;
    uint32_t count = stage_count(c), begin = section_begin(f->out, f->start, count);
    struct pack_range range;

    if (c->compress_if_half)
        flags |= PACK_IF_HALF;
    else if (!c->uncompressed)
        flags |= PACK_MAY_COMPRESS;
    pack_encode_measured(f->b->encoder, values, count, stage_block_ranges(c),
                         staged ? c->full / PACK_BLOCK : 0, flags, &range, f->out);
    dir->values = section_end(f->out, f->start, begin);
    if (staged && dir->type != COLUMN_TEXT) {
        dir->min = range.min;
        dir->max = range.max;
        dir->flags |= range.min == range.max ? COLUMN_CONSTANT : 0;
    }
}

static void put_column(struct finish *f, const struct column_build *c, struct column_dir *dir)
{
    const int64_t *values = prepare_values(f, c, dir);

    dir->flags |= c->nano ? COLUMN_NANO : 0;
    dir->nulls = f->b->rows - stage_count(c);
    if (dir->entries == 1)
        dir->flags |= COLUMN_CONSTANT;
    if (f->out->error == 0)
        put_values(f, c, values, dir);
    dir->sum = section_sum(f, column_body(dir));
}

static bool same_bytes(const struct buf *x, const struct buf *y)
{
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

static bool same_values(const struct column_build *x, const struct column_build *y)
{
    size_t last = (size_t)(x->next - x->fill);

    return x->type == y->type && stage_count(x) == stage_count(y) &&
           same_bytes(&x->types, &y->types) && same_bytes(&x->ranges, &y->ranges) &&
           same_bytes(&x->kept, &y->kept) && memcmp(x->fill, y->fill, last * sizeof(*x->fill)) == 0;
}

/* If `bytes` equals `size` in all rows, the column is stored once, under both names. */
static bool put_as_bytes(struct finish *f, unsigned size)
{
    const struct column_build *bytes = &f->b->column[BUILD_BYTES];
    struct section filter = f->dirs[size].filter;
    uint32_t filter_sum = f->dirs[size].filter_sum;
    unsigned i = 0;

    while (i < size && f->columns[i] != bytes)
        i++;
    if (i == size || f->dirs[i].bitmap != f->dirs[size].bitmap ||
        !same_values(bytes, f->columns[size]))
        return false;
    f->dirs[size] = f->dirs[i];
    f->dirs[size].filter = filter;
    f->dirs[size].filter_sum = filter_sum;
    return true;
}

/* Bloom filters come first, next to the directory, because pruning reads both. Columns with few
 * entries (chunk_may_have compares them) and constants have none. */
static void put_filter(struct finish *f, const struct column_build *c, struct column_dir *dir)
{
    if (c->dimension < 0 || dir->type == COLUMN_TIME)
        return;
    if (build_hashes(f->b, c) < 0) {
        f->out->error = -ENOMEM;
        return;
    }
    const struct hash_list *l = &f->b->hashes[c->dimension];
    if (l->hashes.count <= (c->dict != NULL ? 64 : 1))
        return;
    size_t len = bloom_bytes(l->hashes.count, f->b->options.bloom_rate);
    uint32_t begin = section_begin(f->out, f->start, len);
    char *bits = buf_reserve(f->out, len);
    if (bits == NULL)
        return;
    memset(bits, 0, len);
    for (size_t i = 0; i < l->hashes.count; i++)
        bloom_add((uint8_t *)bits, len, l->hashes.at[i]);
    f->out->len += len;
    dir->filter = section_end(f->out, f->start, begin);
    dir->filter_sum = section_sum(f, dir->filter);
}

/* ---- bitmaps --------------------------------------------------------------------------------- */

/* Returns the number of the bitmap of a column: an existing one that is equal, or a new one. */
static uint16_t find_bitmap(struct finish *f, unsigned column)
{
    struct column_build *c = f->columns[column];
    size_t words = (f->b->rows + 63) / 64;

    if (stage_count(c) == f->b->rows)
        return COLUMN_NO_BITMAP;
    for (unsigned i = 0; i < f->bitmaps; i++) {
        const struct column_build *owner = f->columns[f->bitmap_owner[i]];
        if (stage_count(c) != stage_count(owner) || memcmp(c->valid, owner->valid, words * 8) != 0)
            continue;
        if (c->uncompressed)
            f->bitmap_owner[i] = (uint16_t)column;
        return (uint16_t)i;
    }
    f->bitmap_owner[f->bitmaps] = (uint16_t)column;
    return (uint16_t)f->bitmaps++;
}

static void put_bitmap(struct finish *f, unsigned i)
{
    const struct column_build *c = f->columns[f->bitmap_owner[i]];
    size_t words = (f->b->rows + 63) / 64;
    uint32_t begin = section_begin(f->out, f->start, words * 8);
    int64_t *all = build_scratch(f->b, words, f->out);

    if (all == NULL)
        return;
    memcpy(all, c->valid, words * 8);
    /* Nearly every request reads the bitmap of dur. */
    pack_encode(f->b->encoder, all, words, (c->uncompressed ? 0 : PACK_MAY_COMPRESS) | PACK_NO_DICT,
                f->out);
    f->bitmap_dirs[i].section = section_end(f->out, f->start, begin);
    f->bitmap_dirs[i].sum = section_sum(f, f->bitmap_dirs[i].section);
}

/* ---- values ---------------------------------------------------------------------------------- */

static int compare_paths(const void *a, const void *b)
{
    return text_cmp((*(struct column_build *const *)a)->path,
                    (*(struct column_build *const *)b)->path);
}

static int plan_columns(struct finish *f)
{
    if (build_bitmaps(f->b) < 0)
        return -ENOMEM;
    for (unsigned i = 0; i < f->b->columns; i++)
        if (stage_count(&f->b->column[i]) > 0)
            f->columns[f->count++] = &f->b->column[i];
    qsort(f->columns, f->count, sizeof(*f->columns), compare_paths);
    for (unsigned i = 0; i < f->count; i++) {
        f->dirs[i].type = (uint8_t)type_of_column(f->b, f->columns[i]);
        f->dirs[i].bitmap = find_bitmap(f, i);
    }
    return f->b->error;
}

static void put_directory(struct finish *f, uint32_t number, uint32_t dir_len)
{
    struct chunk_head head = {
        .magic = CHUNK_MAGIC,
        .version = CHUNK_VERSION,
        .columns = (uint16_t)f->count,
        .length = f->out->len - f->start,
        .rows = f->b->rows,
        .number = number,
        .bitmaps = (uint16_t)f->bitmaps,
        .flags = f->b->counts_items ? CHUNK_COUNTS_ITEMS : 0,
        .dir_len = dir_len,
        .density = f->density,
        .density_sum = section_sum(f, f->density),
    };
    char *at = f->out->data + f->start, *dir = at + sizeof(head);
    uint32_t path =
        (uint32_t)(f->count * sizeof(*f->dirs) + f->bitmaps * sizeof(struct bitmap_dir));

    for (unsigned i = 0; i < f->count; i++) {
        struct text name = f->columns[i]->path;
        f->dirs[i].path = path;
        f->dirs[i].path_len = (uint16_t)name.len;
        memcpy(dir + path, name.ptr, name.len);
        path += (uint32_t)name.len;
    }
    memcpy(dir, f->dirs, f->count * sizeof(*f->dirs));
    memcpy(dir + f->count * sizeof(*f->dirs), f->bitmap_dirs,
           f->bitmaps * sizeof(struct bitmap_dir));
    head.dir_hash = chunk_hash(&head, dir);
    memcpy(at, &head, sizeof(head));
}

static int put_value(struct finish *f, uint32_t number)
{
    static const char tail[CHUNK_TAIL];

    if (plan_columns(f) < 0)
        return -ENOMEM;
    size_t bytes = f->count * sizeof(struct column_dir) + f->bitmaps * sizeof(struct bitmap_dir);
    for (unsigned i = 0; i < f->count; i++)
        bytes += f->columns[i]->path.len;
    uint32_t dir_len = (uint32_t)bytes;
    bytes += sizeof(struct chunk_head);
    if (buf_reserve(f->out, bytes) == NULL)
        return -ENOMEM;
    memset(f->out->data + f->out->len, 0, bytes);
    f->out->len += bytes;
    for (unsigned i = 0; i < f->count; i++)
        put_filter(f, f->columns[i], &f->dirs[i]);
    for (unsigned i = 0; i < f->bitmaps; i++)
        put_bitmap(f, i);
    for (unsigned i = 0; i < f->count && f->out->error == 0; i++)
        if (f->columns[i] != &f->b->column[BUILD_SIZE] || !put_as_bytes(f, i))
            put_column(f, f->columns[i], &f->dirs[i]);
    if (f->out->error == 0 &&
        density_put(f->b, f->columns, f->count, f->start, f->out, &f->density) < 0)
        return -ENOMEM;
    buf_append(f->out, tail, sizeof(tail));
    if (f->out->error != 0)
        return f->out->error;
    if (f->out->len - f->start > UINT32_MAX)
        return -EFBIG;
    put_directory(f, number, dir_len);
    return 0;
}

int chunk_builder_finish(struct chunk_builder *b, uint32_t number, struct buf *value,
                         struct chunk_built *ret)
{
    struct finish f = {.b = b, .out = value, .start = value->len};
    int rc = b->error;

    f.columns = arena_alloc(&b->arena, b->columns * sizeof(*f.columns));
    f.dirs = arena_alloc(&b->arena, b->columns * sizeof(*f.dirs));
    f.bitmap_owner = arena_alloc(&b->arena, b->columns * sizeof(*f.bitmap_owner));
    f.bitmap_dirs = arena_alloc(&b->arena, b->columns * sizeof(*f.bitmap_dirs));
    rc = rc ? rc : b->arena.error;
    for (unsigned i = 0; i < b->dimensions; i++)
        b->hashes[i].hashes.count = 0;
    if (rc == 0)
        rc = put_value(&f, number);
    if (rc < 0) {
        value->len = f.start;
    } else if (ret != NULL) {
        *ret = (struct chunk_built){b->rows, b->bad_dur, b->bad_ts, f.count, b->other_values};
    }
    return rc;
}

size_t chunk_builder_hashes(const struct chunk_builder *b, unsigned dimension, const uint64_t **ret)
{
    *ret = NULL;
    if (dimension >= b->dimensions)
        return 0;
    *ret = b->hashes[dimension].hashes.at;
    return b->hashes[dimension].hashes.count;
}
