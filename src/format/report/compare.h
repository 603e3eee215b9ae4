/* compare.h - shared by several formats of /compare. Private to this folder. */
#ifndef DFTRACERD_FORMAT_REPORT_COMPARE_H
#define DFTRACERD_FORMAT_REPORT_COMPARE_H

#include "dftracerd/aggregate.h"
#include "dftracerd/compare.h"
#include "dftracerd/format.h"
#include "format/writer/list_stop.h"

/* Calls each(arg, note) with sentences that readers need besides the numbers. Without memory for
 * one, `out` has the error. */
void compare_notes(const struct comparison *c, void (*each)(void *arg, struct text note), void *arg,
                   struct buf *out);
/* Writes the keys that are not those of the node, joined by ", ". */
void compare_label(const struct compare_group *g, struct buf *out);
/* Writes "1.50 ms", "12 B" or "1,234"; with_sign: with + or -. 0 is "0". */
void compare_number(struct buf *out, const struct value *v, enum column_unit unit, bool with_sign);
void compare_percent(struct buf *out, const struct compare_change *c);
/* True if the metric is 0 on all sides. */
bool compare_is_zero(const struct comparison *c, const struct compare_metric *m);

void format_compare_text(const struct comparison *c, const struct format_compare_options *o,
                         struct buf *out);
void format_compare_markdown(const struct comparison *c, struct buf *out);

#endif
