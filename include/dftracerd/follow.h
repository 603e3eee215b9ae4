/* follow.h - following a trace: the objects that are new since the answer before.
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

/* What has been told of each file. Keeps the snapshot of the last query, and earlier ones as long
 * as a file that was in them is being read anew or is gone (two minutes at most, then it would be a
 * new one). One thread at a time. */
struct follow;
/* `want`: files that are pending are asked for (index_want), also those that come later. */
int follow_new(bool want, struct follow **ret);
void follow_free(struct follow *f);
/* Opens the query of what is new in `snapshot`: the first time everything, later the objects that
 * did not stand at the same byte of the text of the same file, after the same objects, when the
 * query before was opened, which counts as told. A file read anew with the same content has none,
 * one that was replaced those from the first difference on, and of X and X.gz with equal texts only
 * one has any. *ret NULL: nothing new. The budget is borrowed until follow_free. */
int follow_query(struct follow *f, const struct query_env *env, struct snapshot *snapshot,
                 const struct selection *selection, struct budget *budget, struct err *err,
                 struct query **ret);

#endif
