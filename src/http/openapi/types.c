/* types.c - the schemas of answers that are described by tables of members. */
#include "http/openapi/parts.h"
#include "http/request/problem.h"

#include <assert.h>
#include <string.h>

enum { TYPES_MAX = 160 };

static const struct object_type row_type = {
    "Row",
    .schema = "{'type':'object','additionalProperties':true,'description':'columns of the row'}"};

struct types {
    const struct object_type *at[TYPES_MAX];
    size_t count;
};

static bool has_type(const struct types *t, const struct object_type *type)
{
    for (size_t i = 0; i < t->count; i++)
        if (t->at[i] == type)
            return true;
    return false;
}

/* Adds the type and those to which it refers, each once. */
static void add_type(struct types *t, const struct object_type *type)
{
    if (!type || has_type(t, type))
        return;
    assert(t->count < TYPES_MAX);
    t->at[t->count++] = type;
    for (size_t i = 0; i < type->count; i++)
        add_type(t, type->members[i].of);
    for (const struct object_type *const *r = type->refers; r && *r; r++)
        add_type(t, *r);
}

void openapi_write_types(struct jw *j, const struct endpoint *const *endpoints)
{
    struct types t = {.count = 0};
    add_type(&t, &row_type);
    add_type(&t, &problem_type);
    add_type(&t, &error_line_type);
    for (; *endpoints; endpoints++) {
        add_type(&t, (*endpoints)->answer);
        add_type(&t, (*endpoints)->line);
    }
    for (size_t i = 0; i < t.count; i++) {
        if (!t.at[i]->name)
            continue;
        jw_key(j, t.at[i]->name);
        jw_schema(j, t.at[i]);
    }
}
