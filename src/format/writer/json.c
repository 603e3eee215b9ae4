/* json.c - the JSON writer: separators, nesting and keys. Values are written by value_text.c and
 * json_text.c. */
#include "dftracerd/format.h"

#include <assert.h>
#include <math.h>
#include <string.h>

#include "format/writer/member_number.h"
#include "format/writer/value_text.h"

void jw_init(struct jw *j, struct buf *out, bool pretty)
{
    j->out = out;
    j->budget = NULL;
    j->pretty = pretty;
    j->after_key = false;
    j->depth = 0;
    j->nonempty[0] = false; /* jw_begin sets the others */
}

static void put_char(struct jw *j, char c)
{
    char *to = buf_reserve(j->out, 1);

    if (!to)
        return;
    *to = c;
    j->out->len++;
}

static void put_newline(struct jw *j)
{
    char *to = buf_reserve(j->out, 1 + 2 * j->depth);

    if (!to)
        return;
    to[0] = '\n';
    memset(to + 1, ' ', 2 * j->depth);
    j->out->len += 1 + 2 * j->depth;
}

/* Writes the comma and line break before a value or key. */
static void put_separator(struct jw *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (j->nonempty[j->depth])
        put_char(j, ',');
    j->nonempty[j->depth] = true;
    if (j->pretty && j->depth > 0)
        put_newline(j);
}

void jw_begin(struct jw *j, char bracket)
{
    put_separator(j);
    put_char(j, bracket);
    j->depth++;
    assert(j->depth < JW_DEPTH_MAX);
    j->nonempty[j->depth] = false;
}

void jw_end(struct jw *j, char bracket)
{
    bool had = j->nonempty[j->depth];

    assert(j->depth > 0);
    j->depth--;
    if (j->pretty && had)
        put_newline(j);
    put_char(j, bracket);
}

void jw_key(struct jw *j, const char *key)
{
    jw_key_text(j, text_of(key));
}

void jw_key_text(struct jw *j, struct text key)
{
    put_separator(j);
    jw_escape(j->out, key);
    buf_append(j->out, ": ", j->pretty ? 2 : 1);
    j->after_key = true;
}

void jw_text(struct jw *j, struct text t)
{
    put_separator(j);
    jw_escape(j->out, t);
}

void jw_str(struct jw *j, const char *s)
{
    if (s)
        jw_text(j, text_of(s));
    else
        jw_null(j);
}

void jw_uint(struct jw *j, uint64_t u)
{
    jw_value(j, &(struct value){.type = VALUE_UINT, .u = u});
}

void jw_int(struct jw *j, int64_t i)
{
    jw_value(j, &(struct value){.type = VALUE_INT, .i = i});
}

void jw_double(struct jw *j, double d)
{
    jw_value(j, &(struct value){.type = VALUE_DOUBLE, .d = d});
}

void jw_bool(struct jw *j, bool b)
{
    jw_value(j, &(struct value){.type = VALUE_BOOL, .i = b});
}

void jw_null(struct jw *j)
{
    jw_value(j, &(struct value){.type = VALUE_NULL});
}

void jw_time_ns(struct jw *j, __int128 ns)
{
    jw_value(j, &(struct value){.type = VALUE_TIME, .wide = ns});
}

void jw_value(struct jw *j, const struct value *v)
{
    put_separator(j);
    value_json(j->out, v);
}

/* ---- arrays of numbers ----------------------------------------------------------------------- */

enum { NUMBERS_AT_ONCE = 512 };

static void put_numbers(struct jw *j, const char *from, enum member_kind kind, size_t stride,
                        size_t n)
{
    for (size_t i = 0; i < n;) {
        size_t end = n - i < NUMBERS_AT_ONCE ? n : i + NUMBERS_AT_ONCE;
        char *begin = buf_reserve(j->out, (end - i) * MEMBER_NUMBER_BYTES), *to = begin;
        if (!begin)
            return;
        for (; i < end; i++) {
            if (i > 0)
                *to++ = ',';
            to = member_number(kind, from + i * stride, to);
        }
        j->out->len += (size_t)(to - begin);
    }
}

void jw_numbers(struct jw *j, enum member_kind kind, const void *from, size_t stride, size_t n)
{
    assert(kind == MEMBER_UINT32 || kind == MEMBER_UINT64 || kind == MEMBER_TIME);
    jw_begin(j, '[');
    for (size_t i = 0; j->pretty && i < n; i++) {
        put_separator(j);
        put_numbers(j, (const char *)from + i * stride, kind, stride, 1);
    }
    if (!j->pretty)
        put_numbers(j, from, kind, stride, n);
    jw_end(j, ']');
}

/* ---- keys with values ------------------------------------------------------------------------ */

void jw_put_text(struct jw *j, const char *key, struct text t)
{
    jw_key(j, key);
    jw_text(j, t);
}

void jw_put_str(struct jw *j, const char *key, const char *s)
{
    jw_key(j, key);
    jw_str(j, s);
}

void jw_put_uint(struct jw *j, const char *key, uint64_t u)
{
    jw_key(j, key);
    jw_uint(j, u);
}

void jw_put_int(struct jw *j, const char *key, int64_t i)
{
    jw_key(j, key);
    jw_int(j, i);
}

void jw_put_time(struct jw *j, const char *key, __int128 ns)
{
    jw_key(j, key);
    jw_time_ns(j, ns);
}

void jw_put_double(struct jw *j, const char *key, double d)
{
    jw_key(j, key);
    jw_double(j, d);
}

void jw_put_bool(struct jw *j, const char *key, bool b)
{
    jw_key(j, key);
    jw_bool(j, b);
}

void jw_put_value(struct jw *j, const char *key, const struct value *v)
{
    jw_key(j, key);
    jw_value(j, v);
}

void jw_finish(struct jw *j)
{
    assert(j->depth == 0);
    buf_putc(j->out, '\n');
}
