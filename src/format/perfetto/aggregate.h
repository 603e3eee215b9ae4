/* aggregate.h - what the writers of traces for Perfetto share.
 *
 * aggregate.c reads all rows once, then writes them; view.c does the same with the columns of
 * events and their lines; processes.c distinguishes and names processes; times.c decides how times
 * are written; lanes.c assigns slices to lanes in which they nest; args.c writes ids and arguments.
 */
#ifndef DFTRACERD_FORMAT_PERFETTO_AGGREGATE_H
#define DFTRACERD_FORMAT_PERFETTO_AGGREGATE_H

#include "dftracerd/aggregate.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"
#include "format/perfetto/perfetto.h"

struct perfetto_process {
    int64_t pid, written_pid;    /* written_pid: unique in the trace */
    struct text host, host_name; /* as in the rows; and its resolved name, if known */
    bool root;                   /* no other process of the trace started it */
    bool has_rank;
    int64_t rank;
};
/* A thread for Perfetto: the slices of a thread that nest. */
struct perfetto_lane {
    uint32_t process;
    int64_t tid, written_tid; /* written_tid: unique in the process */
    unsigned number;          /* within the thread, from 0 */
};
/* A row with times. */
struct perfetto_item {
    __int128 from, to; /* ns */
    uint64_t row;
    int64_t tid;
    uint32_t process, lane; /* positions in `processes` and `lanes` */
};
/* A column that belongs to an object of numbers: dur_mean is "avg" of "dur". */
struct perfetto_part {
    struct text of;
    const char *name;
};

/* Columns of the pipeline. */
enum {
    C_CLASS,
    C_CAT,
    C_NAME,
    C_PID,
    C_TID,
    C_HHASH,
    C_FHASH,
    C_BUCKET,
    C_COUNT,
    C_TS,
    C_TE,
    C_ROOT,
    C_KNOWN
};

struct perfetto {
    enum aggregate_events events;
    const struct table_column *columns;
    size_t count;
    int known[C_KNOWN]; /* positions of the columns; -1: C_ROOT is missing */
    struct perfetto_part *parts;
    VEC(struct perfetto_process) processes;
    struct hash_index process_index; /* by pid and host */
    VEC(struct perfetto_lane) lanes;
    VEC(struct perfetto_item) items; /* of rows with times, in row order */
    size_t row;                      /* next item to write */
    __int128 first_ns, origin_ns;    /* the earliest time noted; the time that is written as 0 */
    /* some times were noted; a double cannot hold one of them; origin_ns is used */
    bool timed, inexact, relative;
    struct aggregate_boundary *boundaries;
    size_t boundary_count;
    struct budget *budget;
    struct jw jw;
};
void perfetto_init(struct perfetto *p, struct budget *budget); /* all other fields are zero */
void perfetto_done(struct perfetto *p);

static inline const struct value *perfetto_cell(const struct perfetto *p,
                                                const struct value *values, unsigned known)
{
    return &values[p->known[known]];
}
static inline struct text perfetto_text(const struct value *v)
{
    return v->type == VALUE_TEXT ? v->text : TEXT("");
}
static inline int64_t perfetto_int(const struct value *v)
{
    return v->type == VALUE_INT ? v->i : 0;
}
/* Returns whether Perfetto accepts it as a pid or tid, and numbers remain above it. */
static inline bool perfetto_is_id(int64_t id)
{
    return id > 0 && id < INT32_MAX / 2;
}
/* Returns the number of a process, which is added if it is new, or an error < 0. `host` must live
 * as long as the query. */
int64_t perfetto_process_of(struct perfetto *p, int64_t pid, struct text host);
/* Call it when all processes are known: finds the names of their hosts. */
void perfetto_name_hosts(struct perfetto *p, struct query *q);
/* Call it when all processes are known: sets the pid of each in the trace. */
int perfetto_name_processes(struct perfetto *p);

/* times.c: note each time that is to be written as `ts` first, then perfetto_set_times decides how,
 * and changes all items. Afterwards times are between 0 and the year 2261, because Perfetto drops
 * others. */
void perfetto_note_time(struct perfetto *p, __int128 ns);
void perfetto_set_times(struct perfetto *p, enum perfetto_times times);
__int128 perfetto_ts(const struct perfetto *p, __int128 ns);
/* Changes *from and *to so that *to is *from plus the written `dur`. */
void perfetto_slice(const struct perfetto *p, __int128 *from, __int128 *to);
/* Call it when all items are known: sets the lane of each, and the tid of each lane in the trace.
 */
int perfetto_make_lanes(struct perfetto *p);

/* Writes the first members of an event; more may follow, then jw_end(&p->jw, '}'). */
void perfetto_head(struct perfetto *p, struct buf *out, struct text name, struct text cat);
void perfetto_place(struct perfetto *p, const char *ph, __int128 ts, int64_t pid, int64_t tid);

/* Lanes of one thread. Slices may nest in the first PERFETTO_NESTED lanes, which are all tried.
 * Each of the others has one slice at a time, and a heap orders them by end; otherwise a million
 * overlapping slices would be compared pairwise. */
enum {
    PERFETTO_NESTED = 64,
    PERFETTO_DEPTH = 512 /* Perfetto counts deeper slices as errors */
};
/* A lane with nested slices: the ends of those that are open. */
struct perfetto_open {
    VEC(__int128) to;
};
/* A lane with a single slice: its end. */
struct perfetto_single {
    __int128 to;
    uint32_t lane;
};
struct perfetto_thread {
    struct perfetto_open nested[PERFETTO_NESTED];
    uint32_t count; /* lanes so far */
    VEC(struct perfetto_single) heap;
}; /* zero-initialise but for the budget of the heap */
/* Sets *ret to the lane within the thread for the next slice; slices come by start, the longer
 * first. Returns 0, -ENOMEM or ERR_MEMORY_LIMIT. */
int perfetto_find_lane(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret);
void perfetto_thread_done(struct perfetto_thread *t);
/* Writes the name of a lane as a metadata event. */
void perfetto_put_lane(struct perfetto *p, const struct perfetto_lane *l, struct buf *name,
                       struct buf *out);

/* Returns ERR_FORMAT if the columns are not those of the pipeline. */
int perfetto_check_columns(struct perfetto *p);
/* Writes what distinguishes rows of one name in one process (with_bucket: in the whole trace). */
void perfetto_put_id(struct perfetto *p, const struct value *values, bool with_bucket,
                     struct buf *id);
/* Write the members of "args": numbers without nesting, as a counter requires; or all members. */
void perfetto_flat_args(struct perfetto *p, const struct value *values);
void perfetto_nested_args(struct perfetto *p, const struct value *values);

#endif
