/* pattern.c - LIKE, substrings, and the only caller of PCRE2. */
#include "engine/lang/dsl.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

/* ---- LIKE and substrings --------------------------------------------------------------------- */

static char lower(char c)
{
    return c >= 'A' && c <= 'Z' ? (char)(c | 32) : c;
}

static size_t skip_character(struct text t, size_t at)
{
    at++;
    while (at < t.len && ((unsigned char)t.ptr[at] & 0xC0) == 0x80)
        at++;
    return at;
}

/* After a mismatch, matching resumes with one more character for the last '%'. Earlier ones need
 * not be tried again: if they matched more, less text would be left for the rest. */
bool like_match(struct text pattern, struct text subject, bool nocase)
{
    size_t p = 0, s = 0, star = SIZE_MAX, resume = 0;

    while (s < subject.len) {
        char c = p < pattern.len ? pattern.ptr[p] : '\0';
        if (p < pattern.len && c == '%') {
            star = p++;
            resume = s;
        } else if (p < pattern.len && c == '_') {
            p++;
            s = skip_character(subject, s);
        } else if (p < pattern.len &&
                   (c == subject.ptr[s] || (nocase && lower(c) == lower(subject.ptr[s])))) {
            p++;
            s++;
        } else if (star != SIZE_MAX) {
            p = star + 1;
            s = resume = skip_character(subject, resume);
        } else {
            return false;
        }
    }
    while (p < pattern.len && pattern.ptr[p] == '%')
        p++;
    return p == pattern.len;
}

bool text_contains_nocase(struct text haystack, struct text needle)
{
    if (needle.len == 0)
        return true;
    for (size_t at = 0; at + needle.len <= haystack.len; at++) {
        if (lower(haystack.ptr[at]) == lower(needle.ptr[0]) &&
            text_eq_nocase((struct text){haystack.ptr + at, needle.len}, needle))
            return true;
    }
    return false;
}

static uint32_t hex4(const char *digits)
{
    char copy[5] = {digits[0], digits[1], digits[2], digits[3], 0};

    return (uint32_t)strtoul(copy, NULL, 16);
}

/* Decodes an escape from the character after its backslash on. Returns the bytes read. */
static size_t decode_escape(const char *in, size_t left, char **out)
{
    static const char names[] = "bfnrt", bytes[] = "\b\f\n\r\t";
    const char *known = memchr(names, in[0], 5);

    if (in[0] != 'u' || left < 5) {
        *(*out)++ = known ? bytes[known - names] : in[0];
        return 1;
    }
    uint32_t code = hex4(in + 1);
    if (code >= 0xD800 && code < 0xDC00 && left >= 11 && in[5] == '\\') {
        *out = text_put_utf8(*out, 0x10000 + ((code - 0xD800) << 10) + (hex4(in + 7) - 0xDC00));
        return 11;
    }
    *out = text_put_utf8(*out, code);
    return 5;
}

char *json_unescape(struct text inside, char *out)
{
    for (size_t i = 0; i < inside.len;) {
        if (inside.ptr[i] == '\\' && i + 1 < inside.len)
            i += 1 + decode_escape(inside.ptr + i + 1, inside.len - i - 1, &out);
        else
            *out++ = inside.ptr[i++];
    }
    return out;
}

int text_contains_escaped(struct text haystack, struct text needle)
{
    char *plain = malloc(haystack.len + 1);

    if (!plain)
        return -ENOMEM;
    size_t len = (size_t)(json_unescape(haystack, plain) - plain);
    bool found = text_contains_nocase((struct text){plain, len}, needle);
    free(plain);
    return found;
}

/* ---- regular expressions --------------------------------------------------------------------- */

/* Limits for one text: about 10 ms of matching and 16 MiB of heap. */
enum { MATCH_LIMIT = 1000000, DEPTH_LIMIT = 10000, HEAP_LIMIT_KIB = 16384, PATTERN_MAX = 65536 };

struct pattern {
    pcre2_code *code;
    pcre2_match_context *context;
};

static int explain_error(int code, PCRE2_SIZE offset, char *why, size_t why_len)
{
    PCRE2_UCHAR text[160];

    if (code == PCRE2_ERROR_HEAP_FAILED)
        return -ENOMEM;
    if (pcre2_get_error_message(code, text, sizeof(text)) < 0)
        snprintf((char *)text, sizeof(text), "error %d", code);
    snprintf(why, why_len, "%s (at byte %zu of the pattern)", (const char *)text, (size_t)offset);
    return ERR_QUERY_SYNTAX;
}

static int make_context(struct pattern *p)
{
    p->context = pcre2_match_context_create(NULL);
    if (!p->context)
        return -ENOMEM;
    pcre2_set_match_limit(p->context, MATCH_LIMIT);
    pcre2_set_depth_limit(p->context, DEPTH_LIMIT);
    pcre2_set_heap_limit(p->context, HEAP_LIMIT_KIB);
    return 0;
}

int pattern_new(struct text source, bool nocase, char *why, size_t why_len, struct pattern **ret)
{
    uint32_t options = PCRE2_UTF | PCRE2_MATCH_INVALID_UTF | PCRE2_NEVER_BACKSLASH_C |
                       (nocase ? PCRE2_CASELESS : 0);
    int code = 0;
    PCRE2_SIZE offset = 0;

    if (source.len > PATTERN_MAX) {
        snprintf(why, why_len, "it is longer than %d bytes", PATTERN_MAX);
        return ERR_QUERY_SYNTAX;
    }
    struct pattern *p = calloc(1, sizeof(*p));
    if (!p)
        return -ENOMEM;
    p->code = pcre2_compile((PCRE2_SPTR)(source.len ? source.ptr : ""), source.len, options, &code,
                            &offset, NULL);
    int rc = p->code ? make_context(p) : explain_error(code, offset, why, why_len);
    if (rc < 0) {
        pattern_free(p);
        return rc;
    }
    (void)pcre2_jit_compile(p->code, PCRE2_JIT_COMPLETE); /* if it fails, matching is only slower */
    *ret = p;
    return 0;
}

void pattern_free(struct pattern *p)
{
    if (!p)
        return;
    pcre2_match_context_free(p->context);
    pcre2_code_free(p->code);
    free(p);
}

static int match_with(const struct pattern *p, struct text subject, uint32_t options)
{
    pcre2_match_data *data = pcre2_match_data_create(1, NULL);

    if (!data)
        return -ENOMEM;
    int rc = pcre2_match(p->code, (PCRE2_SPTR)(subject.len ? subject.ptr : ""), subject.len, 0,
                         options, data, p->context);
    pcre2_match_data_free(data);
    return rc;
}

int pattern_match(const struct pattern *p, struct text subject)
{
    int rc = match_with(p, subject, 0);

    /* The stack of compiled code is small; the interpreter uses the heap. */
    if (rc == PCRE2_ERROR_JIT_STACKLIMIT)
        rc = match_with(p, subject, PCRE2_NO_JIT);
    if (rc >= 0)
        return 1;
    if (rc == PCRE2_ERROR_NOMATCH)
        return 0;
    if (rc == -ENOMEM || rc == PCRE2_ERROR_NOMEMORY)
        return -ENOMEM;
    return ERR_PATTERN_LIMIT;
}
