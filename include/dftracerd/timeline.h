/* timeline.h - /timeline: lanes by columns of a window of time, and its longest objects.
 *
 * Used by:   http.
 * Path:      timeline_open does all the work (answer/timeline/timeline.c says how), the other calls
 *            read its result.
 * Memory:    16 bytes a column, lane and color of each worker, and at most 2^19 slices; charged to
 *            the budget of the query until timeline_close.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_TIMELINE_H
#define DFTRACERD_TIMELINE_H

#include "dftracerd/query.h"

/* What a window of time looks like: lanes (threads, unless asked otherwise) by columns of equal
 * width, and the longest objects one by one. Cost: one scan, however far the window reaches. An
 * object without dur takes no time; one without ts is in no window. Times are clamped to 64 bits of
 * ns. */
enum { TIMELINE_WIDTH_MAX = 8192, TIMELINE_EVENTS_MAX = 50000, TIMELINE_COLORS_MAX = 4096 };
struct timeline_options {
    const char *const *group_by; /* columns that tell lanes apart; none: one lane */
    size_t group_by_count;
    const char *color; /* a column */
    uint32_t colors;   /* so many of its values are told, see timeline_color; 0: all */
    /* these are told instead (VALUE_TEXT, INT, DOUBLE, BOOL); NULL: none are chosen */
    const struct value *color_values;
    size_t color_value_count;
    bool has_window;        /* else from the first begin to the last end of the selection */
    bool overlap;           /* the time_range selects what reaches into the window, too */
    int64_t from_ns, to_ns; /* both inclusive; the selection has to have this time_range, too */
    uint32_t width;         /* columns, about: those of whole ns that fit best */
    uint32_t events;        /* so many of the longest objects are told one by one */
    bool slices;            /* timeline_slice() is called */
};
struct timeline_facts {
    struct query_counters counters;
    bool complete;
    int64_t from_ns, to_ns;
    uint64_t column_ns; /* column i is [from + i * column, from + (i + 1) * column) */
    /* columns 0: nothing is selected and no window is given */
    uint32_t columns, lanes, colors, events;
    uint64_t objects, untimed;   /* in the window; selected ones without ts */
    __int128 busy_ns;            /* of all lanes */
    uint32_t names, slice_files; /* of slices */
    uint32_t slices_most;        /* of a lane and depth */
    bool slices_complete;        /* all objects were considered for slices ... */
    uint64_t slices_least_ns;    /* ... else those that are at least so long */
};
/* count: objects; busy_ns: the time that they take within the window (nested ones count each). */
/* before: those of `count` that began before the window. */
struct timeline_lane {
    const struct value *keys;
    uint64_t count, before;
    __int128 busy_ns;
};
/* Of more values than timeline_options.colors, null apart: if all of them are numbers each bin is
 * those of [value, below), both powers of two or 0 (times in us, VALUE_INT or VALUE_DOUBLE; null:
 * -inf, inf); else the most frequent ones, and the `others`, so many of them (0: color_values were
 * given, and nobody has counted), are one color without a value. */
struct timeline_color {
    struct value value, below;
    bool is_bin, is_others;
    uint64_t others, count;
    __int128 busy_ns;
};
/* count: objects that begin in the column (in the first one also those that began before), color:
 * that has most of busy_ns, then most of count, then the first. */
struct timeline_cell {
    uint32_t column, color;
    uint64_t count;
    __int128 busy_ns;
};
struct timeline_event {
    uint32_t lane, color;
    __int128 ts_ns, dur_ns; /* not cut at the window */
    bool has_dur;
    struct value name, cat;
    uint32_t file;   /* position in the snapshot */
    uint64_t object; /* of the file: how many stand before it */
};
/* An object as it is drawn. depth: how many objects of its lane are around it, the same in every
 * window with `overlap`. column: the first in which it is the longest of its depth; it is in all up
 * to the next slice or its end. others: objects of that depth that begin in these columns and are
 * no slices. In windows of few objects each is a slice. */
struct timeline_slice {
    /* name, file: positions in timeline_names, timeline_files */
    uint32_t depth, column, others, color, name, file;
    uint64_t object;
    /* from the window's start; neither is cut at it; dur: 0 where there is none */
    __int128 start_ns, dur_ns;
};
struct timeline_name {
    struct value name, cat;
};
struct timeline;
/* ERR_PARAM (err.param), ERR_MEMORY_LIMIT: too many lanes, colors or columns; ... Borrows the query
 * until close. */
int timeline_open(struct query *q, const struct timeline_options *o, struct err *err,
                  struct timeline **ret);
/* All borrowed until close. Lanes and colors are in the order of their keys, events the longest
 * first. */
const struct timeline_facts *timeline_facts(const struct timeline *t);
const struct timeline_lane *timeline_lanes(const struct timeline *t);
const struct timeline_color *timeline_colors(const struct timeline *t);
const struct timeline_event *timeline_events(const struct timeline *t);
/* Cells of a lane that are not empty, into room for `columns` of them; how many. */
size_t timeline_cells(struct timeline *t, size_t lane, struct timeline_cell *ret);
/* The same of objects that are shorter than slices_least_ns. */
size_t timeline_rest(const struct timeline *t, size_t lane, struct timeline_cell *ret);
/* Slices of a lane, by depth, then column, then start; and what they refer to: names, and files by
 * position in the snapshot. */
size_t timeline_slice_count(const struct timeline *t, size_t lane);
void timeline_slice(const struct timeline *t, size_t lane, size_t i, struct timeline_slice *ret);
const struct timeline_name *timeline_names(const struct timeline *t);
const uint32_t *timeline_files(const struct timeline *t);
void timeline_close(struct timeline *t);

#endif
