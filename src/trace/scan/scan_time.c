/* scan_time.c - converts decimal text to integers of microseconds or nanoseconds: ts and dur. */
#include "trace/scan/scan.h"

bool scan_time(struct text number, enum trace_unit unit, int64_t *ret, uint8_t *ret_nano)
{
    /* the power of ten from the unit to microseconds */
    static const int scales[] = {[TRACE_US] = 0, [TRACE_NS] = 0, [TRACE_MS] = 3, [TRACE_SEC] = 6};
    bool exact;

    *ret_nano = unit == TRACE_NS;
    if (num_parse_scaled(number, scales[unit], ret, &exact) < 0)
        return false;
    if (exact || unit == TRACE_NS)
        return true;
    if (num_parse_scaled(number, scales[unit] + 3, ret, &exact) < 0)
        return false;
    *ret_nano = *ret % 1000 != 0;
    if (!*ret_nano)
        *ret /= 1000;
    return true;
}
