/* fields.h - converts tokens to values: the fast paths, which are inlined into the strict parser;
 * the others are in fields.c. */
#ifndef DFTRACERD_TRACE_SCAN_FIELDS_H
#define DFTRACERD_TRACE_SCAN_FIELDS_H

#include "trace/scan/scan.h"
#include "trace/scan/scan_number.h"

int fields_init(struct trace_scanner *s);
void fields_done(struct trace_scanner *s);
/* Removes the values of the previous attempt. */
void fields_begin(struct trace_scanner *s);
/* Returns the node of `key` in `parent`, which is made if there is none. NULL: s->error is set. */
struct scan_node *fields_key(struct trace_scanner *s, struct scan_node *parent, struct text key);
/* For a key that is repeated in the same object: removes its earlier values. */
void fields_remove_values(struct trace_scanner *s, struct scan_node *node);
/* Finds the field of a leaf. Returns false if no ordinary value may be added. */
bool fields_prepare(struct trace_scanner *s, struct scan_node *node);
bool fields_grow(struct trace_scanner *s);
void fields_number(struct trace_scanner *s, uint16_t field, uint8_t conv,
                   const struct scan_number *n);
void fields_string(struct trace_scanner *s, uint16_t field, uint8_t conv, struct text t);
/* Adds a value whose path is beyond the limit; t: the decoded text if `quote`, else the token. */
void fields_other(struct trace_scanner *s, struct scan_node *node, struct text t, bool quote);

static always_inline struct trace_value *value_put(struct trace_scanner *s, uint16_t field,
                                                   uint8_t type)
{
    struct trace_value *v;

    if (unlikely(s->count == s->cap) && !fields_grow(s))
        return &s->values[s->count - 1]; /* without memory, the event is never delivered */
    v = &s->values[s->count++];
    v->field = field;
    v->type = type;
    v->nano = 0;
    v->len = 0;
    return v;
}

static inline void value_text(struct trace_scanner *s, uint16_t field, uint8_t type,
                              const char *ptr, size_t len)
{
    struct trace_value *v = value_put(s, field, type);

    v->ptr = ptr;
    v->len = (uint32_t)len;
}

static inline void value_int(struct trace_scanner *s, uint16_t field, uint8_t type, int64_t i)
{
    value_put(s, field, type)->i = i;
}

static always_inline void value_number(struct trace_scanner *s, uint16_t field, uint8_t conv,
                                       const struct scan_number *n)
{
    if (likely(n->integral && !n->big)) {
        switch (conv) {
        case CONV_PHASE:
            s->at.phase = (int32_t)s->count;
            value_int(s, field, TRACE_INT, number_signed(n));
            return;
        case CONV_PLAIN:
        case CONV_NUMERIC:
        case CONV_INTEGER:
            value_int(s, field, TRACE_INT, number_signed(n));
            return;
        case CONV_TEXT:
            value_text(s, field, TRACE_TEXT, n->ptr, n->len);
            return;
        case CONV_TIME:
        case CONV_DUR:
            if (s->unit != TRACE_US)
                break;
            if (conv == CONV_TIME) {
                s->at.ts = (int32_t)s->count;
            } else {
                s->at.dur = (int32_t)s->count;
                s->bad_dur = 0;
            }
            value_int(s, field, TRACE_INT, number_signed(n));
            return;
        default:
            break;
        }
    }
    fields_number(s, field, conv, n);
}

static always_inline void value_string(struct trace_scanner *s, uint16_t field, uint8_t conv,
                                       const char *ptr, size_t len)
{
    if (conv == CONV_PLAIN || conv == CONV_TEXT) {
        value_text(s, field, TRACE_TEXT, ptr, len);
    } else if (conv == CONV_LABEL) {
        if (field == TRACE_FIELD_NAME)
            s->at.name = (int32_t)s->count;
        value_text(s, field, TRACE_TEXT, ptr, len);
    } else if (conv == CONV_PHASE) {
        s->at.phase = (int32_t)s->count;
        value_text(s, field, TRACE_TEXT, ptr, len);
    } else {
        fields_string(s, field, conv, (struct text){ptr, len});
    }
}

/* Adds true, false, an array or {}: `token` is its text. */
void fields_fixed(struct trace_scanner *s, uint16_t field, uint8_t conv, uint8_t type, bool truth,
                  struct text token);

/* ---- functions of nodes, for the parsers ----------------------------------------------------- */

/* Begins the value of a key of the present object. Returns false if there are too many keys. */
static inline bool node_begin_value(struct trace_scanner *s, struct scan_node *node)
{
    if (unlikely(++s->keys > SCAN_KEYS_MAX))
        return false;
    if (unlikely(node->seen == s->attempt))
        fields_remove_values(s, node);
    node->seen = s->attempt;
    node->from = s->count;
    node->to = s->count;
    return true;
}

static inline bool node_ready(struct trace_scanner *s, struct scan_node *node)
{
    return likely(node->ready) || fields_prepare(s, node);
}

static inline void node_number(struct trace_scanner *s, struct scan_node *node,
                               const struct scan_number *n)
{
    if (node_ready(s, node))
        value_number(s, node->field, node->conv, n);
    else
        fields_other(s, node, (struct text){n->ptr, n->len}, false);
}

static inline void node_string(struct trace_scanner *s, struct scan_node *node, struct text t)
{
    if (node_ready(s, node))
        value_string(s, node->field, node->conv, t.ptr, t.len);
    else
        fields_other(s, node, t, true);
}

static inline void node_fixed(struct trace_scanner *s, struct scan_node *node, uint8_t type,
                              bool truth, struct text t)
{
    if (node_ready(s, node))
        fields_fixed(s, node->field, node->conv, type, truth, t);
    else
        fields_other(s, node, t, false);
}

#endif
