/* lanes.h - struct timeline, the answer, and what fills it after the scan: lanes and colors.
 *
 * Used by:   timeline.c, lanes.c, colors.c, depth.c.
 * Path:      struct timeline_found -> timeline_make_lanes -> the calls of dftracerd/timeline.h.
 * Threads:   one; inside, lanes are folded by all threads. Memory: charged until timeline_close.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_LANES_H
#define DFTRACERD_ANSWER_TIMELINE_LANES_H

#include "answer/calltree/call_tree.h"
#include "answer/timeline/found.h"

/* A group, with its positions in the order of lanes and colors. */
struct timeline_placed {
    uint32_t lane, color, group;
};
struct timeline {
    struct timeline_plan plan;
    struct timeline_found found;
    struct group_table kept; /* keys of colors */
    bool bins;               /* the keys of colors are powers of two */
    uint64_t others;         /* number of values with the color QUERY_KEY_OTHERS */
    struct timeline_facts facts;
    struct timeline_lane *lanes;
    struct timeline_color *colors;
    struct timeline_event *events;
    VEC(struct call_item) items;    /* of slices: those of lane i begin at lane_first[i] */
    VEC(struct timeline_run) drawn; /* those of lane i also begin there, by depth and column */
    size_t *lane_first;             /* one more at the end */
    uint32_t *lane_count;           /* items drawn in each lane */
    struct timeline_name *names;    /* of slices */
    uint32_t *files, *name_of, *number_of; /* by tuple, by file: 1 + its number, 0: none */
    struct timeline_placed *placed;        /* sorted: groups that have parts */
    uint32_t placed_count;
    uint32_t *lane_of, *color_of; /* by group of cells */
    uint32_t *first_of;           /* by lane: its first group in `placed`; one more at the end */
    /* by lane: the parts of its first group are its cells: busy, count, and the color in `cover` */
    bool *folded;
    /* by lane and column: cells of objects too short for slices, as in `folded`; NULL: none */
    struct timeline_part *rest;
    struct column_sum *sums; /* of the current lane, if it is not folded */
    struct arena arena;
};
/* Returns zeroed memory in the arena for `count` items and one more. NULL: t->arena.error. */
void *timeline_alloc(struct timeline *t, size_t count, size_t each);

/* ---- colors.c -------------------------------------------------------------------------------- */

/* Call it before the scan: replaces the color by a source of `max_colors` values and one for all
 * others, or of powers of two. Returns 0 or an error. */
int timeline_fold_colors(struct timeline *t, uint32_t max_colors, struct err *err);
/* Does the same for chosen values, which needs no scan. */
int timeline_choose_colors(struct timeline *t, const struct value *values, size_t count);
/* Sets all members except count and busy_ns. */
void timeline_color_set(const struct timeline *t, uint64_t key, const struct value *value,
                        struct timeline_color *ret);

/* ---- lanes.c --------------------------------------------------------------------------------- */

/* Call it after the scan: makes everything but events and slices. */
int timeline_make_lanes(struct timeline *t);

#endif
