/* codes.c - keys and dense codes of the columns of a chunk, which answers group by. */
#include "engine/derived/bind.h"
#include "engine/derived/codes.h"
#include "engine/derived/keys.h"

#include <errno.h>

static int key_of_integer(struct query *q, const struct binding *b, int64_t value, uint64_t *ret)
{
    if (b->shape == SHAPE_TIME)
        return key_of_time(q, value, b->nano, ret);
    return b->shape == SHAPE_BOOL ? key_of_bool(value, ret) : key_of_i64(q, value, ret);
}

/* Returns NULL if the worker has an error. */
static const uint64_t *make_key_table(struct scan_worker *w, struct binding *b)
{
    if (b->has_key_table)
        return b->key_table.data;
    uint64_t *keys = scratch_reserve(&b->key_table, ((size_t)b->entries + 1) * sizeof(*keys));
    int rc = keys ? 0 : -ENOMEM;
    for (uint32_t i = 0; rc == 0 && !w->error && i < b->entries; i++) {
        if (i % ENTRIES_CHECKED == ENTRIES_CHECKED - 1)
            rc = budget_check(w->query->budget);
        if (b->ids && b->ids[i] != INDEX_NO_TEXT) {
            keys[i] = key_make(KEY_TEXT, b->ids[i]);
            continue;
        }
        struct column_entry e = binding_entry(w, b, i);
        rc = rc < 0 ? rc : key_of_entry(w->query, &e, &keys[i]);
    }
    if (worker_set_error(w, rc) || w->error)
        return NULL;
    for (uint32_t i = 0; i < b->entries; i++)
        keys[i] = fold_key(w->query, b->source, keys[i]);
    keys[b->entries] = QUERY_KEY_NULL;
    b->has_key_table = true;
    return keys;
}

bool scan_constant(struct scan_chunk *c, const struct source *s, uint64_t *ret_key)
{
    struct scan_worker *w = c->worker;
    struct binding *b = source_bind(w, s);
    int rc = -EDOM;

    if (b->shape == SHAPE_NULL) {
        *ret_key = QUERY_KEY_NULL;
        return true;
    }
    bool only = binding_has_dictionary(b) && b->only_serial == w->serial;
    if (b->nulls && !only)
        return false;
    if (binding_has_dictionary(b)) {
        const uint64_t *keys = only || b->entries == 1 ? make_key_table(w, b) : NULL;
        *ret_key = keys ? keys[only ? b->only_code : 0] : QUERY_KEY_NULL;
        return keys != NULL;
    }
    if (binding_is_integer(b) && b->min == b->max)
        rc = key_of_integer(w->query, b, b->min, ret_key);
    else if (!binding_is_integer(b) && b->column.min_f64 == b->column.max_f64)
        rc = key_of_f64(w->query, b->column.min_f64, ret_key);
    if (rc == 0)
        *ret_key = fold_key(w->query, b->source, *ret_key);
    return rc == 0;
}

/* ---- dense codes ----------------------------------------------------------------------------- */

/* For integers of a narrow range: the code is the distance from the minimum, in steps. */
static int make_range_codes(struct scan_worker *w, struct binding *b, uint32_t limit)
{
    unsigned __int128 span = (unsigned __int128)((__int128)b->max - b->min) / (uint64_t)b->step;

    if (span + 2 > limit)
        return -EDOM;
    uint32_t count = (uint32_t)span + 1;
    uint64_t *keys = scratch_reserve(&b->key_table, ((size_t)count + 1) * sizeof(*keys));
    if (!keys)
        return -ENOMEM;
    for (uint32_t i = 0; i < count; i++) {
        int rc = key_of_integer(w->query, b, b->min + (int64_t)i * b->step, &keys[i]);
        if (rc < 0)
            return rc;
        keys[i] = fold_key(w->query, b->source, keys[i]);
    }
    keys[count] = QUERY_KEY_NULL;
    b->code_count = count + 1;
    return 0;
}

/* Makes codes if possible, once for a chunk and limit. code_count is UINT32_MAX if there are
 * none. */
static void make_codes(struct scan_worker *w, struct binding *b, uint32_t limit)
{
    int rc = 0;

    b->code_limit = limit;
    b->code_count = UINT32_MAX;
    b->codes_of = NULL;
    if (fold_has_codes(b)) {
        rc = fold_make_codes(b);
    } else if (binding_is_integer(b)) {
        rc = binding_dense_codes(w, b, limit);
        rc = rc == -EDOM ? make_range_codes(w, b, limit) : rc;
    } else if (binding_has_dictionary(b) && (uint64_t)b->entries + 1 <= limit &&
               make_key_table(w, b)) {
        b->code_count = b->entries + 1;
    }
    (void)worker_set_error(w, rc == -EDOM ? 0 : rc);
}

bool scan_codes(struct scan_chunk *c, const struct source *s, uint32_t limit, uint32_t *ret_count,
                const uint64_t **ret_keys)
{
    struct binding *b = source_bind(c->worker, s);

    if (b->shape == SHAPE_NULL) {
        *ret_count = 1;
        *ret_keys = no_values.keys;
        return true;
    }
    if (b->code_count == 0 || b->code_limit != limit)
        make_codes(c->worker, b, limit);
    *ret_count = b->code_count;
    *ret_keys = b->key_table.data;
    return b->code_count != UINT32_MAX;
}

bool scan_same_codes(struct scan_chunk *c, const struct source *a, const struct source *b)
{
    const struct binding *x = source_bind(c->worker, a), *y = source_bind(c->worker, b);

    return x->codes_of && x->codes_of == y->codes_of;
}

static void range_codes(struct scan_batch *batch, struct binding *b, uint32_t *out)
{
    const uint64_t *valid, step = (uint64_t)b->step;

    if (!b->kind->steps || !b->kind->steps(batch, b, &valid, out)) {
        const int64_t *values = binding_i64(batch, b, &valid);
        for (uint32_t i = 0; step == 1 && i < batch->rows; i++)
            out[i] = (uint32_t)((uint64_t)values[i] - (uint64_t)b->min);
        for (uint32_t i = 0; step != 1 && i < batch->rows; i++)
            out[i] = (uint32_t)(((uint64_t)values[i] - (uint64_t)b->min) / step);
    }
    set_null_codes(batch, valid, b->code_count - 1, out);
}

const uint32_t *batch_codes(struct scan_batch *batch, const struct source *s)
{
    struct binding *b = source_bind(batch->chunk->worker, s);

    if (b->shape == SHAPE_NULL || b->code_count == UINT32_MAX)
        return no_values.codes;
    if (b->codes_of)
        return batch_dense_codes(batch, b);
    if (binding_has_dictionary(b))
        return binding_codes(batch, b);
    if (!lane_has(&b->codes, batch)) {
        uint32_t *codes = lane_begin(&b->codes, batch);
        if (fold_has_codes(b))
            fold_batch_codes(batch, b, codes);
        else
            range_codes(batch, b, codes);
        if (!lane_end(&b->codes, batch, codes))
            return no_values.codes;
        b->codes.few = batch->mask != NULL; /* rows that are not selected may have no code */
    }
    return b->codes.values;
}

/* ---- keys of rows ---------------------------------------------------------------------------- */

/* Keys of null rows are QUERY_KEY_NULL, which is 0. */
static int integer_keys(struct scan_batch *batch, struct binding *b, uint64_t *keys)
{
    const uint64_t *valid;
    const int64_t *values = binding_i64(batch, b, &valid);
    int rc = 0;
    bool all_fit = key_fits(b->min) && key_fits(b->max) && !b->nano;
    enum key_tag tag = b->shape == SHAPE_TIME   ? KEY_US
                       : b->shape == SHAPE_BOOL ? KEY_BOOL
                                                : KEY_INT;
    for (uint32_t i = 0; i < batch->rows && all_fit; i++)
        keys[i] = key_make(tag, values[i]);
    for (uint32_t j = 0; rc == 0 && j < batch->count && !all_fit; j++) {
        uint32_t i = batch_row(batch, j);
        rc = key_of_integer(batch->chunk->query, b, values[i], &keys[i]);
    }
    clear_nulls(batch, valid, keys);
    return rc;
}

static int double_keys(struct scan_batch *batch, struct binding *b, uint64_t *keys)
{
    const uint64_t *valid;
    const double *values = binding_f64(batch, b, &valid);
    int rc = 0;

    for (uint32_t j = 0; rc == 0 && j < batch->count; j++) {
        uint32_t i = batch_row(batch, j);
        rc = key_of_f64(batch->chunk->query, values[i], &keys[i]);
    }
    clear_nulls(batch, valid, keys);
    return rc;
}

static void dictionary_keys(struct scan_batch *batch, struct binding *b, uint64_t *keys)
{
    const uint64_t *table = make_key_table(batch->chunk->worker, b);
    const uint32_t *codes = binding_codes(batch, b);

    for (uint32_t i = 0; table && i < batch->rows; i++)
        keys[i] = table[codes[i]];
}

const uint64_t *binding_keys(struct scan_batch *batch, struct binding *b)
{
    struct scan_worker *w = batch->chunk->worker;
    const struct source *s = b->source;
    int rc = 0;

    if (b->shape == SHAPE_NULL)
        return no_values.keys;
    if (!lane_has(&b->keys, batch)) {
        uint64_t *keys = lane_begin(&b->keys, batch);
        if (binding_is_integer(b))
            rc = integer_keys(batch, b, keys);
        else if (binding_has_dictionary(b))
            dictionary_keys(batch, b, keys);
        else
            rc = double_keys(batch, b, keys);
        for (uint32_t j = 0; s->folded && !binding_has_dictionary(b) && j < batch->count; j++) {
            uint64_t *key = &keys[batch_row(batch, j)];
            *key = fold_key(w->query, s, *key);
        }
        (void)worker_set_error(w, rc);
        if (!lane_end(&b->keys, batch, keys))
            return no_values.keys;
        b->keys.few = batch->mask != NULL;
    }
    return b->keys.values;
}

const uint64_t *batch_keys(struct scan_batch *b, const struct source *s)
{
    return binding_keys(b, source_bind(b->chunk->worker, s));
}
