/* members.c - the members of the analysis of /call-tree. */
#include "dftracerd/call_tree.h"

#define OBJECT struct call_tree_host
static const struct member host_members[] = {
    MEMBER("host", name, .type = VALUE_TEXT),
    MEMBER_NS("min_ts", min_ts, .unit = UNIT_US),
    MEMBER_NS("max_te", max_te, .unit = UNIT_US),
    MEMBER_NS("gap", gap_ns, .unit = UNIT_US, .help = "from the time range of the others"),
};
const struct object_type call_tree_host_type = {NULL, MEMBERS(host_members)};
#undef OBJECT

/* ---- sums ------------------------------------------------------------------------------------ */

/* Returns NaN if there are no calls, which is null in answers. */
static struct value mean(const void *object)
{
    const struct call_tree_sum *s = object;

    return (struct value){.type = VALUE_DOUBLE, .d = (double)s->total_ns / 1000 / (double)s->count};
}

#define OBJECT struct call_tree_sum
#define NAME MEMBER("name", name, .type = VALUE_TEXT)
#define CAT MEMBER("cat", cat, .type = VALUE_TEXT)
#define DEPTH MEMBER("depth", depth)
#define SUMS \
    MEMBER("count", count), MEMBER("total", total_ns, .unit = UNIT_US), \
        MEMBER("self", self_ns, .unit = UNIT_US), \
        MEMBER_COMPUTED("mean", VALUE_DOUBLE, mean, .unit = UNIT_US)
static const struct member name_members[] = {NAME, CAT, SUMS};
static const struct member cat_members[] = {CAT, SUMS};
static const struct member depth_members[] = {DEPTH, SUMS};
static const struct member path_members[] = {
    MEMBER("path", path, .nullable = true, .help = "null: longer than 256 levels"), DEPTH, NAME,
    CAT, SUMS};
static const struct object_type name_type = {"CallTreeNameSum", MEMBERS(name_members)},
                                cat_type = {"CallTreeCategorySum", MEMBERS(cat_members)},
                                depth_type = {"CallTreeDepthSum", MEMBERS(depth_members)},
                                path_type = {"CallTreePathSum", MEMBERS(path_members)};
#undef OBJECT

#define OBJECT struct call_tree_durations
static const struct member duration_members[] = {
    MEMBER("count", count),
    MEMBER("total", total_ns, .unit = UNIT_US),
    MEMBER("mean", mean_us, .when = WHEN(known), .unit = UNIT_US),
    MEMBER("median", median_us, .when = WHEN(known), .unit = UNIT_US),
    MEMBER("p95", p95_us, .when = WHEN(known), .unit = UNIT_US),
    MEMBER("p99", p99_us, .when = WHEN(known), .unit = UNIT_US),
    MEMBER_NS("min", min_ns, .when = WHEN(known), .unit = UNIT_US),
    MEMBER_NS("max", max_ns, .when = WHEN(known), .unit = UNIT_US),
};
static const struct object_type duration_type = {NULL, MEMBERS(duration_members)};
#undef OBJECT

/* ---- critical paths -------------------------------------------------------------------------- */

#define OBJECT struct call_tree_event
static const struct member event_members[] = {
    MEMBER("name", name, .type = VALUE_TEXT),
    MEMBER("cat", cat, .type = VALUE_TEXT),
    MEMBER_NS("ts", ts_ns, .unit = UNIT_US),
    MEMBER_NS("dur", dur_ns, .unit = UNIT_US),
};
static const struct object_type event_type = {NULL, MEMBERS(event_members)};
#undef OBJECT

static const void *path_event(const void *object, size_t i)
{
    return call_tree_path_event(object, i);
}

#define OBJECT struct call_tree_path
static const struct member critical_members[] = {
    MEMBER("host", host, .type = VALUE_TEXT),
    MEMBER("pid", pid, .type = VALUE_INT),
    MEMBER("tid", tid, .type = VALUE_INT),
    MEMBER("from", from_ns, .unit = UNIT_US),
    MEMBER("to", to_ns, .unit = UNIT_US),
    MEMBER_ITEMS("events", count, &event_type, path_event),
};
static const struct object_type critical_type = {"CriticalPath", MEMBERS(critical_members)};
#undef OBJECT

#define OBJECT struct call_tree_analysis
static const struct member analysis_members[] = {
    MEMBER_IN("duration", duration, &duration_type,
              .help = "statistics of durations; percentiles within 1 %"),
    MEMBER_OBJECTS("most_called", most_called, most_called_count, &name_type,
                   .help = "the most called names"),
    MEMBER_OBJECTS("categories", categories, category_count, &cat_type, .help = "sums by category"),
    MEMBER_OBJECTS("depths", depths, depth_count, &depth_type, .help = "sums by depth"),
    MEMBER_OBJECTS("hottest_paths", hottest, hottest_count, &path_type,
                   .help = "the paths with the most self time"),
    MEMBER_AT("critical_path", critical, &critical_type, .nullable = true,
              .help = "that of the thread that ends last"),
    MEMBER_OBJECTS("threads", paths, path_count, &critical_type,
                   .help = "the critical path of each thread"),
};
const struct object_type call_tree_analysis_type = {NULL, MEMBERS(analysis_members)};
#undef OBJECT
