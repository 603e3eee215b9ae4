/* failing_malloc.h - makes the n-th allocation of the test program fail. Include in one file of it.
 *
 *   for (unsigned n = 0; failing_malloc_next(n); n++) { ... code under test ... }
 *
 * Each round fails the allocation number n (from 0) of the thread that runs it; the loop ends after
 * the first round in which the code made no more than n. Sanitizers have their own malloc: the loop
 * body then never runs and FAILING_MALLOC is 0.
 */
#ifndef DFTRACERD_FAILING_MALLOC_H
#define DFTRACERD_FAILING_MALLOC_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define FAILING_MALLOC 0
#endif
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || !defined(__GLIBC__)
#define FAILING_MALLOC 0
#endif
#ifndef FAILING_MALLOC
#define FAILING_MALLOC 1
#endif

/* Allocations until one fails; below 0: none will. */
static _Thread_local long failing_malloc_left = -1;
static _Thread_local bool failing_malloc_hit = true;

/* Stops failing; for checks within the loop that allocate themselves. */
static inline void failing_malloc_stop(void)
{
    failing_malloc_left = -1;
}

static inline bool failing_malloc_next(unsigned n)
{
    bool again = FAILING_MALLOC && (n == 0 || failing_malloc_hit);

    failing_malloc_hit = false;
    failing_malloc_left = again ? (long)n : -1;
    return again;
}

#if FAILING_MALLOC
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *old, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);

static bool failing_malloc_now(void)
{
    if (failing_malloc_left < 0 || failing_malloc_left-- > 0)
        return false;
    failing_malloc_hit = true;
    errno = ENOMEM;
    return true;
}

void *malloc(size_t size)
{
    return failing_malloc_now() ? NULL : __libc_malloc(size);
}

void *calloc(size_t n, size_t size)
{
    return failing_malloc_now() ? NULL : __libc_calloc(n, size);
}

void *realloc(void *old, size_t size)
{
    return failing_malloc_now() ? NULL : __libc_realloc(old, size);
}
#endif

#endif
