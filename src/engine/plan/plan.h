/* plan.h - opens the query of a selection: its files, its tests, and the chunks to scan.
 *
 * Used by:   the folder itself (query_open and query_close are in dftracerd/query.h); unit tests.
 * Path:      select.c finds the files, tests.c compiles the filter, within_collect.c collects the
 *            intervals of `within`, places.c excludes files and lists the chunks of the others.
 * Memory:    the query's arena; lists of files and places.
 * Threads:   the thread that opens the query.
 */
#ifndef DFTRACERD_ENGINE_PLAN_PLAN_H
#define DFTRACERD_ENGINE_PLAN_PLAN_H

#include "engine/query.h"

/* Returns true if `name` matches: '*' and '?' do not match '/', "**" does; [a-z], [!a-z],
 * backslash. */
bool glob_match(const char *pattern, const char *name);
/* Opens a query without files. The caller sets *ret to NULL before, and closes it on errors, too.
 * Returns 0 or -ENOMEM. */
int query_open_empty(const struct query_env *env, struct snapshot *snapshot, struct budget *budget,
                     unsigned phases, struct query **ret);
/* Makes the tests of a selection, except for `within`. */
int query_make_tests(struct query *q, const struct selection *s, struct err *err);
/* Opens a query of one file of the same snapshot, with the same budget and environment, and without
 * tests; *ret as query_open_empty. */
int query_open_file(const struct query *of, uint32_t file, struct query **ret);
/* Adds a comparison of the time `path` with ns to q->root. window: it is a part of time_range.
 * Without memory, q->arena has the error. */
void query_and_time(struct query *q, const char *path, enum compare op, int64_t ns, bool window);
/* Lists all chunks of the selected files that the catalog does not exclude, for q->root. */
int query_make_places(struct query *q);
/* For unit tests: reads all rows, instead of excluding files, chunks and batches beforehand. */
void query_disable_pruning(struct query *q);

/* Collects the intervals of `within`, if the selection has it. To be called after query_make_tests
 * and before query_make_places: it restores q->root and the counters, but not the places. Returns
 * 0, ERR_QUERY_SYNTAX with err->param = s->within_param, ERR_MEMORY_LIMIT, ERR_ROW_LIMIT, or an
 * error of a scan. */
int within_open(struct query *q, const struct selection *s, struct err *err);

#endif
