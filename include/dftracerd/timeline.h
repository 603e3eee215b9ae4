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

/* An overview of a window of time: lanes (threads by default) by columns of equal width, and a list
 * of the longest objects. It costs one scan, whatever the length of the window; slices, too many
 * colors, and a window that is not given may cost others. An object without dur takes no time; one
 * without ts is in no window. Times are clamped to 64 bits of ns. */
enum { TIMELINE_WIDTH_MAX = 8192, TIMELINE_EVENTS_MAX = 50000, TIMELINE_COLORS_MAX = 4096 };
struct timeline_options {
    const char *const *group_by; /* columns whose values distinguish lanes; none: one lane */
    size_t group_by_count;
    const char *color; /* a column */
    uint32_t colors;   /* number of its values returned, see timeline_color; 0: all */
    /* these values are returned instead (VALUE_TEXT, INT, DOUBLE, BOOL); NULL: none are chosen */
    const struct value *color_values;
    size_t color_value_count;
    bool has_window; /* else the window is from the first begin to the last end of the selection */
    bool overlap;    /* the time_range also selects objects that reach into the window */
    int64_t from_ns, to_ns; /* both inclusive; the selection must have this time_range, too */
    uint32_t width;         /* approximate number of columns, whose width is whole ns */
    uint32_t events;        /* number of longest objects listed individually */
    bool slices;            /* timeline_slice() will be called */
};
struct timeline_facts {
    struct query_counters counters;
    bool complete;
    int64_t from_ns, to_ns;
    uint64_t column_ns; /* column i is [from + i * column, from + (i + 1) * column) */
    /* columns 0: no window was given and no selected object has a ts */
    uint32_t columns, lanes, colors, events;
    uint64_t objects, untimed;   /* in the window; selected ones without ts */
    __int128 busy_ns;            /* of all lanes */
    uint32_t names, slice_files; /* of slices */
    uint32_t max_slices;         /* maximum of a lane and depth */
    bool slices_complete;        /* all objects were considered for slices ... */
    uint64_t slices_min_ns;      /* ... else objects of at least this length */
};
/* count: objects; busy_ns: the time that they take within the window (nested ones each count). */
/* before: those of `count` that began before the window */
struct timeline_lane {
    const struct value *keys;
    uint64_t count, before;
    __int128 busy_ns;
};
/* If there are more values than timeline_options.colors, null not counted: numbers are grouped into
 * bins [value, below), both powers of two or 0 (times in us, VALUE_INT or VALUE_DOUBLE; null: -inf,
 * inf). Of other values the most frequent ones are kept, and the `others` remaining ones (0:
 * color_values were given, and they were not counted) are one color without a value. */
struct timeline_color {
    struct value value, below;
    bool is_bin, is_others;
    uint64_t others, count;
    __int128 busy_ns;
};
/* count: objects that begin in the column, in the first one also those that began before. color:
 * the one with the most busy_ns, then the highest count, then the first. */
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
    uint64_t object; /* number of objects before it in the file */
};
/* An object as it is drawn. depth: the number of its ancestors, where the parent is the last object
 * of its lane that begins before it and contains it; the same in every window with `overlap`.
 * column: the first one in which it is the longest of its depth; it is drawn up to the next slice
 * or its end. others: objects of that depth that begin in these columns and are not slices. In
 * windows with few objects each is a slice. */
struct timeline_slice {
    /* name, file: positions in timeline_names, timeline_files */
    uint32_t depth, column, others, color, name, file;
    uint64_t object;
    /* from the window's start; not cut at the window; dur: 0 if it has none */
    __int128 start_ns, dur_ns;
};
struct timeline_name {
    struct value name, cat;
};
struct timeline;
/* Returns 0, ERR_PARAM (err.param), ERR_MEMORY_LIMIT for too many lanes, colors or columns, or
 * another error of the query. Borrows the query until timeline_close. */
int timeline_open(struct query *q, const struct timeline_options *o, struct err *err,
                  struct timeline **ret);
/* All are borrowed until timeline_close. Lanes and colors are ordered by their keys, events by
 * length, the longest first. */
const struct timeline_facts *timeline_facts(const struct timeline *t);
const struct timeline_lane *timeline_lanes(const struct timeline *t);
const struct timeline_color *timeline_colors(const struct timeline *t);
const struct timeline_event *timeline_events(const struct timeline *t);
/* Writes the non-empty cells of a lane, at most `columns`, and returns their number. */
size_t timeline_cells(struct timeline *t, size_t lane, struct timeline_cell *ret);
/* Does the same for objects that are shorter than slices_min_ns. */
size_t timeline_rest(const struct timeline *t, size_t lane, struct timeline_cell *ret);
/* Slices of a lane, by depth, then column, then start; and the names, and files by position in the
 * snapshot, to which they refer. */
size_t timeline_slice_count(const struct timeline *t, size_t lane);
void timeline_slice(const struct timeline *t, size_t lane, size_t i, struct timeline_slice *ret);
const struct timeline_name *timeline_names(const struct timeline *t);
const uint32_t *timeline_files(const struct timeline *t);
void timeline_close(struct timeline *t);

#endif
