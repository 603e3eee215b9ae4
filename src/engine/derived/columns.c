/* columns.c - the columns of a query in the current chunk and batch, as answers read them. */
#include "engine/derived/columns.h"

#include "engine/derived/batch.h"
#include "engine/derived/derived.h"

/* ---- chunks ---------------------------------------------------------------------------------- */

enum scan_shape scan_shape(struct scan_chunk *c, const struct source *s)
{
    return source_bind(c->worker, s)->shape;
}

bool scan_is_nano(struct scan_chunk *c, const struct source *s)
{
    return source_bind(c->worker, s)->nano;
}

bool scan_range(struct scan_chunk *c, const struct source *s, int64_t *ret_min, int64_t *ret_max)
{
    const struct binding *b = source_bind(c->worker, s);

    if (!binding_is_integer(b))
        return false;
    *ret_min = b->min;
    *ret_max = b->max;
    return true;
}

/* ---- batches --------------------------------------------------------------------------------- */

const int64_t *batch_i64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid,
                         bool *ret_nano)
{
    struct binding *bound = source_bind(b->chunk->worker, s);

    if (ret_nano)
        *ret_nano = bound->nano;
    return binding_i64(b, bound, ret_valid);
}

const double *batch_f64(struct scan_batch *b, const struct source *s, const uint64_t **ret_valid)
{
    return binding_f64(b, source_bind(b->chunk->worker, s), ret_valid);
}

const uint64_t *batch_valid(struct scan_batch *b, const struct source *s)
{
    return binding_valid(b, source_bind(b->chunk->worker, s));
}

struct batch_numbers batch_numbers(struct scan_batch *b, const struct source *s)
{
    enum scan_shape shape = s ? scan_shape(b->chunk, s) : SHAPE_NULL;
    struct batch_numbers n = {.valid = no_values.keys};

    if (shape == SHAPE_INT || shape == SHAPE_TIME)
        n.i = batch_i64(b, s, &n.valid, &n.nano);
    else if (shape == SHAPE_DOUBLE || shape == SHAPE_MIXED)
        n.d = batch_f64(b, s, &n.valid);
    return n;
}

static struct value value_of_entry(const struct column_entry *e)
{
    switch (e->type) {
    case TRACE_INT:
        return (struct value){.type = VALUE_INT, .i = e->i};
    case TRACE_DOUBLE:
        return (struct value){.type = VALUE_DOUBLE, .d = e->d};
    case TRACE_BOOL:
        return (struct value){.type = VALUE_BOOL, .i = e->i};
    case TRACE_TEXT:
        return (struct value){.type = VALUE_TEXT, .text = e->text};
    case TRACE_JSON:
    case TRACE_BIG:
        return (struct value){.type = VALUE_JSON, .text = e->text};
    default:
        return (struct value){.type = VALUE_NULL};
    }
}

struct value batch_value(struct scan_batch *batch, const struct source *s, uint32_t row)
{
    struct binding *b = source_bind(batch->chunk->worker, s);
    const uint64_t *valid;

    if (binding_has_dictionary(b)) {
        uint32_t code = binding_codes(batch, b)[row];
        struct column_entry e = {0};
        if (code != b->entries)
            e = binding_entry(batch->chunk->worker, b, code);
        return value_of_entry(&e);
    }
    if (b->shape == SHAPE_DOUBLE) {
        double value = binding_f64(batch, b, &valid)[row];
        return batch_is_valid(valid, row) ? (struct value){.type = VALUE_DOUBLE, .d = value}
                                          : (struct value){.type = VALUE_NULL};
    }
    int64_t value = binding_i64(batch, b, &valid)[row];
    if (!batch_is_valid(valid, row))
        return (struct value){.type = VALUE_NULL};
    if (b->shape == SHAPE_TIME)
        return (struct value){.type = VALUE_TIME, .wide = b->nano ? value : (__int128)value * 1000};
    return (struct value){.type = b->shape == SHAPE_BOOL ? VALUE_BOOL : VALUE_INT, .i = value};
}
