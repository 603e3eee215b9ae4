/* slices.h - the slices of /timeline: which object of a lane is drawn where, and at which depth.
 *
 * Used by:   timeline.c, scan.c.
 * Path:      slices.c: a second scan, which collects objects: all of them, or the longer ones if
 *            there are too many -> depth.c: lane by lane, sorts and nests them, and keeps the
 *            longest of each depth and column.
 * Threads:   several inside.
 * Memory:    32 bytes an object while it is collected, 64 in all, of TIMELINE_SLICES_MAX objects
 *            at most.
 *
 * The depth of an object is the number of its ancestors: its parent is the last object of its lane,
 * in the order of starts (the longer first), that contains it. All that contain an object reach
 * into every window that it reaches into, and are as long as it is or longer. So depths are the
 * same in every window, and do not change if shorter objects are left out.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_SLICES_H
#define DFTRACERD_ANSWER_TIMELINE_SLICES_H

#include "answer/calltree/call_tree.h"
#include "answer/timeline/found.h"
#include "dftracerd/timeline.h"

enum {
    TIMELINE_SLICES_ALL = 20000, /* with this number of objects in the window, each is a slice */
    /* of more objects only longer ones are collected ... */
    TIMELINE_SLICES_MAX = 1 << 19,
    TIMELINE_SLICES_LONG = 1 << 18, /* ... at most this number */
    /* above this number of objects in the window, these are as long as a column */
    TIMELINE_SLICES_FINE = 1 << 22
};

/* An object that is drawn. */
struct timeline_run {
    uint32_t item, depth;
    uint32_t column, end; /* the first and last column in which it is the longest */
    uint32_t others;      /* objects that begin in these columns and are not drawn */
};
/* ts, te in ns, clamped to 64 bits; lane, tuple: its groups of TIMELINE_CELLS and TIMELINE_NAMES;
 * id: ~(position << 32 | row). */
static inline uint32_t slice_position(const struct call_item *item)
{
    return (uint32_t)(~item->id >> 32);
}
static inline uint32_t slice_row(const struct call_item *item)
{
    return (uint32_t)(uint64_t)~item->id;
}

extern const struct acc_kind timeline_acc_items;
/* Collects items, the objects whose cells have been counted. Returns 0, -ENOMEM, ERR_MEMORY_LIMIT,
 * or an error of the scan. */
int timeline_collect_slices(struct timeline_found *f, struct err *err);
/* Call it after timeline_make_lanes: makes t->drawn. Returns 0, -ENOMEM, ERR_MEMORY_LIMIT, or an
 * error of the budget. */
int timeline_make_slices(struct timeline *t);

#endif
