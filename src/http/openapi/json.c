/* json.c - helpers that write pieces of /openapi.json. */
#include "http/openapi/parts.h"

#include <stdio.h>

void openapi_member(struct jw *j, const char *key, const char *value)
{
    jw_put_str(j, key, value);
}

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
    openapi_member(j, "$ref", path);
    jw_end(j, '}');
}

struct text openapi_json(struct arena *arena, const char *quoted)
{
    char *text = arena_strdup(arena, text_of(quoted));
    for (char *c = text; c && *c; c++)
        if (*c == '\'')
            *c = '"';
    return text ? text_of(text) : TEXT("null");
}
