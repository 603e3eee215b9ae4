/* groups.h - groups the selected rows of a query, several ways in one scan.
 *
 * Used by:   answers (aggregate, stats, compare, small, timeline), engine/plan (within).
 * Path:      struct grouping names sets of keys and what is kept of each group -> groups_scan
 *            (scan.c): one struct groups a worker, filled by accumulators (number.c, keep.c)
 *            -> groups_merge (merge.c) -> one for all.
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

/* ---- what is wanted -------------------------------------------------------------------------- */

struct acc;
struct acc_spec;
struct grouping;
struct groups;
struct groups_decoder;
struct groups_encoder;
struct group_worker;
/* What can be kept of a group. A slot is its part of the group's record. Answers may have kinds of
 * their own. */
struct acc_kind {
    size_t size;                                  /* of a slot, a multiple of 8; 0: none */
    size_t (*bytes)(const struct acc_spec *spec); /* instead, where it depends on the spec */
    bool wide;                                    /* slots are aligned to 16 bytes */
    bool sums; /* slots begin with struct cell: integers may come from slots.c */
    void (*clear)(const struct acc_spec *spec, void *slot); /* NULL: all is zero */
    /* memory that a slot refers to; NULL: none */
    void (*free)(const struct grouping *g, void *slot);
    /* the selected rows of a batch, whose groups are w->group */
    int (*add)(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc);
    /* shared: NULL, or what guards what slots share while other threads merge, too. Memory of
     * `other` may become that of `slot`. */
    int (*merge)(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                 const void *other, pthread_mutex_t *shared);
    size_t item; /* bytes of an item of acc.list; 0: it has none */
    /* An item is of groups that are there. */
    bool (*item_is_whole)(const struct groups *f, unsigned set, const void *item);
    /* What is in no slot. set: of the accumulator; to[s][g]: number in `into` of group g of set s.
     */
    int (*merge_lists)(struct acc *into, const struct acc *from, unsigned set,
                       const uint32_t *const *to);
    /* What the bytes of records and items do not say: keys, what a slot refers to (encode.h). With
     * `free`, slots are clear before `decode`. */
    int (*encode)(struct groups_encoder *e, unsigned set, unsigned acc);
    int (*decode)(struct groups_decoder *d, unsigned set, unsigned acc);
};
/* Moments of a column's numbers, and with `sample` their percentiles: struct cell, with `sample`
 * struct sampled_cell; doubles: see doubles.h. */
extern const struct acc_kind acc_number;
/* The same of column / with: bytes a second of rows whose duration is above 0; doubles. */
extern const struct acc_kind acc_rate;
/* The first start and the last end: struct extent. column: ts; with: dur, NULL: 0. */
extern const struct acc_kind acc_extent;
/* The value of the row that is first or last in time: struct pick. column: its keys; with: ts. */
extern const struct acc_kind acc_first, acc_last;
/* All different values: acc.pairs. */
extern const struct acc_kind acc_distinct;
/* Start and end of the rows with a duration above 0: acc.intervals, of which those that overlap are
 * united. column: ts; with: dur. */
extern const struct acc_kind acc_intervals;

struct acc_spec {
    const struct acc_kind *kind;
    const struct source *column;
    const struct source *with; /* of numbers: those count where this is there, too; NULL: all */
    bool sample;
    bool shape;    /* moments of four orders as doubles, of integers, too */
    uint32_t most; /* items of acc.list, or of a slot, that are wanted */
    bool instants; /* intervals: also of rows without a duration above 0 */
};
struct group_set {
    const struct source *const *keys;
    unsigned width;
    const struct acc_spec *accs;
    unsigned acc_count;
    bool pack; /* many groups of long keys are expected: read them by group_map_keys */
    /* Instead of counting each row once and giving it to the accumulators; the groups of the
     * selected rows are w->group. NULL: that. */
    int (*add)(struct group_worker *w, struct scan_batch *b, unsigned set);
};
/* What an answer does itself in the scan; each may be NULL. */
struct group_hooks {
    int (*worker_begin)(struct group_worker *w); /* sets w->own */
    /* Before what the worker found is merged; frees w->own. */
    int (*worker_end)(struct group_worker *w, bool failed);
    bool (*skip)(void *arg, size_t position);                        /* as in struct scan_sink */
    int (*chunk_plan)(struct group_worker *w, struct scan_chunk *c); /* likewise */
    int (*chunk_begin)(struct group_worker *w, struct scan_chunk *c);
    int (*chunk_end)(struct group_worker *w, struct scan_chunk *c);
    /* Instead of giving all rows to all sets. */
    int (*batch)(struct group_worker *w, struct scan_batch *b);
    /* as in struct scan_sink, with `only` */
    int (*values)(struct group_worker *w, const struct scan_values *v);
    /* What else was found, in `arg`: to another process, and added to what this one has. NULL:
     * nothing. */
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
    /* Keys as they are told, where several of them are told as one; NULL: as they are. */
    int (*translate_keys)(void *arg, const uint64_t *keys, uint64_t *ret);
    const struct group_hooks *hooks; /* NULL: none */
    void *arg;                       /* of both */
    bool ends_first, apart;          /* see struct scan_sink */
    /* Other ranks may find it in the chunks that they have: all there is of it is in struct groups,
     * and told by hooks.put. `more`: another scan of the request depends on it. */
    bool spreads, more;
    const struct source *only;
};

/* ---- what is found --------------------------------------------------------------------------- */

/* Integers of one unit; what does not fit is in groups.more: 1 + its number, shifted by the unit.
 */
struct cell {
    int64_t min, max, sum;
    uint64_t squares;
    uint32_t count, more;
};
struct sampled_cell {
    struct cell cell;
    struct sample sample;
};
/* ns */
struct extent {
    __int128 min_ts, max_te;
};
struct pick {
    __int128 ts;
    uint64_t key;
    uint32_t place, row;
    bool has;
};

/* Of a set. */
struct acc {
    const struct acc_spec *spec;
    size_t at, bytes;         /* of its slot in a record */
    VEC(uint32_t) doubles_at; /* by group: entry + 1 of the present chunk */
    struct group_table pairs; /* (group, key) */
    union {
        struct vec list;            /* of items of a kind's own */
        VEC(struct span) intervals; /* scope: group */
    };
};
struct groups_of_set {
    struct group_map map;
    bool bound; /* the map knows the present chunk */
    /* of each group: its count, then slots */
    char *records;
    bool borrowed; /* they are memory of a message */
    size_t stride;
    uint32_t cap, ready; /* groups with room; those whose records are made */
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
static inline void extent_widen(struct extent *s, __int128 from, __int128 to)
{
    s->min_ts = from < s->min_ts ? from : s->min_ts;
    s->max_te = to > s->max_te ? to : s->max_te;
}

/* What one worker, and in the end all together, found. */
struct groups {
    const struct grouping *grouping; /* borrowed until groups_free */
    struct sample_memory memory;
    VEC(struct moments) more; /* see struct cell */
    struct group_doubles doubles;
    struct charge charge;
    unsigned set_count;
    struct groups_of_set set[];
};
/* *ret is the caller's, on failure too (it may be NULL then). ERR_ROW_LIMIT, ERR_MEMORY_LIMIT,
 * -ENOMEM, why the query is to stop, or what reading failed with. */
int groups_scan(const struct grouping *g, struct groups **ret, struct err *err);
/* Several at once, of queries with the same environment; -ENOMEM: none has begun. */
struct groups_job {
    const struct grouping *grouping;
    struct groups *found; /* out: as groups_scan */
    int error;            /* out: 0, or what the scan failed with */
};
int groups_scan_all(struct groups_job *jobs, size_t count);
/* scan.c: the same of chunks that some ranks have, here. */
struct groups_here {
    const bool *ranks; /* by rank; chunks of others are left out */
    unsigned rank_count;
    struct doubles_part ***parts; /* out: by job and place, doubles that are not yet merged */
    /* By job and place: what only rank 0 can do. Another rank fills it; rank 0 does it, whoever has
     * the chunk. NULL: nothing. */
    bool *const *left;
    bool answers; /* this is another rank */
};
int groups_scan_here(struct groups_job *jobs, size_t count, const struct groups_here *here);
int groups_new(const struct grouping *g, struct groups **ret);
void groups_free(struct groups *f);
/* Frees what was found of one set: it has no groups then. */
void groups_drop(struct groups *f, unsigned set);
/* Memory of a group of a set at most, without percentiles of many values. */
size_t groups_bytes_each(const struct group_set *set);
/* Room for all groups of a set; records are not made. */
int groups_reserve(struct groups *f, unsigned set);
/* Room for all groups of a set, with empty records. */
int groups_grow(struct groups *f, unsigned set);
void group_begin(const struct groups_of_set *s, uint32_t group);
/* The empty slot of one accumulator. */
void group_clear(const struct groups_of_set *s, uint32_t group, unsigned acc);
/* Counts each of n rows in its group. */
void group_count_rows(const struct groups_of_set *s, const uint32_t *group, uint32_t n);
/* All of a record is asked for. */
static inline void group_look(const struct groups_of_set *s, uint32_t group)
{
    const char *r = group_record(s, group);

    for (size_t at = 0; at < s->stride; at += 64)
        memory_look(r + at);
    memory_look(r + s->stride - 1); /* it may begin in the middle of a line */
}
/* A number of one group, or of several together. */
struct quantity {
    struct moments moments; /* of integers */
    struct moments_f64 doubles;
    struct sample *sample; /* borrowed; NULL: none */
};
void group_quantity(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                    struct quantity *ret);
/* into->sample is of `memory`. */
int quantity_add(struct sample_memory *memory, struct quantity *into, const struct quantity *from);
/* Moments and doubles of the group's number; the latter NULL where there are none. */
void group_moments(const struct groups *f, unsigned set, uint32_t group, unsigned acc,
                   struct moments *ret);
const struct fine *group_doubles_of(const struct groups *f, unsigned set, uint32_t group,
                                    unsigned acc);

/* ---- merge.c --------------------------------------------------------------------------------- */

/* `from` is used up, but still to be freed. later: how many others follow, which are expected to
 * have as many new groups. */
int groups_merge(struct groups *into, struct groups *from, unsigned later);
/* The slots of group g of `from` to those of `to`. */
int group_merge(struct groups *into, struct groups *from, unsigned set, uint32_t to, uint32_t g,
                pthread_mutex_t *shared);

/* ---- cell.c ---------------------------------------------------------------------------------- */

/* Adds a value, or `n` values of which the sum, least and greatest are known (INT64_MAX, INT64_MIN:
 * not known). */
int cell_add(struct groups *f, struct cell *c, int64_t value, bool nano);
int cell_add_many(struct groups *f, struct cell *c, uint64_t n, int64_t sum, int64_t min,
                  int64_t max, bool nano);
/* The quick way; false: cell_add must do it. */
#define CELL_ORDINARY (1ll << 32)
#define CELL_COUNT_MAX (1u << 30)
static inline bool cell_add_quickly(struct cell *c, int64_t value, bool nano)
{
    uint64_t squares;

    if ((uint64_t)value + CELL_ORDINARY - 1 >= 2 * CELL_ORDINARY - 1 || (c->more & 1) != nano ||
        c->count >= CELL_COUNT_MAX ||
        __builtin_add_overflow(c->squares, (uint64_t)value * (uint64_t)value, &squares))
        return false;
    c->squares = squares;
    c->sum += value;
    c->min = value < c->min ? value : c->min;
    c->max = value > c->max ? value : c->max;
    c->count++;
    return true;
}
void cell_moments(const struct groups *f, const struct cell *c, struct moments *ret);
/* False: cell_merge must do it. */
bool cell_merge_quickly(struct cell *c, const struct cell *other);
int cell_merge(struct groups *f, struct cell *c, const struct groups *from,
               const struct cell *other);

/* ---- keep.c ---------------------------------------------------------------------------------- */

/* ns */
int interval_add(struct acc *acc, uint32_t group, int64_t from, int64_t to);
/* Each group's are apart then, and in the order of groups and starts. */
int intervals_unite(struct acc *acc);

#endif
