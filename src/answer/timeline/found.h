/* found.h - what the scan found: of each lane and color, cells of columns; and the longest objects.
 *
 * Used by:   scan.c, offer.c, density.c, slices.c fill it; lanes.c, depth.c and timeline.c read it.
 * Path:      one a worker (work.h) -> timeline_scan adds them up -> struct timeline (lanes.h).
 * Threads:   each belongs to one thread. Memory: 16 bytes a column, lane and color of each worker,
 *            charged to the budget of the plan until timeline_found_done.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_FOUND_H
#define DFTRACERD_ANSWER_TIMELINE_FOUND_H

#include "answer/calltree/call_tree.h"
#include "answer/timeline/picks.h"
#include "answer/timeline/plan.h"
#include "engine/group/map.h"

/* What objects of a group have in a column. */
struct timeline_part {
    uint64_t busy;  /* ns of those that begin or end in it; whole columns of it may be in `cover` */
    uint32_t count; /* that begin in it */
    int32_t cover;  /* that cover it wholly, less those that cover the column before it wholly */
};

/* Of a group. Objects of a thread mostly come in order: of those that begin at `begin` or later and
 * end before `room` ns are over it is known, without a division, that they lie in the column `at`
 * and nowhere else. room 0: of none. */
#define TIMELINE_NS_PLAIN ((uint64_t)1 << 62) /* times below it can be added and subtracted */
struct timeline_cells {
    uint64_t begin, room;
    struct timeline_part *at;
    /* bit of each block of columns in which something may be, see timeline_block */
    uint64_t touched;
    /* `columns`, and one whose count are those that began before the window; NULL: none yet */
    struct timeline_part *parts;
};
/* Of a chunk that was scanned. */
struct timeline_slice_chunk {
    uint64_t rows_before; /* of its file */
    int64_t longest;      /* ns; nothing in it is longer */
    uint32_t file;
};
/* Objects that may be drawn as slices, see slices.h. */
struct timeline_slices {
    VEC(struct call_item) items;
    VEC(struct timeline_slice_chunk) chunks;
    uint64_t least_ns; /* shorter ones are not among them; 0: all are */
    bool each;         /* there are few */
};
struct timeline_found {
    struct group_table groups, tuples; /* keys of the lane and the color; name and cat */
    VEC(struct timeline_cells) cells;  /* by group */
    struct charge charge;              /* for parts and picks */
    struct timeline_picks picks;
    struct timeline_slices slices; /* of all workers */
    uint64_t objects, untimed;
    bool crowded; /* it ended with more than plan->colors_most */
};

/* Whether nothing begins, ends or goes on in the column's block: *c becomes the last column of it.
 * cover: of the columns before. */
static inline bool timeline_skips(const struct timeline_plan *p, const struct timeline_cells *cells,
                                  int64_t cover, uint32_t *c)
{
    bool skips = cover == 0 && !(cells->touched & timeline_block(p, *c));

    *c |= skips ? (1u << p->block) - 1 : 0;
    return skips;
}
/* Fills what is empty. On failure, too: timeline_found_done. ERR_ROW_LIMIT where ret->crowded. */
int timeline_scan(const struct timeline_plan *plan, uint32_t most, struct timeline_found *ret,
                  struct err *err);
void timeline_found_done(struct timeline_found *f);

/* ---- picks.c, cells.c: 0, -ENOMEM, ERR_MEMORY_LIMIT ------------------------ */

int picks_init(struct timeline_found *f, const struct timeline_plan *plan, uint32_t most);
/* An object from ts to te (ns), wherever it lies, to a group that has room. */
int timeline_add(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group,
                 int64_t ts, int64_t te);
/* An object of the group is in its cells no more; or (back) is again. In between `busy` may be
 * negative. */
void timeline_take_out(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group,
                       int64_t ts, int64_t te, bool back);
/* The group, which has room, has parts after it. */
int timeline_make_parts(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group);
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
/* Cells of group i of a worker become or are added to those of `group`. */
int timeline_take(struct timeline_found *f, const struct timeline_plan *plan, uint32_t group,
                  struct timeline_found *own, uint32_t i);

#endif
