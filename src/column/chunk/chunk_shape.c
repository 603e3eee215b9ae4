/* chunk_shape.c - shapes: events of one shape have the same fields with the same types in the
 * same order. A trace has a few dozen shapes, for a call always has the same arguments. So the
 * column of each value is found once for a shape; and a row keeps the number of its shape
 * instead of a bit for every null. The bits are made when the chunk is finished. */
#include "column/chunk/chunk_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64u /* words of bits at a time */

/* The products do not depend on each other, so they are computed in parallel. The factors are
 * powers: with multiples, the same fields in another order often have the same sum. */
static uint64_t hash_heads(const struct trace_event *event)
{
    uint64_t hash = event->count, factor = 0x9E3779B97F4A7C15u;

    for (uint32_t i = 0; i < event->count; i++, factor *= 0xD6E8FEB86659FD93u)
        hash += (step_head(&event->values[i]) + (uint64_t)1) * factor;
    return hash;
}

/* Different shapes may have the same hash. */
static bool has_shape(const struct chunk_builder *b, const struct shape *s,
                      const struct trace_event *event)
{
    const struct step *step = &b->steps[s->first], *end = step + s->count;

    if (s->count != event->count)
        return false;
    for (; step < end; step++) {
        if (step_head(&event->values[step->index]) != step->head)
            return false;
    }
    return true;
}

static int plan_value(struct chunk_builder *b, const struct trace_value *v, uint16_t index,
                      struct step *ret)
{
    uint16_t slot = build_slot(b, v->field);

    if (slot == BUILD_TO_OTHER || b->error != 0)
        return b->error != 0 ? b->error : -ENOENT;
    struct column_build *c = &b->column[slot - 1];
    if (build_note_type(c, v->type) < 0 ||
        (v->type >= TRACE_TEXT && c->dict == NULL && build_dictionary(b, c) == NULL))
        return -ENOMEM;
    *ret = (struct step){.column = c, .head = step_head(v), .index = index};
    return 0;
}

/* Notes the values from which size and bytes of the object are computed. */
static void plan_size(struct shape *s, struct column_build *c, const struct trace_value *v,
                      uint16_t index)
{
    bool number = v->type == TRACE_INT || v->type == TRACE_DOUBLE;
    int arg = size_arg(v->field);

    if (v->field == TRACE_FIELD_NAME)
        s->name = v->type == TRACE_TEXT ? c : NULL;
    if (v->field == TRACE_FIELD_CAT)
        s->cat = v->type == TRACE_TEXT ? c : NULL;
    if (arg < 0)
        return;
    s->args[arg] = number ? (int16_t)index : -1;
    s->sized |= number;
}

static void plan_steps(struct chunk_builder *b, const struct trace_event *event, struct shape *s)
{
    struct step *steps = &b->steps[s->first], step;
    uint32_t texts = event->count;

    /* Numbers first, then texts (in reverse order, which does not matter): so both loops have
     * predictable branches. */
    for (uint32_t i = 0; i < event->count; i++) {
        int rc = plan_value(b, &event->values[i], (uint16_t)i, &step);
        if (rc < 0) {
            b->error = rc == -ENOMEM ? rc : b->error;
            return;
        }
        plan_size(s, step.column, &event->values[i], (uint16_t)i);
        steps[event->values[i].type >= TRACE_TEXT ? --texts : s->numbers++] = step;
    }
    s->texts = s->count;
    s->regular = true;
}

static struct shape *new_shape(struct chunk_builder *b, const struct trace_event *event,
                               uint64_t hash)
{
    uint32_t number = b->shape_count + 1;
    struct shape *s = &b->shapes[number];

    if (number == BUILD_SHAPES_MAX || event->count > BUILD_STEPS_MAX - b->step_count)
        return NULL;
    *s = (struct shape){.hash = hash,
                        .number = (uint8_t)number,
                        .count = (uint16_t)event->count,
                        .first = b->step_count};
    memset(s->args, 0xff, sizeof(s->args));
    b->shape_count = number;
    plan_steps(b, event, s);
    if (s->regular) {
        /* From now on, the row counts for all columns of the shape. */
        for (uint32_t i = 0; i < s->count; i++)
            b->steps[s->first + i].column->shapes[s->number / 64] |= (uint64_t)1 << s->number % 64;
        b->step_count += s->count;
    }
    return s;
}

static struct shape *shape_by_heads(struct chunk_builder *b, const struct trace_event *event)
{
    uint64_t hash = hash_heads(event);
    struct shape *s;

    for (uint32_t at = (uint32_t)(hash >> 32);; at++) {
        uint8_t *slot = &b->shape_slots[at % (2 * BUILD_SHAPES_MAX)];
        s = *slot ? &b->shapes[*slot] : new_shape(b, event, hash);
        if (s == NULL)
            return NULL;
        *slot = s->number;
        if (s->hash == hash && (!s->regular || has_shape(b, s, event)))
            break;
    }
    return s->regular ? s : NULL;
}

/* ---- fixed texts ----------------------------------------------------------------------------- */

static int fix_text(const struct trace_event *event, struct shape *s, struct step *step)
{
    struct column_build *c = step->column;
    const struct trace_value *v = &event->values[step->index];
    const struct dictionary_slot *slot = dictionary_add(c->dict, TRACE_TEXT, v->ptr, v->len);

    if (slot == NULL)
        return -ENOMEM;
    step->head = slot->code;
    if (s->name == c) {
        s->name = NULL;
        s->name_class = slot->size_class;
    } else if (s->cat == c) {
        s->cat = NULL;
        s->cat_class = slot->size_class;
    }
    return 0;
}

/* Moves the steps of fixed texts to the end, in a copy of the steps. */
static int fix_texts(struct chunk_builder *b, const struct trace_event *event, struct shape *s)
{
    const struct step *from = &b->steps[s->first], *last = from + s->count;
    struct step *to = &b->steps[b->step_count], *end = to + s->count;
    int rc = 0;

    s->first = b->step_count;
    b->step_count += s->count;
    for (; from < last && rc == 0; from++) {
        bool fixed = from->index < 64 && event->fixed >> from->index & 1;
        if (!fixed || event->values[from->index].type != TRACE_TEXT ||
            from->column->kind != BUILD_TEXT) {
            *to++ = *from;
            continue;
        }
        *--end = *from;
        rc = fix_text(event, s, end);
        s->texts--;
    }
    if (s->name == NULL && s->cat == NULL && s->args[ARG_SIZE_SUM] < 0 &&
        s->args[ARG_RET_SUM] < 0 && size_is_null(s->cat_class, s->name_class) &&
        bytes_are_null(s->cat_class, s->name_class))
        s->sized = false;
    return rc;
}

const struct shape *build_find_shape(struct chunk_builder *b, const struct trace_event *event)
{
    const struct shape *s = shape_by_heads(b, event);
    struct shape_hint *hint = &b->hints[event->shape % BUILD_HINTS];

    if (s == NULL || event->shape == 0)
        return s;
    *hint = (struct shape_hint){event->shape, *s};
    hint->plan.checked = true;
    if (event->fixed != 0 && s->count <= BUILD_STEPS_MAX - b->step_count &&
        fix_texts(b, event, &hint->plan) < 0) {
        b->error = -ENOMEM;
        return NULL;
    }
    return &hint->plan;
}

/* ---- bits ------------------------------------------------------------------------------------ */

/* bits[shape][word of the window]: rows of the window that have the shape. */
struct window {
    uint32_t first, rows;
    uint64_t bits[BUILD_SHAPES_MAX][WINDOW];
};

/* Sets the bits of a column. Rows of the window before c->flat are in `valid` already. */
static void window_set(const struct window *w, struct column_build *c)
{
    uint32_t words = (w->rows + 63) / 64, flat = c->flat > w->first ? c->flat - w->first : 0,
             from = flat / 64;

    for (uint32_t half = 0; from < words && half < BUILD_SHAPES_MAX / 64; half++)
        for (uint64_t left = c->shapes[half]; left != 0; left &= left - 1) {
            const uint64_t *bits = w->bits[half * 64 + (unsigned)__builtin_ctzll(left)];
            uint64_t *to = c->valid + w->first / 64;
            to[from] |= bits[from] & UINT64_MAX << flat % 64;
            for (uint32_t i = from + 1; i < words; i++)
                to[i] |= bits[i];
        }
}

static int flatten_columns(struct chunk_builder *b, struct column_build **columns, unsigned count)
{
    struct window *w = malloc(sizeof(*w));
    int rc = w == NULL ? -ENOMEM : 0;

    for (unsigned i = 0; rc == 0 && i < count; i++)
        rc = build_grow_valid(columns[i], b->rows);
    for (uint32_t first = 0; rc == 0 && first < b->rows; first += WINDOW * 64) {
        w->first = first;
        w->rows = b->rows - first < WINDOW * 64 ? b->rows - first : WINDOW * 64;
        memset(w->bits, 0, (b->shape_count + 1) * sizeof(*w->bits));
        for (uint32_t i = 0; i < w->rows; i++)
            w->bits[b->row_shape.at[first + i]][i / 64] |= (uint64_t)1 << i % 64;
        for (unsigned i = 0; i < count; i++)
            window_set(w, columns[i]);
    }
    for (unsigned i = 0; rc == 0 && i < count; i++)
        columns[i]->flat = b->rows;
    free(w);
    return rc;
}

int build_flatten(struct chunk_builder *b, struct column_build *c)
{
    return flatten_columns(b, &c, 1);
}

int build_bitmaps(struct chunk_builder *b)
{
    struct column_build *sparse[BUILD_COLUMNS_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < b->columns; i++)
        if (stage_count(&b->column[i]) > 0 && stage_count(&b->column[i]) < b->rows)
            sparse[count++] = &b->column[i];
    return flatten_columns(b, sparse, count);
}
