/* result.c - memory and histogram of the answer of /stats. */
#include "answer/stats/result.h"

#include <errno.h>

struct value stats_time(__int128 ns)
{
    return (struct value){.type = VALUE_TIME, .wide = ns};
}

int stats_step(struct stats *s)
{
    int rc = budget_check(s->budget);

    return rc < 0 ? rc : s->arena.error;
}

void *stats_rows(struct stats *s, size_t count, size_t each, int *error)
{
    if (*error < 0)
        return NULL;
    void *rows = arena_alloc(&s->arena, (count + 1) * each);
    *error = stats_step(s);
    return rows;
}

/* The last bin of struct histogram, (0, 1), is second in the order of values. */
size_t stats_bins(const uint64_t *counts, struct stats_bin *ret)
{
    size_t n = 0;

    for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
        unsigned bin = i == 0 ? 0 : i == 1 ? HISTOGRAM_BINS - 1 : i - 1;
        if (counts[bin] == 0)
            continue;
        ret[n].count = counts[bin];
        histogram_range(bin, &ret[n].lo, &ret[n].hi);
        n++;
    }
    return n;
}

int stats_set_histogram(struct stats *s, const struct histogram *h)
{
    s->histogram = arena_alloc(&s->arena, HISTOGRAM_BINS * sizeof(*s->histogram));
    if (!s->histogram)
        return -ENOMEM;
    s->has_histogram = true;
    s->histogram_count = stats_bins(h->count, s->histogram);
    return 0;
}
