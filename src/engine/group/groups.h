/* groups.h - groups the selected rows of a query, by several sets of keys in one scan.
 *
 * Used by:   answers (aggregate, stats, compare, small, timeline), engine/plan (within).
 * Path:      struct grouping names sets of keys, and accumulators for each group -> groups_scan
 *            (spread.c, scan.c): one struct groups a worker, filled by accumulators (number.c,
 *            accumulators.c) -> groups_merge (merge.c) -> one for all.
 * Exactness: integers are summed exactly in any order, so the result is the same whatever the
 *            number of threads. Doubles: see doubles.h.
 * Threads:   a struct groups belongs to one thread; groups_merge uses several for large ones.
 * Memory:    charged to the budget until groups_free.
 */
#ifndef DFTRACERD_ENGINE_GROUP_GROUPS_H
#define DFTRACERD_ENGINE_GROUP_GROUPS_H

#include <pthread.h>

#include "engine/derived/spans.h"
#include "engine/group/doubles.h"
#include "engine/group/map.h"
#include "engine/group/sample.h"

enum { GROUP_SETS_MAX = 8 };

/* ---- specification --------------------------------------------------------------------------- */

struct acc;
struct acc_spec;
struct grouping;
struct groups;
struct groups_decoder;
struct groups_encoder;
struct group_worker;
/* A kind of accumulator. Its slot is a part of the record of a group. Answers may define kinds. */
struct acc_kind {
    size_t size;                                  /* of a slot, a multiple of 8; 0: none */
    size_t (*bytes)(const struct acc_spec *spec); /* the size, if it depends on the spec */
    bool wide;                                    /* slots are aligned to 16 bytes */
    bool sums; /* slots begin with struct int_moments: dense_sums.c may add integers */
    void (*clear)(const struct acc_spec *spec, void *slot); /* NULL: an empty slot is zero */
    /* Frees memory that a slot refers to. NULL: there is none. */
    void (*free)(const struct grouping *g, void *slot);
    /* Adds the selected rows of a batch, whose groups are in w->group. */
    int (*add)(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc);
    /* Adds slot `from_slot` of `from` to a slot of `into`. Memory of `from_slot` may become that of
     * `slot`. shared: while other threads merge, too, the lock for data that several slots share;
     * else NULL. */
    int (*merge)(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                 const void *from_slot, pthread_mutex_t *shared);
    size_t item; /* bytes of an item of acc.list; 0: it has none */
    /* Returns true if the item refers only to groups that exist. */
    bool (*item_refers_to_groups)(const struct groups *f, unsigned set, const void *item);
    /* Adds the list of `from`, whose memory may become that of `into`. set: of the accumulator;
     * to[s][g]: number in `into` of group g of set s. */
    int (*merge_lists)(struct acc *into, struct acc *from, unsigned set, const uint32_t *const *to);
    /* For data beside the bytes of records and items: keys, and memory that a slot refers to
     * (encode.h). With `free`, slots are clear before `decode`. */
    int (*encode)(struct groups_encoder *e, unsigned set, unsigned acc);
    int (*decode)(struct groups_decoder *d, unsigned set, unsigned acc);
};
/* Moments of a column's numbers, and with `sample` their percentiles: struct int_moments, with
 * `sample` struct sampled_moments; doubles: see doubles.h. */
extern const struct acc_kind acc_number;
/* Moments of column / with as doubles: bytes a second of rows whose duration is above 0. */
extern const struct acc_kind acc_rate;
/* The first start and the last end: struct extent. column: ts; with: dur, NULL: 0. */
extern const struct acc_kind acc_extent;
/* The value of the first or the last row by time: struct pick. column: its keys; with: ts. */
extern const struct acc_kind acc_first, acc_last;
/* All different values: acc.pairs. */
extern const struct acc_kind acc_distinct;
/* The union of the intervals of rows with a duration above 0: acc.intervals. column: ts; with: dur.
 */
extern const struct acc_kind acc_intervals;

struct acc_spec {
    const struct acc_kind *kind;
    const struct source *column;
    const struct source *with; /* numbers: rows without this are not counted; NULL: all are */
    bool sample;
    bool shape;         /* moments of four orders, as doubles, for integers, too */
    uint32_t max_items; /* of acc.list, or of a slot */
    bool instants;      /* intervals: also of rows without a duration above 0 */
};
struct group_set {
    const struct source *const *keys;
    unsigned width;
    const struct acc_spec *accs;
    unsigned acc_count;
    bool pack; /* many groups of long keys are expected: they are read by group_map_keys */
    /* Adds the selected rows, whose groups are in w->group. NULL: each row is counted once and
     * added to all accumulators. */
    int (*add)(struct group_worker *w, struct scan_batch *b, unsigned set);
};
/* Callbacks of an answer; each may be NULL. */
struct group_hooks {
    int (*worker_begin)(struct group_worker *w); /* sets w->own */
    /* Called before the groups of the worker are merged; frees w->own. */
    int (*worker_end)(struct group_worker *w, bool failed);
    bool (*skip)(void *arg, size_t position);                        /* as in struct scan_sink */
    int (*chunk_plan)(struct group_worker *w, struct scan_chunk *c); /* likewise */
    int (*chunk_begin)(struct group_worker *w, struct scan_chunk *c);
    int (*chunk_end)(struct group_worker *w, struct scan_chunk *c);
    /* Handles a batch. NULL: all rows are added to all sets. */
    int (*batch)(struct group_worker *w, struct scan_batch *b);
    /* as in struct scan_sink, with `only` */
    int (*values)(struct group_worker *w, const struct scan_values *v);
    /* `put` encodes results that are in `arg`, for another process, where `take` adds them to its
     * own. NULL: there are none. */
    void (*put)(void *arg, struct buf *out);
    int (*take)(void *arg, struct rec *in);
};
struct grouping {
    struct query *query;
    struct budget *budget;
    uint64_t limit; /* groups of a set; see group_table_init */
    bool exact;     /* percentiles keep all values */
    unsigned set_count;
    const struct group_set *sets;
    /* Maps keys to those of the answer, where several keys become one. NULL: keys stay. */
    int (*translate_keys)(void *arg, const uint64_t *keys, uint64_t *ret);
    const struct group_hooks *hooks; /* NULL: none */
    void *arg;                       /* of both */
    bool ends_first, apart;          /* see struct scan_sink */
    /* Other ranks may scan the chunks that they have: all results are in struct groups, or sent by
     * hooks.put. */
    bool spreads;
    bool more;                 /* a later scan of the request depends on the results */
    const struct source *only; /* see struct scan_sink */
};

/* ---- results --------------------------------------------------------------------------------- */

/* Sums of integers of one unit. Sums that do not fit are added to an entry of groups.large. `more`
 * is the number of this entry, from 1 (0: none), shifted left by one bit, and the unit (1:
 * nano). */
struct int_moments {
    int64_t min, max, sum;
    uint64_t squares;
    uint32_t count, more;
};
struct sampled_moments {
    struct int_moments int_moments;
    struct sample sample;
};
struct extent {
    __int128 min_ts, max_te; /* ns; EXTENT_NONE and -EXTENT_NONE: no row had a time */
};
#define EXTENT_NONE ((__int128)(~(unsigned __int128)0 >> 1))
/* A row whose value is kept. */
struct pick {
    __int128 ts; /* ns */
    uint64_t key;
    uint32_t place, row; /* position in scan_places; row of the chunk */
    bool has;            /* false: there is none yet */
};

/* An accumulator of a set. */
struct acc {
    const struct acc_spec *spec;
    size_t at, bytes;         /* of its slot in a record */
    VEC(uint32_t) doubles_at; /* by group: entry + 1 of the current chunk */
    struct group_table pairs; /* (group, key) */
    union {
        struct vec list;            /* of items that the kind defines */
        VEC(struct span) intervals; /* scope: group */
    };
};
struct groups_of_set {
    struct group_map map;
    bool map_ready; /* group_map_chunk was called for the current chunk */
    /* for each group: its number of rows, then slots */
    char *records;
    bool borrowed;       /* `records` is memory of a message */
    size_t stride;       /* bytes of a record */
    uint32_t cap, ready; /* capacity in groups; groups whose records are initialised */
    unsigned acc_count;
    struct acc *accs;
};
static inline void *group_record(const struct groups_of_set *s, uint32_t group)
{
    return s->records + group * s->stride;
}
static inline uint64_t *group_count(const struct groups_of_set *s, uint32_t group)
{
    return group_record(s, group);
}
static inline void *group_slot(const struct groups_of_set *s, uint32_t group, unsigned acc)
{
    return s->records + group * s->stride + s->accs[acc].at;
}
/* Returns true if a row had a time. max_te is below min_ts if its duration was negative. */
static inline bool extent_has_times(const struct extent *s)
{
    return s->min_ts != EXTENT_NONE;
}
static inline void extent_widen(struct extent *s, __int128 from, __int128 to)
{
    s->min_ts = from < s->min_ts ? from : s->min_ts;
    s->max_te = to > s->max_te ? to : s->max_te;
}

/* The groups of one worker, and in the end those of all workers. */
struct groups {
    const struct grouping *grouping; /* borrowed until groups_free */
    struct sample_memory memory;
    VEC(struct moments) large; /* see struct int_moments */
    struct group_doubles doubles;
    struct charge charge;
    unsigned set_count;
    struct groups_of_set set[];
};
/* Scans and groups. *ret: *new*, on failure, too (it may be NULL then). Returns 0, ERR_ROW_LIMIT,
 * ERR_MEMORY_LIMIT, -ENOMEM, an error of the budget, or a read error. */
int groups_scan(const struct grouping *g, struct groups **ret, struct err *err);
/* Runs several at once, of queries with the same environment. Returns 0, or -ENOMEM if none has
 * begun. */
struct groups_job {
    const struct grouping *grouping;
    struct groups *found; /* out: as groups_scan */
    int error;            /* out: 0, or the error of the scan */
};
int groups_scan_all(struct groups_job *jobs, size_t count);
/* scan.c: a scan in this process, of the chunks of some ranks. */
struct groups_local {
    const bool *ranks; /* by rank: its chunks are scanned */
    unsigned rank_count;
    struct place_result **places; /* by job and place */
    bool remote;                  /* this process is not rank 0 */
};
struct place_result {
    struct doubles_part *part; /* out: doubles that are not yet merged; NULL: none */
    /* The chunk can only be scanned by rank 0, whichever rank has it. Set by remote ranks. */
    bool rank_0_only;
};
/* Scans as groups_scan_all does, but only the chunks of these ranks; local NULL: of all. */
int groups_scan_local(struct groups_job *jobs, size_t count, const struct groups_local *local);
int groups_new(const struct grouping *g, struct groups **ret);
void groups_free(struct groups *f);
/* Frees the groups of one set. */
void groups_drop(struct groups *f, unsigned set);
/* An upper bound of the memory of a group, without percentiles of many values. */
size_t groups_bytes_each(const struct group_set *set);
/* Allocates records for all groups of a set, without initialising them. */
int groups_reserve(struct groups *f, unsigned set);
/* Allocates and initialises records for all groups of a set. */
int groups_grow(struct groups *f, unsigned set);
/* Initialises the record of a group. */
void group_begin(const struct groups_of_set *s, uint32_t group);
/* Empties the slot of one accumulator. */
void group_clear(const struct groups_of_set *s, uint32_t group, unsigned acc);
/* Counts each of n rows in its group. */
void group_count_rows(const struct groups_of_set *s, const uint32_t *group, uint32_t n);
/* Loads all cache lines of a record. */
static inline void group_touch(const struct groups_of_set *s, uint32_t group)
{
    const char *r = group_record(s, group);

    for (size_t at = 0; at < s->stride; at += 64)
        memory_touch(r + at);
    memory_touch(r + s->stride - 1); /* it may begin in the middle of a cache line */
}
/* The values of one number in a group, or in several groups together. */
struct quantity {
    struct moments moments; /* of integers */
    struct moments_f64 doubles;
    struct sample *sample; /* borrowed; NULL: none */
};
void group_quantity(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                    struct quantity *ret);
/* Adds `from` to `into`, whose sample was allocated from `memory`. */
int quantity_add(struct sample_memory *memory, struct quantity *into, const struct quantity *from);
/* Moments of the integers and of the doubles; the latter are NULL if there are none. */
void group_moments(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                   struct moments *ret);
const struct float_moments *group_doubles_of(const struct groups *f, unsigned set, uint32_t group,
                                             unsigned acc);

/* ---- merge.c --------------------------------------------------------------------------------- */

/* Adds the groups of `from`, which the caller then frees. later: the number of merges that follow,
 * which are expected to bring as many new groups each. */
int groups_merge(struct groups *into, struct groups *from, unsigned later);
/* Adds the slots of group g of `from` to those of group `to`. */
int group_merge(struct groups *into, struct groups *from, unsigned set, uint32_t to, uint32_t g,
                pthread_mutex_t *shared);

/* ---- int_moments.c --------------------------------------------------------------------------- */

/* Adds a value, or `n` values by their sum, min and max (INT64_MAX and INT64_MIN: not known). */
int int_moments_add(struct groups *f, struct int_moments *c, int64_t value, bool nano);
int int_moments_add_many(struct groups *f, struct int_moments *c, uint64_t n, int64_t sum,
                         int64_t min, int64_t max, bool nano);
/* The fast path of int_moments_add, for values between -2^32 and 2^32. Returns false if
 * int_moments_add must be called instead. */
#define MOMENTS_ORDINARY (1ll << 32)
#define MOMENTS_COUNT_MAX (1u << 30)
static inline bool int_moments_add_quickly(struct int_moments *c, int64_t value, bool nano)
{
    uint64_t squares;

    if ((uint64_t)value + MOMENTS_ORDINARY - 1 >= 2 * MOMENTS_ORDINARY - 1 ||
        (c->more & 1) != nano || c->count >= MOMENTS_COUNT_MAX ||
        __builtin_add_overflow(c->squares, (uint64_t)value * (uint64_t)value, &squares))
        return false;
    c->squares = squares;
    c->sum += value;
    c->min = value < c->min ? value : c->min;
    c->max = value > c->max ? value : c->max;
    c->count++;
    return true;
}
void int_moments_expand(const struct groups *f, const struct int_moments *c, struct moments *ret);
/* The fast path of int_moments_merge. Returns false if int_moments_merge must be called instead. */
bool int_moments_merge_quickly(struct int_moments *c, const struct int_moments *other);
int int_moments_merge(struct groups *f, struct int_moments *c, const struct groups *from,
                      const struct int_moments *other);

/* ---- accumulators.c -------------------------------------------------------------------------- */

/* Adds the interval from `from` to `to` ns. */
int interval_add(struct acc *acc, uint32_t group, int64_t from, int64_t to);
/* Unites intervals of a group that overlap, and sorts them by group and start. */
int intervals_unite(struct acc *acc);

#endif
