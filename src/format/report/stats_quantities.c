/* stats_quantities.c - what is measured, by name, for all writers of /stats. */
#include "format/report/stats.h"

const char *const stats_quantile_names[STATS_QUANTILES] = {"p10", "p25", "p50", "p75",
                                                           "p90", "p95", "p99"};
const char *const stats_quantity_names[STATS_QUANTITIES] = {"duration", "size", "bandwidth",
                                                            "offset"};

const struct measured *stats_quantity(const struct stats_group *g, unsigned i)
{
    const struct measured *const all[STATS_QUANTITIES] = {&g->duration, &g->size, &g->bandwidth,
                                                          &g->offset};

    return all[i];
}

bool stats_is_over(const struct stats *s, const struct buf *out, size_t row)
{
    return row % 1024 == 0 && s->budget && budget_check_answer(s->budget, out) < 0;
}
