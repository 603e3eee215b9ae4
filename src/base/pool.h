/* pool.h - private to the base module: what pool_run asks of the pool. */
#ifndef DFTRACERD_BASE_POOL_H
#define DFTRACERD_BASE_POOL_H

#include "dftracerd/base.h"

/* The job of a helper: its arg is what it helps. Nobody waits for a thread because of it alone. */
void pool_help(void *arg);
/* Called by a job that has more to do, who holds no lock: where others wait and it had its time, it
 * waits until it is its turn again (or until the budget says to stop; NULL: none), and another
 * thread takes its place. */
void pool_give_way(struct pool *p, struct budget *b);

#endif
