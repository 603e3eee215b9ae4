/* shared.c - one mapping, allocated from its beginning. */
#include "replay/shared/shared.h"

#include <limits.h>
#include <linux/futex.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Address space only: pages are allocated when they are written to, at most half of the memory. */
static const size_t size_max = (size_t)1 << 36, size_min = (size_t)1 << 24;

enum { ALIGN = 16, SLICE_NS = 100000000 };

struct shared *shared_new(void)
{
    uint64_t max = memory_limit().bytes / 2;
    for (size_t size = size_max; size >= size_min; size /= 2) {
        if (size > max && size > size_min)
            continue;
        struct shared *s = mmap(NULL, size, PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (s == MAP_FAILED)
            continue;
        s->size = size;
        s->used = (sizeof *s + ALIGN - 1) / ALIGN * ALIGN;
        pthread_mutexattr_t a;
        pthread_mutexattr_init(&a);
        pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
        pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
        for (int i = 0; i < SHARED_LOCKS; i++)
            pthread_mutex_init(&s->locks[i], &a);
        pthread_mutexattr_destroy(&a);
        return s;
    }
    return NULL;
}

void shared_free(struct shared *s)
{
    if (!s)
        return;
    for (int i = 0; i < SHARED_LOCKS; i++)
        pthread_mutex_destroy(&s->locks[i]);
    munmap(s, s->size);
}

void *shared_alloc(struct shared *s, size_t bytes)
{
    if (bytes > s->size - s->used - ALIGN)
        return NULL;
    void *at = (char *)s + s->used;
    s->used += (bytes + ALIGN - 1) / ALIGN * ALIGN;
    return at;
}

const char *shared_text(struct shared *s, struct text t)
{
    char *copy = shared_alloc(s, t.len + 1);
    if (copy && t.len)
        memcpy(copy, t.ptr, t.len);
    return copy;
}

void *shared_block_alloc(struct shared *s)
{
    if (!s->unused)
        s->unused = atomic_exchange(&s->freed, NULL);
    void *block = s->unused;
    if (!block)
        return shared_alloc(s, SHARED_BLOCK);
    /* A free block begins with the address of the next one. */
    memcpy(&s->unused, block, sizeof s->unused);
    memset(block, 0, SHARED_BLOCK);
    return block;
}

void shared_block_free(struct shared *s, void *block)
{
    void *first = atomic_load(&s->freed);
    do
        memcpy(block, &first, sizeof first);
    while (!atomic_compare_exchange_weak(&s->freed, &first, block));
}

/* ---- locks ----------------------------------------------------------------------------------- */

static unsigned lock_of(const void *address)
{
    return (unsigned)((uintptr_t)address / SHARED_BLOCK) % SHARED_LOCKS;
}

static void lock_number(struct shared *s, unsigned i)
{
    if (pthread_mutex_lock(&s->locks[i]) == EOWNERDEAD)
        pthread_mutex_consistent(&s->locks[i]);
}

void shared_lock(struct shared *s, const void *of)
{
    lock_number(s, lock_of(of));
}

void shared_unlock(struct shared *s, const void *of)
{
    pthread_mutex_unlock(&s->locks[lock_of(of)]);
}

void shared_lock_two(struct shared *s, const void *a, const void *b)
{
    unsigned i = lock_of(a), j = lock_of(b);
    lock_number(s, i < j ? i : j);
    if (i != j)
        lock_number(s, i < j ? j : i);
}

void shared_unlock_two(struct shared *s, const void *a, const void *b)
{
    shared_unlock(s, a);
    if (lock_of(a) != lock_of(b))
        shared_unlock(s, b);
}

/* ---- the clock ------------------------------------------------------------------------------- */

void shared_start(struct shared *s, int64_t after_ns)
{
    int64_t none = 0;
    atomic_compare_exchange_strong(&s->origin_ns, &none, clock_mono_ns() + after_ns);
    if (atomic_exchange(&s->started, 1) == 0)
        syscall(SYS_futex, &s->started, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

void shared_wait_for_start(struct shared *s)
{
    /* the process that starts the clock may be killed */
    const struct timespec second = {.tv_sec = 1};
    while (!atomic_load(&s->origin_ns))
        syscall(SYS_futex, &s->started, FUTEX_WAIT, 0, &second, NULL, 0);
}

void shared_sleep_until(const struct shared *s, int64_t until_ns)
{
    for (int64_t now = clock_mono_ns(); now < until_ns && !s->stopped; now = clock_mono_ns()) {
        int64_t next = until_ns - now > SLICE_NS ? now + SLICE_NS : until_ns;
        struct timespec t = {.tv_sec = next / 1000000000, .tv_nsec = next % 1000000000};
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
    }
}

void shared_wait_for_count(const struct shared *s, atomic_uint *counter, unsigned min,
                           atomic_uint *waiting)
{
    const struct timespec slice = {.tv_nsec = SLICE_NS};
    if (atomic_load(counter) >= min)
        return;
    atomic_fetch_add(waiting, 1);
    for (unsigned now; (now = atomic_load(counter)) < min && !s->stopped && !s->broken;)
        syscall(SYS_futex, counter, FUTEX_WAIT, now, &slice, NULL, 0);
    atomic_fetch_sub(waiting, 1);
}

void shared_count(atomic_uint *counter, atomic_uint *waiting)
{
    atomic_fetch_add(counter, 1);
    if (atomic_load(waiting))
        syscall(SYS_futex, counter, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}
