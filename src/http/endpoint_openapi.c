/* endpoint_openapi.c - /openapi.json: OpenAPI 3.1, made from the endpoint table. */
#include "endpoint.h"
#include "openapi.h"

#include <stdio.h>
#include <string.h>

/* What the table does not say: the schema of the JSON answer, and the type of one without a choice of formats. */
static const struct {
    const char *path, *schema, *content_type;
} answers[] = {
    {"/", NULL, "text/html"},
    {"/healthz", "Health", NULL},
    {"/readyz", "Ready", NULL},
    {"/info", "Info", NULL},
    {"/stats", "Stats", NULL},
    {"/view", "View", NULL},
    {"/event-count", "EventCount", NULL},
    {"/schema", "Schema", NULL},
    {"/aggregate", "Aggregate", NULL},
    {"/read", "ReadCheck", NULL},
    {"/metrics", NULL, "text/plain"},
    {"/openapi.json", "OpenApi", NULL},
    {"/index", "Index", NULL},
    {"/gen-fake-trace", "GenFakeTrace", NULL},
};

static const char *schema_of(const struct endpoint *e)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].path, e->path) == 0)
            return answers[i].schema;
    return NULL;
}

static const char *type_of(const struct endpoint *e)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].path, e->path) == 0 && answers[i].content_type)
            return answers[i].content_type;
    return "application/octet-stream";
}

static void member(struct jw *j, const char *key, const char *value)
{
    jw_key(j, key);
    jw_str(j, value);
}

static void begin(struct jw *j, const char *key, char bracket)
{
    jw_key(j, key);
    jw_begin(j, bracket);
}

/* {"$ref":"#/components/<kind>/<name>"} as the value of the key. */
static void refer(struct jw *j, const char *key, const char *kind, const char *name)
{
    char path[96];
    snprintf(path, sizeof path, "#/components/%s/%s", kind, name);
    begin(j, key, '{');
    member(j, "$ref", path);
    jw_end(j, '}');
}

/* ---- parameters ---- */

static void write_choices(struct jw *j, const char *choices)
{
    begin(j, "enum", '[');
    while (*choices) {
        size_t n = strcspn(choices, "|");
        jw_text(j, (struct text){choices, n});
        choices += n + (choices[n] == '|');
    }
    jw_end(j, ']');
}

static void write_formats(struct jw *j, const struct endpoint *e)
{
    begin(j, "enum", '[');
    for (size_t i = 0; i < e->format_count; i++)
        jw_str(j, format_name(e->formats[i]));
    if (e->own_format)
        jw_str(j, e->own_format);
    jw_end(j, ']');
}

static void write_default(struct jw *j, const struct param_spec *p)
{
    uint64_t number = 0;
    if (!p->fallback)
        return;
    jw_key(j, "default");
    if (p->type == PARAM_BOOL)
        jw_bool(j, strcmp(p->fallback, "true") == 0);
    else if (p->type == PARAM_UINT && num_parse_u64(text_of(p->fallback), &number) == 0)
        jw_uint(j, number);
    else
        jw_str(j, p->fallback);
}

static void write_schema(struct jw *j, const struct endpoint *e, const struct param_spec *p)
{
    bool many = p->repeatable || p->type == PARAM_LIST;
    jw_begin(j, '{');
    member(j, "type",
           many                    ? "array"
           : p->type == PARAM_BOOL ? "boolean"
           : p->type == PARAM_UINT ? "integer"
                                   : "string");
    if (many) {
        begin(j, "items", '{');
        member(j, "type", "string");
        jw_end(j, '}');
    }
    if (p->type == PARAM_UINT) {
        jw_key(j, "minimum");
        jw_uint(j, 0);
    }
    if (p->choices)
        write_choices(j, p->choices);
    else if (strcmp(p->name, "format") == 0)
        write_formats(j, e);
    write_default(j, p);
    jw_end(j, '}');
}

static void write_parameter(struct jw *j, const struct endpoint *e, const struct param_spec *p)
{
    jw_begin(j, '{');
    member(j, "name", p->name);
    member(j, "in", "query");
    member(j, "description", p->help);
    if (p->type == PARAM_LIST) { /* a,b,c and not a=1&a=2 */
        member(j, "style", "form");
        jw_key(j, "explode");
        jw_bool(j, p->repeatable);
    }
    jw_key(j, "schema");
    write_schema(j, e, p);
    jw_end(j, '}');
}

static void each_parameter(struct jw *j, const struct endpoint *e, bool as_properties)
{
    for (const struct param_spec *const *g = e->params; g && *g; g++) {
        for (const struct param_spec *p = *g; p->name; p++) {
            if (as_properties) {
                jw_key(j, p->name);
                write_schema(j, e, p);
            } else {
                write_parameter(j, e, p);
            }
        }
    }
}

/* The same parameters as members of an object, or as a form. */
static void write_body(struct jw *j, const struct endpoint *e)
{
    static const char *const types[] = {"application/json", "application/x-www-form-urlencoded"};
    begin(j, "requestBody", '{');
    begin(j, "content", '{');
    for (size_t i = 0; i < (e->changes ? 1 : 2); i++) {
        begin(j, types[i], '{');
        begin(j, "schema", '{');
        member(j, "type", "object");
        jw_key(j, "additionalProperties");
        jw_bool(j, false);
        begin(j, "properties", '{');
        each_parameter(j, e, true);
        jw_end(j, '}');
        jw_end(j, '}');
        jw_end(j, '}');
    }
    jw_end(j, '}');
    jw_end(j, '}');
}

/* ---- answers ---- */

static void write_string(struct jw *j, const char *content_type)
{
    begin(j, content_type, '{');
    begin(j, "schema", '{');
    member(j, "type", "string");
    jw_end(j, '}');
    jw_end(j, '}');
}

static void write_content(struct jw *j, const struct endpoint *e)
{
    begin(j, "content", '{');
    if (!e->format_count)
        write_string(j, type_of(e));
    for (size_t i = 0; i < e->format_count; i++) {
        const char *type = format_content_type(e->formats[i]);
        if (e->formats[i] != FORMAT_JSON || !schema_of(e)) {
            write_string(j, type);
            continue;
        }
        begin(j, type, '{');
        refer(j, "schema", "schemas", schema_of(e));
        jw_end(j, '}');
    }
    jw_end(j, '}');
}

static void write_responses(struct jw *j, const struct endpoint *e)
{
    begin(j, "responses", '{');
    begin(j, "200", '{');
    member(j, "description", e->summary);
    write_content(j, e);
    jw_end(j, '}');
    if (strcmp(e->path, "/readyz") == 0) {
        begin(j, "503", '{');
        member(j, "description", "not everything is indexed yet");
        write_content(j, e);
        jw_end(j, '}');
    }
    refer(j, "4XX", "responses", "Problem");
    refer(j, "5XX", "responses", "Problem");
    jw_end(j, '}');
}

/* "/event-count" by GET is "get_event_count", "/" is "get_page". */
static void write_id(struct jw *j, const char *method, const char *path)
{
    char id[64];
    snprintf(id, sizeof id, "%s_%s", method, path[1] ? path + 1 : "page");
    for (char *c = id; *c; c++)
        if (*c == '-' || *c == '.' || *c == '/')
            *c = '_';
    member(j, "operationId", id);
}

static void write_operation(struct jw *j, const struct endpoint *e, const char *method)
{
    bool post = strcmp(method, "post") == 0;
    begin(j, method, '{');
    write_id(j, method, e->path);
    member(j, "summary", e->summary);
    member(j, "description", e->summary);
    begin(j, "tags", '[');
    jw_str(j, e->immediate ? "daemon" : "traces");
    jw_end(j, ']');
    if (e->public) {
        begin(j, "security", '[');
        jw_end(j, ']');
    }
    begin(j, "parameters", '[');
    if (!post)
        each_parameter(j, e, false);
    jw_end(j, ']');
    if (post)
        write_body(j, e);
    write_responses(j, e);
    jw_end(j, '}');
}

/* ---- the document ---- */

static void write_info(struct jw *j, const char *version)
{
    member(j, "openapi", "3.1.0");
    begin(j, "info", '{');
    member(j, "title", "dftracerd");
    member(j, "version", version);
    member(j, "description", "Questions about DFTracer traces. HEAD works where GET does.");
    begin(j, "contact", '{');
    member(j, "name", "The dftracerd authors");
    jw_end(j, '}');
    begin(j, "license", '{');
    member(j, "name", "MIT License");
    member(j, "identifier", "MIT");
    jw_end(j, '}');
    jw_end(j, '}');
    begin(j, "servers", '[');
    jw_begin(j, '{');
    member(j, "url", "/");
    member(j, "description", "this daemon");
    jw_end(j, '}');
    jw_end(j, ']');
}

/* Users of the daemon's own uid need no token: an empty requirement. */
static void write_rules(struct jw *j)
{
    static const char *const tags[][2] = {{"daemon", "the daemon itself"},
                                          {"traces", "what is in the traces"}};
    begin(j, "tags", '[');
    for (size_t i = 0; i < 2; i++) {
        jw_begin(j, '{');
        member(j, "name", tags[i][0]);
        member(j, "description", tags[i][1]);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    begin(j, "security", '[');
    jw_begin(j, '{');
    jw_end(j, '}');
    jw_begin(j, '{');
    begin(j, "bearer", '[');
    jw_end(j, ']');
    jw_end(j, '}');
    jw_end(j, ']');
}

static void write_components(struct jw *j, struct arena *arena)
{
    char *schemas = arena_strdup(arena, text_of(openapi_schemas));
    for (char *c = schemas; c && *c; c++)
        if (*c == '\'')
            *c = '"';
    begin(j, "components", '{');
    begin(j, "securitySchemes", '{');
    begin(j, "bearer", '{');
    member(j, "type", "http");
    member(j, "scheme", "bearer");
    jw_end(j, '}');
    jw_end(j, '}');
    begin(j, "responses", '{');
    begin(j, "Problem", '{');
    member(j, "description", "what went wrong");
    begin(j, "content", '{');
    begin(j, "application/problem+json", '{');
    refer(j, "schema", "schemas", "Problem");
    jw_end(j, '}');
    jw_end(j, '}');
    jw_end(j, '}');
    jw_end(j, '}');
    begin(j, "schemas", '{');
    buf_puts(j->out, schemas ? schemas : "");
    jw_end(j, '}');
    jw_end(j, '}');
}

static int open_openapi(struct request *rq)
{
    rq->format = FORMAT_JSON;
    return 0;
}

static int next_openapi(struct request *rq, struct buf *out)
{
    struct jw j;
    jw_init(&j, out, false);
    jw_begin(&j, '{');
    write_info(&j, rq->http->options->version ? rq->http->options->version : "0");
    write_rules(&j);
    begin(&j, "paths", '{');
    for (const struct endpoint *const *e = router_table(); *e; e++) {
        begin(&j, (*e)->path, '{');
        if ((*e)->methods & METHOD_GET)
            write_operation(&j, *e, "get");
        if ((*e)->methods & METHOD_POST)
            write_operation(&j, *e, "post");
        jw_end(&j, '}');
    }
    jw_end(&j, '}');
    write_components(&j, &rq->arena);
    jw_end(&j, '}');
    jw_finish(&j);
    return ERR_END;
}

static const enum format formats[] = {FORMAT_JSON};
static const struct param_spec *const no_params[] = {NULL};

const struct endpoint endpoint_openapi = {
    .path = "/openapi.json",
    .summary = "this interface as OpenAPI 3.1",
    .methods = METHOD_GET,
    .params = no_params,
    .formats = formats,
    .format_count = 1,
    .immediate = true,
    .open = open_openapi,
    .next = next_openapi,
};
