/* pool.h - private to the base module: what pool_run.c needs of pool.c. */
#ifndef DFTRACERD_BASE_POOL_H
#define DFTRACERD_BASE_POOL_H

#include "dftracerd/base.h"

/* Submits a job that helps another one: no job is suspended for it. */
int pool_submit_helper(struct pool *p, pool_job *job, void *arg);
/* Called by a job that has more to do and holds no lock. If other jobs wait and it has had its
 * turn, it is suspended, and another thread runs them. Returns when it is the job's turn again, or
 * when budget_check(b) fails (NULL: no budget). */
void pool_yield(struct pool *p, struct budget *b);

#endif
