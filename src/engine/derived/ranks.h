/* ranks.h - ranks of processes: the table of a query.
 *
 * Used by:   rank.c; query_close frees the table.
 * Threads:   the table does not change once it is made.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_RANKS_H
#define DFTRACERD_ENGINE_DERIVED_RANKS_H

#include "engine/query.h"

struct rank_entry;
struct rank_table {
    VEC(struct rank_entry) entries; /* sorted by (pid, host, file) */
    int64_t min, max;               /* of all ranks */
};
/* Sets *ret to the table of the query, borrowed, which is made for the first worker that needs it.
 * Returns 0, -ENOMEM or an error of the budget. */
int rank_table_of(struct query *q, const struct rank_table **ret);
void rank_table_free(struct rank_table *t);
/* Returns the rank of a process, or INT64_MIN if it has none. host: text id of its name; file:
 * position in the snapshot. */
int64_t rank_table_find(const struct rank_table *t, uint32_t file, uint32_t host, int64_t pid);

#endif
