/* times.c - times in us and ns, and buckets of them. */
#include "engine/derived/times.h"

int64_t time_in(int64_t value, bool nano, bool to_nano)
{
    int64_t scaled;

    if (nano || !to_nano)
        return value;
    if (__builtin_mul_overflow(value, (int64_t)1000, &scaled))
        return value < 0 ? INT64_MIN : INT64_MAX;
    return scaled;
}

int64_t bucket_floor(int64_t value, int64_t base, int64_t step)
{
    return (int64_t)floor_to((__int128)value - base, step);
}
