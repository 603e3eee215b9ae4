/* color_values.c - `color_values` of /timeline: which values keep a color of their own, as a JSON
 * array. */
#include "http/request/color_values.h"

#include <jansson.h>

static int refuse_values(struct request *rq)
{
    return err_set_param(
        &rq->err, ERR_PARAM, "color_values",
        "`color_values` must be a JSON array of at most %d strings, numbers or booleans",
        TIMELINE_COLORS_MAX);
}

static int read_value(struct request *rq, const json_t *v, struct value *ret)
{
    struct text t = {json_string_value(v), json_string_length(v)};
    if (json_is_string(v))
        *ret = (struct value){.type = VALUE_TEXT, .text = {arena_strdup(&rq->arena, t), t.len}};
    else if (json_is_integer(v))
        *ret = (struct value){.type = VALUE_INT, .i = json_integer_value(v)};
    else if (json_is_real(v))
        *ret = (struct value){.type = VALUE_DOUBLE, .d = json_real_value(v)};
    else if (json_is_boolean(v))
        *ret = (struct value){.type = VALUE_BOOL, .i = json_is_true(v)};
    else
        return refuse_values(rq);
    return rq->arena.error;
}

static int read_values(struct request *rq, const json_t *list, struct timeline_options *o)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || count > TIMELINE_COLORS_MAX)
        return refuse_values(rq);
    struct value *values = arena_alloc(&rq->arena, (count + 1) * sizeof(*values));
    int rc = rq->arena.error;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = read_value(rq, json_array_get(list, i), &values[i]);
    o->color_values = values;
    o->color_value_count = count;
    return rc;
}

int color_values_read(struct request *rq, struct timeline_options *o)
{
    const struct param *p = request_param(rq, "color_values");
    char why[JSON_ERROR_TEXT_LENGTH];
    json_t *list;
    if (!p->set)
        return 0;
    int rc = params_parse_json(p->text, JSON_ALLOW_NUL, &list, why, sizeof why);
    rc = rc == 0 ? read_values(rq, list, o) : rc == -EINVAL ? refuse_values(rq) : rc;
    json_decref(list);
    return rc;
}
