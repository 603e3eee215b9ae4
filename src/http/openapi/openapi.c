/* openapi.c - /openapi.json: OpenAPI 3.1, made from the endpoint table. */
#include "http/openapi/openapi.h"

#include "http/openapi/parts.h"

#include <stdio.h>
#include <string.h>

/* ---- parameters ------------------------------------------------------------------------------ */

/* Writes "a|b" as ["a","b"]. */
static void write_names(struct jw *j, const char *key, const char *names)
{
    struct text left = text_of(names), name;
    openapi_begin(j, key, '[');
    while (text_split(&left, '|', &name))
        jw_text(j, name);
    jw_end(j, ']');
}

static void write_default(struct jw *j, const struct param_spec *p)
{
    int64_t number = 0;
    double real = 0;
    if (!p->fallback)
        return;
    jw_key(j, "default");
    if (p->type == PARAM_BOOL)
        jw_bool(j, strcmp(p->fallback, "true") == 0);
    else if ((p->type == PARAM_UINT || p->type == PARAM_INT) &&
             num_parse_i64(text_of(p->fallback), &number) == 0)
        jw_int(j, number);
    else if (p->type == PARAM_NUMBER && num_parse_double(text_of(p->fallback), &real) == 0)
        jw_double(j, real);
    else
        jw_str(j, p->fallback);
}

static bool is_list(const struct param_spec *p)
{
    return p->repeatable || p->type == PARAM_LIST;
}

/* In a JSON body a number with an optional unit may be a number, and a list of one member may be
 * that member. */
static void write_type(struct jw *j, const struct param_spec *p, bool body)
{
    const char *type = is_list(p)                ? "array"
                       : p->type == PARAM_BOOL   ? "boolean"
                       : p->type == PARAM_UINT   ? "integer"
                       : p->type == PARAM_INT    ? "integer"
                       : p->type == PARAM_NUMBER ? "number"
                                                 : "string";
    if (body && p->type == PARAM_JSON) /* any value */
        return;
    const char *also = is_list(p) ? "string"
                       : p->type == PARAM_DURATION || p->type == PARAM_BYTES ||
                               p->type == PARAM_INTERVAL || p->type == PARAM_TIME
                           ? "number"
                           : NULL;
    if (!body || !also) {
        openapi_member(j, "type", type);
        return;
    }
    openapi_begin(j, "type", '[');
    jw_str(j, type);
    jw_str(j, also);
    jw_end(j, ']');
}

static void write_schema(struct jw *j, const struct endpoint *e, const struct param_spec *p,
                         bool body)
{
    jw_begin(j, '{');
    write_type(j, p, body);
    if (body)
        openapi_member(j, "description", p->help);
    if (is_list(p)) {
        openapi_begin(j, "items", '{');
        openapi_member(j, "type", "string");
        jw_end(j, '}');
    }
    if (p->type == PARAM_UINT || (p->type == PARAM_NUMBER && (p->min != 0 || p->max != 0)))
        jw_put_double(j, "minimum", p->min);
    if (p->max != 0 && (p->type == PARAM_UINT || p->type == PARAM_NUMBER))
        jw_put_double(j, "maximum", p->max);
    if (p->choices)
        write_names(j, "enum", p->choices);
    else if (strcmp(p->name, "format") == 0) {
        openapi_begin(j, "enum", '[');
        for (size_t i = 0; i < e->format_count; i++)
            jw_str(j, format_name(e->formats[i]));
        if (e->own_format)
            jw_str(j, e->own_format);
        jw_end(j, ']');
    }
    write_default(j, p);
    jw_end(j, '}');
}

static void write_example(struct jw *j, struct arena *arena, const char *key, const char *example)
{
    struct value v = {.type = VALUE_JSON, .text = openapi_json(arena, example)};
    jw_put_value(j, key, &v);
}

/* Writes constraints that OpenAPI cannot express as text. */
static void write_constraints(struct jw *j, const struct param_spec *p)
{
    if (p->needs)
        write_names(j, "x-requires-one-of", p->needs);
    if (p->not_with)
        write_names(j, "x-not-with", p->not_with);
    if (!p->formats)
        return;
    openapi_begin(j, "x-formats", '[');
    for (unsigned f = 0; f < FORMAT_COUNT; f++)
        if (p->formats & 1u << f)
            jw_str(j, format_name((enum format)f));
    jw_end(j, ']');
}

static void write_parameter(struct jw *j, struct arena *arena, const struct endpoint *e,
                            const struct param_spec *p)
{
    const char *example = p->choices ? NULL : openapi_param_example(e, p),
               *with = openapi_example_with(e, p);
    jw_begin(j, '{');
    openapi_member(j, "name", p->name);
    openapi_member(j, "in", "query");
    openapi_member(j, "description", p->help);
    if (p->required)
        jw_put_bool(j, "required", true);
    if (p->type == PARAM_LIST) { /* a,b,c and not a=1&a=2 */
        openapi_member(j, "style", "form");
        jw_put_bool(j, "explode", p->repeatable);
    }
    jw_key(j, "schema");
    write_schema(j, e, p, false);
    write_constraints(j, p);
    if (example)
        write_example(j, arena, "example", example);
    if (example && with) /* the example is a set of parameters */
        write_example(j, arena, "x-example-with", with);
    jw_end(j, '}');
}

/* Iterates over the parameters of an endpoint. */
static const struct param_spec *next_param(const struct endpoint *e, size_t *group, size_t *at,
                                           bool post)
{
    while (e->params && e->params[*group]) {
        const struct param_spec *p = &e->params[*group][(*at)++];
        if (p->name && (post || !p->post))
            return p;
        if (!p->name) {
            (*group)++;
            *at = 0;
        }
    }
    return NULL;
}

static void write_parameters(struct jw *j, struct arena *arena, const struct endpoint *e)
{
    size_t group = 0, at = 0;
    const struct param_spec *p;
    /* Finds {id} and {name} in "/q/{id}/{name}". */
    for (const char *c = e->path; (c = strchr(c, '{')); c++) {
        jw_begin(j, '{');
        jw_put_text(j, "name", (struct text){c + 1, strcspn(c + 1, "}")});
        openapi_member(j, "in", "path");
        openapi_member(j, "description", "as returned by /q");
        jw_put_bool(j, "required", true);
        openapi_begin(j, "schema", '{');
        openapi_member(j, "type", "string");
        jw_end(j, '}');
        jw_end(j, '}');
    }
    while ((p = next_param(e, &group, &at, false)))
        write_parameter(j, arena, e, p);
}

static void write_required(struct jw *j, const struct endpoint *e)
{
    size_t group = 0, at = 0;
    const struct param_spec *p;
    bool any = false;
    while ((p = next_param(e, &group, &at, true))) {
        if (!p->required)
            continue;
        if (!any)
            openapi_begin(j, "required", '[');
        any = true;
        jw_str(j, p->name);
    }
    if (any)
        jw_end(j, ']');
}

/* Lists are written a,b,c in a form, as in a query string. */
static void write_encoding(struct jw *j, const struct endpoint *e)
{
    size_t group = 0, at = 0;
    const struct param_spec *p;
    openapi_begin(j, "encoding", '{');
    while ((p = next_param(e, &group, &at, true))) {
        if (p->type != PARAM_LIST)
            continue;
        openapi_begin(j, p->name, '{');
        openapi_member(j, "style", "form");
        jw_put_bool(j, "explode", p->repeatable);
        jw_end(j, '}');
    }
    jw_end(j, '}');
}

/* Describes the same parameters as members of an object, and as a form. */
static void write_body(struct jw *j, struct arena *arena, const struct endpoint *e)
{
    static const char *const types[] = {"application/json", "application/x-www-form-urlencoded"};
    const char *example = openapi_body_example(e->path);
    openapi_begin(j, "requestBody", '{');
    openapi_begin(j, "content", '{');
    for (size_t i = 0; i < (e->changes ? 1 : 2); i++) {
        openapi_begin(j, types[i], '{');
        openapi_begin(j, "schema", '{');
        openapi_member(j, "type", "object");
        jw_put_bool(j, "additionalProperties", false);
        size_t group = 0, at = 0;
        const struct param_spec *p;
        openapi_begin(j, "properties", '{');
        while ((p = next_param(e, &group, &at, true))) {
            jw_key(j, p->name);
            write_schema(j, e, p, true);
        }
        jw_end(j, '}');
        write_required(j, e);
        jw_end(j, '}');
        if (i == 1)
            write_encoding(j, e);
        else if (example)
            write_example(j, arena, "example", example);
        jw_end(j, '}');
    }
    if (e->takes_tar) { /* bytes: no schema */
        openapi_begin(j, "application/x-tar", '{');
        jw_end(j, '}');
    }
    jw_end(j, '}');
    jw_end(j, '}');
}

/* ---- operations ------------------------------------------------------------------------------ */

static void write_operation(struct jw *j, struct arena *arena, const struct endpoint *e,
                            const char *method)
{
    bool post = strcmp(method, "post") == 0;
    openapi_begin(j, method, '{');
    /* "/event-count" by GET is "get_event_count", "/" is "get_page". */
    char id[64];
    snprintf(id, sizeof id, "%s_%s", method, e->path[1] ? e->path + 1 : "page");
    for (char *c = id; *c; c++)
        if (strchr("-./{}", *c))
            *c = '_';
    openapi_member(j, "operationId", id);
    openapi_member(j, "summary", e->summary);
    openapi_member(j, "description", e->summary);
    openapi_begin(j, "tags", '[');
    jw_str(j, e->immediate ? "daemon" : "traces");
    jw_end(j, ']');
    if (e->public) {
        openapi_begin(j, "security", '[');
        jw_end(j, ']');
    }
    openapi_begin(j, "parameters", '[');
    if (!post)
        write_parameters(j, arena, e);
    jw_end(j, ']');
    if (post)
        write_body(j, arena, e);
    openapi_write_responses(j, arena, e, post);
    jw_end(j, '}');
}

/* ---- the document ---------------------------------------------------------------------------- */

/* The version of the HTTP interface, which changes with docs/API.md and not with each release: 0.x
 * until it is stable. */
#define INTERFACE_VERSION "0.1.0"

static void write_info(struct jw *j)
{
    openapi_member(j, "openapi", "3.1.0");
    openapi_begin(j, "info", '{');
    openapi_member(j, "title", "dftracerd");
    openapi_member(j, "version", INTERFACE_VERSION);
    openapi_member(j, "description",
                   "Statistics, events and call trees of DFTracer traces. Every endpoint that "
                   "accepts GET accepts HEAD, too.");
    openapi_begin(j, "contact", '{');
    openapi_member(j, "name", "The dftracerd authors");
    jw_end(j, '}');
    openapi_begin(j, "license", '{');
    openapi_member(j, "name", "MIT License");
    openapi_member(j, "identifier", "MIT");
    jw_end(j, '}');
    jw_end(j, '}');
    openapi_begin(j, "servers", '[');
    jw_begin(j, '{');
    openapi_member(j, "url", "/");
    openapi_member(j, "description", "this daemon");
    jw_end(j, '}');
    jw_end(j, ']');
}

/* Users of the daemon's own uid need no token: an empty requirement. */
static void write_rules(struct jw *j)
{
    static const char *const tags[][2] = {{"daemon", "the daemon itself"},
                                          {"traces", "data in the traces"}};
    openapi_begin(j, "tags", '[');
    for (size_t i = 0; i < 2; i++) {
        jw_begin(j, '{');
        openapi_member(j, "name", tags[i][0]);
        openapi_member(j, "description", tags[i][1]);
        jw_end(j, '}');
    }
    jw_end(j, ']');
    openapi_begin(j, "security", '[');
    jw_begin(j, '{');
    jw_end(j, '}');
    jw_begin(j, '{');
    openapi_begin(j, "bearer", '[');
    jw_end(j, ']');
    jw_end(j, '}');
    jw_end(j, ']');
}

/* Describes the value of a column. Whole numbers may be written with a fraction, so their type is
 * not "integer". */
static void write_value_type(struct jw *j, const char *type)
{
    if (strcmp(type, "mixed") == 0)
        return;
    openapi_begin(j, "type", '[');
    jw_str(j, strcmp(type, "string") == 0 ? "string" : "number");
    jw_str(j, "null");
    jw_end(j, ']');
}

/* Writes extensions with the columns' own types and units, for programs that complete or check
 * queries. */
static void write_columns(struct jw *j)
{
    static const char *const units[] = {[UNIT_US] = "us", [UNIT_BYTES] = "bytes"};

    openapi_begin(j, "Columns", '{');
    openapi_member(j, "type", "object");
    openapi_member(j, "description",
                   "columns that every query can use; null if the event has no such value");
    jw_put_bool(j, "additionalProperties", false);
    openapi_begin(j, "properties", '{');
    for (size_t i = 0; i < query_column_count(); i++) {
        const struct query_column *c = query_column(i);
        openapi_begin(j, c->name, '{');
        write_value_type(j, c->type);
        openapi_member(j, "description", c->help);
        openapi_member(j, "x-type", c->type);
        if (c->unit != UNIT_NONE)
            openapi_member(j, "x-unit", units[c->unit]);
        jw_put_bool(j, "x-derived", c->derived);
        jw_end(j, '}');
    }
    jw_end(j, '}');
    jw_end(j, '}');
}

static void write_components(struct jw *j, const struct endpoint *const *endpoints,
                             struct arena *arena)
{
    openapi_begin(j, "components", '{');
    openapi_begin(j, "securitySchemes", '{');
    openapi_begin(j, "bearer", '{');
    openapi_member(j, "type", "http");
    openapi_member(j, "scheme", "bearer");
    jw_end(j, '}');
    jw_end(j, '}');
    openapi_write_parts(j, arena);
    openapi_begin(j, "schemas", '{');
    write_columns(j);
    openapi_write_types(j, endpoints);
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
    write_info(&j);
    write_rules(&j);
    openapi_begin(&j, "paths", '{');
    for (const struct endpoint *const *e = rq->http->endpoints; *e; e++) {
        openapi_begin(&j, (*e)->path, '{');
        if ((*e)->methods & METHOD_GET)
            write_operation(&j, &rq->arena, *e, "get");
        if ((*e)->methods & METHOD_POST)
            write_operation(&j, &rq->arena, *e, "post");
        jw_end(&j, '}');
    }
    jw_end(&j, '}');
    write_components(&j, rq->http->endpoints, &rq->arena);
    jw_end(&j, '}');
    jw_finish(&j);
    return rq->arena.error ? rq->arena.error : ERR_END; /* the arena holds examples */
}

static const struct object_type openapi_type = {
    "OpenApi",
    .schema = "{'type':'object','required':['openapi','info','paths'],'properties':{"
              "'openapi':{'const':'3.1.0'},'info':{'type':'object'},'paths':{'type':'object'}}}"};

const struct endpoint endpoint_openapi = {
    .path = "/openapi.json",
    .summary = "this interface as an OpenAPI 3.1 document",
    .methods = METHOD_GET,
    .answer = &openapi_type,
    FORMATS(FORMAT_JSON),
    .immediate = true,
    .open = open_openapi,
    .next = next_openapi,
};
