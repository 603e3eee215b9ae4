/* template_run.h - reads a line along the learned layouts. Compiled once per CPU level, behind scan_walk.h. */
#include "template.h"

/* The value behind the literal of `t`, at `p`: behind its token (and, of a string, before its closing quote, which
 * belongs to the next literal). NULL: not such a value. */
static always_inline const char *template_value(struct trace_scanner *s, const struct template *t, const char *p)
{
    struct scan_number number;
    struct text text;
    const char *end;

    switch (t->slot) {
    case SLOT_STRING:
        end = plain_end(p);
        if (unlikely(*end != '"')) {
            end = scan_string_slow(s, p, &text);
            if (!end)
                return NULL;
            value_string(s, t->field, t->conv, text.ptr, text.len);
            return end - 1;
        }
        value_string(s, t->field, t->conv, p, (size_t)(end - p));
        return end;
    case SLOT_NUMBER:
        end = number_scan(p, &number);
        if (likely(end != NULL))
            value_number(s, t->field, t->conv, &number);
        return end;
    case SLOT_CONST:
        fields_fixed(s, t->field, t->conv, t->type, t->truth, (struct text){p - t->back, t->back});
        return p;
    default: /* SLOT_ARRAY */
        end = skip_array(s, p, t->depth + 1);
        if (end)
            fields_fixed(s, t->field, t->conv, TRACE_JSON, false, (struct text){p - 1, (size_t)(end - p) + 1});
        return end;
    }
}

static const char *template_run(struct trace_scanner *s, const char *p)
{
    struct template **first = &s->templates.root, **from, *t;
    const char *end;

next:
    from = first;
    for (t = *from; t; from = &t->next, t = *from) {
        if (!literal_is(p, t->literal, t->len))
            continue;
        if (t->slot == SLOT_END)
            return p + t->len;
        end = template_value(s, t, p + t->len);
        if (unlikely(!end))
            continue; /* nothing was added */
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
