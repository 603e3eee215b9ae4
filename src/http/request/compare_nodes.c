/* compare_nodes.c - nodes of /compare, from parameters or from a JSON document in the old command's
 * format. */
#include "http/request/compare_nodes.h"

#include <jansson.h>
#include <stdio.h>
#include <string.h>

enum { DEPTH_MAX = 32 };

/* ---- metrics and percentiles ----------------------------------------------------------------- */

static int parse_metric(struct request *rq, const char *name, unsigned *metrics)
{
    static const struct {
        const char *name;
        unsigned bit;
    } known[] = {{"count", COMPARE_COUNT},
                 {"duration", COMPARE_DURATION},
                 {"size", COMPARE_SIZE},
                 {"transfer_size", COMPARE_TRANSFER_SIZE},
                 {"bandwidth", COMPARE_BANDWIDTH}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i].name) == 0)
            return *metrics |= known[i].bit, 0;
    return err_set_param(
        &rq->err, ERR_PARAM, "metrics",
        "`metrics`: \"%.60s\" is not one of count, duration, size, transfer_size, bandwidth", name);
}

int compare_metrics(struct request *rq, const char *const *names, size_t count, unsigned *ret)
{
    int rc = 0;
    *ret = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = parse_metric(rq, names[i], ret);
    if (rc == 0 && count == 0)
        return params_refuse(rq, "metrics", "must not be empty");
    return rc;
}

int compare_order(struct request *rq, const char *name, bool *ret_by_name)
{
    if (strcmp(name, "regression") != 0 && strcmp(name, "name") != 0)
        return err_set_param(&rq->err, ERR_PARAM, "sort_by",
                             "`sort_by`: \"%.60s\" is neither regression nor name", name);
    *ret_by_name = strcmp(name, "name") == 0;
    return 0;
}

/* ---- values of a document -------------------------------------------------------------------- */

/* An error in a document is one of the parameter that has the document. */
static int name_document(struct request *rq, const char *param, int rc)
{
    if (rc == ERR_PARAM)
        snprintf(rq->err.param, sizeof rq->err.param, "%s", param);
    return rc;
}

static int refuse_type(struct request *rq, const char *node, const char *key, const char *wanted)
{
    return err_set_param(&rq->err, ERR_PARAM, "nodes", "node \"%.100s\": `%s` must be a %s", node,
                         key, wanted);
}

static int read_text(struct request *rq, const char *node, const char *key, const json_t *v,
                     const char **ret)
{
    if (!json_is_string(v))
        return refuse_type(rq, node, key, "string");
    *ret = arena_strdup(&rq->arena, text_of(json_string_value(v)));
    return rq->arena.error;
}

static int read_list(struct request *rq, const char *node, const char *key, const json_t *v,
                     const char *const **ret, size_t *ret_count)
{
    if (!json_is_array(v))
        return refuse_type(rq, node, key, "list");
    const char **items = arena_alloc(&rq->arena, (json_array_size(v) + 1) * sizeof *items);
    if (!items)
        return -ENOMEM;
    for (size_t i = 0; i < json_array_size(v); i++) {
        const json_t *item = json_array_get(v, i);
        char number[64];
        size_t len = json_is_integer(item) ? num_format_i64(json_integer_value(item), number)
                     : json_is_real(item)  ? num_format_double(json_real_value(item), number)
                                           : 0;
        if (!len && !json_is_string(item))
            return refuse_type(rq, node, key, "list of strings or numbers");
        items[i] = arena_strdup(&rq->arena, len ? (struct text){number, len}
                                                : text_of(json_string_value(item)));
    }
    *ret = items;
    *ret_count = json_array_size(v);
    return rq->arena.error;
}

static int read_nodes(struct request *rq, const json_t *list, const struct compare_node_options *up,
                      unsigned depth, const struct compare_node_options **ret, size_t *ret_count);

/* Reads one member of a node, or of the defaults. Unknown members are ignored. */
static int read_member(struct request *rq, const char *key, const json_t *v,
                       struct compare_node_options *o)
{
    const char *const *items = NULL;
    const char *text = NULL;
    size_t count = 0;
    int rc = 0;
    if (strcmp(key, "query") == 0)
        return read_text(rq, o->name, key, v, &o->query);
    if (strcmp(key, "group_by") == 0)
        return read_list(rq, o->name, key, v, &o->group_by, &o->group_by_count);
    if (strcmp(key, "percentiles") == 0)
        return read_list(rq, o->name, key, v, &o->percentiles, &o->percentile_count);
    if (strcmp(key, "metrics") == 0) {
        rc = read_list(rq, o->name, key, v, &items, &count);
        return rc < 0 ? rc : compare_metrics(rq, items, count, &o->metrics);
    }
    if (strcmp(key, "sort_by") == 0) {
        rc = read_text(rq, o->name, key, v, &text);
        return rc < 0 ? rc : compare_order(rq, text, &o->by_name);
    }
    if (strcmp(key, "threshold_pct") == 0) {
        if (!json_is_number(v))
            return refuse_type(rq, o->name, key, "number");
        o->threshold = json_number_value(v);
    }
    return 0;
}

static int read_node(struct request *rq, const json_t *node, const struct compare_node_options *up,
                     unsigned depth, struct compare_node_options *ret)
{
    const char *key;
    json_t *v;
    *ret = *up;
    ret->query = NULL;
    ret->children = NULL;
    ret->child_count = 0;
    const json_t *name = json_object_get(node, "name"),
                 *children = json_object_get(node, "children");
    if (!json_is_string(name))
        return err_set_param(&rq->err, ERR_PARAM, "nodes",
                             "`nodes`: each node must be an object with a name");
    int rc = read_text(rq, "", "name", name, &ret->name);
    json_object_foreach((json_t *)node, key, v) rc = rc < 0 ? rc : read_member(rq, key, v, ret);
    if (rc == 0 && children)
        rc = read_nodes(rq, children, ret, depth + 1, &ret->children, &ret->child_count);
    return rc;
}

static int read_nodes(struct request *rq, const json_t *list, const struct compare_node_options *up,
                      unsigned depth, const struct compare_node_options **ret, size_t *ret_count)
{
    size_t count = json_array_size(list);
    if (!json_is_array(list) || depth > DEPTH_MAX || count > COMPARE_NODES_MAX)
        return err_set_param(&rq->err, ERR_PARAM, "nodes",
                             "`nodes` and `children` must be lists of at most %d nodes, nested at "
                             "most %d levels deep",
                             COMPARE_NODES_MAX, DEPTH_MAX);
    struct compare_node_options *nodes = arena_alloc(&rq->arena, (count + 1) * sizeof *nodes);
    int rc = rq->arena.error;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = read_node(rq, json_array_get(list, i), up, depth, &nodes[i]);
    *ret = nodes;
    *ret_count = count;
    return rc;
}

int compare_read_nodes(struct request *rq, const char *text, const struct compare_node_options *up,
                       struct compare_options *o)
{
    char why[JSON_ERROR_TEXT_LENGTH];
    json_t *list;
    int rc = params_parse_json(text_of(text), JSON_REJECT_DUPLICATES, &list, why, sizeof why);
    if (rc == -EINVAL)
        return err_set_param(&rq->err, ERR_PARAM, "nodes", "`nodes` is not valid JSON: %s", why);
    rc = rc < 0 ? rc : read_nodes(rq, list, up, 0, &o->nodes, &o->node_count);
    json_decref(list);
    if (rc == 0 && o->node_count == 0)
        return params_refuse(rq, "nodes", "must not be empty");
    return name_document(rq, "nodes", rc);
}

/* {"metrics","percentiles","threshold_pct","time_interval_ms","sort_by","group_by"} */
int compare_read_defaults(struct request *rq, const char *text, struct compare_node_options *o,
                          int64_t *interval_ns)
{
    char why[100];
    const char *key;
    json_t *root, *v;
    int rc = params_parse_object(text_of(text), &root, why, sizeof why);
    if (rc == -EINVAL)
        return err_set_param(&rq->err, ERR_PARAM, "defaults", "`defaults` is not a JSON object: %s",
                             why);
    o->name = "defaults";
    json_object_foreach(root, key, v)
    {
        if (rc == 0 && strcmp(key, "query") != 0)
            rc = read_member(rq, key, v, o);
        if (rc < 0 || strcmp(key, "time_interval_ms") != 0)
            continue;
        double ms = json_number_value(v);
        if (!json_is_number(v) || !(ms >= 0 && ms < 9e12))
            rc = err_set_param(
                &rq->err, ERR_PARAM, "defaults",
                "`defaults`: time_interval_ms must be a number of milliseconds, 0 or more");
        else
            *interval_ns = (int64_t)(ms * 1e6);
    }
    json_decref(root);
    return name_document(rq, "defaults", rc);
}
