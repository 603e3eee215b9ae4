/* dense.c - the integers of a chunk as codes without gaps, in the order of their first occurrence.
 *
 * A chunk has few processes and threads, but their ids are far apart: with distances from the
 * minimum as codes, combinations of several columns would not fit into a table. The column is read
 * once as a whole, for scans that need many rows anyway. Columns that are functions of it, such as
 * the rank of a pid, share its codes. */
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/keys.h"

#include <errno.h>
#include <string.h>

/* Number of integers from the minimum to the maximum. Up to SPAN_DENSE, the distances are the
 * codes: unused codes cost less than numbering values. */
enum { SPAN_DENSE = 8, SPAN_MAX = 65536 };

/* Replaces distances by numbers, in the order of first occurrence. numbers: number + 1 by distance,
 * 0 = none yet. */
static uint32_t number_rows(uint32_t *restrict codes, uint32_t n, int64_t min, uint32_t count,
                            uint32_t *restrict numbers, int64_t *restrict values)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t distance = codes[i], number = numbers[distance];
        if (__builtin_expect(number == 0, 0)) {
            values[count] = min + (int64_t)distance;
            number = numbers[distance] = ++count;
        }
        codes[i] = number - 1;
    }
    return count;
}

/* Spreads the values of up to 64 rows. Returns the rest of the values. Nulls come in clusters. */
static const uint32_t *spread_word(uint64_t valid, uint32_t n, const uint32_t *from, uint32_t null,
                                   uint32_t *to)
{
    if (valid == UINT64_MAX) {
        memmove(to, from, 64 * sizeof(*to));
        return from + 64;
    }
    for (uint32_t i = 0; i < n; i++, valid >>= 1) {
        to[i] = valid & 1 ? *from : null;
        from += valid & 1;
    }
    return from;
}

/* Moves the values at the end of `codes` to their rows. Rows without one get `null`. */
static int spread_codes(struct scan_worker *w, const struct binding *b, uint32_t *codes,
                        uint32_t null)
{
    const uint32_t *from = codes + b->column.nulls;
    const uint32_t rows = w->chunk.rows;
    uint64_t valid[SCAN_WORDS];
    int rc = 0;

    for (uint32_t first = 0, n; first < rows && rc == 0; first += n) {
        n = rows - first < SCAN_BATCH ? rows - first : SCAN_BATCH;
        rc = column_read_valid(w->chunk.view, &b->column, first, n, valid);
        for (uint32_t i = 0; i < n && rc == 0; i += 64)
            from =
                spread_word(valid[i / 64], n - i < 64 ? n - i : 64, from, null, codes + first + i);
    }
    return rc;
}

int binding_number_values(struct scan_worker *w, struct binding *b, bool exactly)
{
    uint32_t rows = w->chunk.rows, value_count = rows - b->column.nulls, count = 0;
    uint64_t distance = (uint64_t)b->column.max - (uint64_t)b->column.min;
    int rc = 0;

    if (b->dense_count)
        return 0;
    if (!b->stored || b->shape != SHAPE_INT || distance >= SPAN_MAX || !(w->chunk.many || exactly))
        return -EDOM;
    uint32_t span = (uint32_t)distance + 1;
    uint32_t *codes = scratch_reserve(&b->dense_codes, ((size_t)rows + 64) * sizeof(*codes));
    uint32_t *numbers = scratch_reserve(&b->dense_numbers, span * sizeof(*numbers));
    int64_t *values = scratch_reserve(&b->dense_values, span * sizeof(*values));
    if (!codes || !numbers || !values)
        return -ENOMEM;
    memset(numbers, 0, span * sizeof(*numbers));
    bool by_distance = span <= SPAN_DENSE && !exactly;
    for (; by_distance && count < span; count++)
        values[count] = b->column.min + (int64_t)count;
    for (uint32_t first = 0, n; first < value_count; first += n) {
        uint32_t *part = codes + b->column.nulls + first;
        n = value_count - first < SCAN_BATCH ? value_count - first : SCAN_BATCH;
        rc = column_read_distances(w->chunk.view, &b->column, first, n, part);
        if (rc < 0)
            return rc;
        if (!by_distance)
            count = number_rows(part, n, b->column.min, count, numbers, values);
    }
    rc = b->column.nulls ? spread_codes(w, b, codes, count) : 0;
    b->dense_count = rc < 0 ? 0 : count;
    return rc;
}

int binding_dense_codes(struct scan_worker *w, struct binding *b, uint32_t limit)
{
    struct binding *stored = b->kind->of_part ? b->part[0] : b;
    int rc = binding_number_values(w, stored, false);

    if (rc < 0 || stored->dense_count >= limit)
        return rc < 0 ? rc : -EDOM;
    const int64_t *values = stored->dense_values.data;
    uint64_t *keys = scratch_reserve(&b->key_table, (stored->dense_count + 1ul) * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    for (uint32_t i = 0; i < stored->dense_count && rc == 0; i++) {
        int64_t value = values[i];
        bool has_value = b == stored || b->kind->of_part(b, value, &value);
        keys[i] = QUERY_KEY_NULL;
        rc = has_value ? key_of_i64(w->query, value, &keys[i]) : 0;
        keys[i] = fold_key(w->query, b->source, keys[i]);
    }
    keys[stored->dense_count] = QUERY_KEY_NULL;
    b->code_count = rc < 0 ? UINT32_MAX : stored->dense_count + 1;
    b->codes_of = stored;
    return rc;
}

const uint32_t *batch_dense_codes(struct scan_batch *batch, struct binding *b)
{
    const uint32_t *codes = b->codes_of->dense_codes.data;

    if (!batch->places)
        return codes + batch->first;
    uint32_t *picked = lane_begin(&b->codes, batch);
    for (uint32_t i = 0; i < batch->rows; i++)
        picked[i] = codes[batch->places[i]];
    return picked;
}
