/* bind.c - binds sources to the current chunk of a worker. */
#include "engine/derived/bind.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>

static const struct column_kind derived_null;

int bind_null(struct binding *b)
{
    b->kind = &derived_null;
    b->shape = SHAPE_NULL;
    b->nulls = true;
    b->nano = false;
    b->step = 1;
    b->stored = NULL;
    b->ids = NULL;
    b->entry = NULL;
    b->remap = NULL;
    b->entries = 0;
    b->same_nulls = NULL;
    return 0;
}

int bind_integers(struct binding *b, const struct column_kind *kind, enum scan_shape shape,
                  int64_t min, int64_t max)
{
    b->kind = kind;
    b->shape = shape;
    b->min = min;
    b->max = max;
    return 0;
}

enum scan_shape shape_of_entries(const struct column_entry *entry, uint32_t entries)
{
    for (uint32_t i = 0; i < entries; i++)
        if (entry[i].type != TRACE_TEXT)
            return SHAPE_MIXED;
    return entries ? SHAPE_TEXT : SHAPE_NULL;
}

int bind_dictionary(struct binding *b, const struct column_kind *kind, enum scan_shape shape,
                    const struct column_entry *entry, uint32_t entries)
{
    if (shape == SHAPE_NULL)
        return bind_null(b);
    b->kind = kind;
    b->shape = shape;
    b->entry = entry;
    b->entries = entries;
    return 0;
}

struct binding *bind_part(struct scan_worker *w, struct binding *b, unsigned i)
{
    return b->part[i] = source_bind(w, b->source->part[i]);
}

/* Returns NULL without memory. */
static struct binding *binding_at(struct scan_worker *w, const struct source *s)
{
    if (s->id >= w->bindings.count && vec_extend(&w->bindings, w->query->source_count) < 0)
        return NULL;
    struct binding **b = &w->bindings.at[s->id];
    if (!*b && (*b = calloc(1, sizeof(**b))))
        (*b)->source = s;
    return *b;
}

static void forget_chunk(struct binding *b)
{
    b->i64.batch = b->f64.batch = b->keys.batch = b->codes.batch = b->valid.batch = UINT32_MAX;
    b->has_key_table = false;
    b->code_count = 0;
    b->codes_of = NULL;
    b->dense_count = 0;
    (void)bind_null(b);
}

struct binding *source_bind(struct scan_worker *w, const struct source *s)
{
    static struct binding nothing = {.kind = &derived_null, .shape = SHAPE_NULL, .nulls = true};
    struct binding *b = binding_at(w, s);

    if (worker_set_error(w, b ? 0 : -ENOMEM))
        return &nothing; /* shared by all threads: a null column is never written to */
    if (b->serial != w->serial) {
        forget_chunk(b);
        if (worker_set_error(w, s->kind->bind(w, b)))
            (void)bind_null(b);
        b->serial = w->serial;
    }
    return b;
}

void binding_free(struct binding *b)
{
    if (!b)
        return;
    struct scratch *const all[] = {
        &b->own[0],       &b->own[1],       &b->own[2],        &b->own[3],     &b->key_table,
        &b->dense_values, &b->dense_codes,  &b->dense_numbers, &b->i64.memory, &b->f64.memory,
        &b->keys.memory,  &b->codes.memory, &b->valid.memory,
    };
    for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
        scratch_done(all[i]);
    arena_done(&b->arena);
    free(b);
}

bool binding_time_limits(const struct binding *ts, const struct binding *dur, int64_t *ret_from,
                         int64_t *ret_to)
{
    if (ts->shape != SHAPE_TIME)
        return false;
    int64_t longest =
        dur->shape == SHAPE_TIME && dur->max > 0 ? time_in(dur->max, dur->nano, true) : 0;
    *ret_from = time_in(ts->min, ts->nano, true);
    *ret_to = add_clamped(time_in(ts->max, ts->nano, true), longest);
    return true;
}
