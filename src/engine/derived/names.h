/* names.h - names of the hashes that traces contain, as a query reports them.
 *
 * Used by:   columns of names and ranks, answers.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_NAMES_H
#define DFTRACERD_ENGINE_DERIVED_NAMES_H

#include "engine/query.h"

/* Returns the name of a hash, or `hash` if it has none (all are text ids). Counts conflicts. */
uint32_t query_resolve_name(struct query *q, const struct index_file *file, int64_t pid,
                            enum index_name_kind kind, uint32_t hash);

/* process_host returns the host of a process; only_host_of_pid the one that all processes of a file
 * with this pid have in common. Both are text ids of names; INDEX_NO_TEXT: none. */
uint32_t process_host(struct query *q, const struct index_file *file,
                      const struct index_process *p);
uint32_t only_host_of_pid(struct query *q, const struct index_file *file, int64_t pid);

#endif
