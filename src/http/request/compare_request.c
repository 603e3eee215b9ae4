/* compare_request.c - the sides and nodes of a comparison, from parameters. */
#include "http/request/compare_request.h"

#include "http/request/compare_nodes.h"
#include "http/request/query_text.h"
#include "http/request/selection.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* formats that contain metrics */
#define METRICS \
    (FORMAT_BIT(JSON) | FORMAT_BIT(NDJSON) | FORMAT_BIT(CSV) | FORMAT_BIT(TEXT) | \
     FORMAT_BIT(MARKDOWN))
const struct param_spec compare_params[] = {
    PARAM("baseline", TEXT,
          "directory, file or glob pattern of the baseline; or select it with baseline.dir, "
          "baseline.query ...",
          .example = "'rank_0.pfw.gz'"),
    PARAM("variant", TEXT,
          "directory, file or glob pattern to compare with the baseline; repeatable; or select it "
          "with variant.dir ...",
          .repeatable = true, .example = "['rank_1.pfw.gz']"),
    PARAM("group_by", LIST,
          "columns that identify an operation; with two or more, operations with the same value of "
          "the first form one child node; default cat,name; pid_tid means pid,tid",
          .example = "['cat','name']", .distinct = true, .formats = METRICS),
    PARAM("metrics", LIST,
          "metrics to compare: count, duration, size, transfer_size, bandwidth; default all",
          .example = "['count','duration']", .formats = METRICS),
    PARAM("percentiles", LIST, "percentiles of durations and sizes, 0 to 1; default 0.5,0.95,0.99",
          .example = "['0.5','0.95']", .formats = METRICS),
    PARAM("time_interval", INTERVAL,
          "window length for the peak_mean metrics, in milliseconds or with a unit; 0 = one "
          "window; default 5000",
          .example = "'1s'", .formats = METRICS),
    PARAM("threshold", NUMBER, "omit operations that change by less than this percentage",
          .example = "5", .formats = METRICS),
    PARAM("sort_by", CHOICE,
          "order of the operations: worst regression first (default), or by name",
          .choices = "regression|name", .formats = METRICS),
    PARAM("fail_on", CHOICE,
          "set `failed` to true if a metric is worse by this class of effect size (Cohen's d) or "
          "more",
          .choices = "small|medium|large", .formats = METRICS),
    PARAM("nodes", JSON,
          "JSON array of nodes: {name, query, group_by, metrics, percentiles, threshold_pct, "
          "sort_by, children}",
          .example = "'[{\\'name\\':\\'reads\\',\\'query\\':\\'size > 0\\'}]'", .formats = METRICS),
    PARAM("defaults", JSON, "JSON object with defaults for all nodes, and time_interval_ms",
          .example = "'{\\'percentiles\\':[0.5]}'", .formats = METRICS),
    PARAM("config", TEXT,
          "JSON object with these parameters, as a string; unknown members are ignored",
          .example = "'{\\'baseline\\':\\'rank_0.pfw.gz\\',\\'variant\\':\\'rank_1.pfw.gz\\'}'"),
    PARAM("terminal", BOOL, "text: draw the tree with box-drawing characters", .fallback = "false"),
    PARAM("color", BOOL, "text: use colors", .fallback = "false"),
    {0},
};
const struct param_spec compare_selections[] = {
    SELECTION_PARAMS("", "true", "start", "events"),
    CLIP_PARAM(""),
    SELECTION_PARAMS("baseline.", NULL, NULL, NULL),
    CLIP_PARAM("baseline."),
    SELECTION_PARAMS("variant.", NULL, NULL, NULL),
    CLIP_PARAM("variant."),
    {0},
};

/* The query of the only node if the request has none. */
static const char default_query[] = "cat == \"POSIX\" OR cat == \"STDIO\"";

/* ---- sides ----------------------------------------------------------------------------------- */

static int add_item(struct request *rq, const char *const **items, size_t *count, const char *item)
{
    const char **more = arena_alloc(&rq->arena, (*count + 1) * sizeof *more);
    if (!more)
        return -ENOMEM;
    if (*count)
        memcpy(more, *items, *count * sizeof *more);
    more[(*count)++] = item;
    *items = more;
    return 0;
}

/* Returns 1 for an existing file or a glob, 0 for a directory, or -ENOMEM. */
static int names_file(struct request *rq, const char *path)
{
    struct selection s;
    uint32_t *files = NULL;
    size_t count = 0;
    struct err ignored = {0};
    selection_init(&s);
    s.files = &path;
    s.file_count = 1;
    int rc = query_select_files(&rq->http->env, rq->snapshot, &s, &ignored, &files, &count);
    free(files);
    err_done(&ignored);
    return rc == -ENOMEM ? rc : rc == 0;
}

/* Makes a label from the path and the parameters with the prefix; without any, the label says that
 * everything is selected. */
static int make_label(struct request *rq, const char *prefix, const char *path, const char **ret)
{
    struct buf label = {0};
    if (path)
        buf_puts(&label, path);
    for (size_t i = 0; i < rq->param_count; i++) {
        const struct param *p = &rq->params[i];
        size_t len = strlen(prefix);
        if (!p->given || strncmp(p->spec->name, prefix, len) != 0)
            continue;
        for (size_t k = 0; k < (p->items ? p->count : 1); k++)
            buf_printf(&label, "%s%s=%s", label.len ? " " : "", p->spec->name + len,
                       p->items ? p->items[k] : p->text.ptr);
    }
    buf_puts(&label, label.len ? "" : "all");
    *ret = label.error ? NULL : arena_strdup(&rq->arena, (struct text){label.data, label.len});
    buf_done(&label);
    return *ret ? 0 : -ENOMEM;
}

/* Selects the path of `baseline` or `variant`; own parameters replace those of all sides. */
static int add_path(struct request *rq, const char *param, const char *path, struct selection *s)
{
    char name[32];
    int file = names_file(rq, path);
    if (file < 0)
        return file;
    snprintf(name, sizeof name, "%s.%s", param, file ? "file" : "dir");
    size_t *count = file ? &s->file_count : &s->dir_count;
    *count = request_param(rq, name)->given ? *count : 0;
    *(file ? &s->files_param : &s->dirs_param) = param;
    return add_item(rq, file ? &s->files : &s->dirs, count, path);
}

static int read_side(struct request *rq, const struct selection *common, const char *param,
                     const char *path, struct compare_request *c)
{
    struct selection *s = &c->sides[c->options.side_count];
    const char **label = &c->labels[c->options.side_count++];
    *s = *common;
    s->query = (struct text){NULL, 0};
    char prefix[16], name[32];
    snprintf(prefix, sizeof prefix, "%s.", param);
    int rc = selection_change(rq, prefix, s);
    snprintf(name, sizeof name, "%squery", prefix);
    rc = rc < 0 ? rc : query_text_check(s->query, name, &rq->err);
    rc = rc < 0 ? rc : query_text_and(&rq->arena, common->query, s->query, &s->query);
    if (rc == 0 && path)
        rc = add_path(rq, param, path, s);
    return rc < 0 ? rc : make_label(rq, prefix, path, label);
}

static bool has_selection(const struct request *rq, const char *prefix)
{
    for (size_t i = 0; i < rq->param_count; i++)
        if (rq->params[i].given && strncmp(rq->params[i].spec->name, prefix, strlen(prefix)) == 0)
            return true;
    return false;
}

static int read_sides(struct request *rq, struct compare_request *c)
{
    const struct param *variant = request_param(rq, "variant");
    const char *baseline = request_text(rq, "baseline");
    struct selection common;
    int rc = selection_read(rq, &common);
    if (!baseline && !has_selection(rq, "baseline."))
        return params_refuse(rq, "baseline",
                             "is required: a path, or baseline.dir, baseline.query ...");
    if (!variant->count && !has_selection(rq, "variant."))
        return params_refuse(rq, "variant",
                             "is required: a path, or variant.dir, variant.query ...");
    if (variant->count >= COMPARE_SIDES_MAX)
        return err_set_param(&rq->err, ERR_PARAM, "variant", "at most %d variants can be compared",
                             COMPARE_SIDES_MAX - 1);
    if (!request_param(rq, "query")->set && !common.preset && !request_param(rq, "nodes")->set)
        common.query = text_of(default_query);
    rc = rc < 0 ? rc : query_text_check(common.query, "query", &rq->err);
    c->options.query = common.query.len ? common.query.ptr : "";
    c->options.sides = c->sides;
    c->options.labels = c->labels;
    rc = rc < 0 ? rc : read_side(rq, &common, "baseline", baseline, c);
    for (size_t i = 0; i < (variant->count ? variant->count : 1) && rc == 0; i++)
        rc = read_side(rq, &common, "variant", variant->count ? variant->items[i] : NULL, c);
    return rc;
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static int read_config(struct request *rq)
{
    char why[100];
    struct json_t *root;
    const char *config = request_text(rq, "config");
    if (!config)
        return 0;
    int rc = params_parse_object(text_of(config), &root, why, sizeof why);
    if (rc == -EINVAL)
        return err_set_param(&rq->err, ERR_PARAM, "config", "`config` is not a JSON object: %s",
                             why);
    if (rc < 0)
        return rc;
    rc = params_add_document(rq, root);
    params_free_json(root);
    return rc < 0 ? rc : params_check(rq);
}

/* Leaves the list unchanged unless the parameter is set. */
static void read_list(const struct request *rq, const char *name, const char *const **items,
                      size_t *count)
{
    const struct param *p = request_param(rq, name);
    if (!p->set)
        return;
    *items = (const char *const *)p->items;
    *count = p->count;
}

/* Parameters take precedence over members of `defaults`. */
static int read_defaults(struct request *rq, struct compare_node_options *o, int64_t *interval_ns)
{
    static const char *const columns[] = {"cat", "name"}, *const percentiles[] = {"0.5", "0.95",
                                                                                  "0.99"};
    const char *defaults = request_text(rq, "defaults"), *order = request_text(rq, "sort_by");
    const struct param *interval = request_param(rq, "time_interval"),
                       *metrics = request_param(rq, "metrics"),
                       *threshold = request_param(rq, "threshold");
    *o = (struct compare_node_options){.group_by = columns,
                                       .group_by_count = 2,
                                       .metrics = COMPARE_ALL,
                                       .percentiles = percentiles,
                                       .percentile_count = 3};
    *interval_ns = 5000000000;
    int rc = defaults ? compare_read_defaults(rq, defaults, o, interval_ns) : 0;
    read_list(rq, "group_by", &o->group_by, &o->group_by_count);
    read_list(rq, "percentiles", &o->percentiles, &o->percentile_count);
    if (metrics->set && rc == 0)
        rc = compare_metrics(rq, (const char *const *)metrics->items, metrics->count, &o->metrics);
    if (threshold->set)
        o->threshold = threshold->real;
    if (order && rc == 0)
        rc = compare_order(rq, order, &o->by_name);
    if (interval->set)
        *interval_ns = interval->ns;
    o->name = "root";
    return rc;
}

int compare_request_read(struct request *rq, struct compare_request *ret)
{
    struct compare_node_options *root = arena_alloc(&rq->arena, sizeof *root);
    if (!root)
        return -ENOMEM;
    int rc = read_config(rq);
    rc = rc < 0 ? rc : read_sides(rq, ret);
    rc = rc < 0 ? rc : read_defaults(rq, root, &ret->options.interval_ns);
    const struct param *fail_on = request_param(rq, "fail_on");
    ret->options.fail_on = fail_on->set ? COMPARE_SMALL + (int)fail_on->number : -1;
    const char *nodes = request_text(rq, "nodes");
    if (rc == 0 && nodes)
        return compare_read_nodes(rq, nodes, root, &ret->options);
    ret->options.nodes = root;
    ret->options.node_count = 1;
    return rc;
}
