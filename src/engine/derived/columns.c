/* columns.c - the columns of a query in the chunk and batch at hand, as answers read them. */
#include "engine/derived/columns.h"

#include "engine/derived/codes.h"

#include <errno.h>

/* ---- a chunk --------------------------------------------------------------------------------- */

/* NULL: the worker remembers why. */
static struct bound *bound_of(struct scan_chunk *c, const struct source *s)
{
    struct bound *b;

    return worker_fails(c->worker, source_bind(c->worker, s, &b)) ? NULL : b;
}

enum scan_shape scan_shape(struct scan_chunk *c, const struct source *s)
{
    const struct bound *b = bound_of(c, s);

    return b ? b->shape : SHAPE_NULL;
}

bool scan_is_nano(struct scan_chunk *c, const struct source *s)
{
    const struct bound *b = bound_of(c, s);

    return b && b->nano;
}

bool scan_range(struct scan_chunk *c, const struct source *s, int64_t *ret_min, int64_t *ret_max)
{
    const struct bound *b = bound_of(c, s);

    if (!b || !bound_is_integer(b))
        return false;
    *ret_min = b->min;
    *ret_max = b->max;
    return true;
}

bool scan_constant(struct scan_chunk *c, const struct source *s, uint64_t *ret_key)
{
    struct bound *b;

    return source_bind(c->worker, s, &b) == 0 && bound_constant(c->worker, b, ret_key);
}

/* ---- dense codes ----------------------------------------------------------------------------- */
int scan_codes(struct scan_chunk *c, const struct source *s, uint32_t limit, uint32_t *ret_count,
               const uint64_t **ret_keys)
{
    struct bound *b;
    int rc = source_bind(c->worker, s, &b);

    if (rc < 0)
        return rc;
    if (b->code_count == 0 || b->code_limit != limit) {
        rc = bound_make_codes(c->worker, b, limit);
        if (rc < 0)
            return rc;
    }
    if (b->code_count == UINT32_MAX)
        return -EDOM;
    *ret_count = b->code_count;
    *ret_keys = b->key_table.data;
    return 0;
}

bool scan_codes_are_stored(struct scan_chunk *c, const struct source *s)
{
    struct bound *b;

    return source_bind(c->worker, s, &b) == 0 && b->form == FORM_STORED && bound_has_dictionary(b);
}

bool scan_same_codes(struct scan_chunk *c, const struct source *a, const struct source *b)
{
    struct bound *x, *y;

    return source_bind(c->worker, a, &x) == 0 && source_bind(c->worker, b, &y) == 0 &&
           x->codes_of && x->codes_of == y->codes_of;
}

/* ---- a batch --------------------------------------------------------------------------------- */

int batch_codes(struct scan_batch *b, const struct source *s, const uint32_t **ret)
{
    struct bound *bound;
    int rc = source_bind(b->chunk->worker, s, &bound);

    return rc < 0 ? rc : bound_group_codes(b, bound, ret);
}

int batch_keys(struct scan_batch *b, const struct source *s, const uint64_t **ret)
{
    struct bound *bound;
    int rc = source_bind(b->chunk->worker, s, &bound);

    return rc < 0 ? rc : bound_keys(b, bound, ret);
}

int batch_i64(struct scan_batch *b, const struct source *s, const int64_t **ret,
              const uint64_t **ret_valid, bool *ret_nano)
{
    struct bound *bound;
    int rc = source_bind(b->chunk->worker, s, &bound);

    if (rc == 0)
        rc = bound_i64(b, bound, ret, ret_valid);
    if (rc == 0 && ret_nano)
        *ret_nano = bound->nano;
    return rc;
}

int batch_f64(struct scan_batch *b, const struct source *s, const double **ret,
              const uint64_t **ret_valid)
{
    struct bound *bound;
    int rc = source_bind(b->chunk->worker, s, &bound);

    return rc < 0 ? rc : bound_f64(b, bound, ret, ret_valid);
}

static void value_of_entry(const struct column_entry *e, struct value *ret)
{
    switch (e->type) {
    case TRACE_INT:
        *ret = (struct value){.type = VALUE_INT, .i = e->i};
        break;
    case TRACE_DOUBLE:
        *ret = (struct value){.type = VALUE_DOUBLE, .d = e->d};
        break;
    case TRACE_BOOL:
        *ret = (struct value){.type = VALUE_BOOL, .i = e->i};
        break;
    case TRACE_TEXT:
        *ret = (struct value){.type = VALUE_TEXT, .text = e->text};
        break;
    case TRACE_JSON:
    case TRACE_BIG:
        *ret = (struct value){.type = VALUE_JSON, .text = e->text};
        break;
    default:
        *ret = (struct value){.type = VALUE_NULL};
        break;
    }
}

static int dictionary_value(struct scan_batch *batch, struct bound *b, uint32_t row,
                            struct value *ret)
{
    struct column_entry e;
    const uint32_t *codes;
    int rc = bound_codes(batch, b, &codes);

    if (rc < 0 || codes[row] == b->entries)
        return rc;
    rc = bound_entry(batch->chunk->worker, b, codes[row], &e);
    if (rc == 0)
        value_of_entry(&e, ret);
    return rc;
}

int batch_value(struct scan_batch *batch, const struct source *s, uint32_t row, struct value *ret)
{
    struct bound *b;
    const int64_t *values;
    const double *doubles;
    const uint64_t *valid;
    int rc = source_bind(batch->chunk->worker, s, &b);

    *ret = (struct value){.type = VALUE_NULL};
    if (rc < 0 || b->form == FORM_NULL)
        return rc;
    if (bound_has_dictionary(b))
        return dictionary_value(batch, b, row, ret);
    rc = bound_is_integer(b) ? bound_i64(batch, b, &values, &valid)
                             : bound_f64(batch, b, &doubles, &valid);
    if (rc < 0 || (valid && !(valid[row / 64] >> row % 64 & 1)))
        return rc;
    if (b->shape == SHAPE_TIME)
        *ret = (struct value){.type = VALUE_TIME,
                              .wide = b->nano ? values[row] : (__int128)values[row] * 1000};
    else if (bound_is_integer(b))
        *ret = (struct value){.type = b->shape == SHAPE_BOOL ? VALUE_BOOL : VALUE_INT,
                              .i = values[row]};
    else
        *ret = (struct value){.type = VALUE_DOUBLE, .d = doubles[row]};
    return 0;
}
