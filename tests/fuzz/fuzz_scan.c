/* module: trace; paths */
/* fuzz_scan.c - the event scanner: its three paths against each other, against jansson, and against
 * its own repairs.
 *
 * 1. templates, strict walk and tolerant path give the same events and counts, on both CPU levels.
 * 2. where jansson accepts a line, the values are those of a walk over the jansson object.
 * 3. what was repaired: jansson accepts the repaired text, and the scanner reads the same event
 *    from it, unrepaired.
 */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dftracerd/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { PAD = 64, PATHS = 4 };

static void fail(const char *what, const char *text, size_t len, struct buf *a, struct buf *b)
{
    fprintf(stderr, "%s\ntext: %.*s\n", what, (int)len, text);
    if (a)
        fprintf(stderr, "one: %.*s\n", (int)a->len, a->data);
    if (b)
        fprintf(stderr, "two: %.*s\n", (int)b->len, b->data);
    abort();
}

/* ---- events as text -------------------------------------------------------------------------- */

static void write_value(struct buf *out, const struct trace_scanner *s, const struct trace_value *v)
{
    buf_printf(out, " %d/%d ", v->type, v->nano);
    if (v->field == TRACE_FIELD_OTHER)
        buf_puts(out, "other");
    else
        buf_text(out, trace_field_path(s, v->field));
    buf_putc(out, '=');
    if (v->type == TRACE_INT || v->type == TRACE_BOOL)
        buf_printf(out, "%lld", (long long)v->i);
    else if (v->type == TRACE_DOUBLE)
        buf_printf(out, "%.17g", v->d);
    else
        buf_append(out, v->ptr, v->len);
}

static void write_event(struct buf *out, const struct trace_scanner *s, const struct trace_event *e)
{
    buf_printf(out, "class %d bad %d", e->class, e->bad_dur);
    for (uint32_t i = 0; i < e->count; i++)
        write_value(out, s, &e->values[i]);
    buf_putc(out, '\n');
}

/* Events of one shape have the same fields, types and units in the same order. `seen`: the first
 * one of each. */
struct seen {
    uint32_t shape, count;
    struct trace_value values[128];
};
enum { SEEN = 64 };

static void check_shape(struct seen *seen, const struct trace_event *e)
{
    struct seen *first = &seen[e->shape % SEEN];

    if (e->shape == 0)
        return;
    if (first->shape != e->shape) {
        assert(e->count <= sizeof(first->values) / sizeof(first->values[0]));
        *first = (struct seen){e->shape, e->count, {{0}}};
        memcpy(first->values, e->values, e->count * sizeof(*e->values));
    }
    assert(first->count == e->count);
    for (uint32_t i = 0; i < e->count; i++)
        assert(memcmp(&first->values[i], &e->values[i], offsetof(struct trace_value, len)) == 0);
}

static void write_all(struct buf *out, struct trace_scanner *s, const char *text, size_t len,
                      enum trace_unit unit)
{
    static struct seen seen[SEEN];
    struct trace_event e;
    struct trace_counts c;
    int got;

    memset(seen, 0, sizeof(seen));
    trace_scan_begin(s, text, len, unit);
    while ((got = trace_scan_next(s, &e)) == 1) {
        check_shape(seen, &e);
        assert(e.offset + e.len <= len && text[e.offset] == '{' &&
               text[e.offset + e.len - 1] == '}');
        buf_printf(out, "%u+%u %d ", e.offset, e.len, e.repaired);
        write_event(out, s, &e);
    }
    assert(got == 0);
    trace_scan_counts(s, &c);
    for (size_t i = 0; i < sizeof(c) / sizeof(uint64_t); i++)
        buf_printf(out, "%llu ", (unsigned long long)((const uint64_t *)&c)[i]);
}

static struct trace_scanner *scanner(int path)
{
    static const struct trace_scanner_options options[PATHS] = {{CPU_AVX2, false, false},
                                                                {CPU_PORTABLE, false, false},
                                                                {CPU_AVX2, true, false},
                                                                {CPU_PORTABLE, true, true}};
    struct trace_scanner *s;

    assert(trace_scanner_new(&options[path], &s) == 0);
    return s;
}

/* A copy with what must not matter behind it. */
static char *padded(const void *data, size_t len)
{
    char *text = malloc(len + PAD);

    assert(text);
    if (len)
        memcpy(text, data, len);
    memset(text + len, '7', PAD);
    return text;
}

/* Each path reads the text twice: the second time with what it learned. */
static void compare_paths(const char *text, size_t len, enum trace_unit unit)
{
    struct buf first = {0}, other = {0};

    for (int path = 0; path < PATHS; path++) {
        struct trace_scanner *s = scanner(path);

        for (int round = 0; round < 2; round++) {
            struct buf *out = path + round ? &other : &first;

            buf_clear(out);
            write_all(out, s, text, len, unit);
            if (out != &first &&
                (first.len != other.len || memcmp(first.data, other.data, first.len) != 0))
                fail("paths differ", text, len, &first, &other);
        }
        trace_scanner_free(s);
    }
    buf_done(&first);
    buf_done(&other);
}

/* ---- repairs --------------------------------------------------------------------------------- */

/* Numbers that jansson cannot hold, and NUL in keys, are its limits, not the text's. */
static bool is_limit(const json_error_t *error)
{
    enum json_error_code code = json_error_code(error);

    return code == json_error_numeric_overflow || code == json_error_null_byte_in_key;
}

static void check_repair(const char *object, size_t len, struct buf *want, enum trace_unit unit)
{
    struct buf out = {0}, got = {0};
    struct trace_scanner *s = scanner(0);
    struct trace_event e;
    json_error_t error;
    json_t *json;
    char *text;

    assert(trace_repair(object, len, &out) == 0);
    json = json_loadb(out.data, out.len, JSON_ALLOW_NUL, &error);
    if (!json && !is_limit(&error))
        fail(error.text, object, len, &out, NULL);
    json_decref(json);
    buf_putc(&out, '\n');
    text = padded(out.data, out.len);
    trace_scan_begin(s, text, out.len, unit);
    if (trace_scan_next(s, &e) != 1 || e.repaired)
        fail("repaired text is not clean", object, len, &out, want);
    write_event(&got, s, &e);
    if (got.len != want->len || memcmp(got.data, want->data, got.len) != 0)
        fail("repaired text reads differently", object, len, &got, want);
    free(text);
    trace_scanner_free(s);
    buf_done(&out);
    buf_done(&got);
}

static void check_repairs(const char *text, size_t len, enum trace_unit unit)
{
    struct trace_scanner *s = scanner(2);
    struct buf want = {0}, same = {0};
    struct trace_event e;

    trace_scan_begin(s, text, len, unit);
    while (trace_scan_next(s, &e) == 1) {
        buf_clear(&want);
        write_event(&want, s, &e);
        if (e.repaired) {
            check_repair(text + e.offset, e.len, &want, unit);
            continue;
        }
        buf_clear(&same);
        assert(trace_repair(text + e.offset, e.len, &same) == 0);
        assert(same.len == e.len && memcmp(same.data, text + e.offset, e.len) == 0);
    }
    trace_scanner_free(s);
    buf_done(&want);
    buf_done(&same);
}

/* ---- jansson --------------------------------------------------------------------------------- */

struct walk {
    const struct trace_scanner *s;
    const struct trace_event *e;
    uint32_t found; /* values that some leaf stands for */
    bool unsure;    /* a key with a dot: two leaves may have one path */
};

static const struct trace_value *find(const struct walk *w, struct text path)
{
    for (uint32_t i = 0; i < w->e->count; i++) {
        if (text_eq(trace_field_path(w->s, w->e->values[i].field), path))
            return &w->e->values[i];
    }
    return NULL;
}

static bool is_time(struct text path)
{
    return text_eq(path, TEXT("ts")) || text_eq(path, TEXT("dur"));
}

static bool is_integer(struct text path)
{
    return text_eq(path, TEXT("pid")) || text_eq(path, TEXT("tid")) || text_eq(path, TEXT("id"));
}

static bool is_label(struct text path)
{
    return text_eq(path, TEXT("name")) || text_eq(path, TEXT("cat"));
}

static bool string_is(const struct trace_value *v, struct text path, const json_t *json)
{
    if (is_time(path) || is_integer(path) ||
        (trace_path_is_numeric(path) && v && v->type != TRACE_TEXT))
        return true; /* numeric text: the unit tests */
    return v && v->type == TRACE_TEXT && v->len == json_string_length(json) &&
           memcmp(v->ptr, json_string_value(json), v->len) == 0;
}

static bool integer_is(const struct trace_value *v, struct text path, const json_t *json,
                       enum trace_unit unit)
{
    char digits[32];
    int len = snprintf(digits, sizeof(digits), "%lld", (long long)json_integer_value(json));

    if (is_time(path) && unit != TRACE_US && unit != TRACE_NS)
        return true;
    if (v && v->type == TRACE_TEXT)
        return (int)v->len == len ? memcmp(v->ptr, digits, v->len) == 0
                                  : *v->ptr == '-' && v->len == 2; /* -0 */
    return v && v->type == TRACE_INT && v->i == json_integer_value(json);
}

static bool real_is(const struct trace_value *v, struct text path, const json_t *json)
{
    if (is_time(path) || is_integer(path))
        return true;
    if (v && v->type == TRACE_TEXT)
        return is_label(path) || trace_path_is_hash(path) || text_eq(path, TEXT("args.value"));
    return v && v->type == TRACE_DOUBLE && v->d == json_real_value(json);
}

static bool array_is(const struct trace_value *v, struct text path, const json_t *json)
{
    json_t *own;
    bool equal;

    if (is_time(path) || is_integer(path) || is_label(path))
        return !v || text_eq(path, TEXT("dur"));
    if (!v || v->type != TRACE_JSON)
        return false;
    own = json_loadb(v->ptr, v->len, JSON_DECODE_ANY | JSON_ALLOW_NUL, NULL);
    equal = own && json_equal(own, json);
    json_decref(own);
    return equal;
}

static bool leaf_is(const struct trace_value *v, struct text path, const json_t *json,
                    enum trace_unit unit)
{
    switch (json_typeof(json)) {
    case JSON_STRING:
        return string_is(v, path, json);
    case JSON_INTEGER:
        return integer_is(v, path, json, unit);
    case JSON_REAL:
        return real_is(v, path, json);
    case JSON_TRUE:
    case JSON_FALSE:
        if (is_time(path) || is_integer(path))
            return !v || is_time(path);
        return v && (is_label(path) ? v->type == TRACE_TEXT
                                    : v->type == TRACE_BOOL && v->i == json_is_true(json));
    case JSON_NULL:
        return !v || is_time(path);
    default:
        return array_is(v, path, json);
    }
}

static void walk_object(struct walk *w, json_t *object, const char *prefix, enum trace_unit unit)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        struct buf path = {0};
        const struct trace_value *v;

        w->unsure = w->unsure || strchr(key, '.');
        buf_printf(&path, "%s%s", prefix, key);
        if (json_is_object(value) && json_object_size(value) > 0) {
            buf_append(&path, ".", 2);
            walk_object(w, value, path.data, unit);
        } else if (!json_is_object(value) || strcmp(path.data, "args") != 0) {
            struct text p = {path.data, path.len};

            v = find(w, p);
            w->found += v != NULL;
            if (!w->unsure && !leaf_is(v, p, value, unit))
                fail("not what jansson reads", path.data, path.len, NULL, NULL);
        }
        buf_done(&path);
    }
}

static bool is_null_or_missing(const json_t *json)
{
    return !json || json_is_null(json);
}

static int depth_of(json_t *json)
{
    int deepest = 0;
    const char *key;
    json_t *value;
    size_t i;

    json_object_foreach(json, key, value)
    {
        int depth = depth_of(value);
        deepest = depth > deepest ? depth : deepest;
    }
    json_array_foreach(json, i, value)
    {
        int depth = depth_of(value);
        deepest = depth > deepest ? depth : deepest;
    }
    return deepest + (json_is_object(json) || json_is_array(json));
}

/* `text` is one line and its newline; jansson read `json` from it. */
static void compare_object(const char *text, size_t len, json_t *json, enum trace_unit unit)
{
    struct trace_scanner *s = scanner(0);
    struct trace_event e;
    struct walk w = {s, &e, 0, false};

    trace_scan_begin(s, text, len, unit);
    if (trace_scan_next(s, &e) == 1) {
        if (e.repaired)
            fail("repaired what jansson accepts", text, len, NULL, NULL);
        walk_object(&w, json, "", unit);
        if (!w.unsure && w.found != e.count &&
            !(w.found + 1 == e.count && is_null_or_missing(json_object_get(json, "dur"))))
            if (find(&w, TEXT("dur")) == NULL || w.found + 1 != e.count)
                fail("more values than jansson reads", text, len, NULL, NULL);
    } else if (json_is_string(json_object_get(json, "name")) &&
               json_is_integer(json_object_get(json, "ts")) && unit == TRACE_US &&
               depth_of(json) <= 64) {
        fail("refused what jansson accepts", text, len, NULL, NULL);
    }
    trace_scanner_free(s);
}

static void compare_jansson(const char *text, size_t len, enum trace_unit unit)
{
    const char *end = text + len, *newline;

    for (const char *p = text; p < end; p = newline + 1) {
        newline = memchr(p, '\n', (size_t)(end - p));
        if (!newline)
            newline = end;
        json_t *json = json_loadb(p, (size_t)(newline - p), JSON_ALLOW_NUL, NULL);
        if (json_is_object(json)) {
            char *line = padded(p, (size_t)(newline - p) + (newline < end));

            compare_object(line, (size_t)(newline - p) + (newline < end), json, unit);
            free(line);
        }
        json_decref(json);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum trace_unit unit = size % 8 < 4 ? size % 8 : TRACE_US;
    char *text = padded(data, size);

    compare_paths(text, size, unit);
    check_repairs(text, size, unit);
    compare_jansson(text, size, unit);
    free(text);
    return 0;
}
