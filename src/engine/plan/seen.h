/* seen.h - finds out whether any object of a query has a value in a column, for errors about
 * mistyped names.
 *
 * Used by:   answers.
 * Threads:   the query's thread. Opens chunks until a value is found.
 */
#ifndef DFTRACERD_ENGINE_PLAN_SEEN_H
#define DFTRACERD_ENGINE_PLAN_SEEN_H

#include "engine/query.h"

/* Sets *ret to the kinds of values in the columns (NULL ones are skipped). Checks the chunks that
 * the filter may select, until one of the bits in `enough` is found; if they have no value, all
 * selected files. SEEN_UNKNOWN: there may be values, but that is not known yet. */
enum { SEEN_NUMBER = 1, SEEN_TEXT = 2, SEEN_UNKNOWN = 4 };
int query_value_kinds(struct query *q, const struct source *const *sources, size_t count,
                      unsigned enough, unsigned *ret);
/* Returns true if the source is an argument: neither a field that all events may have, nor
 * derived. */
bool source_is_argument(const struct source *s);
/* Returns ERR_PARAM, with `param`, if no object of the selected files has such an argument. */
int query_check_argument(struct query *q, const struct source *s, const char *param,
                         struct err *err);

#endif
