/* processes.h - the steps of /processes.
 *
 * Used by:   the files of answer/processes.
 * Path:      processes.c sums up the selected objects by (host, pid) with aggregate_open -> facts.c
 *            adds records of the index: rank, command, parent -> tree.c puts children below their
 *            parents.
 * Threads:   one. Memory: that of the list.
 */
#ifndef DFTRACERD_ANSWER_PROCESSES_PROCESSES_H
#define DFTRACERD_ANSWER_PROCESSES_PROCESSES_H

#include "dftracerd/processes.h"

#include "answer/aggregate/parents.h"
#include "engine/scan/scan.h"

/* Returns the position of a row; PROCESS_NONE: none. Rows must be ordered by (host, pid). */
uint32_t process_find_row(const struct process_list *l, const struct value *host, int64_t pid);
/* Sets the members that do not come from the selected objects, except depth. */
int process_add_facts(struct query *q, struct process_list *l);
/* Orders rows as the tree, parents first, and sets their depths. */
int process_make_tree(struct process_list *l);

#endif
