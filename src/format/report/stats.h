/* stats.h - shared by the files that write /stats. Private to the format module. */
#ifndef DFTRACERD_FORMAT_REPORT_STATS_H
#define DFTRACERD_FORMAT_REPORT_STATS_H

#include "dftracerd/stats.h"
#include "format/writer/value_text.h"

enum { COLUMN_CAT = 1, COLUMN_NAME = 2, COLUMN_THREAD = 4 };
enum { STATS_QUANTITIES = 4 };
extern const char *const stats_quantile_names[STATS_QUANTILES];
extern const char *const stats_quantity_names[STATS_QUANTITIES];
const struct measured *stats_quantity(const struct stats_group *g, unsigned i);

/* Whether nobody wants the answer any more, or it has no room: asked once in many rows. */
bool stats_is_over(const struct stats *s, const struct buf *out, size_t row);

/* The tables that the old command printed. */
void stats_text_report(const struct stats *s, struct buf *out);

#endif
