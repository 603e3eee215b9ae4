/* view.h - /view: the selected objects as lines of text, as they are in the trace.
 *
 * Used by:   format, rewrite, http.
 * Path:      view_open -> view_next, until ERR_END. Chunks are scanned for selected rows, their
 *            text is read from the trace (answer/lines/lines.h) in parallel and ahead of the
 *            caller.
 * Memory:    text that was read ahead, charged to the budget of the query; view_rest frees what can
 *            be read again.
 * Threads:   as query.h says: one thread at a time; inside, work is spread over query_env.pool.
 */
#ifndef DFTRACERD_VIEW_H
#define DFTRACERD_VIEW_H

#include "dftracerd/follow.h"
#include "dftracerd/query.h"

struct view_options {
    bool order_ts; /* merge all files by (ts, file, line); objects without ts first */
    /* NULL; or a column whose values order them: null last, equal ones as in the files. Finds them
     * in view_open: ERR_PARAM where no event has it, ERR_MEMORY_LIMIT where they are too many */
    const char *order_by;
    bool descending;        /* of order_by */
    bool no_metadata;       /* leave out the FH, HH, SH and process records events refer to */
    uint64_t limit, offset; /* in data objects; limit UINT64_MAX = all */
    /* NULL; else of follow_query: lines whose file has changed are left for later */
    struct follow *follow;
};
struct view;
int view_open(struct query *q, const struct view_options *options, struct err *err,
              struct view **ret);
/* Appends the next lines, each with '\n', at most about `want` bytes (at least one line). 0,
 * ERR_END, or an error. Reads text in parallel and ahead within the memory budget. */
int view_next(struct view *v, size_t want, struct buf *out, struct err *err);
/* data objects so far, without the records they needed */
uint64_t view_written(const struct view *v);
/* After ERR_END: goes on with the objects of another query (in file order only). Limit, offset and
 * the records that are written go on, too. False as result of view_may_continue: the limit has been
 * reached. The query before is needed until it returns. */
int view_continue(struct view *v, struct query *q, struct err *err);
bool view_may_continue(const struct view *v);
/* Between calls, when the next one will not come soon: gives back the memory of what can be read
 * again. */
void view_rest(struct view *v);
void view_close(struct view *v);
/* count_only */
int view_count(struct query *q, uint64_t limit, uint64_t offset, struct err *err, uint64_t *ret);

#endif
