/* member_number.h - writes members that are numbers as JSON, straight from their structs. Private
 * to the format module. */
#ifndef DFTRACERD_FORMAT_WRITER_MEMBER_NUMBER_H
#define DFTRACERD_FORMAT_WRITER_MEMBER_NUMBER_H

#include <string.h>

#include "format/writer/value_text.h"

/* maximum length of a number, a bool or null */
enum { MEMBER_NUMBER_BYTES = VALUE_NUMBER_BYTES };

static inline char *member_uint(uint64_t u, char *to)
{
    if (u >= 10)
        return to + num_format_u64(u, to);
    *to = (char)('0' + u);
    return to + 1;
}

static inline char *member_time(__int128 ns, char *to)
{
    return to +
           (ns == (int64_t)ns ? num_format_milli((int64_t)ns, to) : num_format_milli128(ns, to));
}

static inline char *member_null(char *to)
{
    memcpy(to, "null", 4);
    return to + 4;
}

/* Writes the member at `p` to `to`, which has MEMBER_NUMBER_BYTES. Returns the position after it,
 * or NULL if it is no number. */
static inline char *member_number(enum member_kind kind, const void *p, char *to)
{
    size_t len;

    switch (kind) {
    case MEMBER_BOOL:
        memcpy(to, *(const bool *)p ? "true" : "false", 5);
        return to + 5 - *(const bool *)p;
    case MEMBER_INT32:
        return to + num_format_i64(*(const int32_t *)p, to);
    case MEMBER_UINT32:
        return member_uint(*(const uint32_t *)p, to);
    case MEMBER_INT64:
        return to + num_format_i64(*(const int64_t *)p, to);
    case MEMBER_UINT64:
        return member_uint(*(const uint64_t *)p, to);
    case MEMBER_DOUBLE:
        return __builtin_isfinite(*(const double *)p)
                   ? to + num_format_double(*(const double *)p, to)
                   : member_null(to);
    case MEMBER_TIME:
        return member_time(*(const __int128 *)p, to);
    case MEMBER_TIME64:
        return to + num_format_milli(*(const int64_t *)p, to);
    case MEMBER_VALUE:
        len = value_format_number(p, to);
        return len ? to + len : NULL;
    default:
        return NULL;
    }
}

#endif
