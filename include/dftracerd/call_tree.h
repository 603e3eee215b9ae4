/* call_tree.h - /call-tree: calls nested by time.
 *
 * Used by:   format, http.
 * Path:      call_tree_open scans, sorts and nests all events (answer/calltree/call_tree.h); the
 *            other calls read nodes, events and sums from the result.
 * Memory:    32 bytes an event, up to as much again for a thread while it is sorted, 100 a folded
 *            node; charged to the budget of the query until call_tree_close.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_CALL_TREE_H
#define DFTRACERD_CALL_TREE_H

#include "dftracerd/member.h"
#include "dftracerd/query.h"

/* Complete events (ph X) nested by containment in time, in each thread (host, pid, tid) over all
 * files: either folded (calls of one name on one path are one node) or event by event. The time is
 * linear except for sorting; nothing is recursive, whatever the depth. */
enum call_tree_part { CALL_TREE_ALL, CALL_TREE_CALLEES, CALL_TREE_CALLERS, CALL_TREE_PARTS };
/* Longer paths are not returned, and callers are followed up to this number of levels. */
enum { CALL_TREE_PATH_LEVELS = 256 };
struct call_tree_options {
    /* The outermost calls are children of a node with these columns' values. */
    const char *const *group_by;
    size_t group_by_count;
    const char *focus; /* a name: returns CALL_TREE_CALLEES and _CALLERS instead of CALL_TREE_ALL */
    uint64_t max_depth;   /* maximum depth of the returned tree, 0 = unlimited */
    int64_t min_total_ns; /* folded nodes with less are omitted, with all below */
    bool analyze, events; /* events: only call_tree_next_event is used */
    uint64_t top_n;       /* of most_called and hottest, 0 = all */
};
struct call_tree_host {
    struct value name;
    int64_t min_ts, max_te, gap_ns;
};
struct call_tree_totals {
    struct query_counters counters;
    bool complete;
    uint64_t events;                /* objects selected */
    uint64_t in_tree, other_phases; /* of these: nested; not ph X */
    uint64_t untimed;          /* ph X without ts, or with a dur that is too large or negative */
    uint64_t partial_overlaps; /* begin within an event and end after it; final at the end */
    uint64_t threads, levels;  /* levels: maximum depth */
    /* Hosts whose times do not overlap those of most others: their clocks may differ. */
    const struct call_tree_host *hosts_apart;
    size_t host_count;
};
struct call_tree;
/* Returns 0, ERR_PARAM (err.param), ERR_ROW_LIMIT, ERR_MEMORY_LIMIT, or another error of the query.
 */
int call_tree_open(struct query *q, const struct call_tree_options *options, struct err *err,
                   struct call_tree **ret);
/* Texts are borrowed until call_tree_close. */
void call_tree_totals(const struct call_tree *t, struct call_tree_totals *ret);
void call_tree_close(struct call_tree *t);

/* A folded node. The top is `all`, which counts all calls, or `callees` or `callers`, whose count
 * and total are the sums of those of its children. Texts are borrowed until call_tree_close. */
struct call_tree_node {
    bool is_call, is_group, has_name; /* has_name: the top or a call */
    uint32_t depth;                   /* 0 for the top; groups count as levels */
    struct value name, cat;
    const char *const *columns; /* if is_group: columns of group_by, with their values */
    const struct value *group;
    size_t group_count;
    uint64_t count;
    /* rest_ns: self time, and that of the omitted nodes below. Of a caller: the part of its self
     * time that none of its returned callers has. Not defined for the top. */
    __int128 total_ns, self_ns, rest_ns;
    int64_t min_ns, max_ns; /* of a call */
    bool has_range;         /* min and max are valid */
};
/* Begins with the top of a part: parents come before children, children by total descending, then
 * name. Returns the number of nodes that follow, including the top; 0: the tree has no such part.
 */
size_t call_tree_begin(struct call_tree *t, enum call_tree_part part);
/* Borrowed until the next call; NULL: there are no more. */
const struct call_tree_node *call_tree_next(struct call_tree *t);
/* Writes the label in paths: null is `-`, `;` becomes `:`, control characters become spaces; a
 * group is `column=value,...`. */
void call_tree_write_label(const struct call_tree *t, const struct call_tree_node *n,
                           struct buf *out);
void call_tree_write_name(const struct value *name, struct buf *out); /* does the same for a name */

/* Events, thread after thread, parents before children, by start. */
struct call_tree_event {
    uint64_t id, parent; /* id: counted from 1; parent 0 = none */
    int64_t event_id;
    bool has_event_id;
    uint32_t depth, thread;
    struct value name, cat;
    int64_t ts_ns, dur_ns;
};
/* Returns 0, ERR_END, -ENOMEM, or another error of the query. */
int call_tree_next_event(struct call_tree *t, struct call_tree_event *ret);
/* Call it before that: passes the start of each event, including those that max_depth omits, in any
 * order. */
int call_tree_starts(const struct call_tree *t, void (*see)(void *arg, int64_t ts_ns), void *arg);
/* Threads are ordered by host, pid, tid. */
struct call_tree_thread {
    struct value host, pid, tid;
    uint64_t events;
};
void call_tree_thread(const struct call_tree *t, uint32_t thread, struct call_tree_thread *ret);

/* ---- call_tree_options.analyze --------------------------------------------------------------- */

struct call_tree_sum {
    struct value name, cat;
    uint32_t depth;
    const char *path; /* of hottest; NULL: longer than CALL_TREE_PATH_LEVELS */
    uint64_t count;
    __int128 total_ns, self_ns;
};
/* The critical path of a thread: the outermost call that ends last, within it the call that ends
 * last, and so on; of several the first. */
struct call_tree_path {
    struct value host, pid, tid;
    __int128 from_ns, to_ns;
    size_t count; /* events */
    uint32_t thread;
    struct call_tree *tree;
};
/* `i` counts from 0, the outermost one; borrowed until the next call. */
const struct call_tree_event *call_tree_path_event(const struct call_tree_path *p, size_t i);
struct call_tree_durations {
    uint64_t count;
    __int128 total_ns;
    bool known; /* there are events, so the fields below are valid */
    int64_t min_ns, max_ns;
    double mean_us, median_us, p95_us, p99_us;
};
struct call_tree_analysis {
    struct call_tree_durations duration;
    struct call_tree_sum *most_called, *categories, *depths, *hottest;
    size_t most_called_count, category_count, depth_count, hottest_count;
    struct call_tree_path *paths; /* by thread */
    size_t path_count;
    const struct call_tree_path *critical; /* the one that ends last; NULL: none */
};
/* Borrowed; NULL: not requested. */
const struct call_tree_analysis *call_tree_analysis(const struct call_tree *t);

extern const struct object_type call_tree_host_type, call_tree_analysis_type;

#endif
