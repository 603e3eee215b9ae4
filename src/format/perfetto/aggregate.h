/* aggregate.h - between the parts of the writer of traces for Perfetto. Private to
 * perfetto_*.c.
 *
 * aggregate.c reads all rows once, then writes them, view.c the columns of events
 * and then their lines; processes.c distinguishes and names processes; times.c
 * says how times are written; lanes.c puts slices into lanes in which they nest;
 * args.c writes ids and arguments.
 */
#ifndef DFTRACERD_FORMAT_PERFETTO_AGGREGATE_H
#define DFTRACERD_FORMAT_PERFETTO_AGGREGATE_H

#include "dftracerd/aggregate.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"
#include "format/perfetto/perfetto.h"

struct perfetto_process {
    int64_t pid, told;           /* told: unique in the trace */
    struct text host, host_name; /* as in the rows; and what that means, if it is known */
    bool root;                   /* no other process of the trace has begun it */
    bool has_rank;
    int64_t rank;
};
struct perfetto_lane {
    uint32_t process;
    int64_t tid, told;
    unsigned number;
};
struct perfetto_item {
    __int128 from, to;
    uint64_t row;
    int64_t tid;
    uint32_t process, lane;
};
/* A column that belongs to an object of numbers: dur_mean is "avg" of "dur". */
struct perfetto_part {
    struct text of;
    const char *name;
};

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
    int known[C_KNOWN];
    struct perfetto_part *parts;
    VEC(struct perfetto_process) processes;
    struct hash_index process_index; /* by pid and host */
    VEC(struct perfetto_lane) lanes;
    VEC(struct perfetto_item) items; /* of rows with times, in row order */
    size_t row;
    __int128 first_ns, origin_ns; /* of the times that were noted; that is written as 0 */
    /* there are some; one that a double does not hold; origin_ns counts */
    bool timed, inexact, relative;
    struct aggregate_boundary *boundaries;
    size_t boundary_count;
    struct budget *budget;
    struct jw jw;
};
void perfetto_init(struct perfetto *p, struct budget *budget); /* all else is zero */
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
/* The number of a process, which is added where it is new; below 0: an error. `host` must live as
 * long as the query. */
int64_t perfetto_process_of(struct perfetto *p, int64_t pid, struct text host);
/* When all are known: the names of their hosts. */
void perfetto_name_hosts(struct perfetto *p, struct query *q);
/* When all are known: the number of each in the trace. */
int perfetto_name_processes(struct perfetto *p);

/* times.c. First each time that is to be written as `ts`, then how; from then on they are
 * from 0 to 2261, since Perfetto drops what is outside. perfetto_set_times changes all items. */
void perfetto_note_time(struct perfetto *p, __int128 ns);
void perfetto_set_times(struct perfetto *p, enum perfetto_times times);
__int128 perfetto_ts(const struct perfetto *p, __int128 ns);
/* *to: *from and the written `dur` */
void perfetto_slice(const struct perfetto *p, __int128 *from, __int128 *to);
/* When all items are known: the lane of each, and the number of each lane in the trace. */
int perfetto_make_lanes(struct perfetto *p);

/* The first members of an event; more may follow, then jw_end(&p->jw, '}'). */
void perfetto_head(struct perfetto *p, struct buf *out, struct text name, struct text cat);
void perfetto_place(struct perfetto *p, const char *ph, __int128 ts, int64_t pid, int64_t tid);

/* Lanes of one thread. Slices may nest in the first of them, which are all tried; the others hold
 * one slice at a time, the one that ends first being on top of a heap: else a million slices that
 * overlap would be compared pairwise. */
/* Perfetto counts what is deeper as an error */
enum { PERFETTO_NESTED = 64, PERFETTO_DEPTH = 512 };
/* the ends of the slices that are open */
struct perfetto_open {
    VEC(__int128) to;
};
struct perfetto_single {
    __int128 to;
    uint32_t lane;
};
struct perfetto_thread { /* zero but for the budget of the heap */
    struct perfetto_open nested[PERFETTO_NESTED];
    uint32_t count; /* lanes so far */
    VEC(struct perfetto_single) heap;
};
/* The number of a lane in the thread for the next slice, by start, the longer first; -ENOMEM,
 * ERR_MEMORY_LIMIT. */
int perfetto_find_lane(struct perfetto_thread *t, __int128 from, __int128 to, uint32_t *ret);
void perfetto_thread_done(struct perfetto_thread *t);
/* The name of a lane, as a metadata event. */
void perfetto_put_lane(struct perfetto *p, const struct perfetto_lane *l, struct buf *name,
                       struct buf *out);

/* ERR_FORMAT where the columns are not those of the pipeline. */
int perfetto_look_at_columns(struct perfetto *p);
/* What distinguishes rows of one name in one process (with_bucket: everywhere). */
void perfetto_put_id(struct perfetto *p, const struct value *values, bool with_bucket,
                     struct buf *id);
/* Members of "args": numbers of one level, which is what a counter may have; or all there is. */
void perfetto_flat_args(struct perfetto *p, const struct value *values);
void perfetto_nested_args(struct perfetto *p, const struct value *values);

#endif
