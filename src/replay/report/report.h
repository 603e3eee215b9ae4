/* report.h - executed events by name; skipped events by name and reason. Threads: report_count and
 * report_skip: any thread; all others: the planning thread. */
#ifndef DFTRACERD_REPLAY_REPORT_REPORT_H
#define DFTRACERD_REPLAY_REPORT_REPORT_H

#include "dftracerd/measure.h"
#include "dftracerd/replay.h"

#include "replay/shared/shared.h"

#include <pthread.h>

enum { REPORT_NAMES_MAX = 4096, REPORT_REASONS_MAX = 1024 };

struct report_name {
    struct text text; /* in shared memory */
    uint64_t executed, failed, errors, bytes, bytes_traced;
    int64_t time_ns, time_traced_ns;
    struct sketch *taken, *traced;
};
#define REPORT_NO_NAME UINT32_MAX
struct report_reason {
    uint32_t name;             /* REPORT_NO_NAME: of several */
    const char *reason, *file; /* `file`: the first file; NULL: none */
    uint64_t count;
    bool failed;
};

struct report {
    struct shared *shared;
    pthread_mutex_t lock; /* guards what report_count and report_skip change */
    struct intern *names, *categories;
    struct report_name *by_name; /* array of REPORT_NAMES_MAX */
    struct report_reason reasons[REPORT_REASONS_MAX];
    unsigned reason_count;
    uint64_t *category_counts;
    uint64_t total, executed, failed, filtered, skipped, gaps, invalid, files, processes, threads,
        threads_shared;
    uint64_t children; /* number of processes of the replay, with --processes */
    uint64_t beyond;   /* number of events after --max-events */
    /* number of files that could not be prepared, or not be removed at the end */
    uint64_t unprepared, left;
    const char *unprepared_why; /* the first reason */
    bool root_removed;          /* the root itself, which was created for the replay */
    int64_t first_ns, last_ns;
    bool any;
    struct sketch *late;
    int64_t late_max_ns, took_ns;
};

struct outcome {
    uint32_t name;
    int64_t taken_ns, traced_ns, late_ns; /* late_ns < 0: not measured */
    uint64_t bytes, bytes_traced;
    const char *error, *file; /* NULL: none; in shared memory */
    bool failed;              /* the error differs from the trace */
};
int report_init(struct report *r, struct shared *s);
void report_done(struct report *r);
/* Returns the number of a name, or -ENOMEM; the last number is that of all further names. Its text
 * is by_name[number].text. */
int64_t report_name(struct report *r, struct text name);
/* Counts an event of the category. Returns 0 or -ENOMEM. */
int report_category(struct report *r, struct text category);
void report_count(struct report *r, const struct outcome *o);
/* Counts `count` skipped events. `reason` is a constant or in shared memory; so is `file`, which
 * may be NULL. */
void report_skip(struct report *r, uint32_t name, const char *reason, const char *file,
                 uint64_t count);
/* Records a file that could not be prepared, with a code of root.h. */
void report_unprepared(struct report *r, int code);
/* Adds a reason of an event that is counted already. */
void report_reason(struct report *r, const struct report_reason *reason);
/* Encodes the counts of report_count and report_skip, for report_merge in another process with the
 * same numbers of names. The buffer's error is sticky. */
void report_encode(const struct report *r, struct buf *out);
/* Returns 0, -ENOMEM or ERR_CORRUPT. */
int report_merge(struct report *r, struct text encoded);
void report_print(struct report *r, const struct replay_options *o, const char *root,
                  struct buf *out);

#endif
