/* members.c - parses the values of "@other". Everything is checked, for the store may be
 * corrupt. */
#include "engine/derived/members.h"

#include "engine/lang/exact.h"
#include "engine/lang/pattern.h"

static void skip_blanks(struct members *j)
{
    while (j->at < j->end && (unsigned char)*j->at <= ' ')
        j->at++;
}

/* Reads a string as written, including its quotes. */
static bool read_string(struct members *j, struct text *ret)
{
    const char *begin = j->at;

    if (j->at >= j->end || *j->at != '"')
        return false;
    for (j->at++; j->at < j->end && *j->at != '"'; j->at++)
        j->at += *j->at == '\\';
    if (j->at >= j->end)
        return false;
    j->at++;
    *ret = (struct text){begin, (size_t)(j->at - begin)};
    return true;
}

/* Skips an object or an array. */
static bool skip_nested(struct members *j)
{
    struct text ignored;
    int depth = 0;

    do {
        if (j->at >= j->end)
            return false;
        if (*j->at == '"') {
            if (!read_string(j, &ignored))
                return false;
            continue;
        }
        depth += (*j->at == '{' || *j->at == '[') - (*j->at == '}' || *j->at == ']');
        j->at++;
    } while (depth > 0);
    return true;
}

/* Reads a value as written. */
static bool read_value(struct members *j, struct text *ret)
{
    const char *begin = j->at;
    struct text string;

    if (j->at >= j->end)
        return false;
    if (*j->at == '"') {
        if (!read_string(j, &string))
            return false;
    } else if (*j->at == '{' || *j->at == '[') {
        if (!skip_nested(j))
            return false;
    } else {
        while (j->at < j->end && *j->at != ',' && *j->at != '}' && *j->at != ']' &&
               (unsigned char)*j->at > ' ')
            j->at++;
    }
    *ret = (struct text){begin, (size_t)(j->at - begin)};
    return ret->len > 0;
}

static bool decode_string(struct members *j, struct text quoted, struct text *ret)
{
    char *out = arena_alloc(j->arena, quoted.len + 1);

    if (!out)
        return false;
    char *end = json_unescape((struct text){quoted.ptr + 1, quoted.len - 2}, out);
    *ret = (struct text){out, (size_t)(end - out)};
    return true;
}

static bool number_entry(struct text t, struct column_entry *ret)
{
    struct number n;

    if (number_parse(t, &n) < 0)
        return false;
    if (n.type == NUMBER_INT)
        *ret = (struct column_entry){.type = TRACE_INT, .i = n.i};
    else if (n.type == NUMBER_DOUBLE)
        *ret = (struct column_entry){.type = TRACE_DOUBLE, .d = n.d};
    else
        *ret = (struct column_entry){.type = TRACE_BIG, .text = n.big};
    return true;
}

bool members_entry(struct members *j, struct text value, struct column_entry *ret)
{
    *ret = (struct column_entry){.type = TRACE_TEXT, .text_id = INDEX_NO_TEXT};
    if (value.ptr[0] == '"')
        return decode_string(j, value, &ret->text);
    if (value.ptr[0] == '{' || value.ptr[0] == '[') {
        ret->type = TRACE_JSON;
        ret->text = value;
        return true;
    }
    if (text_eq(value, TEXT("true")) || text_eq(value, TEXT("false"))) {
        ret->type = TRACE_BOOL;
        ret->i = value.ptr[0] == 't';
        return true;
    }
    return number_entry(value, ret);
}

bool members_next(struct members *j, struct text *ret_name, struct text *ret_value)
{
    struct text key;

    skip_blanks(j);
    if (j->at >= j->end || (*j->at != '{' && *j->at != ','))
        return false;
    j->at++;
    skip_blanks(j);
    if (!read_string(j, &key) || !decode_string(j, key, ret_name))
        return false;
    skip_blanks(j);
    if (j->at >= j->end || *j->at++ != ':')
        return false;
    skip_blanks(j);
    return read_value(j, ret_value);
}
