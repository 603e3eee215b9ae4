/* view.h - /view: the selected objects as lines of text, as they are in the trace.
 *
 * Used by:   format, rewrite, http.
 * Path:      view_open -> view_next, until ERR_END. Chunks are scanned for selected rows, their
 *            text is read from the trace (answer/lines/lines.h) in parallel and ahead of the
 *            caller.
 * Memory:    text that was read ahead, charged to the budget of the query; view_pause frees what
 *            can be read again.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_VIEW_H
#define DFTRACERD_VIEW_H

#include "dftracerd/follow.h"
#include "dftracerd/query.h"

struct view_options {
    bool order_ts; /* merge all files by (ts, file, line); objects without ts first */
    /* Not NULL: a column that orders the objects, null last, equal values in file order. Then
     * view_open fails with ERR_PARAM if no event has it, and with ERR_MEMORY_LIMIT if there are too
     * many objects. */
    const char *order_by;
    bool descending;        /* of order_by */
    bool no_metadata;       /* leave out the FH, HH, SH and process records events refer to */
    uint64_t limit, offset; /* in data objects; limit UINT64_MAX = all */
    /* Not NULL: the query is of follow_query, and lines of files that change meanwhile are left to
     * the next query. */
    struct follow *follow;
};
struct view;
int view_open(struct query *q, const struct view_options *options, struct err *err,
              struct view **ret);
/* Appends the next lines, each with '\n', about `want` bytes (at least one line). Returns 0,
 * ERR_END, or an error. */
int view_next(struct view *v, size_t want, struct buf *out, struct err *err);
/* Returns the number of data objects so far, without metadata records. */
uint64_t view_written(const struct view *v);
/* After ERR_END, continues with the objects of another query, in file order only, with the rest of
 * limit and offset, and without the metadata records that were written before. The previous query
 * may be closed afterwards. view_may_continue returns false if the limit has been reached. */
int view_continue(struct view *v, struct query *q, struct err *err);
bool view_may_continue(const struct view *v);
/* Frees the memory of what can be read again, because the next call will not come soon. */
void view_pause(struct view *v);
void view_close(struct view *v);
/* Counts the lines that view_next would return, without metadata. */
int view_count(struct query *q, uint64_t limit, uint64_t offset, struct err *err, uint64_t *ret);

#endif
