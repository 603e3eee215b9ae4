/* found.h - what a scan found: groups with records, and in these a cell for each measure.
 *
 * Used by:   answer/aggregate: the scan fills it, order.c and tell.c read it.
 * Path:      one struct aggregate_found a worker (found.c, cell.c) -> aggregate_merge (merge.c) ->
 *            one for all.
 * Exactness: integers are summed exactly in any order, so the result is the same whatever the
 *            number of threads. Doubles are elsewhere: fine.h.
 * Threads:   each belongs to one thread; aggregate_merge uses several for large ones.
 * Memory:    charged to the budget of the plan until found_free.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_FOUND_H
#define DFTRACERD_ANSWER_AGGREGATE_FOUND_H

#include "answer/aggregate/fine.h"
#include "answer/aggregate/plan.h"
#include "engine/group/sample.h"
#include "dftracerd/vec.h"

#include <pthread.h>

/* One measure of one group. Integers of one unit; what does not fit is in `more`: 1 + its number,
 * shifted by the unit. */
struct cell {
    int64_t min, max, sum;
    uint64_t squares;
    uint32_t count, more;
};
struct record {
    uint64_t count;
    struct cell cells[];
};
/* ns; before each record of the pipeline, which tells it */
struct extent {
    __int128 min_ts, max_te;
};

struct pick {
    __int128 ts;
    uint64_t key;
    uint32_t place, row;
    bool has;
};
struct interval {
    uint32_t group;
    int64_t from, to;
}; /* ns */

struct aggregate_set {
    struct group_map map;
    bool bound; /* the map knows the present chunk */
    char *records;
    size_t stride, head; /* head: bytes before each record, for its span */
    uint32_t cap, ready; /* groups with room; those whose records are made */
    unsigned measures;
    struct sample **samples; /* by measure; NULL where none are wanted */
    struct pick **picks;     /* by keep */
    VEC(uint32_t) * fine_at; /* by measure: by group: entry + 1 of the present chunk */
};
static inline struct record *set_record(const struct aggregate_set *s, uint32_t group)
{
    return (struct record *)(s->records + s->head + group * s->stride);
}

static inline struct extent *record_extent(struct record *r)
{
    return (struct extent *)(void *)r - 1;
}

static inline void extent_widen(struct extent *s, __int128 from, __int128 to)
{
    s->min_ts = from < s->min_ts ? from : s->min_ts;
    s->max_te = to > s->max_te ? to : s->max_te;
}

static inline void record_look(const struct aggregate_set *s, uint32_t group)
{
    const char *r = s->records + group * s->stride;

    for (size_t at = 0; at < s->stride; at += 64)
        memory_look(r + at);
    memory_look(r + s->stride - 1); /* it may begin in the middle of a line */
}

/* What one worker, and in the end all together, found. */
struct aggregate_found {
    const struct aggregate_plan *plan;
    struct sample_memory memory;
    struct aggregate_set set[SETS];
    VEC(struct moments) more;       /* see struct cell */
    struct group_table *distinct;   /* by keep: (set's group, key) */
    VEC(struct interval) intervals; /* of set 0 */
    size_t charged;
};
int found_new(const struct aggregate_plan *plan, struct aggregate_found **ret);
void found_free(struct aggregate_found *f);
/* Memory of a group at most, without percentiles of many values. */
size_t found_group_bytes(const struct aggregate_plan *p);
/* Room for all groups of a set; records are not made. */
int set_room(struct aggregate_found *f, unsigned set);
void record_begin(const struct aggregate_set *s, uint32_t group);
/* Room for all groups of a set, with empty records. */
int set_grow(struct aggregate_found *f, unsigned set);
/* Group g of `from` to the record `to`. shared: NULL, or what guards what records share while other
 * threads merge, too. */
int merge_group(struct aggregate_found *into, struct aggregate_found *from, unsigned set,
                uint32_t to, uint32_t g, pthread_mutex_t *shared);
int interval_add(struct aggregate_found *f, uint32_t group, int64_t from, int64_t to);
void pick_merge(struct pick *into, const struct pick *from, bool last);

/* `from` is used up, but still to be freed. */
int aggregate_merge(struct aggregate_found *into, struct aggregate_found *from);
/* Keys of a group as they are told: parts of texts taken. */
int plan_keys(const struct aggregate_plan *p, const uint64_t *keys, uint64_t *ret);

/* Adds a value, or `n` values of which the sum, least and greatest are known (INT64_MAX, INT64_MIN:
 * not known). */
int cell_add(struct aggregate_found *f, struct cell *c, int64_t value, bool nano);
int cell_add_many(struct aggregate_found *f, struct cell *c, uint64_t n, int64_t sum, int64_t min,
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
void cell_moments(const struct aggregate_found *f, const struct cell *c, struct moments *ret);
/* False: cell_merge must do it. */
bool cell_merge_quickly(struct cell *c, const struct cell *other);
int cell_merge(struct aggregate_found *f, struct cell *c, const struct aggregate_found *from,
               const struct cell *other);

#endif
