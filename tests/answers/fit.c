/* fit.c - expected and actual answers, compared as JSON or line by line. */
#include "fit.h"

#include <jansson.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_MAX_BYTES = 200, SHOWN = 300 };

/* ---- JSON ------------------------------------------------------------------------------------ */

struct place {
    char path[PATH_MAX_BYTES];
    struct buf *why;
};

static bool fit_value(struct place *at, const json_t *want, const json_t *got);

static bool differs(struct place *at, const char *what, const json_t *want, const json_t *got)
{
    char *a = want ? json_dumps(want, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;
    char *b = got ? json_dumps(got, JSON_ENCODE_ANY | JSON_COMPACT) : NULL;

    buf_printf(at->why, "    %s: %s\n", *at->path ? at->path : "the answer", what);
    if (a)
        buf_printf(at->why, "      expected %.*s\n", SHOWN, a);
    if (b)
        buf_printf(at->why, "      got      %.*s\n", SHOWN, b);
    free(a);
    free(b);
    return false;
}

static bool fit_at(struct place *at, const char *step, const json_t *want, const json_t *got)
{
    size_t len = strlen(at->path);

    snprintf(at->path + len, sizeof at->path - len, "%s%s", *step == '[' || !len ? "" : ".", step);
    bool fits = fit_value(at, want, got);
    at->path[len] = '\0';
    return fits;
}

static bool fit_object(struct place *at, const json_t *want, const json_t *got)
{
    const char *key;
    json_t *value;
    bool fits = true;

    json_object_foreach((json_t *)(uintptr_t)want, key, value)
    {
        const json_t *member = json_object_get(got, key + (*key == '!'));
        if (*key == '!' && member)
            fits = differs(at, key, NULL, member);
        else if (*key != '!' && !member)
            fits = differs(at, key, value, NULL) && fits;
        else if (*key != '!')
            fits = fit_at(at, key, value, member) && fits;
    }
    return fits;
}

static bool is_more(const json_t *value)
{
    return json_is_string(value) && strcmp(json_string_value(value), "...") == 0;
}

/* The next element from `from` on whose first listed member is the same. */
static size_t find_like(const json_t *got, size_t from, const json_t *want)
{
    void *first = json_object_iter((json_t *)(uintptr_t)want);
    const char *key = first ? json_object_iter_key(first) : "";

    while (from < json_array_size(got) &&
           !json_equal(json_object_get(json_array_get(got, from), key), json_object_get(want, key)))
        from++;
    return from;
}

/* Of "..." and elements only these, in this order. */
static bool fit_some(struct place *at, const json_t *want, const json_t *got)
{
    size_t next = 0;
    bool fits = true;
    char step[24];

    for (size_t i = 1; i < json_array_size(want); i++) {
        const json_t *element = json_array_get(want, i);
        next = find_like(got, next, element);
        if (next == json_array_size(got))
            return differs(at, "no such element, or not in this order", element, NULL);
        snprintf(step, sizeof step, "[%zu]", next);
        fits = fit_at(at, step, element, json_array_get(got, next++)) && fits;
    }
    return fits;
}

static bool fit_array(struct place *at, const json_t *want, const json_t *got)
{
    size_t count = json_array_size(want), found = json_array_size(got);
    bool more = count > 0 && is_more(json_array_get(want, count - 1)), fits = true;
    char step[24];

    if (count > 1 && is_more(json_array_get(want, 0)))
        return fit_some(at, want, got);
    count -= more;
    if (more ? found < count : found != count)
        return differs(at, "another number of elements", want, got);
    for (size_t i = 0; i < count; i++) {
        snprintf(step, sizeof step, "[%zu]", i);
        fits = fit_at(at, step, json_array_get(want, i), json_array_get(got, i)) && fits;
    }
    return fits;
}

static bool is_near(double want, double got, double relative)
{
    return want == got || fabs(want - got) <= relative * fabs(want);
}

static bool fit_value(struct place *at, const json_t *want, const json_t *got)
{
    const char *text = json_string_value(want);

    if (text && strncmp(text, "...", 3) == 0 && json_is_string(got))
        return strstr(json_string_value(got), text + 3) || differs(at, "another text", want, got);
    if (text && *text == '~' && json_is_number(got))
        return is_near(atof(text + 1), json_number_value(got), 0.01) ||
               differs(at, "not near", want, got);
    if (json_is_number(want) && json_is_number(got) &&
        !(json_is_integer(want) && json_is_integer(got)))
        return is_near(json_number_value(want), json_number_value(got), 1e-12) ||
               differs(at, "another number", want, got);
    if (json_typeof(want) != json_typeof(got))
        return differs(at, "of another type", want, got);
    if (json_is_object(want))
        return fit_object(at, want, got);
    if (json_is_array(want))
        return fit_array(at, want, got);
    return json_equal(want, got) || differs(at, "another value", want, got);
}

static json_t *load(const char *text, const char *which, struct buf *why)
{
    json_error_t error;
    json_t *root = json_loads(text, JSON_DECODE_ANY, &error);

    if (!root)
        buf_printf(why, "    the %s answer is no JSON, line %d: %s\n", which, error.line,
                   error.text);
    return root;
}

static bool fit_json(const char *want, const char *got, struct buf *why)
{
    struct place at = {.why = why};
    json_t *w = load(want, "expected", why), *g = load(got, "actual", why);
    bool fits = w && g && fit_value(&at, w, g);

    json_decref(w);
    json_decref(g);
    return fits;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static size_t line_length(const char *text)
{
    return strcspn(text, "\n");
}

static const char *next_line(const char *text)
{
    size_t n = line_length(text);

    return text + n + (text[n] == '\n');
}

static bool is_line(const char *text, const char *line)
{
    size_t n = line_length(text);

    return n == line_length(line) && memcmp(text, line, n) == 0;
}

static bool is_any(const char *line)
{
    return strncmp(line, "...", 3) == 0 && line_length(line) == 3;
}

/* The line and two that follow, from `skip` bytes on. */
static void put_lines(struct buf *why, const char *mark, const char *text, size_t skip)
{
    for (int i = 0; i < 3 && *text; i++, text = next_line(text)) {
        size_t from = i == 0 ? skip : 0, n = line_length(text) - from;
        buf_printf(why, "      %s %s%.*s\n", mark, from ? "..." : "", (int)(n < SHOWN ? n : SHOWN),
                   text + from);
    }
    if (!*text)
        buf_printf(why, "      %s (end)\n", mark);
}

/* Where long lines begin to differ, and a little before that. */
static size_t difference(const char *a, const char *b)
{
    size_t n = 0;

    while (a[n] && a[n] != '\n' && a[n] == b[n])
        n++;
    return n < SHOWN / 2 ? 0 : n - SHOWN / 4;
}

static bool fit_lines(const char *want, const char *got, struct buf *why)
{
    unsigned number = 1;

    while (*want || *got) {
        bool any = is_any(want);
        want = any ? next_line(want) : want;
        if (any && !*want)
            return true;
        while (any && *got && !is_line(got, want))
            got = next_line(got), number++;
        if (!*want || !*got || !is_line(got, want)) {
            buf_printf(why, any ? "    no such line:\n" : "    line %u:\n", number);
            size_t skip = any ? 0 : difference(want, got);
            put_lines(why, "expected", want, skip);
            put_lines(why, "got     ", got, skip);
            return false;
        }
        want = next_line(want);
        got = next_line(got);
        number++;
    }
    return true;
}

/* ---- answers --------------------------------------------------------------------------------- */

static const char *text_in(const struct buf *b)
{
    return b->data ? b->data : "";
}

bool fit_answer(const struct case_step *step, const struct answer *a, struct buf *why)
{
    const char *want = text_in(&step->expected), *got = text_in(&a->body);
    bool json = a->json && (*want == '{' || *want == '[');

    if (step->status != a->status) {
        buf_printf(why, "    expected status %d, got %d\n      %.*s\n", step->status, a->status,
                   SHOWN, got);
        return false;
    }
    if (step->same)
        return true;
    if (strcmp(want, "(empty)\n") == 0)
        want = "";
    return json ? fit_json(want, got, why) : fit_lines(want, got, why);
}

/* What differs from run to run: what follows these texts, up to one of the characters. */
static const struct {
    const char *before, *end;
} volatile_texts[] = {{"\"generation\":", ",}"},        {"\"elapsed_ms\":", ",}"},
                      {"\"execution_time_ms\":", ",}"}, {"\"chunks\":{", "}"},
                      {"Processing Time:", "\n"},       {"Completed in", "\n"}};

static char *settled(const struct answer *a)
{
    char *text = strdup(text_in(&a->body));

    for (size_t i = 0; i < sizeof volatile_texts / sizeof *volatile_texts; i++) {
        char *p = text;
        while ((p = strstr(p, volatile_texts[i].before))) {
            p += strlen(volatile_texts[i].before);
            const char *rest = p + strcspn(p, volatile_texts[i].end);
            memmove(p, rest, strlen(rest) + 1);
        }
    }
    return text;
}

bool fit_same(const struct answer *want, const struct answer *got, struct buf *why)
{
    bool text = strlen(text_in(&want->body)) == want->body.len, same = want->status == got->status;

    if (!text)
        return same && want->body.len == got->body.len &&
               memcmp(want->body.data, got->body.data, want->body.len) == 0;
    char *x = settled(want), *y = settled(got);
    same = same && fit_lines(x, y, why);
    free(x);
    free(y);
    return same;
}
