/* perfetto.h - rows of /aggregate as a trace for Perfetto. Private to the format module. */
#ifndef DFTRACERD_FORMAT_PERFETTO_PERFETTO_H
#define DFTRACERD_FORMAT_PERFETTO_PERFETTO_H

#include "dftracerd/aggregate.h"
#include "format/writer/text_number.h"

struct perfetto;
/* *new*. Reads all rows once to find processes and lanes. The cursor is at its start again
 * afterwards. */
int perfetto_new(struct aggregate *a, struct query *q, struct budget *budget,
                 enum aggregate_events events, enum perfetto_times times, struct err *err,
                 struct perfetto **ret);
void perfetto_begin(struct perfetto *p, struct buf *out);
void perfetto_row(struct perfetto *p, const struct value *values, struct buf *out);
void perfetto_end(struct perfetto *p, struct buf *out);
void perfetto_free(struct perfetto *p);

#endif
