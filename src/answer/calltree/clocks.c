/* clocks.c - finds hosts whose clocks differ. */
#include "answer/calltree/clocks.h"

#include <stdlib.h>

static int compare_times(const void *a, const void *b)
{
    const struct clock_host *x = a, *y = b;

    if (x->from_ns != y->from_ns)
        return x->from_ns < y->from_ns ? -1 : 1;
    if (x->to_ns != y->to_ns)
        return x->to_ns < y->to_ns ? -1 : 1;
    return value_cmp(&x->name, &y->name);
}

static int compare_names(const void *a, const void *b)
{
    return value_cmp(&((const struct clock_host *)a)->name, &((const struct clock_host *)b)->name);
}

static bool begins_in_time(int64_t from, int64_t to, bool closed)
{
    return from < to || (closed && from == to);
}

size_t clocks_apart(struct clock_host *hosts, size_t count, bool closed)
{
    struct clock_host largest = {0}, next; /* clusters: the time and the events of their hosts */
    bool first = true;
    size_t apart = 0;

    if (count == 0)
        return 0;
    qsort(hosts, count, sizeof(*hosts), compare_times);
    for (size_t i = 0; i < count; first = false) {
        /* a cluster: each host begins before all those before it have ended */
        next = hosts[i++];
        for (; i < count && begins_in_time(hosts[i].from_ns, next.to_ns, closed); i++) {
            next.to_ns = hosts[i].to_ns > next.to_ns ? hosts[i].to_ns : next.to_ns;
            next.events += hosts[i].events;
        }
        largest = first || next.events > largest.events ? next : largest;
    }
    for (size_t i = 0; i < count; i++) {
        struct clock_host h = hosts[i];
        bool late = !begins_in_time(h.from_ns, largest.to_ns, closed);
        if (!late && begins_in_time(largest.from_ns, h.to_ns, closed))
            continue;
        h.distance_ns =
            late ? (__int128)h.from_ns - largest.to_ns : (__int128)h.to_ns - largest.from_ns;
        hosts[apart++] = h;
    }
    qsort(hosts, apart, sizeof(*hosts), compare_names);
    return apart;
}
