/* view_compare.h - where the objects of two contents of a file begin to differ.
 *
 * Both are walked in text order, window by window, through the columns of the index: the texts need
 * not be there any more.
 * Used by:   view_follow.c.   Threads: one at a time.
 */
#ifndef DFTRACERD_ANSWER_LINES_VIEW_COMPARE_H
#define DFTRACERD_ANSWER_LINES_VIEW_COMPARE_H

#include "dftracerd/query.h"

/* A place among the objects of a file: position in index_file.chunks, row. (chunk_count, 0) is
 * behind the last one. */
struct row_at {
    uint32_t chunk, row;
};
/* The objects of `file` in [at, end). */
struct content {
    struct snapshot *snapshot;
    const struct index_file *file;
    struct row_at at, end;
};
enum compared { COMPARED_DIFFER, COMPARED_OLD_ENDS, COMPARED_NEW_ENDS };
/* Goes on in both while their objects are equal: start at the same byte of the text, have the same
 * length and, with `values`, the same values in all columns (but times where the files' units
 * differ). Both `at` are left at the first object that differs, or where one of them ends (OLD_ENDS
 * where both do). ERR_CORRUPT, ERR_STORE, -ENOMEM, and what the budget says. */
int content_compare(struct index *ix, struct content *old, struct content *new, bool values,
                    struct budget *budget, enum compared *ret);

#endif
