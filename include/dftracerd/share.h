/* share.h - /organize: the text of files, shared out over output files.
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

/* Every byte of the text of the files of `all`, in (file, text) order. An object of data (with the
 * lines it stands in) goes to the first group that selects it, else to the rest; a metadata record
 * with the next object of data of its chunk, else with the one before; lines without an object to
 * the rest, but short ones of brackets and blanks alone (at most four bytes and '\n') to
 * SHARE_BRACKETS. Each target's part is cut into output files, before whose objects the records
 * stand that they refer to. */
#define SHARE_GROUPS_MAX 256
#define SHARE_BRACKETS 0xFFFFu
struct share_options {
    struct query *all;           /* of PHASE_ANY, without a filter */
    struct query *const *groups; /* of the same snapshot and files */
    uint32_t group_count;        /* at most SHARE_GROUPS_MAX; as number of a target: the rest */
    uint64_t file_bytes;         /* text of an output file, one line at least */
};
/* Texts are borrowed until the next call. */
struct share {
    uint32_t file; /* position in the snapshot */
    uint32_t target;
    bool begins;       /* a new output file of the target begins */
    struct text added; /* lines of no source that stand before the text in the output */
    uint64_t added_lines;
    struct text text; /* as it stands in the source */
    uint64_t lines;   /* ended by '\n', and the last one if it is `cut` */
    uint64_t objects; /* of data */
    bool cut;         /* text ends without a '\n', which the output needs, the source has not */
};
struct sharing;
/* Borrows the queries until share_close; groups array copied. Memory: some pieces of 4 MiB of text
 * for each thread. */
int share_open(const struct share_options *o, struct err *err, struct sharing **ret);
/* ERR_END; ERR_STALE (a file changed), ERR_CORRUPT, ERR_MEMORY_LIMIT ... A line of many MiB comes
 * in several shares. */
int share_next(struct sharing *s, struct err *err, struct share *ret);
void share_close(struct sharing *s);

#endif
