/* parents.h - parents of processes without circles.
 *
 * Used by:   process.c, answer/processes.
 */
#ifndef DFTRACERD_ANSWER_AGGREGATE_PARENTS_H
#define DFTRACERD_ANSWER_AGGREGATE_PARENTS_H

#include <stddef.h>
#include <stdint.h>

#define PROCESS_NONE UINT32_MAX
/* parents: a number or PROCESS_NONE for each of `count`. Pids that were used again may make
 * circles: the first of each, by number, gets PROCESS_NONE. The one rule of /processes and
 * /aggregate. 0, -ENOMEM. */
int process_cut_circles(uint32_t *parents, size_t count);

#endif
