/* process.h - the parents of processes, and the boundary event (epoch ...) in which a time of a
 * process lies.
 *
 * Used by:   aggregate.c, row_values.c.
 * Path:      process_table_new reads the records of the index, and scans for boundary events.
 * Threads:   read-only once made. Memory: charged to the budget until process_table_free.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PROCESS_H
#define DFTRACERD_ANSWER_AGGREGATE_PROCESS_H

#include "answer/aggregate/plan.h"

struct process_table;
int process_table_new(const struct aggregate_plan *p, struct err *err, struct process_table **ret);
void process_table_free(struct process_table *t);
/* Sets *parent and *root to the pid of the parent (null: unknown) and of the oldest known
 * ancestor. */
void process_parent(const struct process_table *t, int64_t pid, uint32_t hhash,
                    struct value *parent, struct value *root);
/* See aggregate_boundaries. */
int process_boundaries(const struct process_table *t, struct aggregate_boundary **ret,
                       size_t *ret_count);
/* Returns the text of the boundary event that contains the time, in the nearest ancestor that has
 * one, else in the process itself; else null. */
struct value process_boundary(const struct process_table *t, unsigned boundary, int64_t pid,
                              uint32_t hhash, __int128 at_ns);

#endif
