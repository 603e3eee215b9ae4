/* scan_walk.h - the strict parser of one object, with keys in any order. Compiled once per CPU
 * level (scan_bytes.h).
 *
 * Keys are expected in the order of the last object of their kind: each node keeps the key that
 * followed it, so a key normally costs one comparison. Text that is not strictly valid JSON is
 * rejected, and left to tolerant.c. */
#include "trace/scan/fields.h"
#include "trace/scan/scan_bytes.h"

static inline const char *skip_blanks(const char *p)
{
    if (likely((unsigned char)*p > ' '))
        return p;
    while (*p == ' ' || *p == '\t' || *p == '\r')
        p++;
    return p;
}

/* Reads a string after its opening quote. Returns the position after the closing one, or NULL. */
static inline const char *read_string(struct trace_scanner *s, const char *p, struct text *ret)
{
    struct scan_bytes b = scan_bytes();
    const char *end = plain_end(&b, p);

    if (unlikely(*end != '"'))
        return scan_string_slow(s, p, ret);
    ret->ptr = p;
    ret->len = (size_t)(end - p);
    return end + 1;
}

static inline bool word_is(const char *p, const char *word, size_t len)
{
    return memcmp(p, word, len) == 0;
}

/* ---- arrays, which are only checked: their text is the value --------------------------------- */

static const char *skip_object(struct trace_scanner *s, const char *p, int depth);
static const char *skip_array(struct trace_scanner *s, const char *p, int depth);

static const char *skip_value(struct trace_scanner *s, const char *p, int depth)
{
    struct scan_number number;
    struct text text;

    switch (*p) {
    case '"':
        return read_string(s, p + 1, &text);
    case '{':
        return skip_object(s, p + 1, depth + 1);
    case '[':
        return skip_array(s, p + 1, depth + 1);
    case 't':
        return word_is(p, "true", 4) ? p + 4 : NULL;
    case 'f':
        return word_is(p, "false", 5) ? p + 5 : NULL;
    case 'n':
        return word_is(p, "null", 4) ? p + 4 : NULL;
    default:
        return number_scan(p, &number);
    }
}

/* Skips an array after its '['. Returns the position after its ']', or NULL. */
static const char *skip_array(struct trace_scanner *s, const char *p, int depth)
{
    if (depth > SCAN_DEPTH_MAX)
        return NULL;
    p = skip_blanks(p);
    if (*p == ']')
        return p + 1;
    for (;;) {
        p = skip_value(s, p, depth);
        if (!p)
            return NULL;
        p = skip_blanks(p);
        if (*p == ']')
            return p + 1;
        if (*p != ',')
            return NULL;
        p = skip_blanks(p + 1);
    }
}

static const char *skip_object(struct trace_scanner *s, const char *p, int depth)
{
    struct text key;

    if (depth > SCAN_DEPTH_MAX)
        return NULL;
    p = skip_blanks(p);
    if (*p == '}')
        return p + 1;
    for (;;) {
        if (*p != '"')
            return NULL;
        p = read_string(s, p + 1, &key);
        if (!p)
            return NULL;
        p = skip_blanks(p);
        if (*p != ':')
            return NULL;
        p = skip_value(s, skip_blanks(p + 1), depth);
        if (!p)
            return NULL;
        p = skip_blanks(p);
        if (*p == '}')
            return p + 1;
        if (*p != ',')
            return NULL;
        p = skip_blanks(p + 1);
    }
}

/* ---- objects --------------------------------------------------------------------------------- */

static inline void add_note(struct trace_scanner *s, struct scan_note n)
{
    if (likely(!s->noting))
        return;
    if (s->note_count < SCAN_SLOTS_MAX)
        s->notes[s->note_count++] = n;
    else
        s->notable = false;
}

static const char *walk_fixed(struct trace_scanner *s, struct scan_node *node, const char *p,
                              int depth)
{
    const char *end = NULL;
    uint8_t slot = SLOT_CONST, type = TRACE_BOOL;
    bool truth = *p == 't';

    if (*p == 'n') /* null adds no value */
        return word_is(p, "null", 4) ? p + 4 : NULL;
    if (*p == 't' && word_is(p, "true", 4)) {
        end = p + 4;
    } else if (*p == 'f' && word_is(p, "false", 5)) {
        end = p + 5;
    } else if (*p == '[') {
        end = skip_array(s, p + 1, depth + 1);
        slot = SLOT_ARRAY;
        type = TRACE_JSON;
    }
    if (!end)
        return NULL;
    node_fixed(s, node, type, truth, (struct text){p, (size_t)(end - p)});
    add_note(s, (struct scan_note){p, end, node, slot, type, (uint8_t)depth, truth});
    return end;
}

static const char *walk_object(struct trace_scanner *s, struct scan_node *parent, const char *p,
                               int depth);

static const char *walk_nested(struct trace_scanner *s, struct scan_node *node, const char *p,
                               int depth)
{
    const char *end = skip_blanks(p + 1);

    if (depth >= SCAN_DEPTH_MAX)
        return NULL;
    if (*end != '}')
        return walk_object(s, node, end, depth + 1);
    end++;
    if (node == s->args_node)
        return end;
    node_fixed(s, node, TRACE_JSON, false, (struct text){p, (size_t)(end - p)});
    add_note(s, (struct scan_note){p, end, node, SLOT_CONST, TRACE_JSON, (uint8_t)depth, false});
    return end;
}

static inline const char *walk_value(struct trace_scanner *s, struct scan_node *node, const char *p,
                                     int depth)
{
    struct scan_number number;
    struct text text;
    const char *end;

    if (*p == '"') {
        end = read_string(s, p + 1, &text);
        if (unlikely(!end))
            return NULL;
        node_string(s, node, text);
        add_note(s, (struct scan_note){p, end, node, SLOT_STRING, 0, (uint8_t)depth, false});
        return end;
    }
    if (likely((unsigned char)(*p - '0') < 10 || *p == '-')) {
        end = number_scan(p, &number);
        if (unlikely(!end))
            return NULL;
        node_number(s, node, &number);
        add_note(s, (struct scan_note){p, end, node, SLOT_NUMBER, 0, (uint8_t)depth, false});
        return end;
    }
    return *p == '{' ? walk_nested(s, node, p, depth) : walk_fixed(s, node, p, depth);
}

/* Reads the key at `p`, after its quote. `hint`: the node that is expected here; updated to the
 * node that was found. */
static inline const char *walk_key(struct trace_scanner *s, struct scan_node *parent, const char *p,
                                   struct scan_node **hint, struct scan_node **ret)
{
    struct scan_node *node = *hint;
    struct text key;

    if (likely(node && literal_is(p, node->match, node->key_len + 1))) {
        *ret = node;
        return p + node->key_len + 1;
    }
    p = read_string(s, p, &key);
    if (!p)
        return NULL;
    node = fields_key(s, parent, key);
    if (!node)
        return NULL;
    if (node->matchable && !node->temporary)
        *hint = node;
    *ret = node;
    return p;
}

/* Reads an object from its first key, which exists. Returns the position after its '}', or NULL. */
static const char *walk_object(struct trace_scanner *s, struct scan_node *parent, const char *p,
                               int depth)
{
    struct scan_node **hint = &parent->first, *node;

    for (;;) {
        if (unlikely(*p != '"'))
            return NULL;
        p = walk_key(s, parent, p + 1, hint, &node);
        if (unlikely(!p))
            return NULL;
        if (unlikely(!node_begin_value(s, node)))
            return NULL;
        hint = &node->follow;
        p = skip_blanks(p);
        if (unlikely(*p != ':'))
            return NULL;
        p = walk_value(s, node, skip_blanks(p + 1), depth);
        if (unlikely(!p))
            return NULL;
        node->to = s->count;
        p = skip_blanks(p);
        if (*p == '}')
            return p + 1;
        if (unlikely(*p != ','))
            return NULL;
        p = skip_blanks(p + 1);
    }
}

static const char *walk(struct trace_scanner *s, const char *p)
{
    p = skip_blanks(p + 1);
    return *p == '}' ? p + 1 : walk_object(s, s->root, p, 1);
}
