/* stats.h - shared by the files that write /stats. Private to the format module. */
#ifndef DFTRACERD_FORMAT_REPORT_STATS_H
#define DFTRACERD_FORMAT_REPORT_STATS_H

#include "dftracerd/stats.h"
#include "format/writer/list_stop.h"
#include "format/writer/value_text.h"

/* Writes the tables that the old command printed. Returns 0 or out->error. */
int stats_text_report(const struct stats *s, struct buf *out);

#endif
