/* module: trace; paths */
/* fuzz_lines.c - damaged lines: where the scanner finds objects, which of them it calls repaired
 * and how it counts lines, against a slow reader of docs/READING.md that shares nothing with it.
 * Values are fuzz_scan's.
 *
 * Where the first byte of the input is odd, bytes of 0x80 and more stand for pieces of lines, so
 * that mutations meet grammar.
 */
#include <assert.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "dftracerd/trace.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
    PAD = 64,
    DEPTH_MAX = 64,
    KEYS_MAX = 65536,
    JOINS_MAX = 8,
    PLACES_MAX = 16,
    OBJECTS_MAX = 4096
};

static void fail(const char *what, struct text text)
{
    fprintf(stderr, "%s\ntext: %.*s\n", what, (int)text.len, text.ptr);
    abort();
}

/* ---- one object: how far it goes, whether it is sound ---------------------------------------- */

enum outcome { SOUND, CUT, BAD };
struct reader {
    struct text text;
    size_t at;
    unsigned keys;
    bool repaired;
};

static int peek(const struct reader *r)
{
    return r->at < r->text.len ? (unsigned char)r->text.ptr[r->at] : -1;
}

static bool in(int c, const char *set)
{
    return c > 0 && strchr(set, c);
}

static void spaces(struct reader *r)
{
    while (in(peek(r), " \t\r\n"))
        r->at++;
}

static bool is_hex4(const struct reader *r, size_t at, unsigned *ret)
{
    *ret = 0;
    for (size_t i = at; i < at + 4; i++) {
        static const char digits[] = "0123456789abcdef";
        int c = i < r->text.len ? (unsigned char)r->text.ptr[i] : 0;
        const char *digit = c ? strchr(digits, c >= 'A' && c <= 'F' ? c + 32 : c) : NULL;

        if (!digit)
            return false;
        *ret = *ret * 16 + (unsigned)(digit - digits);
    }
    return true;
}

/* Behind a backslash. */
static void escape(struct reader *r)
{
    unsigned code, low;

    if (in(peek(r), "\"\\/bfnrt")) {
        r->at++;
    } else if (peek(r) != 'u' || !is_hex4(r, r->at + 1, &code)) {
        r->repaired = true; /* the backslash alone; what follows is read as it stands */
    } else {
        r->at += 5;
        if (code >= 0xD800 && code < 0xDC00 && peek(r) == '\\' && r->at + 1 < r->text.len &&
            r->text.ptr[r->at + 1] == 'u' && is_hex4(r, r->at + 2, &low) && low >= 0xDC00 &&
            low < 0xE000)
            r->at += 6;
        else if (code >= 0xD800 && code < 0xE000)
            r->repaired = true;
    }
}

static enum outcome string(struct reader *r)
{
    size_t from = ++r->at;

    while (peek(r) != '"') {
        int c = peek(r);

        if (c < 0)
            return CUT;
        r->repaired = r->repaired || c < 0x20;
        r->at++;
        if (c == '\\')
            escape(r);
    }
    r->repaired = r->repaired || !text_is_utf8((struct text){r->text.ptr + from, r->at - from});
    r->at++;
    return SOUND;
}

static bool is_digit(int c)
{
    return c >= '0' && c <= '9';
}

/* Length of the longest JSON number at the front of a word. */
static size_t number_length(struct text w)
{
    size_t i = w.len && w.ptr[0] == '-', end;

    if (i >= w.len || !is_digit(w.ptr[i]))
        return 0;
    end = i + 1;
    while (w.ptr[i] != '0' && end < w.len && is_digit(w.ptr[end]))
        end++;
    if (end + 1 < w.len && w.ptr[end] == '.' && is_digit(w.ptr[end + 1]))
        for (end++; end < w.len && is_digit(w.ptr[end]); end++)
            ;
    if (end < w.len && (w.ptr[end] == 'e' || w.ptr[end] == 'E')) {
        i = end + 1;
        i += i < w.len && (w.ptr[i] == '+' || w.ptr[i] == '-');
        if (i < w.len && is_digit(w.ptr[i]))
            for (end = i; end < w.len && is_digit(w.ptr[end]); end++)
                ;
    }
    return end;
}

static enum outcome word(struct reader *r)
{
    static const char *const sound[] = {"true", "false", "null"}, *const none[] = {"nan", "inf",
                                                                                   "infinity"};
    size_t from = r->at;
    struct text w, bare;

    while (peek(r) >= 0 && (is_digit(peek(r)) || ((peek(r) | 32) >= 'a' && (peek(r) | 32) <= 'z') ||
                            in(peek(r), "._+-")))
        r->at++;
    w = bare = (struct text){r->text.ptr + from, r->at - from};
    if (bare.len && bare.ptr[0] == '-')
        bare = (struct text){bare.ptr + 1, bare.len - 1};
    for (int i = 0; i < 3; i++)
        if (text_eq(w, text_of(sound[i])))
            return SOUND;
    for (int i = 0; i < 3; i++)
        if (text_eq_nocase(bare, text_of(none[i]))) {
            r->repaired = true;
            return SOUND;
        }
    size_t number = number_length(w);
    if (number == 0)
        return peek(r) < 0 ? CUT : BAD;
    r->repaired = r->repaired || number < w.len;
    return SOUND;
}

static enum outcome container(struct reader *r, int depth, bool in_array);

static enum outcome value(struct reader *r, int depth, bool in_array)
{
    spaces(r);
    if (peek(r) == '"')
        return string(r);
    if (peek(r) == '{' || peek(r) == '[')
        return container(r, depth + 1, in_array);
    return peek(r) < 0 ? CUT : word(r);
}

static enum outcome member(struct reader *r, int depth, bool in_array)
{
    enum outcome rc = peek(r) == '"' ? string(r) : BAD;

    if (rc != SOUND)
        return rc;
    spaces(r);
    if (peek(r) != ':')
        return peek(r) < 0 ? CUT : BAD;
    if (!in_array && ++r->keys > KEYS_MAX)
        return BAD;
    r->at++;
    return value(r, depth, in_array);
}

static enum outcome container(struct reader *r, int depth, bool in_array)
{
    bool array = peek(r) == '[';
    enum outcome rc = SOUND;

    r->at++;
    if (depth > DEPTH_MAX)
        return peek(r) < 0 ? CUT : BAD;
    for (bool first = true; rc == SOUND; first = false) {
        unsigned commas = 0;

        for (; in(peek(r), " \t\r\n,"); r->at++)
            commas += peek(r) == ',';
        if (peek(r) < 0)
            return CUT;
        bool end = peek(r) == (array ? ']' : '}');
        r->repaired = r->repaired || commas > (unsigned)(!first && !end);
        if (end) {
            r->at++;
            return SOUND;
        }
        if (!first && commas == 0)
            return BAD;
        rc = array ? value(r, depth, true) : member(r, depth, in_array);
    }
    return rc;
}

/* ---- lines ----------------------------------------------------------------------------------- */

struct object {
    size_t at, end;
    bool repaired;
    size_t line; /* number of its first line */
};
struct line {
    size_t at, end, joined;
    unsigned objects;
    bool brackets, found; /* found: events, once the scanner has said which */
};
struct reading {
    struct object objects[OBJECTS_MAX];
    struct line lines[OBJECTS_MAX];
    size_t count, line_count;
};
static struct reading reading;

static size_t end_of_line(struct text t, size_t at)
{
    const char *end = memchr(t.ptr + at, '\n', t.len - at);

    return end ? (size_t)(end - t.ptr) : t.len;
}

static bool is_blank(char c)
{
    return (unsigned char)c <= 0x20;
}

static size_t skip(struct text t, size_t at, size_t end, const char *set)
{
    while (at < end && (is_blank(t.ptr[at]) || in((unsigned char)t.ptr[at], set)))
        at++;
    return at;
}

static enum outcome attempt(struct text t, size_t at, size_t end, struct object *ret)
{
    struct reader r = {.text = {t.ptr, end}, .at = at};
    enum outcome rc = t.ptr[at] == '{' ? container(&r, 1, false) : BAD;

    *ret = (struct object){at, r.at, r.repaired, reading.line_count};
    return rc;
}

/* Rule 6. True: l->end and l->joined tell the lines that were joined. */
static bool join(struct text t, struct line *l, size_t at, struct object *ret)
{
    size_t end = l->end;

    for (size_t n = 1; n <= JOINS_MAX && end + 1 < t.len; n++) {
        size_t from = end + 1;

        end = end_of_line(t, from);
        if (skip(t, from, end, "[],") == end)
            return false;
        size_t first = skip(t, from, end, "");
        if (t.ptr[first] == '{')
            return false;
        enum outcome rc = attempt(t, at, end, ret);
        if (rc == SOUND) {
            l->end = end;
            l->joined = n;
        }
        if (rc != CUT)
            return rc == SOUND;
    }
    return false;
}

/* Rule 7: the next place, or l->end. */
static size_t next_place(struct text t, const struct line *l, size_t at)
{
    for (; at + 1 < l->end; at++) {
        size_t before = at;

        if (t.ptr[at] != '{' || t.ptr[at + 1] != '"')
            continue;
        while (before > l->at && is_blank(t.ptr[before - 1]))
            before--;
        if (before == l->at || !in((unsigned char)t.ptr[before - 1], ":[,"))
            return at;
    }
    return l->end;
}

static void read_line(struct text t, struct line *l)
{
    size_t first = reading.count, at = skip(t, l->at, l->end, "[,");
    unsigned places = PLACES_MAX;
    bool joining = true, lost = false;

    while (at < l->end) {
        struct object o;
        enum outcome rc = attempt(t, at, l->end, &o);

        if (rc == CUT && joining) {
            joining = false;
            rc = join(t, l, at, &o) ? SOUND : CUT;
        }
        if (rc == SOUND && reading.count < OBJECTS_MAX) {
            reading.objects[reading.count++] = o;
            at = skip(t, o.end, l->end, "],");
        } else {
            lost = true;
            at = places-- ? next_place(t, l, at + 1) : l->end;
        }
    }
    l->objects = (unsigned)(reading.count - first);
    if (lost || l->joined || l->objects > 1)
        for (size_t i = first; i < reading.count; i++)
            reading.objects[i].repaired = true;
}

static void read_text(struct text t)
{
    reading.count = reading.line_count = 0;
    for (size_t at = 0; at < t.len && reading.line_count < OBJECTS_MAX;) {
        struct line *l = &reading.lines[reading.line_count];

        *l = (struct line){.at = at, .end = end_of_line(t, at)};
        l->brackets = skip(t, l->at, l->end, "[],") == l->end;
        if (!l->brackets)
            read_line(t, l);
        at = l->end + 1;
        reading.line_count++;
    }
}

/* ---- the scanner ----------------------------------------------------------------------------- */

/* Surely an event: no doubt about the class, whatever the numbers are. */
static bool has_class(struct text object)
{
    struct buf valid = {0};
    assert(trace_repair(object.ptr, object.len, &valid) == 0);
    json_t *json = json_loadb(valid.data, valid.len, JSON_ALLOW_NUL, NULL);
    const json_t *ph = json_object_get(json, "ph");
    const char *letter = json_string_length(ph) == 1 ? json_string_value(ph) : "";
    bool known =
        ((*letter | 32) >= 'a' && (*letter | 32) <= 'z') ||
        (json_is_integer(ph) && json_integer_value(ph) >= 1 && json_integer_value(ph) <= 4) ||
        (json_is_string(json_object_get(json, "name")) &&
         json_is_integer(json_object_get(json, "ts")));

    json_decref(json);
    buf_done(&valid);
    return known;
}

static void miss(struct text t, const struct object *o)
{
    if (has_class((struct text){t.ptr + o->at, o->end - o->at}))
        fail("an object is missing", t);
}

static void compare_counts(struct text t, const struct trace_counts *c)
{
    uint64_t lines = 0, brackets = 0, invalid = 0;

    for (size_t i = 0; i < reading.line_count; i++) {
        const struct line *l = &reading.lines[i];

        lines += 1 + l->joined;
        brackets += l->brackets;
        invalid += l->brackets || l->found ? 0 : 1 + l->joined;
    }
    if (c->lines != lines || c->brackets != brackets || c->invalid != invalid)
        fail("lines are counted otherwise", t);
}

static void compare(struct text t, bool only_tolerant)
{
    struct trace_scanner_options options = {CPU_AVX2, only_tolerant, only_tolerant};
    struct trace_scanner *s = NULL;
    struct trace_event e;
    struct trace_counts c;
    const struct object *o = reading.objects, *end = o + reading.count;
    uint64_t repaired = 0;

    assert(trace_scanner_new(&options, &s) == 0);
    for (size_t i = 0; i < reading.line_count; i++)
        reading.lines[i].found = false;
    trace_scan_begin(s, t.ptr, t.len, TRACE_US);
    while (trace_scan_next(s, &e) == 1) {
        for (; o < end && o->at < e.offset; o++)
            miss(t, o);
        if (o == end || o->at != e.offset || o->end != e.offset + e.len ||
            o->repaired != e.repaired)
            fail("an object is read otherwise", t);
        repaired += e.repaired;
        reading.lines[o++->line].found = true;
    }
    for (; o < end; o++)
        miss(t, o);
    trace_scan_counts(s, &c);
    assert(c.repaired == repaired);
    compare_counts(t, &c);
    trace_scanner_free(s);
}

/* ---- input ----------------------------------------------------------------------------------- */

static const char *const pieces[] = {"{\"name\":\"a\",\"ts\":1}",
                                     "{\"ph\":\"X\",\"args\":{",
                                     "\"ph\":\"B\"",
                                     "\"a\":",
                                     "{\"",
                                     "\"}",
                                     "}}",
                                     "[",
                                     "]",
                                     ",",
                                     ":",
                                     "\n",
                                     "\\",
                                     "\\u",
                                     "\\ud83d",
                                     "\\ude00",
                                     "\xff",
                                     "\xe4\xb8\xad",
                                     "NaN",
                                     "-Infinity",
                                     "null",
                                     "true",
                                     "fals",
                                     "12",
                                     "-0",
                                     "1e5",
                                     "0.5q",
                                     "1e",
                                     "\"\"",
                                     "{}",
                                     "[]",
                                     " ",
                                     "\t",
                                     "\r\n",
                                     "\n\"",
                                     "\n}",
                                     "]}",
                                     "\",\"",
                                     "{\"ph\":1",
                                     ",,"};

static struct text expand(const uint8_t *data, size_t size)
{
    struct buf out = {0};
    bool grammar = size > 0 && data[0] & 1;

    for (size_t i = 1; i < size; i++) {
        if (grammar && data[i] >= 0x80)
            buf_puts(&out, pieces[(data[i] - 0x80u) % (sizeof(pieces) / sizeof(pieces[0]))]);
        else
            buf_putc(&out, (char)data[i]);
    }
    size_t len = out.len;
    for (int i = 0; i < PAD; i++)
        buf_putc(&out, '"');
    assert(out.error == 0);
    return (struct text){out.data, len};
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct text t = expand(data, size);

    if (t.len < OBJECTS_MAX * 2) {
        read_text(t);
        compare(t, false);
        compare(t, true);
    }
    free((char *)t.ptr);
    return 0;
}
