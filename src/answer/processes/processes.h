/* processes.h - the parts of /processes. Private to processes*.c and aggregate/process.c.
 *
 * Way:  processes.c sums the selected objects up by (host, pid), as /aggregate does ->
 *       facts.c looks up what the index knows of each: rank, command, parent ->
 *       tree.c puts children below their parents.
 */
#ifndef DFTRACERD_ANSWER_PROCESSES_PROCESSES_H
#define DFTRACERD_ANSWER_PROCESSES_PROCESSES_H

#include "engine/scan/scan.h"

#define PROCESS_NONE UINT32_MAX

/* Rows are in the order of (host, pid). */
uint32_t process_find_row(const struct process_list *l, const struct value *host, int64_t pid);
/* Everything but what the objects said, and parent_row. */
int process_tell_facts(struct query *q, struct process_list *l);
/* parents: a number or PROCESS_NONE for each of `count`. Pids that were used again may make
 * circles: the first of each, by number, gets PROCESS_NONE. The one rule of /processes and
 * /aggregate. 0, -ENOMEM. */
int process_cut_circles(uint32_t *parents, size_t count);
/* Rows into the order of the tree, with their depths; `parents`: a row or PROCESS_NONE for each,
 * changed. */
int process_make_tree(struct process_list *l, uint32_t *parents);

#endif
