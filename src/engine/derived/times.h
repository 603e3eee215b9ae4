/* times.h - times in us and ns. */
#ifndef DFTRACERD_ENGINE_DERIVED_TIMES_H
#define DFTRACERD_ENGINE_DERIVED_TIMES_H

#include <stdbool.h>
#include <stdint.h>

/* Converts us to ns if only `to_nano` is set, clamped to int64. */
static inline int64_t time_in(int64_t value, bool nano, bool to_nano)
{
    int64_t scaled;

    if (nano || !to_nano)
        return value;
    if (__builtin_mul_overflow(value, (int64_t)1000, &scaled))
        return value < 0 ? INT64_MIN : INT64_MAX;
    return scaled;
}
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

#endif
