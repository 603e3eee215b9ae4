/* timeline.h - the parts of /timeline. Private to timeline*.c.
 *
 * Way:  scan.c adds each selected object to the cells of its (lane, color), one array of
 *       columns each (cells.c), and offers the longest objects (offer.c,
 *       picks.c); of too many colors some are put together and it begins anew
 *       (colors.c); where columns allow it, a chunk is told from its densities instead
 *       (density.c); lanes.c puts lanes and colors in order and finds which color
 *       a cell has; slices come from a scan of their own (slices.h); timeline.c is the
 *       door.
 * A worker has cells of its own, which are added up at the end. Memory: 16 bytes a column, lane and
 * color of each worker.
 */
#ifndef DFTRACERD_ANSWER_TIMELINE_TIMELINE_H
#define DFTRACERD_ANSWER_TIMELINE_TIMELINE_H

#include "dftracerd/timeline.h"
#include "engine/group/group.h"

enum { TIMELINE_KEYS_MAX = 16 };

/* What objects of a group have in a column. */
struct timeline_part {
    uint64_t busy;  /* ns of those that begin or end in it; whole columns of it may be in `cover` */
    uint32_t count; /* that begin in it */
    int32_t cover;  /* that cover it wholly, less those that cover the column before it wholly */
};
/* An object that may be told by itself. In ns, which may be more than 64 bits have; dur -1: it has
 * none. */
struct timeline_pick {
    __int128 ts, dur;
    uint32_t group, tuple, file, chunk, row;
};
struct timeline_picks {
    struct timeline_pick *picks;
    uint32_t count, most; /* room for twice as many as are wanted */
    bool full;            /* least: the last that is wanted */
    struct timeline_pick least;
};
/* How many objects of the file stand before it. */
uint64_t timeline_object(struct query *q, uint32_t file, uint32_t chunk, uint32_t row);
/* Whether `a` is told rather than `b`: the longer, then the earlier, then by place. */
bool pick_before(const struct timeline_pick *a, const struct timeline_pick *b);
/* Leaves the `most` that come first, in any order. */
void picks_cut(struct timeline_picks *p);
bool picks_want(const struct timeline_picks *p, const struct timeline_pick *pick);
void picks_add(struct timeline_picks *p, const struct timeline_pick *pick);

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
struct call_item;
/* Of a chunk that was scanned. */
struct timeline_slice_chunk {
    uint64_t rows_before; /* of its file */
    int64_t longest;      /* ns; nothing in it is longer */
    uint32_t file;
};
/* Objects that may be drawn as slices, see slices.h. */
struct timeline_slices {
    struct call_item *items;
    struct timeline_slice_chunk *chunks;
    size_t count, cap, charged;
    uint64_t least_ns; /* shorter ones are not among them; 0: all are */
    bool each;         /* there are few */
};
struct timeline_found {
    struct group_table groups, tuples; /* keys of the lane and the color; name and cat */
    struct timeline_cells *cells;      /* by group */
    size_t cells_cap, charged;
    struct timeline_picks picks;
    struct timeline_slices slices; /* of all workers */
    uint64_t objects, untimed;
    bool crowded; /* it ended with more than plan->colors_most */
};
struct timeline_plan {
    struct query *query;
    struct budget *budget;
    const struct source *ts, *dur, *keys[TIMELINE_KEYS_MAX + 1], *names[2];
    unsigned width;        /* keys with the color */
    bool slices, overlaps; /* slices are wanted; what reaches into the window is in it */
    uint32_t colors_most;  /* of more, timeline_scan fails; 0: there may be any number */
    int64_t from, to;
    uint64_t step;
    double columns_per_ns; /* 1 / step */
    unsigned step_bits;    /* step is 1 << step_bits; 0: it is not */
    uint32_t columns;
    unsigned block; /* 64 blocks of 2^block columns, the last ones may not be there */
    int density;    /* chunks may be told from this set of their densities; negative: none */
};
/* Of so many ns from the window's begin on, which are in it. offset / step: the product with the
 * inverse is off by one at most. */
static inline uint32_t timeline_column(const struct timeline_plan *p, uint64_t offset)
{
    if (p->step_bits > 0)
        return (uint32_t)(offset >> p->step_bits);
    uint32_t c = (uint32_t)(int64_t)((double)offset * p->columns_per_ns);
    if (c >= p->columns) /* the product with step might not fit */
        c = p->columns - 1;
    uint64_t begin = c * p->step, less = begin > offset;
    begin -= less ? p->step : 0;
    return (uint32_t)(c - less + (offset - begin >= p->step));
}
static inline uint64_t timeline_block(const struct timeline_plan *p, uint32_t column)
{
    return (uint64_t)1 << (column >> p->block);
}
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
void timeline_found_done(struct timeline_found *f, const struct timeline_plan *plan);

/* ---- picks.c, cells.c: 0, -ENOMEM, ERR_MEMORY_LIMIT ------------------------ */

int picks_init(struct timeline_found *f, const struct timeline_plan *plan, uint32_t most);
/* Room for cells of so many groups; those that there are may move. */
int timeline_reserve(struct timeline_found *f, const struct timeline_plan *plan, uint32_t groups);
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

/* ---- density.c: 0, -ENOMEM, ERR_MEMORY_LIMIT, ERR_CORRUPT --------------------------- */

/* A chunk that was told from its density, among whose other rows than the longest ones may be
 * picks. */
struct timeline_pending {
    size_t position;
    int64_t rest_dur; /* ns; none is longer */
};
/* Of a worker, at a chunk. */
struct timeline_density {
    bool whole, picks; /* the chunk lies in one column; rows may be picks */
    unsigned level;
    uint32_t tuple, longest; /* the next ones of the chunk's lists */
    struct density chunk;
    const struct density_set *set;
    const uint32_t *rows; /* of its tuples */
    struct density_cells *cells;
    uint64_t *wanted;
    uint32_t *group; /* of a tuple + 1; 0: not selected; set between row and end */
    struct timeline_pending *pending;
    size_t pending_count, words, groups, pendings, charged;
};
/* Before the chunk is read: sets the rows that are wanted, if it is told from it, of the longest
 * those that `picks` may want. */
int timeline_density_plan(struct timeline_density *d, const struct timeline_plan *plan,
                          const struct timeline_picks *picks, struct scan_chunk *c);
/* Rows of the chunk with a dur of at least so many ns. -EDOM: the column does not tell. */
int timeline_select_long(struct chunk_view *v, __int128 least, uint64_t *out);
/* Before a chunk that was told so is looked at once more for picks: of its rows those are wanted
 * that are long enough. */
int timeline_density_again(struct timeline_density *d, const struct timeline_plan *plan,
                           const struct timeline_picks *picks, struct scan_chunk *c);
/* The longest of the chunk. */
static inline int64_t timeline_density_most(const struct density *d)
{
    int64_t most = d->rest_dur;

    for (uint32_t i = 0; i < d->longest_count; i++)
        most = d->longest_dur[i] > most ? d->longest_dur[i] : most;
    return most < 0 ? 0 : most;
}
/* Of each selected row, in order: whether it stands for a tuple, *ret_tuple; whether it is one of
 * the longest, *ret_dur in ns. */
bool timeline_density_tuple(struct timeline_density *d, uint32_t row, uint32_t *ret_tuple);
bool timeline_density_longest(struct timeline_density *d, uint32_t row, int64_t *ret_dur);
/* After the rows; groups have room. */
int timeline_density_end(struct timeline_density *d, const struct timeline_plan *plan,
                         struct timeline_found *found, size_t position, bool picks,
                         struct scan_chunk *c);
void timeline_density_done(struct timeline_density *d, const struct timeline_plan *plan);

/* ---- lanes.c ------------------------------------------------------------------------ */

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
    struct timeline_placed *placed;        /* sorted */
    uint32_t *lane_of, *color_of;          /* by group */
    uint32_t *first_of;                    /* by lane: its first in `placed`; one more at the end */
    /* by lane: its first group's parts are its cells: busy, count, and the color in `cover` */
    bool *folded;
    /* by lane and column: cells of what is too short for slices, as in `folded`; NULL: none */
    struct timeline_part *rest;
    struct column_sum *sums; /* of the lane at hand, where it is not folded */
    size_t charged;
    struct arena arena;
};
/* Zeroed and charged; there until the end. NULL: *rc tells why. */
void *timeline_take_room(struct timeline *t, size_t count, size_t each, int *rc);
/* ---- colors.c ----------------------------------------------------------------------- */

/* Before the scan: the color becomes a source of `most` values and one for all others, or of powers
 * of two. 0, or why not. */
int timeline_fold_colors(struct timeline *t, uint32_t most, struct err *err);
/* The same of chosen values, which needs no scan. */
int timeline_choose_colors(struct timeline *t, const struct value *values, size_t count);
/* All but count and busy_ns. */
void timeline_tell_color(const struct timeline *t, uint64_t key, const struct value *value,
                         struct timeline_color *ret);

/* After the scan: everything but events. */
int timeline_make_lanes(struct timeline *t);

#endif
