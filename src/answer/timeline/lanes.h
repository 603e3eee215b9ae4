/* lanes.h - struct timeline, the answer, and what fills it after the scan: lanes and colors.
 *
 * Used by:   timeline.c, lanes.c, colors.c, depth.c.
 * Path:      struct timeline_found -> timeline_make_lanes -> the calls of dftracerd/timeline.h.
 * Threads:   one. Memory: charged until timeline_close.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_LANES_H
#define DFTRACERD_ANSWER_TIMELINE_LANES_H

#include "answer/calltree/call_tree.h"
#include "answer/timeline/found.h"

/* A group, in the order of lanes and colors. */
struct timeline_placed {
    uint32_t lane, color, group;
};
struct timeline {
    struct timeline_plan plan;
    struct timeline_found found;
    struct group_table kept; /* keys of colors */
    bool bins;               /* keys of colors are those of powers of two */
    uint64_t others;         /* values whose color is QUERY_KEY_OTHERS */
    struct timeline_facts facts;
    struct timeline_lane *lanes;
    struct timeline_color *colors;
    struct timeline_event *events;
    struct call_item *items;      /* of slices: those of lane i from drawn_first[i] on */
    struct timeline_drawn *drawn; /* drawn_count[i] of them, likewise, by depth and column */
    size_t *drawn_first;          /* one more at the end */
    uint32_t *drawn_count;
    struct timeline_name *names;           /* of slices */
    uint32_t *files, *name_of, *number_of; /* by tuple, by file: 1 + its number, 0: it has none */
    struct timeline_placed *placed;        /* sorted: groups that have parts */
    uint32_t placed_count;
    uint32_t *lane_of, *color_of; /* by group of cells */
    uint32_t *first_of;           /* by lane: its first in `placed`; one more at the end */
    /* by lane: its first group's parts are its cells: busy, count, and the color in `cover` */
    bool *folded;
    /* by lane and column: cells of what is too short for slices, as in `folded`; NULL: none */
    struct timeline_part *rest;
    struct column_sum *sums; /* of the lane at hand, where it is not folded */
    struct arena arena;
};
/* Zeroed, in the arena: `count` and one more. NULL: t->arena.error. */
void *timeline_alloc(struct timeline *t, size_t count, size_t each);

/* ---- colors.c -------------------------------------------------------------------------------- */

/* Before the scan: the color becomes a source of `most` values and one for all others, or of powers
 * of two. 0, or why not. */
int timeline_fold_colors(struct timeline *t, uint32_t most, struct err *err);
/* The same of chosen values, which needs no scan. */
int timeline_choose_colors(struct timeline *t, const struct value *values, size_t count);
/* All but count and busy_ns. */
void timeline_color_set(const struct timeline *t, uint64_t key, const struct value *value,
                        struct timeline_color *ret);

/* ---- lanes.c --------------------------------------------------------------------------------- */

/* After the scan: everything but events. */
int timeline_make_lanes(struct timeline *t);

#endif
