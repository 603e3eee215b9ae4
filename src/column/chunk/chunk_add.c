/* chunk_add.c - adds the values of events to columns. This runs for every value of every event:
 * about 15 of them, at 2 ns each. */
#include "column/chunk/chunk_build.h"

#include <errno.h>
#include <string.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define always_inline inline __attribute__((always_inline))
/* DROPPED: the value is a time that does not fit. OTHER_SHAPE: it is not as in the shape of the
 * event. In both cases the event is added without its shape. */
enum { DROPPED = 1, OTHER_SHAPE = 1 };

/* ---- one value ------------------------------------------------------------------------------- */

/* Marks that a row has a value in this column. */
static int mark_row(struct column_build *c, uint32_t row)
{
    if (unlikely(row / 64 >= c->words) && build_grow_valid(c, row + 1) < 0)
        return -ENOMEM;
    c->valid[row / 64] |= (uint64_t)1 << row % 64;
    return 0;
}

/* Adds a value of any type; its row is marked elsewhere. */
static int push_any(struct column_build *c, uint8_t type, int64_t value)
{
    if (c->type != type && c->type != BUILD_SEVERAL_TYPES && build_note_type(c, type) < 0)
        return -ENOMEM;
    if (c->type == BUILD_SEVERAL_TYPES)
        buf_putc(&c->types, (char)type);
    return c->types.error != 0 ? -ENOMEM : stage_push(c, value);
}

/* Adds a value of a row. */
static int put_number_at(struct column_build *c, uint32_t row, uint8_t type, int64_t value)
{
    return push_any(c, type, value) < 0 ? -ENOMEM : mark_row(c, row);
}

static int push_text(struct chunk_builder *b, struct column_build *c, uint8_t type, const char *ptr,
                     uint32_t len)
{
    if (c->dict == NULL && build_dictionary(b, c) == NULL)
        return -ENOMEM;
    const struct dictionary_slot *e = dictionary_add(c->dict, type, ptr, len);
    if (e == NULL)
        return -ENOMEM;
    c->size_class = e->size_class;
    c->len = UINT32_MAX;
    return push_any(c, type, e->code);
}

/* ---- times ----------------------------------------------------------------------------------- */

/* Counts a time that exceeds 64 bits in nanoseconds. */
static void count_bad(struct chunk_builder *b, const struct column_build *c)
{
    if (text_eq(c->path, TEXT("dur")))
        b->bad_dur++;
    else
        b->bad_ts++;
}

/* Converts the column to nanoseconds; values that exceed 64 bits become null. */
static int scale_values(struct chunk_builder *b, struct column_build *c)
{
    int64_t *values = stage_values(b, c);
    uint32_t from = 0, kept = 0;

    if (values == NULL || build_flatten(b, c) < 0)
        return -ENOMEM;
    for (uint32_t w = 0; w < c->words; w++)
        for (uint64_t left = c->valid[w]; left != 0; left &= left - 1) {
            if (!__builtin_mul_overflow(values[from++], (int64_t)1000, &values[kept])) {
                kept++;
                continue;
            }
            c->valid[w] &= ~(left & -left);
            count_bad(b, c);
        }
    return stage_replace(c, values, kept);
}

/* Converts a time to the column's unit. Returns 0, DROPPED (it does not fit) or -ENOMEM. */
static always_inline int in_unit(struct chunk_builder *b, struct column_build *c,
                                 const struct trace_value *v, int64_t *ret)
{
    *ret = v->i;
    if (likely(v->nano == c->nano))
        return 0;
    if (stage_count(c) == 0) {
        c->nano = v->nano;
        return 0;
    }
    /* The first value in nanoseconds converts the whole column. */
    if (v->nano) {
        c->nano = true;
        return scale_values(b, c);
    }
    return __builtin_mul_overflow(v->i, (int64_t)1000, ret) ? DROPPED : 0;
}

/* ---- values one by one ----------------------------------------------------------------------- */

static int put_value(struct chunk_builder *b, const struct trace_value *v)
{
    uint16_t slot = build_slot(b, v->field);
    int64_t value = v->i;
    int rc = 0;

    if (b->error != 0 || slot == BUILD_TO_OTHER)
        return b->error != 0 ? b->error : build_other(b, v);
    struct column_build *c = &b->column[slot - 1];
    if (v->type < TRACE_TEXT && c->is_time)
        rc = in_unit(b, c, v, &value);
    if (rc == DROPPED) {
        count_bad(b, c);
        return 0;
    }
    if (rc == 0)
        rc = v->type >= TRACE_TEXT ? push_text(b, c, v->type, v->ptr, v->len)
                                   : push_any(c, v->type, value);
    return rc == 0 ? mark_row(c, b->rows) : rc;
}

/* Finishes a row that does not match its shape: marks it in the columns of the `done` steps, and
 * adds the other values one by one. */
static int leave_shape(struct chunk_builder *b, const struct shape *s, uint32_t done,
                       const struct trace_event *event)
{
    int rc = 0;

    for (uint32_t i = 0; i < done; i++)
        rc |= mark_row(b->steps[s->first + i].column, b->rows);
    for (uint32_t i = done; i < s->count; i++)
        rc |= put_value(b, &event->values[b->steps[s->first + i].index]);
    b->row_shape.at[b->rows] = 0;
    return rc;
}

/* ---- values of a shape ----------------------------------------------------------------------- */

static always_inline int step_number(struct chunk_builder *b, const struct step *step,
                                     const struct trace_value *v, bool checked)
{
    struct column_build *c = step->column;
    int64_t value = v->i;

    if (!checked && unlikely(step_head(v) != step->head))
        return OTHER_SHAPE;
    if (c->kind != BUILD_NUMBER) {
        if (unlikely(c->kind != BUILD_TIME))
            return push_any(c, v->type, value);
        int rc = in_unit(b, c, v, &value);
        if (unlikely(rc != 0))
            return rc;
    }
    return stage_push(c, value);
}

/* Adds a text that differs from the one before. */
static int add_text(struct column_build *c, const struct trace_value *v, uint64_t a, uint64_t b)
{
    const struct dictionary_slot *slot = dictionary_find(c->dict, TRACE_TEXT, v->ptr, v->len, a, b);

    if (slot == NULL)
        return -ENOMEM;
    c->a = a;
    c->b = b;
    c->len = v->len <= 16 ? v->len : UINT32_MAX;
    c->code = slot->code;
    c->size_class = slot->size_class;
    return 0;
}

static always_inline int step_text(struct chunk_builder *b, const struct step *step,
                                   const struct trace_value *v, bool checked)
{
    struct column_build *c = step->column;
    uint64_t x, y = 0;

    if (!checked && unlikely(step_head(v) != step->head))
        return OTHER_SHAPE;
    if (unlikely(c->kind != BUILD_TEXT))
        return push_text(b, c, v->type, v->ptr, v->len);
    if (likely(v->len <= 16))
        text_words(v->ptr, v->len, &x, &y);
    else
        x = text_hash((struct text){v->ptr, v->len});
    if ((x != c->a || y != c->b || v->len != c->len) && add_text(c, v, x, y) < 0)
        return -ENOMEM;
    return stage_push(c, c->code);
}

static always_inline int step_fixed(const struct step *step)
{
    struct column_build *c = step->column;

    return likely(c->kind == BUILD_TEXT) ? stage_push(c, step->head)
                                         : push_any(c, TRACE_TEXT, step->head);
}

static always_inline int put_steps(struct chunk_builder *b, const struct shape *s,
                                   const struct trace_event *event, bool checked)
{
    const struct step *first = &b->steps[s->first], *step = first, *numbers = first + s->numbers,
                      *texts = first + s->texts, *end = first + s->count;
    const struct trace_value *values = event->values;
    int rc = 0;

    for (; step < numbers; step++) {
        rc = step_number(b, step, &values[step->index], checked);
        if (unlikely(rc != 0))
            goto out;
    }
    for (; step < texts; step++) {
        rc = step_text(b, step, &values[step->index], checked);
        if (unlikely(rc != 0))
            goto out;
    }
    for (; step < end; step++)
        rc |= step_fixed(step);
    return rc;
out:
    return rc < 0 ? rc : leave_shape(b, s, (uint32_t)(step - first), event);
}

/* ---- events ---------------------------------------------------------------------------------- */

static int put_size(struct chunk_builder *b, struct column_build *c, struct size_value v)
{
    if (v.type == TRACE_DOUBLE)
        memcpy(&v.i, &v.d, sizeof(v.i));
    return v.type ? put_number_at(c, b->rows, v.type, v.i) : 0;
}

static int put_sizes(struct chunk_builder *b, uint8_t class, uint8_t cat, uint8_t name,
                     const struct trace_value *const args[SIZE_ARGS])
{
    struct size_value bytes = bytes_of_object(class, cat, name, args);
    int rc = put_size(b, &b->column[BUILD_SIZE], size_of_object(cat, name, args));

    b->counts_items |= bytes.type && class == TRACE_EVENT && cat == SIZE_STDIO;
    return rc | put_size(b, &b->column[BUILD_BYTES], bytes);
}

static int put_shape_sizes(struct chunk_builder *b, const struct shape *s,
                           const struct trace_event *event)
{
    const struct trace_value *args[SIZE_ARGS];

    for (int i = 0; i < SIZE_ARGS; i++)
        args[i] = s->args[i] >= 0 ? &event->values[s->args[i]] : NULL;
    return put_sizes(b, (uint8_t)event->class, s->cat ? s->cat->size_class : s->cat_class,
                     s->name ? s->name->size_class : s->name_class, args);
}

/* Returns the size class of an event's name or category, which was added last to its column. */
static uint8_t text_class(const struct chunk_builder *b, const struct trace_value *v)
{
    return b->column[b->slot[v->field] - 1].size_class;
}

static int put_unshaped_sizes(struct chunk_builder *b, const struct trace_event *event)
{
    const struct trace_value *args[SIZE_ARGS] = {NULL};
    uint8_t cat = 0, name = 0;
    bool any = false;

    for (uint32_t i = 0; i < event->count; i++) {
        const struct trace_value *v = &event->values[i];
        int arg = size_arg(v->field);
        if (v->field == TRACE_FIELD_NAME)
            name = text_class(b, v);
        else if (v->field == TRACE_FIELD_CAT)
            cat = text_class(b, v);
        else if (arg >= 0)
            args[arg] = v->type == TRACE_INT || v->type == TRACE_DOUBLE ? v : NULL;
    }
    for (int i = 0; i < SIZE_ARGS; i++)
        any |= args[i] != NULL;
    return any ? put_sizes(b, (uint8_t)event->class, cat, name, args) : 0;
}

static int end_other(struct chunk_builder *b)
{
    buf_putc(&b->other, '}');
    int rc = b->other.error;
    if (rc == 0)
        rc = push_text(b, &b->column[BUILD_OTHER], TRACE_TEXT, b->other.data,
                       (uint32_t)b->other.len);
    buf_clear(&b->other);
    return rc == 0 ? mark_row(&b->column[BUILD_OTHER], b->rows) : rc;
}

static int put_event(struct chunk_builder *b, const struct trace_event *event)
{
    const struct shape *s = build_shape(b, event);
    uint8_t *row_shape = &b->row_shape.at[b->rows];
    struct column_build *c = b->column;
    int rc = 0;

    *row_shape = s ? s->number : 0;
    if (s)
        rc = s->checked ? put_steps(b, s, event, true) : put_steps(b, s, event, false);
    for (uint32_t i = 0; !s && i < event->count; i++)
        rc |= put_value(b, &event->values[i]);
    if (unlikely(rc != 0))
        return rc; /* columns of the event may be missing */
    /* Every row has these columns. */
    rc |= stage_push(&c[BUILD_CLASS], event->class);
    rc |= stage_push(&c[BUILD_GAP], (int64_t)event->offset - b->end);
    rc |= stage_push(&c[BUILD_LEN], event->len);
    rc |= stage_push(&c[BUILD_REPAIRED], event->repaired != 0);
    b->end = event->offset + event->len;
    if (*row_shape == 0)
        rc |= put_unshaped_sizes(b, event);
    else if (s->sized)
        rc |= put_shape_sizes(b, s, event);
    if (unlikely(b->other.len > 0))
        rc |= end_other(b);
    return rc;
}

int chunk_builder_add(struct chunk_builder *b, const struct trace_event *event)
{
    if (b->error == 0 && b->rows == CHUNK_ROWS_MAX)
        b->error = -EOVERFLOW;
    if (b->error == 0 && unlikely(b->rows == b->row_shape.cap) && build_grow_rows(b) < 0)
        b->error = -ENOMEM;
    if (b->error != 0)
        return b->error;
    if (put_event(b, event) != 0) /* the only possible error */
        b->error = -ENOMEM;
    b->rows++;
    return b->error;
}
