/* clock.c - the monotonic and the real clock in nanoseconds, and waits by the monotonic one. */
#include "dftracerd/base.h"

#include <assert.h>
#include <pthread.h>
#include <time.h>

static int64_t now_ns(clockid_t id)
{
    struct timespec now;
    int rc = clock_gettime(id, &now);

    assert(rc == 0);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

int64_t clock_mono_ns(void)
{
    return now_ns(CLOCK_MONOTONIC);
}

int64_t clock_real_ns(void)
{
    return now_ns(CLOCK_REALTIME);
}

void clock_cond_init(pthread_cond_t *ret)
{
    pthread_condattr_t attr;

    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(ret, &attr);
    pthread_condattr_destroy(&attr);
}

int clock_cond_wait(pthread_cond_t *cond, pthread_mutex_t *lock, int64_t until_ns)
{
    const struct timespec until = {until_ns / 1000000000, until_ns % 1000000000};

    return pthread_cond_timedwait(cond, lock, &until);
}
