/* clock.c - the two clocks, in nanoseconds. */
#include "dftracerd/base.h"

#include <assert.h>
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
