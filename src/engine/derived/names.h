/* names.h - names behind the hashes that traces contain, as a query reports them.
 *
 * Used by:   columns of names and ranks, answers.
 * Threads:   any.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_NAMES_H
#define DFTRACERD_ENGINE_DERIVED_NAMES_H

#include "engine/query.h"

/* Name behind a hash (text ids) as query sources tell it: the name's id, else `hash` itself. Counts
 * conflicts. */
uint32_t query_resolve(struct query *q, const struct index_file *file, int64_t pid,
                       enum index_name_kind kind, uint32_t hash);

/* Text id of the name of a process's host; of the only one a pid has in a file, by name.
 * INDEX_NO_TEXT: none. */
uint32_t process_host(struct query *q, const struct index_file *file,
                      const struct index_process *p);
uint32_t only_host_of_pid(struct query *q, const struct index_file *file, int64_t pid);

#endif
