/* template_run.h - reads a line along the learned layouts. Compiled once per CPU level, behind scan_walk.h. */
#include "template.h"

/* Put by the general functions of fields.h at s->count. Is it what such lines have here? */
static inline void template_judge(struct trace_scanner *s, const struct template *t, uint32_t before)
{
    uint32_t put = s->count - before;

    if (put != (t->value.type != 0) || (put && memcmp(&s->values[before], &t->value, offsetof(struct trace_value, len)) != 0))
        s->odd = true;
}

/* Any value, the long way. NULL: not such a value, and nothing was added. */
static const char *template_any(struct trace_scanner *s, const struct template *t, const char *p)
{
    struct scan_number number;
    uint32_t before = s->count;
    const char *end;
    struct text text;

    switch (t->slot) {
    case SLOT_STRING:
        end = read_string(s, p, &text);
        if (!end)
            return NULL;
        value_string(s, t->field, t->conv, text.ptr, text.len);
        end--;
        break;
    case SLOT_NUMBER:
        end = number_scan(p, &number);
        if (!end)
            return NULL;
        value_number(s, t->field, t->conv, &number);
        break;
    case SLOT_CONST:
        fields_fixed(s, t->field, t->conv, t->type, t->truth, (struct text){p - t->back, t->back});
        end = p;
        break;
    default: /* SLOT_ARRAY */
        end = skip_array(s, p, t->depth + 1);
        if (!end)
            return NULL;
        fields_fixed(s, t->field, t->conv, TRACE_JSON, false, (struct text){p - 1, (size_t)(end - p) + 1});
        break;
    }
    template_judge(s, t, before);
    return end;
}

/* What the CPU must wait for, line after line, is where the next value begins. Many values have always the same length:
 * there the length is a guess that a branch checks, and reading goes on meanwhile. */
static always_inline unsigned template_length(struct template *t, size_t len)
{
    unsigned usual = t->usual;

    if (t->same >= TEMPLATE_STEADY && likely(usual == len)) {
        __asm__("" : "+r"(usual));       /* or the compiler would use `len`, which is the same */
        return usual;
    }
    t->same = usual == len ? (uint8_t)(t->same + 1) : 0;
    t->usual = (uint8_t)len;
    return (unsigned)len;
}

/* The value behind the literal of `t`, at `p`, into `v`: its length (of a string: up to its closing quote, which belongs to
 * the next literal). Negative: it takes a closer look. */
static always_inline ptrdiff_t template_value(struct trace_scanner *s, struct template *t, const char *p, struct trace_value *v)
{
    const char *end;
    unsigned n;

    if (t->kind == TEMPLATE_TEXT) {
        end = plain_end(p);
        if (unlikely(*end != '"'))
            return -1;
        memcpy(v, &t->value, offsetof(struct trace_value, i));
        v->len = (uint32_t)(end - p);
        v->ptr = p;
        return v->len < 256 ? (ptrdiff_t)template_length(t, v->len) : end - p;
    }
    if (t->kind == TEMPLATE_INT || (t->kind == TEMPLATE_TIME && s->unit == TRACE_US)) {
        memcpy(v, &t->value, offsetof(struct trace_value, i));
        n = number_quick(p, &v->i);
        return likely(n > 0) ? (ptrdiff_t)template_length(t, n) : -1;
    }
    return -1;
}

static void template_places(struct trace_scanner *s)
{
    for (uint32_t i = 0; i < s->count; i++)
        switch (s->values[i].field) {
        case TRACE_FIELD_NAME: s->at.name = (int32_t)i; break;
        case TRACE_FIELD_PH: s->at.phase = (int32_t)i; break;
        case TRACE_FIELD_TS: s->at.ts = (int32_t)i; break;
        case TRACE_FIELD_DUR: s->at.dur = (int32_t)i; break;
        default: break;
        }
}

static void template_end(struct trace_scanner *s, const struct template *t)
{
    if (likely(!s->odd)) {
        s->shape = t->shape;
        s->at = t->places;
    } else {
        template_places(s);
    }
}

static const char *template_run(struct trace_scanner *s, const char *p)
{
    struct template **first = &s->templates.root, **from, *t;
    struct trace_value *v = s->values;   /* there is room: a template has at most SCAN_SLOTS_MAX values */
    const char *end;
    ptrdiff_t len;

next:
    from = first;
    for (t = *from; t; from = &t->next, t = *from) {
        if (!literal_begins(p, t->literal, t->ends, t->len) || (unlikely(t->len > 32) && !literal_is(p, t->literal, t->len)))
            continue;
        end = p + t->len;
        if (t->kind == TEMPLATE_END) {
            s->count = (uint32_t)(v - s->values);
            template_end(s, t);
            return end;
        }
        len = template_value(s, t, end, v);
        if (likely(len >= 0)) {
            end += len;
            v++;
        } else {
            s->count = (uint32_t)(v - s->values);
            end = template_any(s, t, end);
            if (!end)
                continue; /* nothing was added */
            v = s->values + s->count;
        }
        if (from != first) { /* the shape of this line is likely to be that of the next */
            *from = t->next;
            t->next = *first;
            *first = t;
        }
        p = end;
        first = &t->child;
        goto next;
    }
    return NULL;
}
