/* plan.h - from a selection to an open query: its files, its tests, the chunks that are left.
 *
 * Used by:   the folder itself (query_open and query_close are in dftracerd/query.h); unit tests.
 * Way:       select.c finds the files, tests.c compiles the filter, within_collect.c collects the
 *            intervals of `within`, places.c rules out files and lists the chunks of the others.
 * Memory:    the query's arena; lists of files and places.
 * Threads:   the thread that opens the query.
 */
#ifndef DFTRACERD_ENGINE_PLAN_PLAN_H
#define DFTRACERD_ENGINE_PLAN_PLAN_H

#include "engine/query.h"

/* True when `name` matches: '*' and '?' do not cross '/', "**" does, [a-z], [!a-z], backslash. */
bool glob_match(const char *pattern, const char *name);
/* Without files. Also where it fails *ret is to be closed. */
int query_open_empty(const struct query_env *env, struct snapshot *snapshot, struct budget *budget,
                     unsigned phases, struct query **ret);
/* Of the selection, but for `within`. */
int query_make_tests(struct query *q, const struct selection *s, struct err *err);
/* A query of one file of the same snapshot, with the same budget and environment, that has no test
 * yet. */
int query_open_file(const struct query *of, uint32_t file, struct query **ret);
/* Of each `cat in [...]`. */
void query_ignore_case_of_cat(struct dsl_node *n);
/* Of the objects that q->root selects, those whose time `path` compares so with ns. window: it is
 * one of time_range. */
void query_and_time(struct query *q, const char *path, enum compare op, int64_t ns, bool window);
/* All chunks of the selected files which the catalog does not rule out, for q->root. */
int query_make_places(struct query *q);
/* For tests of this module: nothing is ruled out before a row is looked at. */
void query_disable_pruning(struct query *q);

/* Does nothing where the selection has no `within`. To be called with the selection's own tests
 * compiled; q->root, places and counters are the query's own again afterwards (the places are to be
 * made anew). ERR_QUERY_SYNTAX with err->param "within", ERR_MEMORY_LIMIT, ERR_ROW_LIMIT, what a
 * scan may say. */
int within_open(struct query *q, const struct selection *s, struct err *err);

#endif
