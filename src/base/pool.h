/* pool.h - private to the base module: what pool_run.c needs of pool.c. */
#ifndef DFTRACERD_BASE_POOL_H
#define DFTRACERD_BASE_POOL_H

#include "dftracerd/base.h"

/* As pool_submit, a job that helps another one: nobody gives way for it. */
int pool_submit_helper(struct pool *p, pool_job *job, void *arg);
/* Called by a job that has more to do, who holds no lock: where others wait and it had its time, it
 * waits until it is its turn again (or until the budget says to stop; NULL: none), and another
 * thread takes its place. */
void pool_give_way(struct pool *p, struct budget *b);

#endif
