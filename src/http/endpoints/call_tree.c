/* call_tree.c - /call-tree: which events contain which, thread by thread. */
#include "dftracerd/call_tree.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

#include <string.h>

static const enum format formats[] = {FORMAT_JSON, FORMAT_NDJSON, FORMAT_TEXT, FORMAT_COLLAPSED,
                                      FORMAT_PERFETTO};

static const struct param_spec own_params[] = {
    {"group_by", PARAM_LIST, false, NULL, NULL,
     "columns to group by: one node for each combination of their values, with its outermost "
     "calls below it (folded formats)",
     false, "['cat','name']"},
    {"focus", PARAM_TEXT, false, NULL, NULL,
     "show the tree around the calls of this name: what they call and what calls them", false,
     "'fread'"},
    {"direction", PARAM_CHOICE, false, "both", "both|callees|callers",
     "with focus: callees: the calls below; callers: the calls above, bottom-up; both: the two "
     "trees"},
    {"max_depth", PARAM_UINT, false, "0", NULL,
     "maximum depth of the returned tree, 0 = unlimited (collapsed: default 256)"},
    {"min_total", PARAM_DURATION, false, NULL, NULL,
     "omit folded calls whose total time is less than this, and everything below them", false,
     "'1ms'"},
    {"analyze", PARAM_BOOL, false, "false", NULL,
     "include tables by name, category and depth, and the hottest and critical paths (json, text)"},
    {"top_n", PARAM_UINT, false, "10", NULL,
     "with analyze: number of most-called names and of hottest paths, 0 = all"},
    {"summary", PARAM_BOOL, false, "false", NULL, "append a line {\"summary\":{...}} (ndjson)"},
    {NULL, PARAM_TEXT, false, NULL, NULL, NULL},
};
static const struct param_spec *const params[] = {own_params,  selection_events_params, clip_params,
                                                  page_params, answer_params,           NULL};

struct state {
    struct query *query;
    struct call_tree *tree;
    struct format_call_tree *writer;
};

static int bad(struct request *rq, const char *param, const char *why)
{
    return err_set_param(&rq->err, ERR_PARAM, param, "`%s` %s", param, why);
}

/* What does not go with a format, or with another parameter. */
static int check_params(struct request *rq)
{
    static const char *const folded[] = {"group_by", "focus", "min_total", "analyze", NULL};
    bool rows = rq->format == FORMAT_NDJSON, events = rows || rq->format == FORMAT_PERFETTO;

    for (const char *const *name = folded; events && *name; name++)
        if (request_param(rq, *name)->given)
            return bad(rq, *name, "requires a folded tree: format json, text or collapsed");
    if (!rows && (request_param(rq, "limit")->given || request_param(rq, "offset")->given))
        return bad(rq, request_param(rq, "limit")->given ? "limit" : "offset",
                   "counts rows and requires format ndjson");
    if (rq->format == FORMAT_COLLAPSED && request_flag(rq, "analyze"))
        return bad(rq, "analyze", "requires format json or text");
    if (request_param(rq, "direction")->given && !request_param(rq, "focus")->given)
        return bad(rq, "direction", "requires `focus`");
    if (request_param(rq, "focus")->given && request_param(rq, "group_by")->given)
        return bad(rq, "group_by", "cannot be combined with `focus`");
    return 0;
}

static void read_options(struct request *rq, struct call_tree_options *o)
{
    const struct param *columns = request_param(rq, "group_by"),
                       *least = request_param(rq, "min_total");

    *o = (struct call_tree_options){.focus = request_text(rq, "focus"),
                                    .max_depth = request_uint(rq, "max_depth"),
                                    .min_total_ns = least->given ? least->ns : 0,
                                    .analyze = request_flag(rq, "analyze"),
                                    .events = rq->format == FORMAT_NDJSON ||
                                              rq->format == FORMAT_PERFETTO,
                                    .top_n = request_uint(rq, "top_n")};
    if (columns->set) {
        o->group_by = (const char *const *)columns->items;
        o->group_by_count = columns->count;
    }
    /* Each line of stacks is as long as the path is deep. */
    if (rq->format == FORMAT_COLLAPSED && !request_param(rq, "max_depth")->given)
        o->max_depth = CALL_TREE_PATH_LEVELS;
}

static int open_writer(struct request *rq, struct state *s)
{
    const struct param *limit = request_param(rq, "limit");
    const char *direction = request_text(rq, "direction");
    struct format_call_tree_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .summary = request_flag(rq, "summary"),
                                         .focus = request_text(rq, "focus"),
                                         .callees = strcmp(direction, "callers") != 0,
                                         .callers = strcmp(direction, "callees") != 0,
                                         .limit = limit->set ? limit->number : UINT64_MAX,
                                         .offset = request_uint(rq, "offset"),
                                         .started_ns = rq->started_ns,
                                         .budget = &rq->budget};

    return format_call_tree_new(s->tree, &o, &s->writer);
}

static int open_call_tree(struct request *rq)
{
    struct call_tree_options options;
    struct selection chosen;
    struct state *s = rq->state;

    int rc = check_params(rq);
    rc = rc < 0 ? rc : selection_read(rq, &chosen);
    rc = rc < 0 ? rc : selection_open(rq, &chosen, &s->query);
    if (rc < 0)
        return rc;
    read_options(rq, &options);
    rc = call_tree_open(s->query, &options, &rq->err, &s->tree);
    return rc < 0 ? rc : open_writer(rq, s);
}

static int next_call_tree(struct request *rq, struct buf *out)
{
    struct state *s = rq->state;

    return format_call_tree_next(s->writer, out);
}

static void close_call_tree(struct request *rq)
{
    struct state *s = rq->state;

    format_call_tree_free(s->writer);
    call_tree_close(s->tree);
    query_close(s->query);
}

const struct endpoint endpoint_call_tree = {
    .path = "/call-tree",
    .summary = "calls nested by time, folded or listed individually",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &format_call_tree_type,
    .line = &format_call_tree_line_type,
    .params = params,
    .formats = formats,
    .format_count = 5,
    .state_size = sizeof(struct state),
    .open = open_call_tree,
    .next = next_call_tree,
    .close = close_call_tree,
};
