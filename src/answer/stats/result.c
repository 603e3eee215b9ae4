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

int stats_set_histogram(struct stats *s, const struct histogram *h)
{
    /* In the order of values: the last bin of struct histogram, (0, 1), is second. */
    s->histogram = arena_alloc(&s->arena, HISTOGRAM_BINS * sizeof(*s->histogram));
    if (!s->histogram)
        return -ENOMEM;
    s->has_histogram = true;
    for (unsigned i = 0; i < HISTOGRAM_BINS; i++) {
        unsigned bin = i == 0 ? 0 : i == 1 ? HISTOGRAM_BINS - 1 : i - 1;
        if (h->count[bin] == 0)
            continue;
        struct stats_bin *out = &s->histogram[s->histogram_count++];
        out->count = h->count[bin];
        histogram_range(bin, &out->lo, &out->hi);
    }
    return 0;
}
