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
        jw_put_str(j, "type", type);
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
        jw_put_str(j, "description", p->help);
    if (is_list(p)) {
        openapi_begin(j, "items", '{');
        jw_put_str(j, "type", "string");
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
    jw_put_str(j, "name", p->name);
    jw_put_str(j, "in", "query");
    jw_put_str(j, "description", p->help);
    if (p->required)
        jw_put_bool(j, "required", true);
    if (p->type == PARAM_LIST) { /* a,b,c and not a=1&a=2 */
        jw_put_str(j, "style", "form");
        jw_put_bool(j, "explode", p->repeatable);
    }
    jw_key(j, "schema");
    write_schema(j, e, p, false);
    write_constraints(j, p);
    if (example)
        openapi_json(j, arena, "example", example);
    if (example && with) /* the example is a set of parameters */
        openapi_json(j, arena, "x-example-with", with);
    jw_end(j, '}');
}

static void write_parameters(struct jw *j, struct arena *arena, const struct endpoint *e)
{
    struct param_cursor all = {0};
    const struct param_spec *p;
    /* Finds {id} and {name} in "/q/{id}/{name}". */
    for (const char *c = e->path; (c = strchr(c, '{')); c++) {
        jw_begin(j, '{');
        jw_put_text(j, "name", (struct text){c + 1, strcspn(c + 1, "}")});
        jw_put_str(j, "in", "path");
        jw_put_str(j, "description", "as returned by /q");
        jw_put_bool(j, "required", true);
        openapi_json(j, arena, "schema", "{'type':'string'}");
        jw_end(j, '}');
    }
    while ((p = params_next(e, &all)))
        if (!p->post)
            write_parameter(j, arena, e, p);
}

static void write_required(struct jw *j, const struct endpoint *e)
{
    struct param_cursor all = {0};
    const struct param_spec *p;
    bool any = false;
    while ((p = params_next(e, &all))) {
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
    struct param_cursor all = {0};
    const struct param_spec *p;
    openapi_begin(j, "encoding", '{');
    while ((p = params_next(e, &all))) {
        if (p->type != PARAM_LIST)
            continue;
        openapi_begin(j, p->name, '{');
        jw_put_str(j, "style", "form");
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
        jw_put_str(j, "type", "object");
        jw_put_bool(j, "additionalProperties", false);
        struct param_cursor all = {0};
        const struct param_spec *p;
        openapi_begin(j, "properties", '{');
        while ((p = params_next(e, &all))) {
            jw_key(j, p->name);
            write_schema(j, e, p, true);
        }
        jw_end(j, '}');
        write_required(j, e);
        jw_end(j, '}');
        if (i == 1)
            write_encoding(j, e);
        else if (example)
            openapi_json(j, arena, "example", example);
        jw_end(j, '}');
    }
    if (e->takes_tar) /* bytes: no schema */
        openapi_json(j, arena, "application/x-tar", "{}");
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
    jw_put_str(j, "operationId", id);
    jw_put_str(j, "summary", e->summary);
    jw_put_str(j, "description", e->summary);
    openapi_begin(j, "tags", '[');
    jw_str(j, e->immediate ? "daemon" : "traces");
    jw_end(j, ']');
    if (e->public)
        openapi_json(j, arena, "security", "[]");
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

/* Users of the daemon's own uid need no token: `security` has an empty requirement. */
static void write_head(struct jw *j, struct arena *arena)
{
    jw_put_str(j, "openapi", "3.1.0");
    openapi_json(
        j, arena, "info",
        "{'title':'dftracerd','version':'" INTERFACE_VERSION "','description':'Statistics, "
        "events and call trees of DFTracer traces. Every endpoint that accepts GET accepts "
        "HEAD, too.','contact':{'name':'The dftracerd authors'},'license':{'name':'MIT "
        "License','identifier':'MIT'}}");
    openapi_json(j, arena, "servers", "[{'url':'/','description':'this daemon'}]");
    openapi_json(j, arena, "tags",
                 "[{'name':'daemon','description':'the daemon itself'},"
                 "{'name':'traces','description':'data in the traces'}]");
    openapi_json(j, arena, "security", "[{},{'bearer':[]}]");
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
    jw_put_str(j, "type", "object");
    jw_put_str(j, "description",
               "columns that every query can use; null if the event has no such value");
    jw_put_bool(j, "additionalProperties", false);
    openapi_begin(j, "properties", '{');
    for (size_t i = 0; i < query_column_count(); i++) {
        const struct query_column *c = query_column(i);
        openapi_begin(j, c->name, '{');
        write_value_type(j, c->type);
        jw_put_str(j, "description", c->help);
        jw_put_str(j, "x-type", c->type);
        if (c->unit != UNIT_NONE)
            jw_put_str(j, "x-unit", units[c->unit]);
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
    openapi_json(j, arena, "securitySchemes", "{'bearer':{'type':'http','scheme':'bearer'}}");
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
    write_head(&j, &rq->arena);
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
