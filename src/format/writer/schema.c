/* schema.c - the JSON Schema (2020-12) of an object, from its table of members.
 *
 * Objects are closed: a member that has no row in the table cannot occur, unless names are data.
 */
#include "dftracerd/format.h"

#include <stdio.h>
#include <string.h>

static void put_type_schema(struct jw *j, const struct object_type *type, const char *help);

/* Writes the schema text of a table, a JSON object with ' for ". */
static void put_quoted(struct jw *j, const char *schema, const char *help)
{
    size_t start;

    jw_value(j, &(struct value){.type = VALUE_JSON}); /* writes the comma before it */
    if (help) {
        buf_puts(j->out, "{\"description\":");
        jw_escape(j->out, text_of(help));
        buf_putc(j->out, ',');
    }
    start = j->out->len;
    buf_puts(j->out, schema + (help != NULL));
    for (size_t i = start; i < j->out->len; i++)
        j->out->data[i] = j->out->data[i] == '\'' ? '"' : j->out->data[i];
}

static void put_type(struct jw *j, const char *type, bool nullable)
{
    jw_key(j, "type");
    if (!nullable) {
        jw_str(j, type);
        return;
    }
    jw_begin(j, '[');
    jw_str(j, type);
    jw_str(j, "null");
    jw_end(j, ']');
}

/* Writes the schema of a value, or of an item of a list of values. */
static void put_value_schema(struct jw *j, const struct member *m, bool nullable)
{
    static const enum value_type types[] = {
        [MEMBER_BOOL] = VALUE_BOOL,   [MEMBER_INT32] = VALUE_INT,   [MEMBER_UINT32] = VALUE_UINT,
        [MEMBER_INT64] = VALUE_INT,   [MEMBER_UINT64] = VALUE_UINT, [MEMBER_DOUBLE] = VALUE_DOUBLE,
        [MEMBER_STRING] = VALUE_TEXT, [MEMBER_TEXT] = VALUE_TEXT,   [MEMBER_TIME] = VALUE_TIME,
        [MEMBER_TIME64] = VALUE_TIME, [MEMBER_VALUE] = VALUE_NULL,  [MEMBER_OBJECT] = VALUE_NULL};
    static const char *const names[] = {
        [VALUE_INT] = "integer", [VALUE_UINT] = "integer",  [VALUE_WIDE] = "integer",
        [VALUE_TIME] = "number", [VALUE_DOUBLE] = "number", [VALUE_BOOL] = "boolean",
        [VALUE_TEXT] = "string"};
    enum value_type type = m->kind == MEMBER_VALUE ? m->type : types[m->kind];

    if (m->choices) {
        jw_key(j, "enum");
        jw_begin(j, '[');
        for (const char *const *c = m->choices; *c; c++)
            if (c == m->choices || strcmp(c[-1], *c) != 0)
                jw_str(j, *c);
        if (nullable)
            jw_null(j);
        jw_end(j, ']');
    } else if (type != VALUE_NULL) {
        put_type(j, names[type], nullable);
        if (type == VALUE_UINT)
            jw_put_uint(j, "minimum", 0);
    }
}

static void put_help(struct jw *j, const char *help)
{
    if (help)
        jw_put_str(j, "description", help);
}

static void put_reference(struct jw *j, const char *name, const char *help)
{
    char path[96];

    snprintf(path, sizeof(path), "#/components/schemas/%s", name);
    jw_begin(j, '{');
    jw_put_str(j, "$ref", path);
    put_help(j, help);
    jw_end(j, '}');
}

/* `help` replaces that of the type, unless NULL. */
static void put_object_schema(struct jw *j, const struct object_type *of, const char *help)
{
    if (of->name)
        put_reference(j, of->name, help);
    else
        put_type_schema(j, of, help ? help : of->help);
}

static void put_any_of(struct jw *j, const struct object_type *const *types, const char *help)
{
    jw_begin(j, '{');
    put_help(j, help);
    jw_key(j, "anyOf");
    jw_begin(j, '[');
    for (; *types; types++)
        put_object_schema(j, *types, NULL);
    jw_end(j, ']');
    jw_end(j, '}');
}

static void put_item_schema(struct jw *j, const struct member *m)
{
    if (m->kind == MEMBER_OBJECT) {
        put_object_schema(j, m->of, NULL);
        return;
    }
    jw_begin(j, '{');
    put_value_schema(j, m, m->kind == MEMBER_VALUE);
    jw_end(j, '}');
}

static void put_list_schema(struct jw *j, const struct member *m)
{
    if (m->bare) {
        jw_key(j, "anyOf");
        jw_begin(j, '[');
        put_item_schema(j, m);
        jw_begin(j, '{');
    }
    put_type(j, "array", false);
    jw_key(j, "items");
    put_item_schema(j, m);
    if (m->bare) {
        jw_end(j, '}');
        jw_end(j, ']');
    }
}

static void put_member_schema(struct jw *j, const char *name, const struct member *m)
{
    static const char *const units[] = {
        [UNIT_US] = "us", [UNIT_BYTES] = "bytes", [UNIT_BYTES_PER_S] = "bytes/s"};
    bool nullable = m->nullable || (m->when && !m->optional) || m->kind == MEMBER_VALUE;

    jw_key(j, name);
    if (m->schema) {
        put_quoted(j, m->schema, m->help);
        return;
    }
    if (m->kind == MEMBER_OBJECT && (m->place != MEMBER_LIST || m->root)) {
        if (nullable) {
            static const struct object_type null = {.schema = "{'type':'null'}"};
            const struct object_type *const either[] = {m->of, &null, NULL};
            put_any_of(j, either, m->help);
        } else {
            put_object_schema(j, m->of, m->help);
        }
        return;
    }
    jw_begin(j, '{');
    if (m->place == MEMBER_LIST)
        put_list_schema(j, m);
    else
        put_value_schema(j, m, nullable);
    put_help(j, m->help);
    if (m->unit != UNIT_NONE)
        jw_put_str(j, "x-unit", units[m->unit]);
    jw_end(j, '}');
}

static void put_required(struct jw *j, const char *name, const struct member *m)
{
    if (!m->optional)
        jw_str(j, name);
}

/* `flat`: members of nested objects, too, as columns of a row. */
static void put_members(struct jw *j, const struct object_type *type, const char *prefix, bool flat,
                        void (*put)(struct jw *j, const char *name, const struct member *m))
{
    for (size_t i = 0; i < type->count; i++) {
        const struct member *m = &type->members[i];
        char name[128];
        if (!m->name)
            continue;
        snprintf(name, sizeof(name), "%s%s%s", prefix, *prefix ? "_" : "", m->name);
        if (flat && m->kind == MEMBER_OBJECT)
            put_members(j, m->of, m->name, flat, put);
        else
            put(j, name, m);
    }
}

static void put_type_schema(struct jw *j, const struct object_type *type, const char *help)
{
    if (type->schema) {
        put_quoted(j, type->schema, help);
        return;
    }
    if (!type->members) {
        put_any_of(j, type->refers, help);
        return;
    }
    jw_begin(j, '{');
    jw_put_str(j, "type", "object");
    put_help(j, help);
    bool open = false; /* names of members may be data */
    for (size_t i = 0; i < type->count; i++)
        open = open || type->members[i].place == MEMBER_NAMED;
    jw_put_bool(j, "additionalProperties", open);
    jw_key(j, "required");
    jw_begin(j, '[');
    put_members(j, type, "", type->flat, put_required);
    if (type->nests)
        jw_str(j, "children");
    jw_end(j, ']');
    jw_key(j, "properties");
    jw_begin(j, '{');
    put_members(j, type, "", type->flat, put_member_schema);
    if (type->nests) {
        /* the items below this one */
        jw_key(j, "children");
        jw_begin(j, '{');
        jw_put_str(j, "type", "array");
        jw_key(j, "items");
        put_reference(j, type->name, NULL);
        put_help(j, "the items below this one");
        jw_end(j, '}');
    }
    jw_end(j, '}');
    jw_end(j, '}');
}

void jw_schema(struct jw *j, const struct object_type *type)
{
    put_type_schema(j, type, type->help);
}
