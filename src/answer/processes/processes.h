/* processes.h - the parts of /processes.
 *
 * Used by:   the files of answer/processes.
 * Path:      processes.c sums the selected objects up by (host, pid), as /aggregate does -> facts.c
 *            looks up what the index has of each: rank, command, parent -> tree.c puts children
 *            below their parents.
 * Threads:   one. Memory: in the arena of the list.
 */
#ifndef DFTRACERD_ANSWER_PROCESSES_PROCESSES_H
#define DFTRACERD_ANSWER_PROCESSES_PROCESSES_H

#include "dftracerd/processes.h"

#include "answer/aggregate/parents.h"
#include "engine/scan/scan.h"

/* Rows are ordered by (host, pid). */
uint32_t process_find_row(const struct process_list *l, const struct value *host, int64_t pid);
/* Sets all members that do not come from the selected objects, except parent_row. */
int process_add_facts(struct query *q, struct process_list *l);
/* Orders rows as the tree, parents first, and sets their depths. */
int process_make_tree(struct process_list *l);

#endif
