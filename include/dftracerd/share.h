/* share.h - /organize: the text of files, divided among output files.
 *
 * Used by:   rewrite.
 * Path:      share_open -> share_next, until ERR_END: pieces of text in (file, text) order, each
 *            with the output file it belongs to.
 * Memory:    some pieces of 4 MiB of text for each thread, charged to the budget of the query.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_SHARE_H
#define DFTRACERD_SHARE_H

#include "dftracerd/query.h"

/* Assigns every byte of the text of the files of `all` to a target, in (file, text) order: - an
 *   object of data, with its lines, goes to the first group that selects it, else to the rest; -
 *   a metadata record goes with the next object of data of its chunk, else with the previous
 *   one; - lines without an object go to the rest, except that lines of brackets and blanks only
 *   (at most four bytes and '\n') go to SHARE_BRACKETS. The text of a target is cut into output
 *   files. In each, objects follow the metadata records that they refer to. */
#define SHARE_GROUPS_MAX 256
#define SHARE_BRACKETS 0xFFFFu
struct share_options {
    struct query *all;           /* of PHASE_ANY, without a filter */
    struct query *const *groups; /* with the same snapshot and files */
    uint32_t group_count; /* at most SHARE_GROUPS_MAX; also the number of the target "rest" */
    uint64_t file_bytes;  /* maximum text of an output file, unless one line is longer */
};
/* A part of the text; texts are borrowed until the next call. */
struct share {
    uint32_t file; /* position in the snapshot */
    uint32_t target;
    bool begins;       /* a new output file of the target begins */
    struct text added; /* lines to write before `text`, which are not in the source */
    uint64_t added_lines;
    struct text text; /* as in the source */
    uint64_t lines;   /* ended by '\n', and the last one if it is `cut` */
    uint64_t objects; /* of data */
    bool cut;         /* text ends without the '\n' that the output needs */
};
struct sharing;
/* The queries are borrowed until share_close; the array of groups is copied. */
int share_open(const struct share_options *o, struct err *err, struct sharing **ret);
/* Returns 0, ERR_END, ERR_STALE (a file changed), ERR_CORRUPT, ERR_MEMORY_LIMIT ... A line of many
 * MiB is returned in several parts. */
int share_next(struct sharing *s, struct err *err, struct share *ret);
void share_close(struct sharing *s);

#endif
