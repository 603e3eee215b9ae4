/* versions.h - finds the first object in which two versions of a file differ.
 *
 * Both are read in text order from the columns of the index, so the texts need not exist.
 * Used by:   follow.c.   Threads: one at a time.
 */
#ifndef DFTRACERD_ANSWER_LINES_VERSIONS_H
#define DFTRACERD_ANSWER_LINES_VERSIONS_H

#include "dftracerd/query.h"

/* The position of an object: index in index_file.chunks, row. (chunk_count, 0) is the end. */
struct row_at {
    uint32_t chunk, row;
};
static inline bool row_at_before(struct row_at a, struct row_at b)
{
    return a.chunk != b.chunk ? a.chunk < b.chunk : a.row < b.row;
}
/* The objects of `file` in [at, end). `snapshot` is borrowed, and contains it. */
struct file_version {
    struct snapshot *snapshot;
    const struct index_file *file;
    struct row_at at, end;
};
enum compared { COMPARED_DIFFER, COMPARED_OLD_ENDS, COMPARED_NEW_ENDS };
/* Advances `at` of both to the first object that differs, or to the end of one of them (OLD_ENDS
 * if both end). Equal objects start at the same byte of the text, have the same length and, with
 * `values`, equal values in all columns, except times if the units of the files differ.
 * ERR_CORRUPT, ERR_STORE, -ENOMEM, and errors of the budget. */
int versions_compare(struct index *ix, struct file_version *old, struct file_version *new,
                     bool values, struct budget *budget, enum compared *ret);

#endif
