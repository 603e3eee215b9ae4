/* stored.c - values of a stored column of the chunk, and its codes with other entries. */
#include "engine/derived/bind.h"

#include <string.h>

/* ---- values ---------------------------------------------------------------------------------- */

enum lane_type { LANE_I64, LANE_F64, LANE_CODES };

/* Reads n values: of `rows`, or if that is NULL, from row `first` on. */
static int read_rows(struct chunk_view *view, const struct column *c, enum lane_type type,
                     const uint32_t *rows, uint32_t first, uint32_t n, void *out)
{
    switch (type) {
    case LANE_I64:
        return rows ? column_pick_i64(view, c, rows, n, out)
                    : column_read_i64(view, c, first, n, out);
    case LANE_F64:
        return rows ? column_pick_f64(view, c, rows, n, out)
                    : column_read_f64(view, c, first, n, out);
    default:
        return rows ? column_pick_codes(view, c, rows, n, out)
                    : column_read_codes(view, c, first, n, out);
    }
}

/* Returns true if it has read only rows that may still be selected. The codes of other rows are
 * then 0, for they are used as indexes of arrays. */
static bool read_values(struct scan_batch *batch, const struct column *c, enum lane_type type,
                        void *out)
{
    union {
        uint64_t values[SCAN_BATCH];
        uint32_t codes[SCAN_BATCH];
    } picked;
    uint32_t count;
    const uint32_t *few = batch->places ? NULL : batch_few(batch, &count);
    int rc =
        few ? read_rows(batch->chunk->view, c, type, few, 0, count, &picked)
            : read_rows(batch->chunk->view, c, type, batch->places, batch->first, batch->rows, out);

    if (few && type == LANE_CODES)
        memset(out, 0, batch->rows * sizeof(uint32_t));
    for (uint32_t k = 0; few && rc == 0 && k < count; k++) {
        if (type == LANE_CODES)
            ((uint32_t *)out)[few[k] - batch->first] = picked.codes[k];
        else
            ((uint64_t *)out)[few[k] - batch->first] = picked.values[k];
    }
    (void)worker_set_error(batch->chunk->worker, rc);
    return few != NULL;
}

bool stored_integers(struct scan_batch *batch, const struct column *c, int64_t *out)
{
    return read_values(batch, c, LANE_I64, out);
}

static const int64_t *stored_i64(struct scan_batch *batch, struct binding *b, int64_t *out)
{
    b->i64.few = read_values(batch, b->stored, LANE_I64, out);
    b->i64.valid = binding_valid(batch, b);
    return out;
}

static const double *stored_f64(struct scan_batch *batch, struct binding *b, double *out)
{
    b->f64.few = read_values(batch, b->stored, LANE_F64, out);
    b->f64.valid = binding_valid(batch, b);
    return out;
}

void stored_valid(struct scan_batch *batch, const struct column *c, uint64_t *mask)
{
    struct chunk_view *view = batch->chunk->view;
    int rc = batch->places ? column_pick_valid(view, c, batch->places, batch->rows, mask)
                           : column_read_valid(view, c, batch->first, batch->rows, mask);

    if (worker_set_error(batch->chunk->worker, rc))
        memset(mask, 0, SCAN_WORDS * 8);
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Null rows of a stored column get the code after the last. */
static const uint32_t *stored_codes(struct scan_batch *batch, struct binding *b, uint32_t *out)
{
    const struct column *c = &b->column;
    uint64_t valid[SCAN_WORDS];

    b->codes.few = read_values(batch, c, LANE_CODES, out);
    if (batch->chunk->worker->error)
        return out;
    if (c->nulls > 0) {
        stored_valid(batch, c, valid);
        set_null_codes(batch, valid, c->entries, out);
    }
    for (uint32_t i = 0; b->remap && i < batch->rows; i++)
        out[i] = b->remap[out[i]];
    return out;
}

static void valid_as_stored(struct scan_batch *batch, struct binding *b, uint64_t *mask)
{
    stored_valid(batch, &b->column, mask);
}

/* ---- binding --------------------------------------------------------------------------------- */

static const struct column_kind derived_stored = {
    .i64 = stored_i64, .f64 = stored_f64, .codes = stored_codes, .valid = valid_as_stored};
/* Rows may also be null because their code is mapped to null. */
static const struct column_kind derived_remapped = {.codes = stored_codes};

int bind_stored(struct scan_worker *w, struct binding *b, const struct column *c)
{
    static const enum scan_shape shapes[] = {
        [COLUMN_INT] = SHAPE_INT,   [COLUMN_TIME] = SHAPE_TIME, [COLUMN_DOUBLE] = SHAPE_DOUBLE,
        [COLUMN_BOOL] = SHAPE_BOOL, [COLUMN_TEXT] = SHAPE_TEXT, [COLUMN_MIXED] = SHAPE_MIXED,
    };

    if (c->nulls == c->rows)
        return bind_null(b);
    (void)bind_integers(b, &derived_stored, shapes[c->type], c->min, c->max);
    b->column = *c;
    b->stored = &b->column;
    b->nano = c->type == COLUMN_TIME && c->nano;
    b->nulls = c->nulls > 0;
    b->entries = c->entries;
    return c->type == COLUMN_TEXT ? column_entry_ids(w->chunk.view, &b->column, &b->ids) : 0;
}

int bind_renamed(struct binding *b, const struct column *c, enum scan_shape shape,
                 const struct column_entry *entry, uint32_t entries, const uint32_t *remap)
{
    (void)bind_dictionary(b, remap ? &derived_remapped : &derived_stored, shape, entry, entries);
    if (shape == SHAPE_NULL)
        return 0;
    b->column = *c;
    b->stored = remap ? NULL : &b->column;
    b->remap = remap;
    b->nulls = remap || c->nulls > 0;
    return 0;
}
