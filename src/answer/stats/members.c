/* members.c - the members of /stats. */
#include "dftracerd/stats.h"

const char *const stats_report_names[] = {
    [STATS_SUMMARY] = "summary",       [STATS_CATEGORIES] = "categories",
    [STATS_NAMES] = "names",           [STATS_PID_TIDS] = "pid_tids",
    [STATS_TIME_RANGE] = "time_range", [STATS_DURATION] = "duration",
    [STATS_TOP_NAMES] = "top-names",   [STATS_TOP_CATEGORIES] = "top-categories",
    [STATS_DETAILED] = "detailed",     NULL};

/* ---- measured quantities --------------------------------------------------------------------- */

#define OBJECT struct measured
#define NUMBER(name, field, ...) MEMBER(name, field, .type = VALUE_DOUBLE, ##__VA_ARGS__)
static const struct member measured_members[] = {
    MEMBER("count", count),
    NUMBER("sum", sum),
    NUMBER("mean", mean),
    NUMBER("std", std, .help = "of the sample; null for fewer than 2 values"),
    NUMBER("min", min),
    NUMBER("max", max),
    NUMBER("p10", quantiles[0]),
    NUMBER("p25", quantiles[1]),
    NUMBER("p50", quantiles[2]),
    NUMBER("p75", quantiles[3]),
    NUMBER("p90", quantiles[4]),
    NUMBER("p95", quantiles[5]),
    NUMBER("p99", quantiles[6]),
};
static const struct object_type measured_type = {
    "Measured", MEMBERS(measured_members),
    .help = "microseconds, bytes or bytes per second; without values all but count and sum are "
            "null"};
#undef OBJECT

#define OBJECT struct stats_bin
static const struct member bin_members[] = {
    MEMBER("lo", lo, .help = "values from here"),
    MEMBER("hi", hi, .help = "to below this"),
    MEMBER("count", count),
};
const struct object_type stats_bin_type = {.name = "Bin", MEMBERS(bin_members)};
#undef OBJECT

/* ---- counts and groups ----------------------------------------------------------------------- */

#define OBJECT struct stats_count
#define TEXT_MEMBER(name, ...) MEMBER(#name, name, .type = VALUE_TEXT, ##__VA_ARGS__)
static const struct member category_members[] = {
    TEXT_MEMBER(cat),
    MEMBER("count", count),
};
static const struct member name_members[] = {
    TEXT_MEMBER(cat),
    TEXT_MEMBER(name),
    MEMBER("count", count),
};
static const struct member thread_members[] = {
    MEMBER("pid", pid, .type = VALUE_INT),
    MEMBER("tid", tid, .type = VALUE_INT),
    TEXT_MEMBER(host, .optional = true),
    MEMBER("count", count),
};
const struct object_type stats_category_type = {"CategoryCount", MEMBERS(category_members)};
const struct object_type stats_name_type = {"NameCount", MEMBERS(name_members)};
const struct object_type stats_thread_type = {"ThreadCount", MEMBERS(thread_members)};
#undef OBJECT

#define OBJECT struct stats_group
static const struct member group_members[] = {
    MEMBER_VALUES_NAMED(keys, key_names, key_count),   MEMBER("count", count),
    MEMBER_IN("duration", duration, &measured_type),   MEMBER_IN("size", size, &measured_type),
    MEMBER_IN("bandwidth", bandwidth, &measured_type), MEMBER_IN("offset", offset, &measured_type),
};
static const struct object_type group_type = {NULL, MEMBERS(group_members),
                                              .help = "keys and statistics of the group"};
const struct object_type stats_group_row_type = {"StatsGroupRow", MEMBERS(group_members),
                                                 .flat = true};
#undef OBJECT

/* ---- rows of totals -------------------------------------------------------------------------- */

#define OBJECT struct stats
#define TIMES \
    NUMBER("min_ts", min_ts, .help = "first start of the selected objects"), \
        NUMBER("max_te", max_te, .help = "their last end"), NUMBER("span", span)
#define ROW MEMBER("files", counters.files), MEMBER("events", events), TIMES
static const struct member times_row_members[] = {ROW};
static const struct member duration_row_members[] = {
    ROW,
    MEMBER_IN("duration", duration, &measured_type),
};
static const struct member summary_row_members[] = {
    ROW,
    MEMBER("categories", categories_total),
    MEMBER("pid_tids", pid_tids_total),
    MEMBER_IN("duration", duration, &measured_type),
};
const struct object_type stats_times_row_type = {"StatsTimesRow", MEMBERS(times_row_members)};
const struct object_type stats_duration_row_type = {"StatsDurationRow",
                                                    MEMBERS(duration_row_members), .flat = true};
const struct object_type stats_summary_row_type = {"StatsSummaryRow", MEMBERS(summary_row_members),
                                                   .flat = true};
#undef OBJECT

/* That of a group is the only one whose members may have any name. */
static const struct object_type *const rows[] = {
    &stats_summary_row_type, &stats_duration_row_type, &stats_times_row_type, &stats_category_type,
    &stats_name_type,        &stats_thread_type,       &stats_group_row_type, NULL};
const struct object_type stats_row_type = {.name = "StatsRow", .refers = rows};

/* ---- the answer ------------------------------------------------------------------------------ */

#define OBJECT struct query_counters
static const struct member chunk_members[] = {
    MEMBER("total", chunks_total),
    MEMBER("scanned", chunks_scanned),
    MEMBER("skipped", chunks_skipped),
    MEMBER("answered_from_summary", chunks_from_summary,
           .help = "from numbers that were computed when the file was indexed"),
};
static const struct object_type chunks_type = {NULL, MEMBERS(chunk_members)};
#undef OBJECT

#define OBJECT struct stats
static const struct member time_range_members[] = {TIMES};
static const struct object_type time_range_type = {NULL, MEMBERS(time_range_members)};

/* A list, and the number of its rows before `top_n` cuts them. */
#define ROWS(name, count, has, of, ...) \
    MEMBER_OBJECTS(#name, name, count, of, .when = WHEN(has), .optional = true), \
        MEMBER(#name "_total", name##_total, .when = WHEN(has), .optional = true, \
               .help = "rows before `top_n` cuts them")
static const struct member members[] = {
    MEMBER("report", report, .choices = stats_report_names),
    MEMBER("query", query),
    MEMBERS_STATE(counters.generation, complete),
    MEMBER("damaged_files", counters.damaged_files),
    MEMBER("files", counters.files),
    MEMBER_IN("chunks", counters, &chunks_type),
    MEMBER("events", events, .help = "number of selected objects"),
    MEMBER_SELF("time_range", &time_range_type),
    MEMBER_IN("duration", duration, &measured_type, .when = WHEN(has_duration), .optional = true),
    ROWS(categories, category_count, has_categories, &stats_category_type),
    ROWS(names, name_count, has_names, &stats_name_type),
    ROWS(pid_tids, pid_tid_count, has_pid_tids, &stats_thread_type),
    ROWS(groups, group_count, has_groups, &group_type),
    MEMBER_OBJECTS("histogram", histogram, histogram_count, &stats_bin_type,
                   .when = WHEN(has_histogram), .optional = true, .help = "of durations"),
};
const struct object_type stats_type = {"StatsTotals", MEMBERS(members)};
#undef OBJECT
