/* clamp.h - times of 128 bits as the nearest of 64.
 *
 * Used by:   answer/stats, answer/aggregate, answer/timeline, answer/compare.
 */
#ifndef DFTRACERD_ANSWER_STATS_CLAMP_H
#define DFTRACERD_ANSWER_STATS_CLAMP_H

#include <stdint.h>

static inline int64_t clamp_ns(__int128 ns)
{
    return ns > INT64_MAX ? INT64_MAX : ns < INT64_MIN ? INT64_MIN : (int64_t)ns;
}

#endif
