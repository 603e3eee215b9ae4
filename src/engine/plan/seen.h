/* seen.h - does any object of a query have a value in a column? For errors about mistyped names.
 *
 * Used by:   answers.
 * Threads:   the query's thread. Opens chunks until it knows.
 */
#ifndef DFTRACERD_ENGINE_PLAN_SEEN_H
#define DFTRACERD_ENGINE_PLAN_SEEN_H

#include "engine/query.h"

/* Is there a value in one of the columns (NULL: none)? First where the filter may select something,
 * until one of the bits `enough` was seen; if nothing was, in all of the selected files.
 * SEEN_MAYBE: there is nothing yet to tell it from. */
enum { SEEN_NUMBER = 1, SEEN_TEXT = 2, SEEN_MAYBE = 4 };
int query_seen(struct query *q, const struct source *const *sources, size_t count, unsigned enough,
               unsigned *ret);
/* not a column that all events may have, nor a derived one */
bool query_is_argument(const struct source *s);
/* ERR_PARAM naming `param` where no object of the selected files has such an argument. */
int query_check_column(struct query *q, const struct source *s, const char *param, struct err *err);

#endif
