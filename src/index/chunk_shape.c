/* chunk_shape.c - events of one shape have the same fields with the same types in the same order. A trace has a few dozen
 * shapes: a call's arguments are always the same ones. So what to do with each value is decided once for a shape, and
 * instead of bits for every null a row keeps the number of its shape; the bits are made when the chunk is finished. */
#include "chunk_build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define WINDOW 64u /* words of bits at a time */

/* Differs where a field, a type or the order does. No chain from value to value: they are multiplied side by side. */
static uint64_t hash_heads(const struct trace_event *event)
{
    uint64_t hash = event->count, factor = 0x9E3779B97F4A7C15u;

    for (uint32_t i = 0; i < event->count; i++, factor += 0xD6E8FEB86659FD92u)
        hash += (step_head(&event->values[i]) + (uint64_t)1) * factor;
    return hash;
}

static int plan_value(struct chunk_builder *b, const struct trace_value *v, uint16_t index,
                      struct step *ret)
{
    uint16_t slot = build_slot(b, v->field);

    if (slot == BUILD_TO_OTHER || b->error != 0)
        return b->error != 0 ? b->error : -ENOENT;
    struct column_build *c = &b->column[slot - 1];
    if (build_see_type(c, v->type) < 0 ||
        (v->type >= TRACE_TEXT && c->dict == NULL && build_dictionary(b, c) == NULL))
        return -ENOMEM;
    *ret = (struct step){.head = step_head(v), .column = (uint16_t)(slot - 1), .index = index};
    return 0;
}

/* Which values the size of the object is made from. */
static void plan_size(struct shape *s, struct column_build *c, const struct trace_value *v,
                      uint16_t index)
{
    bool number = v->type == TRACE_INT || v->type == TRACE_DOUBLE;
    int16_t at = number ? (int16_t)index : -1;

    switch (v->field) {
    case TRACE_FIELD_NAME:
        s->name = v->type == TRACE_TEXT ? c : NULL;
        return;
    case TRACE_FIELD_CAT:
        s->cat = v->type == TRACE_TEXT ? c : NULL;
        return;
    case TRACE_FIELD_RET:
        s->ret = at;
        break;
    case TRACE_FIELD_SIZE:
        s->size = at;
        break;
    case TRACE_FIELD_IMAGE_SIZE:
        s->image_size = at;
        break;
    case TRACE_FIELD_SIZE_SUM:
        s->size_sum = at;
        break;
    case TRACE_FIELD_RET_SUM:
        s->ret_sum = at;
        break;
    default:
        return;
    }
    s->sized |= number;
}

static void plan_steps(struct chunk_builder *b, const struct trace_event *event, struct shape *s)
{
    struct step *steps = &b->steps[s->first], step;
    uint32_t texts = event->count;

    /* Numbers first, then texts (backwards: their order does not matter): two loops that predict well. */
    for (uint32_t i = 0; i < event->count; i++) {
        int rc = plan_value(b, &event->values[i], (uint16_t)i, &step);
        if (rc < 0) {
            b->error = rc == -ENOMEM ? rc : b->error;
            return;
        }
        plan_size(s, &b->column[step.column], &event->values[i], (uint16_t)i);
        steps[event->values[i].type >= TRACE_TEXT ? --texts : s->numbers++] = step;
    }
    s->regular = true;
}

/* The row is counted to all columns of the shape from now on. */
static void join_columns(struct chunk_builder *b, const struct shape *s, uint32_t number)
{
    for (uint32_t i = 0; i < s->count; i++)
        b->column[b->steps[s->first + i].column].shapes[number / 64] |= (uint64_t)1 << number % 64;
    b->step_count += s->count;
}

static uint32_t new_shape(struct chunk_builder *b, const struct trace_event *event, uint64_t hash)
{
    uint32_t number = b->shape_count + 1;
    struct shape *s = &b->shapes[number];

    if (number == BUILD_SHAPES_MAX || event->count > BUILD_STEPS_MAX - b->step_count)
        return 0;
    *s = (struct shape){.hash = hash,
                        .count = event->count,
                        .first = b->step_count,
                        .ret = -1,
                        .size = -1,
                        .image_size = -1,
                        .size_sum = -1,
                        .ret_sum = -1};
    b->shape_count = number;
    plan_steps(b, event, s);
    if (s->regular)
        join_columns(b, s, number);
    return number;
}

uint32_t build_find_shape(struct chunk_builder *b, const struct trace_event *event)
{
    uint64_t hash = hash_heads(event);
    uint32_t at = (uint32_t)(hash >> 32), number;

    for (;; at++) {
        uint8_t *slot = &b->shape_slots[at % (2 * BUILD_SHAPES_MAX)];
        number = *slot;
        if (number == 0)
            *slot = (uint8_t)(number = new_shape(b, event, hash));
        if (number == 0 || b->shapes[number].hash == hash)
            break;
    }
    return b->shapes[number].regular && b->shapes[number].count == event->count ? number : 0;
}

/* ---- bits ------------------------------------------------------------------------------------------------------ */

/* bits[shape][word of the window]: rows of the window that are of the shape. */
struct window {
    uint32_t first, rows;
    uint64_t bits[BUILD_SHAPES_MAX][WINDOW];
};

static void window_fill(const struct chunk_builder *b, struct window *w, uint32_t first)
{
    w->first = first;
    w->rows = b->rows - first < WINDOW * 64 ? b->rows - first : WINDOW * 64;
    memset(w->bits, 0, (b->shape_count + 1) * sizeof(*w->bits));
    for (uint32_t i = 0; i < w->rows; i++)
        w->bits[b->row_shape[first + i]][i / 64] |= (uint64_t)1 << i % 64;
}

/* Rows of the window before c->flat are in `valid` already. */
static void window_give(const struct window *w, struct column_build *c)
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

static int flatten(struct chunk_builder *b, struct column_build **columns, unsigned count)
{
    struct window *w = malloc(sizeof(*w));
    int rc = w == NULL ? -ENOMEM : 0;

    for (unsigned i = 0; rc == 0 && i < count; i++)
        rc = build_grow_valid(columns[i], b->rows);
    for (uint32_t first = 0; rc == 0 && first < b->rows; first += WINDOW * 64) {
        window_fill(b, w, first);
        for (unsigned i = 0; i < count; i++)
            window_give(w, columns[i]);
    }
    for (unsigned i = 0; rc == 0 && i < count; i++)
        columns[i]->flat = b->rows;
    free(w);
    return rc;
}

int build_flatten(struct chunk_builder *b, struct column_build *c)
{
    return flatten(b, &c, 1);
}

int build_bitmaps(struct chunk_builder *b)
{
    struct column_build *sparse[BUILD_COLUMNS_MAX];
    unsigned count = 0;

    for (unsigned i = 0; i < b->columns; i++)
        if (stage_count(&b->column[i]) > 0 && stage_count(&b->column[i]) < b->rows)
            sparse[count++] = &b->column[i];
    return flatten(b, sparse, count);
}
