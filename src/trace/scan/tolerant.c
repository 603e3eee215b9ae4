/* tolerant.c - reads one object and repairs what READING.md says can be repaired. Byte by byte, and
 * nothing outside [p, end). Independent of the strict parser, so that tests can compare the two. */
#include "trace/scan/fields.h"

struct tolerant {
    struct trace_scanner *s; /* NULL: only the repaired text is needed */
    const char *end;
    struct scan_patch *patch;
    bool cut; /* a function has returned NULL because the text ended */
};

static const char *fail_at(struct tolerant *t, const char *p)
{
    t->cut = p >= t->end;
    return NULL;
}

static bool is_space(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void drop_bytes(struct tolerant *t, const char *from, const char *to)
{
    scan_patch_add(t->patch, from, to, "", 0);
}

/* A newline between tokens (of joined lines) is valid, but the repaired object has to be one
 * line. */
static void replace_newline(struct tolerant *t, const char *p)
{
    if (*p == '\n')
        scan_patch_add(t->patch, p, p + 1, " ", 1);
}

static const char *skip_blanks(struct tolerant *t, const char *p)
{
    for (; p < t->end && is_space(*p); p++)
        replace_newline(t, p);
    return p;
}

/* Skips blanks and commas up to the next member, or `close`. One comma is right between two values;
 * others are repaired. */
static const char *skip_commas(struct tolerant *t, const char *p, bool after_value, char close)
{
    const char *start = p;
    bool keep = after_value;
    unsigned count = 0;

    for (; p < t->end && (is_space(*p) || *p == ','); p++)
        count += *p == ',';
    if (p >= t->end)
        return fail_at(t, p);
    if (*p == close)
        keep = false;
    else if (after_value && count == 0)
        return fail_at(t, p);
    for (const char *c = start; c < p; c++) {
        if (*c == ',' && !keep)
            drop_bytes(t, c, c + 1);
        else
            replace_newline(t, c);
        keep = keep && *c != ',';
    }
    return p;
}

/* ---- strings --------------------------------------------------------------------------------- */

/* Returns the closing quote of a string; `p` is after the opening one. A backslash escapes the byte
 * after it, whatever that is. */
static const char *string_end(struct tolerant *t, const char *p, bool *ret_special)
{
    *ret_special = false;
    for (; p < t->end && *p != '"'; p++) {
        unsigned char c = (unsigned char)*p;

        *ret_special = *ret_special || c < 0x20 || c >= 0x80 || c == '\\';
        p += c == '\\';
    }
    return p < t->end ? p : fail_at(t, t->end);
}

/* Reads a string. ret NULL: it is only checked and repaired. */
static const char *read_string(struct tolerant *t, const char *start, struct text *ret)
{
    bool special, repaired = false;
    const char *p = string_end(t, start, &special);

    if (!p)
        return NULL;
    if (ret)
        *ret = (struct text){start, (size_t)(p - start)};
    if (!special)
        return p + 1;
    if (ret && t->s) {
        char *out = scan_scratch(t->s, 3 * ret->len);
        if (!out)
            return fail_at(t, start);
        ret->ptr = out;
        ret->len = scan_decode(start, p, out, t->patch, &repaired);
    } else {
        scan_decode(start, p, NULL, t->patch, &repaired);
    }
    return p + 1;
}

/* ---- words and numbers ----------------------------------------------------------------------- */

static bool is_word_character(char c)
{
    unsigned char letter = (unsigned char)c | 0x20;

    return (letter >= 'a' && letter <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '+' || c == '-';
}

static bool is_no_number(struct text word)
{
    if (word.len && *word.ptr == '-') {
        word.ptr++;
        word.len--;
    }
    return text_eq_nocase(word, TEXT("nan")) || text_eq_nocase(word, TEXT("inf")) ||
           text_eq_nocase(word, TEXT("infinity"));
}

/* Reads a value that is a word: a number with or without junk, true, false, null, NaN. */
static const char *read_word(struct tolerant *t, const char *p, struct scan_node *node)
{
    const char *end = p;
    struct scan_number number;

    while (end < t->end && is_word_character(*end))
        end++;
    struct text w = {p, (size_t)(end - p)};
    bool truth = text_eq(w, TEXT("true"));
    if (truth || text_eq(w, TEXT("false"))) {
        if (node)
            node_fixed(t->s, node, TRACE_BOOL, truth, w);
        return end;
    }
    if (is_no_number(w) || text_eq(w, TEXT("null"))) {
        if (w.ptr[0] != 'n' || w.ptr[1] != 'u')
            scan_patch_add(t->patch, p, end, "null", 4);
        return end;
    }
    size_t len = scan_number_prefix(p, end, &number);
    if (len == 0)
        return fail_at(t, end);
    if (len < w.len)
        drop_bytes(t, p + len, end);
    if (node)
        node_number(t->s, node, &number);
    return end;
}

/* ---- arrays and objects ---------------------------------------------------------------------- */

static const char *read_value(struct tolerant *t, const char *p, struct scan_node *node, int depth);

/* Reads an array after its '['. Returns the position after its ']', or NULL. */
static const char *read_array(struct tolerant *t, const char *p, int depth)
{
    if (depth > SCAN_DEPTH_MAX)
        return fail_at(t, p);
    p = skip_commas(t, p, false, ']');
    while (p && *p != ']') {
        p = read_value(t, p, NULL, depth);
        p = p ? skip_commas(t, p, true, ']') : NULL;
    }
    return p ? p + 1 : NULL;
}

/* Reads an object after its '{'. Returns the position after its '}', or NULL. `parent` NULL: its
 * values are not needed. */
static const char *read_object(struct tolerant *t, const char *p, struct scan_node *parent,
                               int depth)
{
    struct scan_node *node = NULL;
    struct text key;

    if (depth > SCAN_DEPTH_MAX)
        return fail_at(t, p);
    p = skip_commas(t, p, false, '}');
    while (p && *p != '}') {
        if (*p != '"')
            return fail_at(t, p);
        p = read_string(t, p + 1, parent ? &key : NULL);
        p = p ? skip_blanks(t, p) : NULL;
        if (!p || p >= t->end || *p != ':')
            return p ? fail_at(t, p) : NULL;
        if (parent) {
            node = fields_key(t->s, parent, key);
            if (!node || !node_begin_value(t->s, node))
                return fail_at(t, p);
        }
        p = read_value(t, p + 1, node, depth);
        if (node)
            node->to = t->s->count;
        p = p ? skip_commas(t, p, true, '}') : NULL;
    }
    return p ? p + 1 : NULL;
}

/* Reads an array or an empty object as a value, whose repaired text is collected. */
static const char *json_value(struct tolerant *t, const char *p, struct scan_node *node, int depth)
{
    struct trace_scanner *s = t->s;
    struct scan_patch own = {&s->json, p, 0}, *outer = t->patch;
    struct text text;
    const char *end;
    char *copy;

    buf_clear(&s->json);
    t->patch = &own;
    end = *p == '[' ? read_array(t, p + 1, depth + 1) : read_object(t, p + 1, NULL, depth + 1);
    t->patch = outer;
    outer->count += own.count;
    if (!end)
        return NULL;
    text = (struct text){p, (size_t)(end - p)};
    if (own.count) {
        buf_append(&s->json, own.copied, (size_t)(end - own.copied));
        s->error = s->json.error ? s->json.error : s->error;
        copy = s->json.error ? NULL : scan_scratch(s, s->json.len);
        if (!copy)
            return fail_at(t, p);
        memcpy(copy, s->json.data, s->json.len);
        text = (struct text){copy, s->json.len};
    }
    node_fixed(s, node, TRACE_JSON, false, text);
    return end;
}

static bool is_empty(const struct tolerant *t, const char *p)
{
    while (p < t->end && (is_space(*p) || *p == ','))
        p++;
    return p < t->end && *p == '}';
}

static const char *read_value(struct tolerant *t, const char *p, struct scan_node *node, int depth)
{
    struct text text;

    p = skip_blanks(t, p);
    if (p >= t->end)
        return fail_at(t, p);
    switch (*p) {
    case '"':
        p = read_string(t, p + 1, node ? &text : NULL);
        if (p && node)
            node_string(t->s, node, text);
        return p;
    case '[':
        return node ? json_value(t, p, node, depth) : read_array(t, p + 1, depth + 1);
    case '{':
        if (node && is_empty(t, p + 1) && node != t->s->args_node)
            return json_value(t, p, node, depth);
        return read_object(t, p + 1, node, depth + 1);
    default:
        return read_word(t, p, node);
    }
}

enum tolerant_result tolerant_read(struct trace_scanner *s, const char *p, const char *end,
                                   struct scan_patch *patch, const char **ret_end)
{
    struct tolerant t = {s, end, patch, false};
    const char *object_end = read_object(&t, p + 1, s ? s->root : NULL, 1);

    if (object_end) {
        *ret_end = object_end;
        return TOLERANT_OK;
    }
    return t.cut ? TOLERANT_CUT : TOLERANT_BAD;
}
