/* member.c - values of the members of an object. */
#include "dftracerd/member.h"

#include <stdio.h>
#include <string.h>

static const void *field(const struct member *m, const void *object)
{
    return (const char *)object + m->offset;
}

static bool when_holds(const struct member *m, const void *object)
{
    return !m->when || *((const bool *)object + m->when - 1);
}

struct value member_string(const char *s)
{
    return (struct value){.type = s ? VALUE_TEXT : VALUE_NULL, .text = text_of(s)};
}

double member_rounded(double value, unsigned digits)
{
    char text[64];
    double rounded = value;
    int len = snprintf(text, sizeof(text), "%.*g", (int)digits, value);

    return num_parse_double((struct text){text, (size_t)len}, &rounded) == 0 ? rounded : value;
}

struct value member_item_value(const struct member *m, const void *p)
{
    int64_t i = 0;
    double d;

    switch (m->kind) {
    case MEMBER_BOOL:
        return (struct value){.type = VALUE_BOOL, .i = *(const bool *)p};
    case MEMBER_INT32:
        i = *(const int32_t *)p;
        break;
    case MEMBER_UINT32:
        i = *(const uint32_t *)p;
        break;
    case MEMBER_INT64:
        i = *(const int64_t *)p;
        break;
    case MEMBER_UINT64:
        return (struct value){.type = VALUE_UINT, .u = *(const uint64_t *)p};
    case MEMBER_DOUBLE:
        d = *(const double *)p;
        return (struct value){.type = VALUE_DOUBLE,
                              .d = m->digits ? member_rounded(d, m->digits) : d};
    case MEMBER_STRING:
        return member_string(m->inside && m->place == MEMBER_HERE ? p : *(const char *const *)p);
    case MEMBER_TEXT:
        return (struct value){.type = VALUE_TEXT, .text = *(const struct text *)p};
    case MEMBER_VALUE:
        return *(const struct value *)p;
    case MEMBER_TIME:
        return (struct value){.type = VALUE_TIME, .wide = *(const __int128 *)p};
    case MEMBER_TIME64:
        return (struct value){.type = VALUE_TIME, .wide = *(const int64_t *)p};
    case MEMBER_OBJECT:
        return (struct value){0};
    }
    if (!m->choices)
        return (struct value){.type = VALUE_INT, .i = i};
    return i < 0 ? (struct value){0} : member_string(m->choices[i]);
}

struct value member_value(const struct member *m, const void *object)
{
    if (!when_holds(m, object))
        return (struct value){0};
    return m->compute ? m->compute(field(m, object)) : member_item_value(m, field(m, object));
}

bool member_is_there(const struct member *m, const void *object)
{
    if (!when_holds(m, object))
        return false;
    if (m->write || m->place == MEMBER_NAMED)
        return true;
    if (m->place == MEMBER_LIST)
        return !m->optional || m->when || member_count(m, object) > 0;
    if (m->kind == MEMBER_OBJECT)
        return member_object(m, object) != NULL;
    return m->when || member_value(m, object).type != VALUE_NULL;
}

const void *member_object(const struct member *m, const void *object)
{
    return m->place == MEMBER_POINTER ? *(const void *const *)field(m, object) : field(m, object);
}

size_t member_count(const struct member *m, const void *object)
{
    const char *count = (const char *)object + m->count_offset;

    return m->count_bytes == sizeof(uint32_t) ? *(const uint32_t *)count : *(const size_t *)count;
}

static size_t item_bytes(const struct member *m)
{
    static const size_t bytes[] = {
        [MEMBER_BOOL] = sizeof(bool),          [MEMBER_INT32] = sizeof(int32_t),
        [MEMBER_UINT32] = sizeof(uint32_t),    [MEMBER_INT64] = sizeof(int64_t),
        [MEMBER_UINT64] = sizeof(uint64_t),    [MEMBER_DOUBLE] = sizeof(double),
        [MEMBER_STRING] = sizeof(char *),      [MEMBER_TEXT] = sizeof(struct text),
        [MEMBER_VALUE] = sizeof(struct value), [MEMBER_TIME] = sizeof(__int128),
        [MEMBER_TIME64] = sizeof(int64_t)};

    return m->kind == MEMBER_OBJECT ? m->of->size : bytes[m->kind];
}

const void *member_item(const struct member *m, const void *object, size_t i)
{
    if (m->item)
        return m->item(object, i);
    const char *items = m->inside ? field(m, object) : *(const char *const *)field(m, object);

    return m->stride ? items + i * m->stride + m->part : items + i * item_bytes(m);
}

const char *member_item_name(const struct member *m, const void *object, size_t i)
{
    return (*(const char *const *const *)((const char *)object + m->names_offset))[i];
}
