/* scan_class.c - finds the class of an object. */
#include "trace/scan/scan.h"

bool scan_classify(const struct trace_scanner *s, enum trace_class *ret)
{
    static const enum trace_class by_code[] = {TRACE_EVENT, TRACE_EVENT, TRACE_COUNTER,
                                               TRACE_AGGREGATED, TRACE_METADATA};
    const struct trace_value *ph = scan_value_at(s, s->at.phase);
    bool known = false;

    *ret = TRACE_EVENT;
    if (ph && ph->type == TRACE_TEXT && ph->len == 1) {
        char c = *ph->ptr;
        known = (unsigned)((c | 0x20) - 'a') < 26;
        *ret = c == 'C'   ? TRACE_COUNTER
               : c == 'A' ? TRACE_AGGREGATED
               : c == 'M' ? TRACE_METADATA
                          : TRACE_EVENT;
    } else if (ph && ph->type == TRACE_INT && ph->i >= 1 && ph->i <= 4) {
        known = true;
        *ret = by_code[ph->i];
    }
    return known || (scan_value_at(s, s->at.name) && scan_value_at(s, s->at.ts));
}

bool scan_is_complete(const struct trace_scanner *s)
{
    const struct trace_value *ph = scan_value_at(s, s->at.phase);

    if (!ph)
        return false;
    return (ph->type == TRACE_TEXT && ph->len == 1 && *ph->ptr == 'X') ||
           (ph->type == TRACE_INT && ph->i == 1);
}

bool scan_is_plain(const struct trace_scanner *s, uint64_t fixed, enum trace_class *ret)
{
    const struct trace_value *ph = scan_value_at(s, s->at.phase);

    if (s->dead || !scan_classify(s, ret))
        return false;
    if (ph && (s->at.phase >= 64 || !(fixed >> s->at.phase & 1)))
        return false;
    return *ret != TRACE_EVENT || scan_value_at(s, s->at.dur) || !scan_is_complete(s);
}
