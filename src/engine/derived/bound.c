/* bound.c - a source in a chunk: as it is stored, or null; and what it holds is freed. */
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

#include <stdlib.h>

static enum scan_shape shape_of(enum column_type type)
{
    static const enum scan_shape shapes[] = {
        [COLUMN_INT] = SHAPE_INT,   [COLUMN_TIME] = SHAPE_TIME, [COLUMN_DOUBLE] = SHAPE_DOUBLE,
        [COLUMN_BOOL] = SHAPE_BOOL, [COLUMN_TEXT] = SHAPE_TEXT, [COLUMN_MIXED] = SHAPE_MIXED,
    };

    return shapes[type];
}

int bind_column(struct scan_worker *w, struct bound *b, const struct column *c)
{
    if (c->nulls == c->rows)
        return bind_null(b);
    b->form = FORM_STORED;
    b->column = *c;
    b->shape = shape_of(c->type);
    b->nano = c->type == COLUMN_TIME && c->nano;
    b->nulls = c->nulls > 0;
    b->min = c->min;
    b->max = c->max;
    b->entries = c->entries;
    b->ids = NULL;
    return c->type == COLUMN_TEXT ? column_entry_ids(w->chunk.view, &b->column, &b->ids) : 0;
}

int bind_null(struct bound *b)
{
    b->form = FORM_NULL;
    b->shape = SHAPE_NULL;
    b->nulls = true;
    b->nano = false;
    return 0;
}

static void lane_done(struct lane *l)
{
    grow_done(&l->memory);
}

void bound_free(struct bound *b)
{
    if (!b)
        return;
    arena_done(&b->arena);
    grow_done(&b->entry_memory);
    grow_done(&b->remap_memory);
    grow_done(&b->rows_memory);
    grow_done(&b->rows_valid);
    grow_done(&b->x_table);
    grow_done(&b->key_table);
    grow_done(&b->dense_values);
    grow_done(&b->dense_codes);
    grow_done(&b->dense_numbers);
    lane_done(&b->i64);
    lane_done(&b->f64);
    lane_done(&b->keys);
    lane_done(&b->codes);
    lane_done(&b->valid);
    free(b);
}

bool bound_times(const struct bound *ts, const struct bound *dur, int64_t *ret_from,
                 int64_t *ret_to)
{
    if (ts->shape != SHAPE_TIME)
        return false;
    int64_t longest =
        dur->shape == SHAPE_TIME && dur->max > 0 ? time_in(dur->max, dur->nano, true) : 0;
    *ret_from = time_in(ts->min, ts->nano, true);
    if (__builtin_add_overflow(time_in(ts->max, ts->nano, true), longest, ret_to))
        *ret_to = INT64_MAX;
    return true;
}
