/* answers.c - the responses of endpoints: content types with schemas and examples, headers, errors.
 */
#include "http/openapi/parts.h"
#include "http/page/page.h"

#include <string.h>

/* Content types of endpoints that have no choice of formats. */
static const struct {
    const char *path, *content_type;
} answers[] = {
    {"/", "text/html"},          {"/progress", "text/event-stream"}, {"/metrics", "text/plain"},
    {"/open/{id}", "text/html"}, {"/q/{id}/{name}", "*/*"},
};

static const struct {
    const char *name, *description;
} headers[] = {
    {"X-Request-Id", "the id sent by the client if it is valid, otherwise a generated one; also in "
                     "the log and in error responses"},
    {"X-Dftracer-Generation", "generation of the index that the response was computed on"},
    {"X-Dftracer-Complete",
     "false: the response may lack data, because a selected file is still being indexed or "
     "written, the first directory scan has not finished, or a selected directory is unreadable"},
    {"ETag", "value for If-None-Match"},
};
enum { HEADERS = sizeof headers / sizeof *headers, ETAG = HEADERS - 1 };

#define STRING "{'type':'string'}"
#define BINARY "{'type':'string','format':'binary'}"

static const char *content_type_of(const struct endpoint *e)
{
    for (size_t i = 0; i < sizeof answers / sizeof *answers; i++)
        if (strcmp(answers[i].path, e->path) == 0)
            return answers[i].content_type;
    return "application/octet-stream";
}

/* ---- content --------------------------------------------------------------------------------- */

static void write_example(struct jw *j, struct arena *arena, const char *schema)
{
    const char *example = openapi_answer_example(schema);
    if (example)
        openapi_json(j, arena, "example", example);
}

static void write_json(struct jw *j, struct arena *arena, const struct object_type *answer,
                       bool perfetto)
{
    if (!answer) {
        openapi_json(j, arena, "schema", "{'type':'object'}");
    } else if (perfetto) { /* both are application/json */
        openapi_begin(j, "schema", '{');
        openapi_begin(j, "anyOf", '[');
        openapi_refer(j, NULL, "schemas", answer->name);
        openapi_json(j, arena, NULL,
                     "{'type':'object','required':['traceEvents'],'properties':{'traceEvents':{"
                     "'type':'array','items':{'$ref':'#/components/schemas/Row'}}}}");
        jw_end(j, ']');
        jw_end(j, '}');
    } else {
        openapi_refer(j, "schema", "schemas", answer->name);
    }
    if (answer)
        write_example(j, arena, answer->name);
}

/* Describes a text of JSON values, one on each line, as an array of them. */
static void write_lines(struct jw *j, const struct object_type *line)
{
    openapi_begin(j, "schema", '{');
    jw_put_str(j, "type", "string");
    jw_put_str(j, "contentMediaType", format_content_type(FORMAT_NDJSON));
    openapi_begin(j, "contentSchema", '{');
    jw_put_str(j, "type", "array");
    openapi_begin(j, "items", '{');
    openapi_begin(j, "anyOf", '[');
    openapi_refer(j, NULL, "schemas", line ? line->name : "Row");
    openapi_refer(j, NULL, "schemas", "ErrorLine");
    jw_end(j, ']');
    jw_end(j, '}');
    jw_end(j, '}');
    jw_end(j, '}');
}

static bool is_binary(enum format f)
{
    return f == FORMAT_TAR || f == FORMAT_ARROW || f == FORMAT_ARROW_STREAM;
}

static bool has_format(const struct endpoint *e, enum format f)
{
    for (size_t i = 0; i < e->format_count; i++)
        if (e->formats[i] == f)
            return true;
    return false;
}

static bool is_first_of_type(const struct endpoint *e, size_t n)
{
    const char *type = format_content_type(e->formats[n]);
    for (size_t i = 0; i < n; i++)
        if (strcmp(format_content_type(e->formats[i]), type) == 0)
            return false;
    return true;
}

static bool has_param(const struct endpoint *e, const char *name)
{
    struct param_cursor all = {0};
    for (const struct param_spec *p; (p = params_next(e, &all));)
        if (strcmp(p->name, name) == 0)
            return true;
    return false;
}

static void write_content(struct jw *j, struct arena *arena, const struct endpoint *e)
{
    openapi_begin(j, "content", '{');
    if (!e->format_count) {
        openapi_begin(j, content_type_of(e), '{');
        openapi_json(j, arena, "schema", STRING);
        jw_end(j, '}');
    }
    for (size_t i = 0; i < e->format_count; i++) {
        enum format f = e->formats[i];
        if (!is_first_of_type(e, i))
            continue;
        openapi_begin(j, format_content_type(f), '{');
        if (f == FORMAT_JSON || f == FORMAT_PERFETTO)
            write_json(j, arena, e->answer, has_format(e, FORMAT_PERFETTO));
        else if (f == FORMAT_NDJSON)
            write_lines(j, e->line);
        else
            openapi_json(j, arena, "schema", is_binary(f) ? BINARY : STRING);
        jw_end(j, '}');
    }
    if (has_param(e, "gzip_level")) {
        openapi_begin(j, "application/gzip", '{');
        openapi_json(j, arena, "schema", BINARY);
        jw_end(j, '}');
    }
    jw_end(j, '}');
}

/* ---- responses ------------------------------------------------------------------------------- */

void openapi_write_responses(struct jw *j, struct arena *arena, const struct endpoint *e, bool post)
{
    openapi_begin(j, "responses", '{');
    openapi_begin(j, "200", '{');
    jw_put_str(j, "description", e->summary);
    bool has_etag = e == &endpoint_page || !(e->immediate || e->apart);
    openapi_begin(j, "headers", '{');
    for (size_t i = 0; i < HEADERS; i++)
        if (i == ETAG ? has_etag : i == 0 || !e->immediate)
            openapi_refer(j, headers[i].name, "headers", headers[i].name);
    jw_end(j, '}');
    write_content(j, arena, e);
    jw_end(j, '}');
    if (has_etag && !post)
        openapi_refer(j, "304", "responses", "NotModified");
    if (strcmp(e->path, "/readyz") == 0) {
        openapi_begin(j, "503", '{');
        jw_put_str(j, "description", "not all files are indexed yet");
        write_content(j, arena, e);
        jw_end(j, '}');
    }
    openapi_refer(j, "4XX", "responses", "Problem");
    openapi_refer(j, "5XX", "responses", "Problem");
    jw_end(j, '}');
}

void openapi_write_parts(struct jw *j, struct arena *arena)
{
    openapi_begin(j, "headers", '{');
    for (size_t i = 0; i < HEADERS; i++) {
        openapi_begin(j, headers[i].name, '{');
        jw_put_str(j, "description", headers[i].description);
        openapi_json(j, arena, "schema", STRING);
        jw_end(j, '}');
    }
    jw_end(j, '}');
    openapi_begin(j, "responses", '{');
    openapi_json(j, arena, "NotModified",
                 "{'description':'not modified: If-None-Match contains the current ETag'}");
    openapi_begin(j, "Problem", '{');
    jw_put_str(j, "description", "description of the error");
    openapi_begin(j, "content", '{');
    openapi_begin(j, "application/problem+json", '{');
    openapi_refer(j, "schema", "schemas", "Problem");
    write_example(j, arena, "Problem");
    jw_end(j, '}');
    jw_end(j, '}');
    jw_end(j, '}');
    jw_end(j, '}');
}
