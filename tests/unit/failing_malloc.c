/* failing_malloc.c - malloc and its relatives, which fail when failing_malloc.h says so. */
#include "failing_malloc.h"

#include <dlfcn.h>
#include <errno.h>
#include <execinfo.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* Allocations until one fails; below 0: none will. */
static _Thread_local long failing_malloc_left = -1;
static atomic_long failing_malloc_left_anywhere = -1;
static atomic_bool failing_malloc_hit = true;
static bool failing_malloc_all; /* threads */
static void *failing_malloc_stack[24];
static int failing_malloc_depth;

void failing_malloc_tell(void)
{
    backtrace_symbols_fd(failing_malloc_stack, failing_malloc_depth, 1);
}

void failing_malloc_stop(void)
{
    failing_malloc_left = -1;
    atomic_store(&failing_malloc_left_anywhere, -1);
}

bool failing_malloc_next(unsigned n)
{
    bool again = FAILING_MALLOC && (n == 0 || atomic_load(&failing_malloc_hit));
    atomic_store(&failing_malloc_hit, false);
    failing_malloc_left = again && !failing_malloc_all ? (long)n : -1;
    atomic_store(&failing_malloc_left_anywhere, again && failing_malloc_all ? (long)n : -1);
    return again;
}

unsigned failing_malloc_more(unsigned n, unsigned part)
{
    return getenv("FAIL_EVERY_ALLOCATION") ? n + 1 : n + 1 + n / part;
}

bool failing_malloc_happened(void)
{
    return atomic_load(&failing_malloc_hit);
}

void failing_malloc_everywhere(bool all)
{
    failing_malloc_all = all;
}

#if FAILING_MALLOC
#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#define FAILING_REAL(name) __interceptor_##name
#else
#define FAILING_REAL(name) __libc_##name
#endif
/* Threads that are being started: the sanitizer needs memory for them, and cannot do without. */
static atomic_int failing_malloc_starting;

void *FAILING_REAL(malloc)(size_t size);
void *FAILING_REAL(calloc)(size_t n, size_t size);
void *FAILING_REAL(realloc)(void *old, size_t size);
void *FAILING_REAL(memalign)(size_t alignment, size_t size);
void *malloc(size_t size);
void *calloc(size_t n, size_t size);
void *realloc(void *old, size_t size);
int posix_memalign(void **ret, size_t alignment, size_t size);

/* What backtrace() loads the first time is the dynamic linker's, which does not leak. */
static void failing_malloc_remember(void)
{
#ifdef __SANITIZE_ADDRESS__
    __lsan_disable();
#endif
    failing_malloc_depth = backtrace(failing_malloc_stack, 24);
#ifdef __SANITIZE_ADDRESS__
    __lsan_enable();
#endif
}

static bool failing_malloc_now(void)
{
    bool now = false;

    if (atomic_load_explicit(&failing_malloc_starting, memory_order_relaxed) > 0)
        return false;
    if (failing_malloc_left >= 0)
        now = failing_malloc_left-- == 0;
    else if (atomic_load_explicit(&failing_malloc_left_anywhere, memory_order_relaxed) >= 0)
        now = atomic_fetch_sub(&failing_malloc_left_anywhere, 1) == 0;
    if (now) {
        atomic_store(&failing_malloc_hit, true);
        failing_malloc_remember();
        errno = ENOMEM;
    }
    return now;
}

void *malloc(size_t size)
{
    return failing_malloc_now() ? NULL : FAILING_REAL(malloc)(size);
}

void *calloc(size_t n, size_t size)
{
    return failing_malloc_now() ? NULL : FAILING_REAL(calloc)(n, size);
}

void *realloc(void *old, size_t size)
{
    return failing_malloc_now() ? NULL : FAILING_REAL(realloc)(old, size);
}

int posix_memalign(void **ret, size_t alignment, size_t size)
{
    void *p = failing_malloc_now() ? NULL : FAILING_REAL(memalign)(alignment, size);

    if (p)
        *ret = p;
    return p ? 0 : ENOMEM;
}

/* The sanitizer's would not come by malloc. */
char *strndup(const char *text, size_t most)
{
    size_t len = strnlen(text, most);
    char *copy = malloc(len + 1);

    if (copy) {
        memcpy(copy, text, len);
        copy[len] = '\0';
    }
    return copy;
}

char *strdup(const char *text)
{
    return strndup(text, strlen(text));
}

struct failing_malloc_thread {
    void *(*start)(void *);
    void *arg;
    atomic_bool runs;
};

static void *failing_malloc_thread(void *arg)
{
    struct failing_malloc_thread *t = arg;
    void *(*start)(void *) = t->start;

    arg = t->arg;
    atomic_fetch_sub(&failing_malloc_starting, 1);
    atomic_store(&t->runs, true);
    return start(arg);
}

int pthread_create(pthread_t *ret, const pthread_attr_t *attributes, void *(*start)(void *),
                   void *arg)
{
    int (*real)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    struct failing_malloc_thread t = {start, arg, false};
    int rc;

    if (failing_malloc_now())
        return EAGAIN;
    *(void **)&real = dlsym(RTLD_NEXT, "pthread_create");
    atomic_fetch_add(&failing_malloc_starting, 1);
    rc = real(ret, attributes, failing_malloc_thread, &t);
    if (rc != 0)
        atomic_fetch_sub(&failing_malloc_starting, 1);
    while (rc == 0 && !atomic_load(&t.runs))
        sched_yield();
    return rc;
}
#endif
