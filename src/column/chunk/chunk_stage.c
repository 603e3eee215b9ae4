/* chunk_stage.c - stores a column's values until the chunk is finished: blocks of 1,024 values,
 * in as few bytes each as their range allows. A chunk has 300,000 values: with 8 bytes each they
 * would not stay in the cache, and cause cache misses both when they are written and when they
 * are read. */
#include "column/chunk/chunk_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* All columns grow at the same speed. If the arrays began at the same offset of a page, their ends
 * would use the same few sets of the L1 cache: so each has another offset. */
int stage_begin(struct column_build *c, unsigned number)
{
    if (c->fill == NULL) {
        c->skew = (uint16_t)(number * 7 % 60 * 64);
        char *memory = malloc(PACK_BLOCK * sizeof(*c->fill) + c->skew);
        if (memory == NULL)
            return -ENOMEM;
        c->fill = (int64_t *)(void *)(memory + c->skew);
    }
    c->next = c->fill;
    c->end = c->fill + PACK_BLOCK;
    return 0;
}

void stage_done(struct column_build *c)
{
    if (c->fill != NULL)
        free((char *)c->fill - c->skew);
    c->fill = NULL;
    buf_done(&c->kept);
    buf_done(&c->ranges);
    buf_done(&c->places);
    buf_done(&c->types);
}

size_t stage_bytes(const struct column_build *c)
{
    return (c->fill ? PACK_BLOCK * sizeof(*c->fill) + c->skew : 0) + c->kept.cap + c->ranges.cap +
           c->places.cap + c->types.cap;
}

int stage_store_block(struct column_build *c)
{
    struct pack_range range;
    struct stage_place place = {.at = c->kept.len};

    c->next = c->fill; /* on failure, too: callers add other values before they check for errors */
    pack_kernels()->measure(c->fill, PACK_BLOCK, &range);
    if (range.min != range.max)
        place.bytes = (uint8_t)pack_aligned_bytes((uint64_t)range.max - (uint64_t)range.min);
    char *to = buf_reserve(&c->kept, (size_t)place.bytes * PACK_BLOCK);
    if (to == NULL)
        return -ENOMEM;
    if (place.bytes > 0)
        pack_kernels()->narrow64(c->fill, place.bytes, PACK_BLOCK, (uint64_t)range.min,
                                 (uint8_t *)to);
    c->kept.len += (size_t)place.bytes * PACK_BLOCK;
    buf_append(&c->ranges, &range, sizeof(range));
    buf_append(&c->places, &place, sizeof(place));
    c->full += PACK_BLOCK;
    return c->ranges.error | c->places.error;
}

struct stage_range stage_range(const struct column_build *c)
{
    struct pack_range last = {.min = INT64_MAX, .max = INT64_MIN};

    if (c->next > c->fill)
        pack_kernels()->measure(c->fill, (size_t)(c->next - c->fill), &last);
    struct stage_range all = {last.min, last.max};
    for (uint32_t i = 0; i < c->full / PACK_BLOCK; i++) {
        const struct pack_range *r = &stage_block_ranges(c)[i];
        all.min = r->min < all.min ? r->min : all.min;
        all.max = r->max > all.max ? r->max : all.max;
    }
    return all;
}

int stage_replace(struct column_build *c, const int64_t *values, uint32_t count)
{
    int rc = 0;

    c->full = 0;
    c->next = c->fill;
    buf_clear(&c->kept);
    buf_clear(&c->ranges);
    buf_clear(&c->places);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        rc = stage_push(c, values[i]);
    return rc;
}

static void decode_block(const struct column_build *c, size_t block, int64_t *out)
{
    const struct stage_place *place =
        (const struct stage_place *)(const void *)c->places.data + block;
    int64_t base = stage_block_ranges(c)[block].min;

    if (place->bytes > 0)
        pack_kernels()->widen64((const uint8_t *)c->kept.data + place->at, place->bytes, PACK_BLOCK,
                                (uint64_t)base, (uint64_t *)out);
    else
        for (uint32_t i = 0; i < PACK_BLOCK; i++)
            out[i] = base;
}

int64_t *stage_values(struct chunk_builder *b, const struct column_build *c)
{
    buf_clear(&b->values);
    int64_t *out = (int64_t *)(void *)buf_reserve(&b->values, (stage_count(c) + 1) * sizeof(*out));
    if (out == NULL)
        return NULL;
    for (size_t i = 0; i < c->full; i += PACK_BLOCK)
        decode_block(c, i / PACK_BLOCK, out + i);
    memcpy(out + c->full, c->fill, (size_t)(c->next - c->fill) * sizeof(*out));
    if (c->as_double) {
        /* Integers among doubles become doubles; as_double is set only if all are exact. */
        for (uint32_t i = 0; i < stage_count(c); i++)
            if (c->types.data[i] == TRACE_INT) {
                double d = (double)out[i];
                memcpy(&out[i], &d, sizeof(d));
            }
    }
    return out;
}

int64_t *build_scratch(struct chunk_builder *b, size_t n, struct buf *out)
{
    buf_clear(&b->scratch);
    int64_t *values = (int64_t *)(void *)buf_reserve(&b->scratch, (n + 1) * sizeof(*values));
    if (values == NULL)
        out->error = -ENOMEM;
    return values;
}

int build_note_type(struct column_build *c, uint8_t type)
{
    uint32_t count = stage_count(c);

    if (c->type == 0) {
        c->type = type;
        c->kind = type < TRACE_TEXT    ? (c->is_time ? BUILD_TIME : BUILD_NUMBER)
                  : type == TRACE_TEXT ? BUILD_TEXT
                                       : BUILD_KIND_ANY;
    }
    if (c->type == type || c->type == BUILD_SEVERAL_TYPES)
        return 0;
    char *types = buf_reserve(&c->types, count + 1);
    if (types == NULL)
        return -ENOMEM;
    memset(types, c->type, count);
    c->types.len = count;
    c->type = BUILD_SEVERAL_TYPES;
    c->kind = BUILD_KIND_ANY;
    return 0;
}
