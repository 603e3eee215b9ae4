/* processes.h - /processes: the processes of the selected objects, as a tree of parents and
 * children.
 *
 * Used by:   format, http.
 * Path:      processes_run: sums by (host, pid), then records of the index, then the tree
 *            (answer/processes/processes.h) -> struct process_list.
 * Memory:    rows, and an arena for their texts, charged to the budget of the query until
 *            processes_free.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_PROCESSES_H
#define DFTRACERD_PROCESSES_H

#include "dftracerd/member.h"
#include "dftracerd/query.h"
#include "dftracerd/vec.h"

/* A process: (host, pid), with totals of its selected objects, and facts from records of the
 * selected files. */
struct process_info {
    struct value host, rank, command, exec, cwd;
    int64_t pid, parent_pid;
    /* NULL: unknown. "ppid" of its start, "fork" or "spawn" that returned its pid (also vfork, also
     * in other files); "file": a guess, because it is in a file named after another process */
    const char *parent_by;
    bool has_parent; /* parent_by is not NULL */
    uint32_t depth;  /* counts parents that have selected objects */
    /* events: objects; files: those with objects of it; the first one is `file` */
    uint64_t events, threads, files;
    const char *file;            /* borrowed from the snapshot */
    struct value first, last;    /* ts, te */
    struct value bytes, io_time; /* io_time: durations of cat POSIX and STDIO */
    struct value finished;       /* true: has an end record; null: has neither that nor a start */
};
struct process_list {
    VEC(struct process_info) rows;    /* parents before their children; else by host, pid */
    uint64_t events, without_process; /* selected objects; those without a pid */
    struct query_counters counters;
    bool complete;
    struct arena arena;
};
/* The types of the answer, with a tree of processes, and of a process as a row. */
extern const struct object_type processes_type, process_line_type;
/* Returns *new*; needs the snapshot of q. */
int processes_run(struct query *q, struct err *err, struct process_list **ret);
void processes_free(struct process_list *l);

#endif
