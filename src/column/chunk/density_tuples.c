/* density_tuples.c - numbers the tuples of rows: rows with equal values in all columns of a set. */
#include "base/group_table.h"
#include "column/chunk/density.h"

#include <errno.h>
#include <stdlib.h>

void *density_reserve(struct buf *b, size_t bytes)
{
    buf_clear(b);
    if (b->error != 0)
        buf_done(b);
    return buf_reserve(b, bytes);
}

void density_done(struct density_work *w)
{
    if (w == NULL)
        return;
    for (unsigned i = 0; i < DENSITY_BUFS; i++)
        buf_done(&w->buf[i]);
}

size_t density_bytes(const struct density_work *w)
{
    size_t bytes = w != NULL ? sizeof(*w) : 0;

    for (unsigned i = 0; w != NULL && i < DENSITY_BUFS; i++)
        bytes += w->buf[i].cap;
    return bytes;
}

void density_trim(struct density_work *w)
{
    if (density_bytes(w) > 8u << 20)
        density_done(w);
}

int density_begin(struct density_work *w, uint32_t rows)
{
    uint32_t *ids = density_reserve(&w->buf[DENSITY_IDS], rows * sizeof(*ids));
    uint32_t *first = density_reserve(&w->buf[DENSITY_FIRST_ROWS], (rows + 1ul) * sizeof(*first));

    if (ids == NULL || first == NULL)
        return -ENOMEM;
    memset(ids, 0, rows * sizeof(*ids));
    first[0] = 0;
    w->rows = rows;
    w->tuples = 1;
    return 0;
}

/* ---- columns --------------------------------------------------------------------------------- */

int density_refine_nulls(struct density_work *w, const int64_t *values, const uint64_t *valid)
{
    uint32_t *ids = density_u32(&w->buf[DENSITY_IDS]);
    uint32_t *first = density_u32(&w->buf[DENSITY_FIRST_ROWS]);
    uint64_t last[2] = {UINT64_MAX, 0}; /* the keys of the row before */
    struct group_table tuples;
    int64_t id = 0;

    group_table_init(&tuples, 2, w->rows + 1ul, NULL);
    for (uint32_t row = 0; row < w->rows && id >= 0; row++) {
        bool has = !valid || (valid[row / 64] >> row % 64 & 1);
        const uint64_t keys[2] = {2ul * ids[row] + !has, has ? (uint64_t)*values++ : 0};
        if (memcmp(keys, last, sizeof(last)) != 0) {
            uint32_t count = tuples.count;
            id = group_table_add(&tuples, keys);
            if (tuples.count > count)
                first[count] = row;
            memcpy(last, keys, sizeof(last));
        }
        ids[row] = (uint32_t)id;
    }
    w->tuples = tuples.count;
    group_table_done(&tuples);
    return id < 0 ? (int)id : 0;
}

/* For a narrow range of values without nulls: uses a table instead of hashing. */
static int refine_by_place(struct density_work *w, const int64_t *values, int64_t min,
                           uint32_t span)
{
    uint32_t *ids = density_u32(&w->buf[DENSITY_IDS]), count = 0;
    uint32_t *first = density_u32(&w->buf[DENSITY_FIRST_ROWS]);
    size_t bytes = (size_t)w->tuples * span * sizeof(uint32_t);
    uint32_t *number = density_reserve(&w->buf[DENSITY_REFINE], bytes);

    if (number == NULL)
        return -ENOMEM;
    memset(number, 0, bytes);
    for (uint32_t row = 0; row < w->rows; row++) {
        uint32_t *at = &number[(size_t)ids[row] * span + (uint64_t)(values[row] - min)];
        if (*at == 0) {
            first[count] = row;
            *at = ++count;
        }
        ids[row] = *at - 1;
    }
    w->tuples = count;
    return 0;
}

int density_refine(struct density_work *w, const int64_t *values, const struct stage_range *range)
{
    enum { PLACES_MAX = 1 << 16 };
    uint64_t span = (uint64_t)range->max - (uint64_t)range->min;

    if (span < PLACES_MAX / w->tuples)
        return refine_by_place(w, values, range->min, (uint32_t)span + 1);
    return density_refine_nulls(w, values, NULL);
}
