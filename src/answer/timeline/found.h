/* found.h - what the scans found: groups of engine/group/groups.h, in two sets.
 *
 * TIMELINE_CELLS: by keys of lanes and color, cells of columns (cells.c). Objects with ts are
 *                 counted.
 * TIMELINE_NAMES: by name and cat, lists of objects: the longest (picks.c), and those that may be
 *                 drawn as slices (slices.c).
 *
 * Used by:   scan.c, offer.c, density.c, slices.c fill it; lanes.c, depth.c and timeline.c read it,
 *            and lanes.c stores the cells of lanes in it.
 * Path:      timeline_scan: up to three scans (scan.c), each of which adds its groups to those of
 *            the ones before -> struct timeline (lanes.h). Workers find nothing but groups.
 * Threads:   groups as groups.h says; the rest is written before scans, or by the place's thread.
 * Memory:    16 bytes a column, lane and color of each worker, charged to the budget of the plan
 *            until timeline_found_done.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_FOUND_H
#define DFTRACERD_ANSWER_TIMELINE_FOUND_H

#include "answer/timeline/plan.h"
#include "engine/group/worker.h"

#include <stdatomic.h>

enum { TIMELINE_CELLS, TIMELINE_NAMES, TIMELINE_SETS };
enum { TIMELINE_PICKS, TIMELINE_ITEMS, TIMELINE_LISTS }; /* of names */

/* The objects of a group in one column. */
struct timeline_part {
    uint64_t busy; /* ns of objects that begin or end in it; some whole columns may be in `cover` */
    uint32_t count; /* objects that begin in it */
    int32_t cover;  /* objects that cover it wholly, less those that cover the one before */
};

/* The cells of a group. Objects of a thread mostly come in order, so the last column is kept: an
 * object that begins at `begin` or later and ends less than `room` ns after it lies wholly in
 * column `at`, which is decided without a division. room 0: no object does. */
#define TIMELINE_NS_PLAIN ((uint64_t)1 << 62) /* times below it can be added and subtracted */
struct timeline_cells {
    uint64_t begin, room;
    struct timeline_part *at;
    /* one bit for each block of columns that may not be empty, see timeline_block */
    uint64_t touched;
    /* `columns`, and one whose count is the objects that began before the window; NULL: none yet */
    struct timeline_part *parts;
    uint64_t untimed; /* objects without ts */
};
/* A chunk, by its position. */
struct timeline_chunk {
    uint64_t rows_before; /* rows in earlier chunks of its file */
    int64_t longest;      /* ns; upper bound of durations */
    int64_t rest; /* if its density was used: the same bound for objects not offered as picks */
    uint32_t file;
};
#define TIMELINE_REST_NONE INT64_MIN
enum { TIMELINE_CLASSES = 64 }; /* classes of durations: class c begins at unit << c */
/* Objects that may be drawn as slices, see slices.h. */
struct timeline_slices {
    bool all;                              /* all are collected; else only long ones: */
    uint64_t unit;                         /* ns: the initial minimum */
    atomic_uint least;                     /* class: objects of lower classes are not collected */
    atomic_ulong counts[TIMELINE_CLASSES]; /* number of objects in each class */
    uint64_t min_ns;                       /* final minimum; 0: all are collected */
    bool each;                             /* there are few */
};
struct timeline_found {
    const struct timeline_plan *plan;
    struct grouping grouping; /* of the current scan; arg: this struct */
    struct group_set sets[TIMELINE_SETS];
    struct acc_spec lists[TIMELINE_LISTS];
    struct groups *groups; /* NULL: none yet */
    VEC(struct timeline_chunk) chunks;
    uint64_t objects, untimed;
    struct timeline_slices slices;
    atomic_bool crowded; /* the scan stopped: more than plan->colors_max */
};
static inline struct timeline_found *timeline_found_of(const struct group_worker *w)
{
    return w->grouping->arg;
}
static inline uint32_t timeline_groups(const struct timeline_found *f, unsigned set)
{
    return f->groups->set[set].map.table.count;
}
static inline const uint64_t *timeline_keys(const struct timeline_found *f, unsigned set,
                                            uint32_t group)
{
    return group_table_keys(&f->groups->set[set].map.table, group);
}
static inline struct timeline_cells *timeline_cells_at(const struct groups *f, uint32_t group)
{
    return group_slot(&f->set[TIMELINE_CELLS], group, 0);
}
/* Lists of struct timeline_pick, struct call_item. */
static inline struct vec *timeline_list(const struct groups *f, unsigned acc)
{
    return &f->set[TIMELINE_NAMES].accs[acc].list;
}

/* True if nothing begins, ends or is active in the block of columns; *c becomes its last column.
 * cover: sum over the columns before. */
static inline bool timeline_skips(const struct timeline_plan *p, const struct timeline_cells *cells,
                                  int64_t cover, uint32_t *c)
{
    bool skips = cover == 0 && !(cells->touched & timeline_block(p, *c));

    *c |= skips ? (1u << p->block) - 1 : 0;
    return skips;
}

/* ---- scan.c ---------------------------------------------------------------------------------- */

/* Runs all scans, and fills a zeroed struct. Call timeline_found_done even if it fails. Returns
 * ERR_ROW_LIMIT if ret->crowded. */
int timeline_scan(const struct timeline_plan *plan, struct timeline_found *ret, struct err *err);

/* ---- found.c --------------------------------------------------------------------------------- */

/* Runs one more scan, whose groups are added to those of the earlier ones. */
int timeline_scan_more(struct timeline_found *f, const struct group_hooks *hooks, struct err *err);
/* For group_hooks of all scans. */
void timeline_put(void *found, struct buf *out);
int timeline_take(void *found, struct rec *in);
void timeline_found_done(struct timeline_found *f);

/* ---- cells.c: 0, -ENOMEM, ERR_MEMORY_LIMIT --------------------------------------------------- */

extern const struct acc_kind timeline_acc_cells;
int timeline_make_parts(const struct timeline_plan *p, struct timeline_cells *cells);
/* An object from ts to te (ns), wherever it lies. */
int timeline_add(const struct timeline_plan *p, struct timeline_cells *cells, int64_t ts,
                 int64_t te);
/* It is in the cells no more; or (back) is again. In between `busy` may be negative. */
void timeline_subtract(const struct timeline_plan *p, struct timeline_cells *cells, int64_t ts,
                       int64_t te, bool back);
/* Where 64 bits of ns are not enough, whole columns of it count as covered. */
void timeline_add_wide(uint64_t step, struct timeline_part *parts, uint32_t column,
                       unsigned __int128 ns);
static inline void timeline_add_busy(uint64_t step, struct timeline_part *parts, uint32_t column,
                                     uint64_t ns)
{
    uint64_t sum;

    if (__builtin_expect(__builtin_add_overflow(parts[column].busy, ns, &sum), 0))
        timeline_add_wide(step, parts, column, ns);
    else
        parts[column].busy = sum;
}

#endif
