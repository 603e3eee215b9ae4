/* call_tree.c - /call-tree: which events contain which, thread by thread. */
#include "dftracerd/call_tree.h"

#include "http/endpoints/endpoints.h"
#include "http/request/selection.h"

struct options {
    struct call_tree_options tree;
    enum call_tree_part direction;
    bool summary;
};
#define OPTIONS struct options
#define FOLDED (FORMAT_BIT(JSON) | FORMAT_BIT(TEXT) | FORMAT_BIT(COLLAPSED))
static const struct param_spec own_params[] = {
    PARAM("group_by", LIST,
          "columns to group by: one node for each combination of their values, with its outermost "
          "calls below it (folded formats)",
          .example = "['cat','name']", .distinct = true, .not_with = "focus", .formats = FOLDED,
          BIND_LIST(tree.group_by, tree.group_by_count)),
    PARAM("focus", TEXT,
          "show the tree around the calls of this name: what they call and what calls them",
          .example = "'fread'", .formats = FOLDED, BIND(tree.focus)),
    PARAM("direction", CHOICE,
          "with focus: callees: the calls below; callers: the calls above, bottom-up; both: the "
          "two trees",
          .fallback = "both", .choices = "both|callees|callers", .needs = "focus", BIND(direction)),
    PARAM("max_depth", UINT,
          "maximum depth of the returned tree, 0 = unlimited (collapsed: default 256)",
          .fallback = "0", BIND(tree.max_depth)),
    PARAM("min_total", DURATION,
          "omit folded calls whose total time is less than this, and everything below them",
          .example = "'1ms'", .formats = FOLDED, BIND(tree.min_total_ns)),
    PARAM("analyze", BOOL,
          "include tables by name, category and depth, and the hottest and critical paths (json, "
          "text)",
          .fallback = "false", .formats = FORMAT_BIT(JSON) | FORMAT_BIT(TEXT), BIND(tree.analyze)),
    PARAM("top_n", UINT, "with analyze: number of most-called names and of hottest paths, 0 = all",
          .fallback = "10", BIND(tree.top_n)),
    PARAM("summary", BOOL, "append a line {\"summary\":{...}} (ndjson)", .fallback = "false",
          BIND(summary)),
    PAGE_PARAMS(.formats = FORMAT_BIT(NDJSON)),
    {0},
};
#undef OPTIONS

struct state {
    struct call_tree *tree;
    struct format_call_tree *writer;
};

static int open_writer(struct request *rq, struct state *s)
{
    const struct options *given = rq->options;
    struct format_call_tree_options o = {.format = rq->format,
                                         .pretty = rq->pretty,
                                         .summary = given->summary,
                                         .focus = given->tree.focus,
                                         .callees = given->direction != CALL_TREE_CALLERS,
                                         .callers = given->direction != CALL_TREE_CALLEES,
                                         .limit = request_limit(rq),
                                         .offset = request_uint(rq, "offset"),
                                         .started_ns = rq->started_ns,
                                         .budget = &rq->budget};
    return format_call_tree_new(s->tree, &o, &s->writer);
}

static int open_call_tree(struct request *rq)
{
    struct state *s = rq->state;
    struct call_tree_options *o = &((struct options *)rq->options)->tree;
    o->events = rq->format == FORMAT_NDJSON || rq->format == FORMAT_PERFETTO;
    /* Every line repeats its whole call path, so the depth is limited unless the request sets
     * it. */
    if (rq->format == FORMAT_COLLAPSED && !request_param(rq, "max_depth")->given)
        o->max_depth = CALL_TREE_PATH_LEVELS;
    int rc = call_tree_open(rq->query, o, &rq->err, &s->tree);
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
}

const struct endpoint endpoint_call_tree = {
    .path = "/call-tree",
    .summary = "calls nested by time, folded or listed individually",
    .methods = METHOD_GET | METHOD_POST,
    .answer = &format_call_tree_type,
    .line = &format_call_tree_line_type,
    PARAMS(own_params, selection_events_params, clip_params, answer_params),
    FORMATS(FORMAT_JSON, FORMAT_NDJSON, FORMAT_TEXT, FORMAT_COLLAPSED, FORMAT_PERFETTO),
    .options_size = sizeof(struct options),
    .queries = true,
    .state_size = sizeof(struct state),
    .open = open_call_tree,
    .next = next_call_tree,
    .close = close_call_tree,
};
