/* call_tree_members.c - describes the document of /call-tree and the lines of its events. */
#include "format/report/call_tree.h"

/* Members of the document and of the summary line. */
#define TOTALS(at) \
    MEMBERS_QUERY(at.counters, at.complete), \
        MEMBER("events", at.events, .help = "selected objects"), \
        MEMBER("in_tree", at.in_tree, .help = "events in the tree"), \
        MEMBER("other_phases", at.other_phases, .help = "selected objects that are not `X`"), \
        MEMBER("untimed", at.untimed, \
               .help = \
                   "events without `ts`, or with a `dur` that is negative or beyond 64 bits (a " \
                   "clock stepped back); they are not in the tree. An event without `dur` is " \
                   "in the tree, with duration 0"), \
        MEMBER("partial_overlaps", at.partial_overlaps, \
               .help = "events that begin within another one and end after it; they become its " \
                       "siblings"), \
        MEMBER("threads", at.threads, .help = "threads with events in the tree"), \
        MEMBER("levels", at.levels, .help = "depth of the deepest event"), \
        MEMBER_OBJECTS( \
            "hosts_apart", at.hosts_apart, at.host_count, &call_tree_host_type, \
            .help = "hosts whose time range does not overlap that of the other hosts; if the " \
                    "hosts form several such sets, the one with most events counts as " \
                    "correct")

/* ---- the document ---------------------------------------------------------------------------- */

#define OBJECT struct call_tree_node
static const struct member group_members[] = {
    MEMBER_VALUES_NAMED(group, columns, group_count),
};
static const struct object_type group_type = {NULL, MEMBERS(group_members)};
static const struct member node_members[] = {
    MEMBER_SELF("group", &group_type, .when = WHEN(is_group), .optional = true,
                .help = "columns of `group_by` with their values"),
    MEMBER("name", name, .type = VALUE_TEXT, .when = WHEN(has_name), .optional = true),
    MEMBER("cat", cat, .type = VALUE_TEXT, .when = WHEN(is_call), .optional = true),
    MEMBER("count", count, .help = "calls"),
    MEMBER("total", total_ns, .unit = UNIT_US, .help = "sum of durations"),
    MEMBER("self", self_ns, .unit = UNIT_US, .help = "time that no child covers"),
    MEMBER_NS("min", min_ns, .when = WHEN(has_range), .unit = UNIT_US,
              .help = "shortest of the calls; null if the node is not a call"),
    MEMBER_NS("max", max_ns, .when = WHEN(has_range), .unit = UNIT_US,
              .help = "longest of the calls; null if the node is not a call"),
};
static const struct object_type node_type = {"CallTreeNode", MEMBERS(node_members),
                                             .nests = NESTS(depth)};
#undef OBJECT

static const void *node(const void *object, size_t i, enum call_tree_part part)
{
    const struct format_call_tree *f = object;

    if (i == 0)
        call_tree_begin(f->tree, part);
    return call_tree_next(f->tree);
}

static const void *node_of_all(const void *object, size_t i)
{
    return node(object, i, CALL_TREE_ALL);
}

static const void *node_of_callees(const void *object, size_t i)
{
    return node(object, i, CALL_TREE_CALLEES);
}

static const void *node_of_callers(const void *object, size_t i)
{
    return node(object, i, CALL_TREE_CALLERS);
}

#define TREE(name, part, item, help_) \
    MEMBER_ITEMS(name, nodes[part], &node_type, item, .root = true, .optional = true, .help = help_)
#define OBJECT struct format_call_tree
static const struct member members[] = {
    TOTALS(lines.totals),
    MEMBER("focus", o.focus, .optional = true),
    MEMBER_AT("analysis", analysis, &call_tree_analysis_type, .optional = true,
              .help = "with `analyze=true`"),
    TREE("tree", CALL_TREE_ALL, node_of_all, "without `focus`: the tree"),
    TREE("callees", CALL_TREE_CALLEES, node_of_callees, "with `focus`: what its calls contain"),
    TREE("callers", CALL_TREE_CALLERS, node_of_callers, "with `focus`: what contains its calls"),
};
const struct object_type format_call_tree_type = {"CallTree", MEMBERS(members)};
#undef OBJECT

/* ---- lines ----------------------------------------------------------------------------------- */

#define OBJECT struct call_tree_line
static const struct member event_members[] = {
    MEMBER("id", event.id, .help = "from 1"),
    MEMBER("parent", event.parent, .when = WHEN(has_parent), .help = "id of the event around it"),
    MEMBER("depth", event.depth),
    MEMBER("name", event.name, .type = VALUE_TEXT),
    MEMBER("cat", event.cat, .type = VALUE_TEXT),
    MEMBER("host", thread.host, .type = VALUE_TEXT),
    MEMBER("pid", thread.pid, .type = VALUE_INT),
    MEMBER("tid", thread.tid, .type = VALUE_INT),
    MEMBER_NS("ts", event.ts_ns, .unit = UNIT_US),
    MEMBER_NS("dur", event.dur_ns, .unit = UNIT_US),
    MEMBER("event_id", event.event_id, .when = WHEN(event.has_event_id),
           .help = "`id` of the event in the trace"),
    MEMBER("path", path, .when = WHEN(has_path), .help = "null: longer than 256 levels"),
};
const struct object_type call_tree_event_type = {"CallTreeEvent", MEMBERS(event_members)};
#undef OBJECT

#define OBJECT struct call_tree_lines
static const struct member lines_members[] = {
    MEMBER("rows", rows),
    TOTALS(totals),
    MEMBER("elapsed_ms", elapsed_ms),
};
static const struct object_type lines_type = {NULL, MEMBERS(lines_members)};
#undef OBJECT

#define OBJECT struct format_call_tree
static const struct member summary_members[] = {MEMBER_IN("summary", lines, &lines_type)};
const struct object_type call_tree_summary_type = {"CallTreeSummary", MEMBERS(summary_members)};
#undef OBJECT

static const struct object_type *const line_types[] = {&call_tree_event_type,
                                                       &call_tree_summary_type, NULL};
const struct object_type format_call_tree_line_type = {"CallTreeLine", .refers = line_types};
