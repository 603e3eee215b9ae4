/* follow.h - follows a trace: finds the objects that are new since the previous query.
 *
 * Used by:   http; view.h (view_options.follow).
 * Path:      follow_new -> follow_query for each new snapshot -> view_continue or rows_continue
 *            with the query that it returns.
 * Memory:    the snapshot of the last query, and what is needed to compare files that changed;
 *            charged to the budget of follow_query until follow_free.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_FOLLOW_H
#define DFTRACERD_FOLLOW_H

#include "dftracerd/query.h"

/* Records which objects of each file have been returned. Keeps the snapshot of the last query,
 * and earlier ones while one of their files is being indexed again or is missing (for two
 * minutes; after that it counts as a new file). */
struct follow;
/* `want`: also requests indexing of pending files (index_request_file), now and later. */
int follow_new(bool want, struct follow **ret);
void follow_free(struct follow *f);
/* Opens a query of the new objects in `snapshot`: all objects the first time. Later, an object
 * is new unless the previous query had it at the same byte of the same file, after the same
 * objects. So a file that was rewritten with the same text has none, a replaced file has those
 * from the first difference on, and of X and X.gz with equal texts only one has any. *ret is
 * NULL if nothing is new. The budget is borrowed until follow_free. */
int follow_query(struct follow *f, const struct query_env *env, struct snapshot *snapshot,
                 const struct selection *selection, struct budget *budget, struct err *err,
                 struct query **ret);

#endif
