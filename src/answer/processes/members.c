/* members.c - what /processes contains. */
#include "dftracerd/processes.h"

static const char *const parents[] = {"ppid", "fork", "spawn", "file", NULL};

#define OBJECT struct process_info
static const struct member members[] = {
    MEMBER("host", host, .type = VALUE_TEXT),
    MEMBER("pid", pid),
    MEMBER("parent_pid", parent_pid, .when = WHEN(has_parent)),
    MEMBER("parent_by", parent_by, .choices = parents, .nullable = true,
           .help = "how the parent was found; file: a guess from the name of the trace file"),
    MEMBER("depth", depth, .help = "number of ancestors that have selected objects"),
    MEMBER("rank", rank, .type = VALUE_INT),
    MEMBER("command", command, .type = VALUE_TEXT),
    MEMBER("exec", exec, .type = VALUE_TEXT),
    MEMBER("cwd", cwd, .type = VALUE_TEXT),
    MEMBER("min_ts", first, .type = VALUE_TIME, .unit = UNIT_US),
    MEMBER("max_te", last, .type = VALUE_TIME, .unit = UNIT_US),
    MEMBER("events", events, .help = "selected objects"),
    MEMBER("threads", threads),
    MEMBER("bytes", bytes, .type = VALUE_DOUBLE, .unit = UNIT_BYTES),
    MEMBER("io_time", io_time, .type = VALUE_TIME, .unit = UNIT_US,
           .help = "total duration of events of categories POSIX and STDIO"),
    MEMBER("files", files, .help = "trace files that contain the process"),
    MEMBER("file", file, .nullable = true, .help = "the first of them"),
    MEMBER("finished", finished, .type = VALUE_BOOL,
           .help = "whether the trace has the end of the process; null: neither start nor end"),
};
const struct object_type process_line_type = {"ProcessLine", MEMBERS(members)};
static const struct object_type process_type = {"Process", MEMBERS(members), .nests = NESTS(depth)};
#undef OBJECT

#define OBJECT struct process_list
static const struct member list_members[] = {
    MEMBER("generation", counters.generation),
    MEMBER("complete", complete),
    MEMBER("files", counters.files),
    MEMBER("damaged_files", counters.damaged_files),
    MEMBER("events", events, .help = "selected objects"),
    MEMBER("without_process", without_process, .help = "selected objects without a pid"),
    MEMBER("processes", rows.count),
    MEMBER_OBJECTS("tree", rows.at, rows.count, &process_type),
};
const struct object_type processes_type = {"Processes", MEMBERS(list_members)};
#undef OBJECT
