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

/* Rows are in the order of (host, pid). */
uint32_t process_find_row(const struct process_list *l, const struct value *host, int64_t pid);
/* Everything but what the objects said, and parent_row. */
int process_tell_facts(struct query *q, struct process_list *l);
/* Rows into the order of the tree, with their depths; `parents`: a row or PROCESS_NONE for each,
 * changed. */
int process_make_tree(struct process_list *l, uint32_t *parents);

#endif
