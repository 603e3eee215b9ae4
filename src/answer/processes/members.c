/* members.c - the members of /processes. */
#include "dftracerd/processes.h"

static const char *const parents[] = {"ppid", "fork", "spawn", "file", NULL};

#define OBJECT struct process_info
static const struct member members[] = {
    MEMBER("host", host, .type = VALUE_TEXT, .help = "null if unknown"),
    MEMBER("pid", pid),
    MEMBER("parent_pid", parent_pid, .when = WHEN(has_parent),
           .help = "the parent, even if it has no selected objects"),
    MEMBER("parent_by", parent_by, .choices = parents, .nullable = true,
           .help = "how the parent is known"),
    MEMBER("depth", depth,
           .help = "number of ancestors that have selected objects on the same host"),
    MEMBER("rank", rank, .type = VALUE_INT, .help = "null if no record contains it"),
    MEMBER("command", command, .type = VALUE_TEXT,
           .help = "null if no record contains it; text has the first 120 bytes"),
    MEMBER("exec", exec, .type = VALUE_TEXT, .help = "null if no record contains it"),
    MEMBER("cwd", cwd, .type = VALUE_TEXT, .help = "null if no record contains it"),
    MEMBER("min_ts", first, .type = VALUE_TIME, .unit = UNIT_US,
           .help = "first start of its selected objects"),
    MEMBER("max_te", last, .type = VALUE_TIME, .unit = UNIT_US, .help = "their last end"),
    MEMBER("events", events, .help = "selected objects"),
    MEMBER("threads", threads, .help = "of these"),
    MEMBER("bytes", bytes, .type = VALUE_DOUBLE, .unit = UNIT_BYTES,
           .help = "sum of `bytes` of these; null if none has any"),
    MEMBER("io_time", io_time, .type = VALUE_TIME, .unit = UNIT_US,
           .help =
               "sum of the durations of its calls of categories POSIX and STDIO, in all threads"),
    MEMBER("files", files, .help = "number of selected files that contain it"),
    MEMBER("file", file, .nullable = true, .help = "the first of them"),
    MEMBER("finished", finished, .type = VALUE_BOOL,
           .help = "whether its `end` event was written; null if there is no `start` either"),
};
const struct object_type process_line_type = {"ProcessLine", MEMBERS(members)};
static const struct object_type process_type = {"Process", MEMBERS(members), .nests = NESTS(depth)};
#undef OBJECT

#define OBJECT struct process_list
static const struct member list_members[] = {
    MEMBERS_QUERY(counters, complete),
    MEMBER("events", events, .help = "selected objects"),
    MEMBER("without_process", without_process, .help = "selected objects without a pid"),
    MEMBER("processes", rows.count),
    MEMBER_OBJECTS("tree", rows.at, rows.count, &process_type),
};
const struct object_type processes_type = {"Processes", MEMBERS(list_members)};
#undef OBJECT
