/* parents.h - removes circles from the parents of processes.
 *
 * Used by:   process.c, answer/processes.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PARENTS_H
#define DFTRACERD_ANSWER_AGGREGATE_PARENTS_H

#include <stddef.h>
#include <stdint.h>

#define PROCESS_NONE UINT32_MAX
/* parents: the number of the parent, or PROCESS_NONE, of each of `count` processes. Reused pids
 * may cause circles: the process with the smallest number of each circle gets PROCESS_NONE.
 * Returns 0 or -ENOMEM. */
int process_cut_circles(uint32_t *parents, size_t count);

#endif
