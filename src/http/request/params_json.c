/* params_json.c - parameters in JSON: parsing, and members of an object as parameters. */
#include "http/request/endpoint.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- parsing --------------------------------------------------------------------------------- */

/* Without memory jansson reports nothing, or a syntax error; this flag distinguishes the two. */
static _Thread_local bool json_lacked;

static void *json_memory(size_t size)
{
    void *p = malloc(size);
    json_lacked = json_lacked || !p;
    return p;
}

static void watch_memory(void)
{
    json_set_alloc_funcs(json_memory, free);
}

int params_parse_json(struct text text, size_t flags, struct json_t **ret, char *why, size_t size)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    json_error_t error;
    pthread_once(&once, watch_memory);
    json_lacked = false;
    *ret = json_loadb(text.ptr ? text.ptr : "", text.len, flags, &error);
    if (!*ret)
        snprintf(why, size, "%s", error.text);
    return *ret ? 0 : json_lacked ? -ENOMEM : -EINVAL;
}

int params_parse_object(struct text text, struct json_t **ret, char *why, size_t size)
{
    int rc = params_parse_json(text, JSON_REJECT_DUPLICATES, ret, why, size);
    if (rc < 0 || json_is_object(*ret))
        return rc;
    snprintf(why, size, "it is a JSON value of another type");
    json_decref(*ret);
    *ret = NULL;
    return -EINVAL;
}

void params_free_json(json_t *root)
{
    json_decref(root);
}

/* ---- members as parameters ------------------------------------------------------------------- */

/* For text that is freed before the request. */
static int add_copy(struct request *rq, const char *name, struct text value)
{
    char *copy = arena_strdup(&rq->arena, value);
    return copy ? params_add(rq, text_of(name), (struct text){copy, value.len}) : -ENOMEM;
}

/* Returns a JSON scalar as the text that the same parameter would have in a URL. `number`: 64 bytes
 * for it. */
static int text_of_json(struct request *rq, const char *name, const json_t *v, char *number,
                        struct text *ret)
{
    if (json_is_string(v))
        *ret = (struct text){json_string_value(v), json_string_length(v)};
    else if (json_is_integer(v))
        *ret = (struct text){number, num_format_i64(json_integer_value(v), number)};
    else if (json_is_real(v))
        *ret = (struct text){number, num_format_double(json_real_value(v), number)};
    else if (json_is_boolean(v))
        *ret = json_is_true(v) ? TEXT("true") : TEXT("false");
    else
        return err_set_param(&rq->err, ERR_PARAM, name,
                             "`%s` must be a string, number or boolean, or a list of them", name);
    return 0;
}

static int add_json_scalar(struct request *rq, const char *name, const json_t *v)
{
    char number[64];
    struct text t;
    int rc = text_of_json(rq, name, v, number, &t);
    return rc < 0 ? rc : add_copy(rq, name, t);
}

/* An array is a repeated parameter, or the list of a PARAM_LIST. */
static int add_json_array(struct request *rq, const struct param_spec *spec, const json_t *array)
{
    const char *name = spec->name;
    if (spec->type != PARAM_LIST || spec->repeatable) {
        size_t i;
        json_t *v;
        json_array_foreach(array, i, v)
        {
            int rc = add_json_scalar(rq, name, v);
            if (rc < 0)
                return rc;
        }
        return 0;
    }
    struct buf joined = {0};
    int rc = 0;
    size_t i;
    json_t *v;
    json_array_foreach(array, i, v)
    {
        char number[64];
        struct text t = {NULL, 0};
        rc = rc < 0 ? rc : text_of_json(rq, name, v, number, &t);
        buf_puts(&joined, i ? "," : "");
        buf_text(&joined, t);
    }
    rc = rc < 0 ? rc : joined.error;
    if (rc == 0)
        rc = add_copy(rq, name, (struct text){joined.data, joined.len});
    buf_done(&joined);
    return rc;
}

static int add_member(struct request *rq, const char *name, const json_t *v);

/* True if there are parameters `<name>.x`. */
static bool takes_parts(const struct request *rq, const char *name)
{
    size_t len = strlen(name);
    for (size_t i = 0; i < rq->param_count; i++) {
        const char *other = rq->params[i].spec->name;
        if (strncmp(other, name, len) == 0 && other[len] == '.')
            return true;
    }
    return false;
}

/* Adds {"baseline":{"dir":...}} as `baseline.dir`. */
static int add_json_object(struct request *rq, const char *name, const json_t *object)
{
    char whole[64];
    const char *key;
    json_t *v;
    int rc = 0;
    json_object_foreach((json_t *)object, key, v)
    {
        snprintf(whole, sizeof whole, "%.30s.%.30s", name, key);
        rc = rc < 0              ? rc
             : json_is_object(v) ? params_refuse(rq, whole, "must not be an object")
                                 : add_member(rq, whole, v);
    }
    return rc;
}

static int add_member(struct request *rq, const char *name, const json_t *v)
{
    const struct param *p = request_param(rq, name);
    if (json_is_object(v) && takes_parts(rq, name))
        return add_json_object(rq, name, v);
    if (!p)
        return params_add(rq, text_of(name), TEXT("")); /* refuses the name */
    if (p->spec->type == PARAM_JSON) {
        json_lacked = false; /* without memory json_dumps may leave out a key */
        char *text = json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
        int rc = text && !json_lacked ? add_copy(rq, name, text_of(text)) : -ENOMEM;
        free(text);
        return rc;
    }
    return json_is_array(v) ? add_json_array(rq, p->spec, v) : add_json_scalar(rq, name, v);
}

int params_add_document(struct request *rq, const json_t *root)
{
    const char *key;
    json_t *v;
    int rc = 0;
    json_object_foreach((json_t *)root, key, v)
    {
        const struct param *p = request_param(rq, key);
        if (rc == 0 && p && !p->given)
            rc = add_member(rq, key, v);
    }
    return rc;
}

int params_add_json(struct request *rq, struct text body)
{
    char why[JSON_ERROR_TEXT_LENGTH];
    json_t *root;
    int rc = params_parse_object(body, &root, why, sizeof why);
    if (rc < 0)
        return rc == -ENOMEM
                   ? rc
                   : err_set(&rq->err, ERR_PARAM, "the body is not a JSON object: %s", why);
    const char *key;
    json_t *v;
    json_object_foreach(root, key, v)
    {
        rc = add_member(rq, key, v);
        if (rc < 0)
            break;
    }
    json_decref(root);
    return rc;
}
