/* expand.c - lines that stand for others. */
#include "expand.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void expand_fail(const struct expand *x, const char *message, const char *at)
{
    printf("%s:%u: %s: %.100s\n", x->path, x->line, message, at);
    exit(2);
}

static bool is_name(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

static size_t name_length(const char *text)
{
    size_t n = 0;

    while (is_name(text[n]))
        n++;
    return n;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " ");
}

static char *copy(struct expand *x, const char *text, size_t len)
{
    return arena_strdup(x->arena, (struct text){text, len});
}

/* ---- expressions ----------------------------------------------------------------------------- */

static long long choice(const struct expand *x, const char **p);

static bool accept(const char **p, char c)
{
    *p = skip_blanks(*p);
    if (**p != c)
        return false;
    ++*p;
    return true;
}

static long long unary(const struct expand *x, const char **p)
{
    char *end;

    if (accept(p, '-'))
        return -unary(x, p);
    if (accept(p, '(')) {
        long long value = choice(x, p);
        if (!accept(p, ')'))
            expand_fail(x, "a ) is missing", *p);
        return value;
    }
    long long value = strtoll(*p, &end, 10);
    if (end == *p)
        expand_fail(x, "a number is missing", *p);
    *p = end;
    return value;
}

static long long product(const struct expand *x, const char **p)
{
    long long value = unary(x, p);

    for (;;) {
        if (accept(p, '*')) {
            value *= unary(x, p);
            continue;
        }
        bool rest = accept(p, '%');
        if (!rest && !accept(p, '/'))
            return value;
        long long by = unary(x, p);
        if (by == 0)
            expand_fail(x, "division by 0", *p);
        value = rest ? value % by : value / by;
    }
}

static long long sum(const struct expand *x, const char **p)
{
    long long value = product(x, p);

    for (;;) {
        if (accept(p, '+'))
            value += product(x, p);
        else if (accept(p, '-'))
            value -= product(x, p);
        else
            return value;
    }
}

static long long comparison(const struct expand *x, const char **p)
{
    long long value = sum(x, p);

    if (accept(p, '<'))
        return value < sum(x, p);
    if (accept(p, '>'))
        return value > sum(x, p);
    return accept(p, '=') ? value == sum(x, p) : value;
}

static long long choice(const struct expand *x, const char **p)
{
    long long value = comparison(x, p);

    if (!accept(p, '?'))
        return value;
    long long yes = choice(x, p);
    if (!accept(p, ':'))
        expand_fail(x, "a : is missing", *p);
    long long no = choice(x, p);
    return value ? yes : no;
}

/* The word number n of "a|b|c}", counted round. */
static void put_word(const struct expand *x, const char *words, long long n, struct buf *out)
{
    size_t count = 1, all = strcspn(words, "}");

    for (size_t i = 0; i < all; i++)
        count += words[i] == '|';
    if (n < 0)
        expand_fail(x, "a word before the first", words);
    for (n %= (long long)count; n > 0; n--)
        words += strcspn(words, "|") + 1;
    buf_append(out, words, strcspn(words, "|}"));
}

/* What ${...} stands for; `p` is behind the {. Returns what follows the }. */
static const char *put_expression(const struct expand *x, const char *p, struct buf *out)
{
    const char *end = strchr(p, '}');
    long long value = choice(x, &p);

    if (!end)
        expand_fail(x, "a } is missing", p);
    if (accept(&p, '|'))
        put_word(x, p, value, out);
    else if (accept(&p, '@'))
        for (long long i = 0; i < value; i++)
            buf_append(out, p, (size_t)(end - p));
    else if (p == end)
        buf_printf(out, "%lld", value);
    else
        expand_fail(x, "not an expression", p);
    return end + 1;
}

char *expand_text(struct expand *x, const char *text)
{
    struct buf out = {0};

    while (*text) {
        if (strncmp(text, "${", 2) == 0)
            text = put_expression(x, text + 2, &out);
        else
            buf_putc(&out, *text++);
    }
    char *result = copy(x, out.data ? out.data : "", out.len);
    buf_done(&out);
    return result;
}

/* ---- names ----------------------------------------------------------------------------------- */

/* Also name in ${...}. */
char *expand_name(struct expand *x, const char *text, const char *name, const char *value)
{
    struct buf out = {0};
    bool inside = false;

    while (*text) {
        bool dollar = *text == '$' && is_name(text[1]);
        size_t n = name_length(text + dollar);
        if (strncmp(text, "${", 2) == 0)
            inside = true;
        inside = inside && *text != '}';
        if (n == 0) {
            buf_putc(&out, *text++);
            continue;
        }
        if ((dollar || inside) && n == strlen(name) && strncmp(text + dollar, name, n) == 0)
            buf_puts(&out, value);
        else
            buf_append(&out, text, n + dollar);
        text += n + dollar;
    }
    char *result = copy(x, out.data ? out.data : "", out.len);
    buf_done(&out);
    return result;
}

void expand_add(struct expand *x, const char *definition)
{
    struct expand_define *d = arena_alloc(x->arena, sizeof *d);
    size_t n = name_length(definition);

    d->name = copy(x, definition, n);
    definition += n;
    while (n > 0 && (*definition == '(' || *definition == ',')) {
        definition = skip_blanks(definition + 1);
        n = name_length(definition);
        if (d->count == EXPAND_PARAMETERS)
            expand_fail(x, "too many parameters", definition);
        d->parameters[d->count++] = copy(x, definition, n);
        definition += n;
    }
    definition += d->count > 0 && *definition == ')';
    if (*definition != ' ' || n == 0)
        expand_fail(x, "not a definition", definition);
    d->body = definition + 1;
    d->next = x->defines;
    x->defines = d;
}

/* The length of an argument: up to a comma that is in no brackets and quotes. */
static size_t argument_length(const char *text)
{
    size_t n = 0;
    int depth = 0;
    bool quoted = false;

    for (; text[n] && (quoted || depth > 0 || text[n] != ','); n++) {
        if (text[n] == '\\' && text[n + 1])
            n++;
        else if (text[n] == '"')
            quoted = !quoted;
        else if (!quoted)
            depth += (strchr("([{", text[n]) != NULL) - (strchr(")]}", text[n]) != NULL);
    }
    return n;
}

/* `arguments` is what is between the brackets. */
static void call(struct expand *x, const struct expand_define *d, const char *arguments,
                 struct buf *out)
{
    const char *body = d->body;

    for (size_t i = 0; i < d->count; i++) {
        bool last = i + 1 == d->count;
        size_t n = last ? strlen(arguments) : argument_length(arguments);
        if (!last && arguments[n] != ',')
            expand_fail(x, "an argument is missing", arguments);
        body = expand_name(x, body, d->parameters[i], expand_text(x, copy(x, arguments, n)));
        arguments = last ? arguments : skip_blanks(arguments + n + 1);
    }
    expand_line(x, body, out);
}

static bool call_define(struct expand *x, const char *line, struct buf *out)
{
    size_t n = name_length(line), len = strlen(line);
    bool brackets = line[n] == '(' && line[len - 1] == ')';

    for (const struct expand_define *d = x->defines; d && n > 0; d = d->next) {
        if (strlen(d->name) != n || strncmp(line, d->name, n) != 0)
            continue;
        if (d->count == 0 ? line[n] != '\0' : !brackets)
            continue;
        call(x, d, d->count ? copy(x, line + n + 1, len - n - 2) : "", out);
        return true;
    }
    return false;
}

/* "for i 0..9 line" */
static bool repeat(struct expand *x, const char *line, struct buf *out)
{
    if (strncmp(line, "for ", 4) != 0)
        return false;
    size_t n = name_length(line + 4);
    const char *name = copy(x, line + 4, n), *p = line + 4 + n;
    char value[24];
    long long from = choice(x, &p);
    if (strncmp(p, "..", 2) != 0)
        expand_fail(x, "not as in: for i 0..9", line);
    p += 2;
    long long to = choice(x, &p);
    if (*p != ' ' && p[-1] != ' ')
        expand_fail(x, "not as in: for i 0..9 LINE", line);
    p = skip_blanks(p);
    for (long long i = from; i <= to; i++) {
        snprintf(value, sizeof value, "%lld", i);
        expand_line(x, expand_name(x, p, name, value), out);
    }
    return true;
}

void expand_line(struct expand *x, const char *line, struct buf *out)
{
    if (repeat(x, line, out) || call_define(x, line, out))
        return;
    for (const char *p = line; *p;) {
        unsigned byte;
        if (strncmp(p, "${", 2) == 0) {
            p = put_expression(x, p + 2, out);
        } else if (strncmp(p, "\\x", 2) == 0 && sscanf(p + 2, "%2x", &byte) == 1) {
            buf_putc(out, (char)byte);
            p += 4;
        } else {
            buf_putc(out, *p++);
        }
    }
    size_t len = strlen(line);
    bool continued = len > 0 && line[len - 1] == '\\';
    if (continued)
        out->len--;
    else
        buf_putc(out, '\n');
}
