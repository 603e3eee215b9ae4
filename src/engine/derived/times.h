/* times.h - times in us and ns, and buckets of them. */
#ifndef DFTRACERD_ENGINE_DERIVED_TIMES_H
#define DFTRACERD_ENGINE_DERIVED_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Converts us to ns if only `to_nano` is set, clamped to int64. */
int64_t time_in(int64_t value, bool nano, bool to_nano);
/* Returns the greatest multiple of `step` (> 0) that is not above the value. */
static inline __int128 floor_to(__int128 value, __int128 step)
{
    __int128 rest = value % step;

    return value - rest - (rest < 0 ? step : 0);
}
/* Returns the nearest value that fits into 64 bits. */
static inline int64_t clamp_ns(__int128 ns)
{
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}
static inline int64_t add_clamped(int64_t a, int64_t b)
{
    int64_t sum;

    return !__builtin_add_overflow(a, b, &sum) ? sum : a < 0 ? INT64_MIN : INT64_MAX;
}
/* Returns the start of the bucket of a time, relative to the base. */
int64_t bucket_floor(int64_t value, int64_t base, int64_t step);

#endif
