/* lex.c - the lexer of the query language: words, strings, numbers and operators. */
#include "engine/lang/dsl.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int dsl_fail(struct err *err, struct text source, size_t position, const char *fmt, ...)
{
    char text[320];
    va_list args;

    va_start(args, fmt);
    vsnprintf(text, sizeof(text), fmt, args);
    va_end(args);
    if (!err || err->code != 0)
        return ERR_QUERY_SYNTAX;
    err_set(err, ERR_QUERY_SYNTAX, "Query parse error at column %zu: %s", position, text);
    err->position = (int64_t)position;
    err->source = malloc(source.len + 1);
    if (err->source) {
        memcpy(err->source, source.len ? source.ptr : "", source.len);
        err->source[source.len] = '\0';
    } else {
        err->position = -1;
    }
    return ERR_QUERY_SYNTAX;
}

/* ---- characters ------------------------------------------------------------------------------ */

static bool is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

/* Returns the character `ahead` bytes after the position, NUL at the end. */
static char peek_char(const struct dsl_lexer *l, size_t ahead)
{
    return l->at + ahead < l->source.len ? l->source.ptr[l->at + ahead] : '\0';
}

/* ---- words ----------------------------------------------------------------------------------- */

static const struct {
    const char *word;
    enum dsl_token_type type;
} keywords[] = {
    {"and", TOKEN_AND},   {"or", TOKEN_OR},       {"not", TOKEN_NOT}, {"in", TOKEN_IN},
    {"like", TOKEN_LIKE}, {"ilike", TOKEN_ILIKE}, {"is", TOKEN_IS},   {"null", TOKEN_NULL},
    {"true", TOKEN_TRUE}, {"false", TOKEN_FALSE},
};

static int lex_word(struct dsl_lexer *l, struct dsl_token *t)
{
    while (is_letter(peek_char(l, 0)) || is_ascii_digit(peek_char(l, 0)) || peek_char(l, 0) == '.')
        l->at++;
    struct text word = {l->source.ptr + t->position, l->at - t->position};
    t->type = TOKEN_PATH;
    for (size_t i = 0; i < sizeof(keywords) / sizeof(*keywords); i++) {
        if (text_eq_nocase(word, text_of(keywords[i].word)))
            t->type = keywords[i].type;
    }
    if (word.ptr[word.len - 1] == '.' || memmem(word.ptr, word.len, "..", 2))
        return dsl_fail(l->err, l->source, t->position,
                        "expected a path, got \"%.*s\" with an empty component",
                        (int)(word.len < 60 ? word.len : 60), word.ptr);
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static void skip_digits(struct dsl_lexer *l)
{
    while (is_ascii_digit(peek_char(l, 0)))
        l->at++;
}

static int lex_number(struct dsl_lexer *l, struct dsl_token *t)
{
    size_t begin = l->at;

    l->at += peek_char(l, 0) == '-';
    skip_digits(l);
    if (peek_char(l, 0) == '.' && is_ascii_digit(peek_char(l, 1))) {
        l->at++;
        skip_digits(l);
    }
    size_t sign = peek_char(l, 1) == '-' || peek_char(l, 1) == '+';
    if ((peek_char(l, 0) == 'e' || peek_char(l, 0) == 'E') &&
        is_ascii_digit(peek_char(l, 1 + sign))) {
        l->at += 1 + sign;
        skip_digits(l);
    }
    t->type = TOKEN_NUMBER;
    t->text = (struct text){l->source.ptr + begin, l->at - begin};
    size_t unit = l->at;
    while (is_letter(peek_char(l, 0)) || (peek_char(l, 0) & 0x80)) /* the micro sign is not ASCII */
        l->at++;
    t->unit = (struct text){l->source.ptr + unit, l->at - unit};
    if (is_ascii_digit(peek_char(l, 0)) || peek_char(l, 0) == '.' || peek_char(l, 0) == '-' ||
        peek_char(l, 0) == '+')
        return dsl_fail(l->err, l->source, t->position, "expected a number, got \"%.*s\"",
                        (int)(l->at + 1 - begin < 60 ? l->at + 1 - begin : 60),
                        l->source.ptr + begin);
    return 0;
}

/* ---- strings --------------------------------------------------------------------------------- */

static int hex_value(char c)
{
    if (is_ascii_digit(c))
        return c - '0';
    c |= 32;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Returns the value of the four digits of a \u escape, or -1. */
static int32_t hex4(const struct dsl_lexer *l, size_t ahead)
{
    int32_t value = 0;

    for (size_t i = 0; i < 4; i++) {
        int digit = hex_value(peek_char(l, ahead + i));
        if (digit < 0)
            return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* Decodes a \u escape, from the 'u' on. A lone surrogate becomes U+FFFD, as in traces. */
static int lex_unicode(struct dsl_lexer *l, char **out)
{
    int32_t c = hex4(l, 1), low;

    if (c < 0)
        return dsl_fail(l->err, l->source, l->at - 1, "expected four hexadecimal digits after \\u");
    l->at += 5;
    if (c >= 0xD800 && c < 0xDC00 && peek_char(l, 0) == '\\' && peek_char(l, 1) == 'u' &&
        (low = hex4(l, 2)) >= 0xDC00 && low < 0xE000) {
        c = 0x10000 + ((c - 0xD800) << 10) + (low - 0xDC00);
        l->at += 6;
    } else if (c >= 0xD800 && c < 0xE000) {
        c = 0xFFFD;
    }
    *out = text_put_utf8(*out, (uint32_t)c);
    return 0;
}

/* Decodes an escape after its backslash. A backslash that begins no escape is kept, so that
 * patterns may contain "\d". */
static int lex_escape(struct dsl_lexer *l, char **out)
{
    char c = peek_char(l, 0);

    if (c == 'u')
        return lex_unicode(l, out);
    if (c == 'n' || c == 't') {
        *(*out)++ = c == 'n' ? '\n' : '\t';
        l->at++;
    } else if (c == '"' || c == '\'' || c == '\\') {
        *(*out)++ = c;
        l->at++;
    } else {
        *(*out)++ = '\\';
    }
    return 0;
}

/* Returns the length of the string at the position as written, or of the rest of the source. */
static size_t string_length(const struct dsl_lexer *l, char quote)
{
    size_t len = 1;

    while (l->at + len < l->source.len && peek_char(l, len) != quote)
        len += peek_char(l, len) == '\\' ? 2 : 1;
    return len;
}

static int lex_string(struct dsl_lexer *l, struct dsl_token *t)
{
    char quote = peek_char(l, 0);
    /* Decoding never makes a text longer: U+FFFD has three bytes, its escape six. */
    char *begin = arena_alloc(l->arena, string_length(l, quote) + 1), *out = begin;

    if (!begin)
        return -ENOMEM;
    l->at++;
    while (l->at < l->source.len && peek_char(l, 0) != quote) {
        char c = peek_char(l, 0);
        l->at++;
        if (c != '\\') {
            *out++ = c;
            continue;
        }
        int rc = l->at < l->source.len ? lex_escape(l, &out) : 0;
        if (rc < 0)
            return rc;
    }
    if (l->at >= l->source.len)
        return dsl_fail(l->err, l->source, t->position,
                        "Unterminated string: expected a closing %c", quote);
    l->at++;
    t->type = TOKEN_TEXT;
    t->text = (struct text){begin, (size_t)(out - begin)};
    return 0;
}

/* ---- signs ----------------------------------------------------------------------------------- */

/* Longest first. */
static const struct {
    const char *sign;
    struct dsl_token token;
} signs[] = {
    {"!~*", {.type = TOKEN_MATCH, .negated = true, .nocase = true}},
    {"!~", {.type = TOKEN_MATCH, .negated = true}},
    {"~*", {.type = TOKEN_MATCH, .nocase = true}},
    {"~", {.type = TOKEN_MATCH}},
    {"==", {.type = TOKEN_COMPARE, .compare = COMPARE_EQ}},
    {"=", {.type = TOKEN_COMPARE, .compare = COMPARE_EQ}},
    {"!=", {.type = TOKEN_COMPARE, .compare = COMPARE_NE}},
    {">=", {.type = TOKEN_COMPARE, .compare = COMPARE_GE}},
    {"<=", {.type = TOKEN_COMPARE, .compare = COMPARE_LE}},
    {">", {.type = TOKEN_COMPARE, .compare = COMPARE_GT}},
    {"<", {.type = TOKEN_COMPARE, .compare = COMPARE_LT}},
    {"(", {.type = TOKEN_OPEN}},
    {")", {.type = TOKEN_CLOSE}},
    {"[", {.type = TOKEN_LIST}},
    {"]", {.type = TOKEN_LIST_END}},
    {",", {.type = TOKEN_COMMA}},
};

static int lex_sign(struct dsl_lexer *l, struct dsl_token *t)
{
    for (size_t i = 0; i < sizeof(signs) / sizeof(*signs); i++) {
        size_t len = strlen(signs[i].sign);
        if (l->source.len - l->at < len || memcmp(l->source.ptr + l->at, signs[i].sign, len) != 0)
            continue;
        size_t position = t->position;
        *t = signs[i].token;
        t->position = position;
        l->at += len;
        return 0;
    }
    unsigned char c = (unsigned char)peek_char(l, 0);
    if (c > 0x20 && c < 0x7F)
        return dsl_fail(l->err, l->source, l->at, "expected a path, value or operator, got '%c'",
                        c);
    return dsl_fail(l->err, l->source, l->at, "expected a path, value or operator, got byte 0x%02x",
                    c);
}

int dsl_lex(struct dsl_lexer *l, struct dsl_token *ret)
{
    while (l->at < l->source.len && is_blank(peek_char(l, 0)))
        l->at++;
    struct dsl_token t = {.type = TOKEN_END, .position = l->at};
    char c = peek_char(l, 0);
    int rc = 0;
    if (l->at < l->source.len) {
        if (is_letter(c))
            rc = lex_word(l, &t);
        else if (is_ascii_digit(c) || (c == '-' && is_ascii_digit(peek_char(l, 1))))
            rc = lex_number(l, &t);
        else if (c == '"' || c == '\'')
            rc = lex_string(l, &t);
        else
            rc = lex_sign(l, &t);
    }
    t.source = (struct text){l->source.ptr ? l->source.ptr + t.position : "", l->at - t.position};
    if (rc == 0)
        *ret = t;
    return rc;
}
