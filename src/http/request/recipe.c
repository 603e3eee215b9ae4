/* recipe.c - reads and writes views as JSON. */
#include "http/request/recipe.h"

#include "http/request/query_text.h"

#include <jansson.h>
#include <string.h>

static int read_text(struct request *rq, const json_t *value, const char **ret)
{
    if (!json_is_string(value))
        return params_refuse(rq, "recipe", "must have strings as name, description and query");
    *ret = arena_strdup(&rq->arena, text_of(json_string_value(value)));
    return *ret ? 0 : -ENOMEM;
}

static bool is_ignored(const struct request *rq, const char *key)
{
    const struct param *ignored = request_param(rq, "ignore_members");
    for (size_t i = 0; ignored->set && i < ignored->count; i++)
        if (strcmp(ignored->items[i], key) == 0)
            return true;
    return false;
}

static int read_member(struct request *rq, struct recipe *r, const char *key, const json_t *value)
{
    if (strcmp(key, "name") == 0)
        return read_text(rq, value, &r->name);
    if (strcmp(key, "description") == 0)
        return read_text(rq, value, &r->description);
    if (strcmp(key, "query") == 0)
        return read_text(rq, value, &r->query);
    if (strcmp(key, "include_metadata") != 0 && is_ignored(rq, key))
        return 0;
    if (strcmp(key, "include_metadata") != 0)
        return err_set_param(&rq->err, ERR_PARAM, "recipe",
                             "`recipe` has an unknown member \"%.60s\"; it may have name, "
                             "description, query and include_metadata",
                             key);
    if (!json_is_boolean(value))
        return params_refuse(rq, "recipe", "must have true or false as include_metadata");
    r->include_metadata = json_is_true(value);
    return 0;
}

static int read_document(struct request *rq, const char *text, struct recipe *r)
{
    char why[100];
    const char *key;
    json_t *root, *value;
    int rc = params_parse_object(text_of(text), &root, why, sizeof why);
    if (rc == -EINVAL)
        rc = params_refuse(rq, "recipe", "is not a JSON object");
    json_object_foreach(root, key, value)
    {
        if (rc == 0)
            rc = read_member(rq, r, key, value);
    }
    json_decref(root);
    return rc;
}

int recipe_read(struct request *rq, struct recipe *ret)
{
    const char *document = request_text(rq, "recipe");
    struct text query = text_of(request_text(rq, "query")), whole;
    *ret = (struct recipe){
        .name = "custom", .description = "Custom inline view", .include_metadata = true};
    int rc = document ? read_document(rq, document, ret) : 0;
    if (rc == 0 && document)
        rc = query_text_check(query, "query", &rq->err);
    if (rc == 0)
        rc = query_text_check(text_of(ret->query), "recipe", &rq->err);
    if (rc == 0)
        rc = query_text_and(&rq->arena, text_of(ret->query), query, &whole);
    if (rc == 0)
        ret->query = whole.ptr;
    ret->include_metadata = ret->include_metadata && request_flag(rq, "metadata");
    return rc;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void add_test(struct buf *b, const char *fmt, const char *text)
{
    buf_puts(b, b->len ? " and " : "");
    buf_printf(b, fmt, text);
}

static void add_time(struct buf *b, const char *test, int64_t ns)
{
    char number[48];
    num_format_milli(ns, number);
    add_test(b, test, number);
}

static void whole_query(const struct request *rq, const struct recipe *r,
                        const struct query_preset *preset, struct buf *b)
{
    const struct param *range = request_param(rq, "time_range");
    const struct param *least = request_param(rq, "min_duration");
    const struct param *most = request_param(rq, "max_duration");
    if (preset)
        add_test(b, "(%s)", preset->query);
    if (r->query)
        add_test(b, "(%s)", r->query);
    if (range->set) {
        bool overlap = strcmp(request_text(rq, "time"), "overlap") == 0;
        add_time(b, overlap ? "te >= %s" : "ts >= %s", range->ns);
        add_time(b, "ts <= %s", range->ns_to);
    }
    if (least->set)
        add_time(b, "dur >= %s", least->ns);
    if (most->set)
        add_time(b, "dur <= %s", most->ns);
}

void recipe_write(const struct request *rq, const struct recipe *r, struct buf *out)
{
    const char *name = request_text(rq, "preset");
    const struct query_preset *preset = name ? query_preset(name) : NULL;
    struct recipe whole = *r;
    struct buf query = {0};
    if (preset) {
        whole.name = preset->name;
        whole.description = preset->description;
    }
    whole_query(rq, r, preset, &query);
    whole.query = NULL;
    if (query.len) {
        buf_putc(&query, '\0');
        whole.query = query.data;
    }
    if (query.error)
        out->error = query.error;
    format_object(&recipe_type, &whole, true, out);
    buf_done(&query);
}

#define OBJECT struct recipe
static const struct member members[] = {
    MEMBER("name", name),
    MEMBER("description", description),
    MEMBER("query", query, .optional = true),
    MEMBER("include_metadata", include_metadata),
};
const struct object_type recipe_type = {NULL, MEMBERS(members)};
#undef OBJECT
