/* times.c - times as Perfetto reads them: a `ts` or `dur` with a fraction as a double of
 * microseconds, a whole one exactly.
 *
 * A double holds nanoseconds below EXACT_NS (51 days), so durations keep their fraction, but times
 * of today lose it. If one would, all times are written relative to the first one. Times that even
 * then do not fit into a double lose their fraction.
 */
#include "format/perfetto/aggregate.h"

#define EXACT_NS (((int64_t)1 << 42) * 1000)
#define LAST_NS 9200000000000000000 /* Perfetto has 63 bits of nanoseconds */

static __int128 clamp(__int128 ns)
{
    return ns < 0 ? 0 : ns > LAST_NS ? LAST_NS : ns;
}

void perfetto_note_time(struct perfetto *p, __int128 ns)
{
    p->first_ns = p->timed && p->first_ns < ns ? p->first_ns : ns;
    p->timed = true;
    p->inexact |= ns >= EXACT_NS && (ns == (int64_t)ns ? (int64_t)ns % 1000 != 0 : ns % 1000 != 0);
}

__int128 perfetto_ts(const struct perfetto *p, __int128 ns)
{
    ns = clamp(ns - p->origin_ns);
    return ns < EXACT_NS ? ns : ns / 1000 * 1000;
}

void perfetto_slice(const struct perfetto *p, __int128 *from, __int128 *to)
{
    __int128 dur = clamp(*to - p->origin_ns) - clamp(*from - p->origin_ns);

    *from = perfetto_ts(p, *from);
    *to = *from + (dur < 0 ? 0 : dur < EXACT_NS ? dur : (dur + 999) / 1000 * 1000);
}

void perfetto_set_times(struct perfetto *p, enum perfetto_times times)
{
    p->relative =
        p->timed && (times == PERFETTO_RELATIVE || (times == PERFETTO_FITTING && p->inexact));
    p->origin_ns = p->relative ? p->first_ns : 0;
    for (size_t i = 0; i < p->items.count; i++)
        perfetto_slice(p, &p->items.at[i].from, &p->items.at[i].to);
}
