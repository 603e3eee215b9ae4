/* result.c - the memory of the answer of /stats, and how values are kept in it. */
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
    /* [0], the bin of what is below 1 us, then the powers of two */
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
