/* json.c - helpers that write pieces of /openapi.json. */
#include "http/openapi/parts.h"

#include <stdio.h>

void openapi_begin(struct jw *j, const char *key, char bracket)
{
    jw_key(j, key);
    jw_begin(j, bracket);
}

void openapi_refer(struct jw *j, const char *key, const char *kind, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "#/components/%s/%s", kind, name);
    if (key)
        jw_key(j, key);
    jw_begin(j, '{');
    jw_put_str(j, "$ref", path);
    jw_end(j, '}');
}

void openapi_json(struct jw *j, struct arena *arena, const char *key, const char *quoted)
{
    char *text = arena_strdup(arena, text_of(quoted));
    for (char *c = text; c && *c; c++)
        if (*c == '\'')
            *c = '"';
    if (key)
        jw_key(j, key);
    jw_value(j, &(struct value){.type = VALUE_JSON, .text = text ? text_of(text) : TEXT("null")});
}
