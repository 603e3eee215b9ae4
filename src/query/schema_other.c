/* schema_other.c - the values that a chunk keeps in "@other": {"args.x":1,"args.y":"text"} as our own writer made it. */
#include "exact.h"
#include "pattern.h"
#include "schema.h"

#include <errno.h>
#include <string.h>

struct cursor {
    const char *at, *end;
};

/* End of the string that begins at `p` (at its quote), or NULL. */
static const char *string_end(const char *p, const char *end)
{
    for (p++; p < end && *p != '"'; p++)
        p += *p == '\\';
    return p < end ? p + 1 : NULL;
}

static const char *value_end(const char *p, const char *end)
{
    int depth = 0;

    for (; p && p < end; p++) {
        if (*p == '"') {
            p = string_end(p, end);
            if (!p)
                return NULL;
            p--;
        } else if (*p == '{' || *p == '[') {
            depth++;
        } else if (depth && (*p == '}' || *p == ']')) {
            depth--;
        } else if (!depth && (*p == ',' || *p == '}')) {
            return p;
        }
    }
    return NULL;
}

/* The next member: its name with quotes and its value. False at the end. */
static bool next_member(struct cursor *c, struct text *name, struct text *value)
{
    while (c->at < c->end && (*c->at == '{' || *c->at == ',' || (unsigned char)*c->at <= ' '))
        c->at++;
    if (c->at >= c->end || *c->at != '"')
        return false;
    const char *p = string_end(c->at, c->end);
    if (!p)
        return false;
    *name = (struct text){c->at, (size_t)(p - c->at)};
    while (p < c->end && (*p == ':' || (unsigned char)*p <= ' '))
        p++;
    const char *e = value_end(p, c->end);
    if (!e)
        return false;
    *value = text_trim((struct text){p, (size_t)(e - p)});
    c->at = e;
    return value->len > 0;
}

static bool decode(struct text quoted, struct buf *room, struct text *ret)
{
    buf_clear(room);
    char *out = buf_reserve(room, quoted.len + 1);
    if (!out || quoted.len < 2)
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

static bool entry_of(struct text value, struct buf *room, struct column_entry *ret)
{
    *ret = (struct column_entry){.type = TRACE_JSON, .text = value};
    if (value.ptr[0] == '"') {
        ret->type = TRACE_TEXT;
        return decode(value, room, &ret->text);
    }
    if (value.ptr[0] == '{' || value.ptr[0] == '[')
        return true;
    if (value.ptr[0] == 't' || value.ptr[0] == 'f') {
        ret->type = TRACE_BOOL;
        ret->i = value.ptr[0] == 't';
        return true;
    }
    return number_entry(value, ret);
}

int schema_other(struct columns_seen *cs, struct text object, uint64_t rows)
{
    struct cursor c = {object.ptr, object.ptr + object.len};
    struct buf name_room = {0}, value_room = {0};
    struct text name, value, path;
    int rc = 0;

    while (rc == 0 && next_member(&c, &name, &value)) {
        struct column_entry e;
        struct column_seen *seen;
        /* `size` is the number of bytes moved: a field of that name cannot be asked for. */
        if (!decode(name, &name_room, &path) || text_eq(path, TEXT("size")) ||
            !entry_of(value, &value_room, &e))
            continue;
        rc = columns_find(cs, path, &seen);
        if (rc < 0)
            break;
        seen->rows += rows;
        rc = seen_entry(seen, &e, cs->budget);
    }
    rc = rc < 0 ? rc : name_room.error ? name_room.error : value_room.error;
    buf_done(&name_room);
    buf_done(&value_room);
    return rc;
}
