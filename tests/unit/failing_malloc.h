/* failing_malloc.h - makes the n-th allocation of the test program fail. Linked into every unit
 * program that needs it.
 *
 *   for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) { ... code under
 *   test ... }
 *
 * Each round fails the allocation number n (from 0) of the thread that runs it, or, with
 * failing_malloc_everywhere, of the whole program; the loop ends after the first round in which no
 * more than n were made. The libraries' allocations count, and starting a thread is one, too. Works
 * under AddressSanitizer, which then sees what is leaked or used after an error; with
 * ThreadSanitizer (whose malloc is needed before it is ready) the loop body never runs and
 * FAILING_MALLOC is 0.
 */
#ifndef DFTRACERD_FAILING_MALLOC_H
#define DFTRACERD_FAILING_MALLOC_H

#include <stdbool.h>
#include <stdlib.h> /* __GLIBC__ */

#if defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define FAILING_MALLOC 0
#else
#define FAILING_MALLOC 1
#endif

/* Starts the round in which allocation n fails; false when the round before saw no failure. */
bool failing_malloc_next(unsigned n);

/* The next n worth trying: the first ones one by one, then steps of n / part; every one with
 * FAIL_EVERY_ALLOCATION in the environment, which takes minutes. */
unsigned failing_malloc_more(unsigned n, unsigned part);

/* Whether allocations of all threads are counted, or those of the calling thread only (the
 * default). */
void failing_malloc_everywhere(bool all);

/* No allocation fails from here on; for checks inside the loop that allocate themselves. */
void failing_malloc_stop(void);

/* Whether an allocation failed in this round. */
bool failing_malloc_happened(void);

/* Prints the stack of the allocation that failed last: addresses for addr2line. */
void failing_malloc_tell(void);

#endif
