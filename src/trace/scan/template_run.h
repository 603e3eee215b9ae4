/* template_run.h - reads a line by the learned layouts. Compiled once per CPU level, after
 * scan_walk.h. */
#include "trace/scan/template.h"

/* Compares the value that the general functions have added with the value of the learned line. */
static inline void template_compare(struct trace_scanner *s, const struct template *t,
                                    uint32_t before)
{
    uint32_t put = s->count - before;
    const struct trace_value *v = &s->values[before];

    if (put != (t->value_type != 0) ||
        (put && (v->field != t->field || v->type != t->value_type || v->nano != t->nano)))
        s->odd = true;
}

/* Reads a value by the general functions. NULL: it does not match, and nothing was added. */
static const char *template_any(struct trace_scanner *s, const struct template *t, const char *p)
{
    const struct template_more *m = template_more(&s->templates, t);
    struct scan_number number;
    uint32_t before = s->count;
    const char *end;
    struct text text;

    switch (m->slot) {
    case SLOT_STRING:
        end = read_string(s, p, &text);
        if (!end)
            return NULL;
        value_string(s, t->field, m->conv, text.ptr, text.len);
        end--;
        break;
    case SLOT_NUMBER:
        end = number_scan(p, &number);
        if (!end)
            return NULL;
        value_number(s, t->field, m->conv, &number);
        break;
    case SLOT_CONST:
        fields_fixed(s, t->field, m->conv, m->type, m->truth, (struct text){p - m->back, m->back});
        end = p;
        break;
    default: /* SLOT_ARRAY */
        end = skip_array(s, p, m->depth + 1);
        if (!end)
            return NULL;
        fields_fixed(s, t->field, m->conv, TRACE_JSON, false,
                     (struct text){p - 1, (size_t)(end - p) + 1});
        break;
    }
    template_compare(s, t, before);
    return end;
}

/* The position of the next value is what the CPU has to wait for. Many values always have the same
 * length: then the usual length is returned after a branch has compared it, so that the CPU can
 * continue speculatively. */
static always_inline unsigned template_length(struct template *t, size_t len)
{
    unsigned usual = t->usual;

    if (t->same >= TEMPLATE_STEADY && likely(usual == len)) {
        __asm__("" : "+r"(usual)); /* otherwise the compiler would use `len`, which is equal */
        return usual;
    }
    t->same = usual == len ? (uint8_t)(t->same + 1) : 0;
    t->usual = (uint8_t)len;
    return (unsigned)len;
}

static always_inline void template_head(struct trace_value *v, const struct template *t)
{
    memcpy(v, &t->field, offsetof(struct trace_value, i));
}
_Static_assert(offsetof(struct template, value_len) - offsetof(struct template, field) ==
                   offsetof(struct trace_value, len),
               "template_head");

/* State of the line that is being read. */
struct template_line {
    struct trace_scanner *s;
    struct scan_bytes bytes;
    struct trace_value *v; /* never too many: a template has at most SCAN_SLOTS_MAX values */
};

/* Reads the value at `p`, after the literal of `t`. Returns the position after it (for a string,
 * its closing quote, which belongs to the next literal). NULL: it does not match, and nothing was
 * added.
 */
static always_inline const char *template_number(struct template_line *l, struct template *t,
                                                 const char *p)
{
    unsigned n = number_quick(&l->bytes, p, &l->v->i);

    if (unlikely(n == 0))
        return NULL;
    template_head(l->v++, t);
    return p + template_length(t, n);
}

static always_inline const char *template_text(struct template_line *l, struct template *t,
                                               const char *p)
{
    const char *end = plain_end(&l->bytes, p);
    size_t len = (size_t)(end - p);

    if (unlikely(*end != '"'))
        return NULL;
    template_head(l->v, t);
    l->v->len = (uint32_t)len;
    l->v->ptr = p;
    l->v++;
    return likely(len < 256) ? p + template_length(t, len) : end;
}

/* Returns the children after the text that was added last. */
static always_inline struct template **template_fork(const struct template_line *l,
                                                     struct template *t)
{
    const struct trace_value *v = l->v - 1;
    struct fork_entry *e;
    uint64_t a, b;

    if (unlikely(v->len - 1 >= 16))
        return &t->child;
    text_words(v->ptr, v->len, &a, &b);
    e = fork_find(template_more(&l->s->templates, t)->fork, a, b, v->len);
    return likely(e->len) ? &e->child : &t->child;
}

static const char *template_slow(struct template_line *l, const struct template *t, const char *p)
{
    if (!l->s->begun)
        fields_begin(l->s);
    l->s->count = (uint32_t)(l->v - l->s->values);
    p = template_any(l->s, t, p);
    l->v = l->s->values + l->s->count;
    return p;
}

/* Reads the value of a node that is no number. *ret: its children. */
static always_inline const char *template_other(struct template_line *l, struct template *t,
                                                const char *p, struct template ***ret)
{
    const char *end = NULL;

    *ret = &t->child;
    if (t->kind == TEMPLATE_WORD) {
        template_head(l->v, t);
        (l->v++)->ptr = p - 1 - t->value_len;
        return p;
    }
    if (t->kind == TEMPLATE_TEXT || t->kind == TEMPLATE_FORK)
        end = template_text(l, t, p);
    if (unlikely(end == NULL))
        return template_slow(l, t, p);
    if (t->kind == TEMPLATE_FORK)
        *ret = template_fork(l, t);
    return end;
}

static always_inline void template_end(struct template_line *l, const struct template *t)
{
    l->s->count = (uint32_t)(l->v - l->s->values);
    l->s->leaf = template_more(&l->s->templates, t);
}

static always_inline bool template_fits(const struct template_line *l, const struct template *t,
                                        const char *p)
{
    if (!literal_begins(p, t->literal, t->ends, t->len < TEMPLATE_FIRST ? t->len : TEMPLATE_FIRST))
        return false;
    return likely(t->len <= TEMPLATE_FIRST) ||
           memcmp(p + TEMPLATE_FIRST, template_more(&l->s->templates, t)->literal,
                  t->len - TEMPLATE_FIRST) == 0;
}

/* The next line is likely to have the same shape. */
static void template_to_front(struct template **first, struct template *t)
{
    struct template **from = first;

    while (*from != t)
        from = &(*from)->next;
    *from = t->next;
    t->next = *first;
    *first = t;
}

static const char *template_run(struct trace_scanner *s, const char *p)
{
    struct template_line l = {s, scan_bytes(), s->values};
    struct template **first = &s->templates.root, **children, *t;
    /* kinds up to this are read by template_number */
    unsigned numbers = s->unit == TRACE_US ? TEMPLATE_TIME : TEMPLATE_INT;
    const char *end;

    for (t = *first; t;) {
        if (!template_fits(&l, t, p)) {
            t = t->next;
            continue;
        }
        end = p + t->len;
        if (likely(t->kind <= numbers)) {
            children = &t->child;
            p = template_number(&l, t, end);
            if (unlikely(!p))
                p = template_slow(&l, t, end);
        } else if (unlikely(t->kind == TEMPLATE_END)) {
            template_end(&l, t);
            return end;
        } else {
            p = template_other(&l, t, end, &children);
        }
        if (unlikely(!p)) {
            p = end - t->len;
            t = t->next;
            continue;
        }
        if (unlikely(t != *first))
            template_to_front(first, t);
        first = children;
        t = *first;
    }
    return NULL;
}
