/* text_range.h - /read: a part of the text of one file.
 *
 * Used by:   http, rewrite.
 * Path:      text_range_open -> text_range_next, until ERR_END: text is read from the trace from
 *            the nearest checkpoint on. No query is needed.
 * Memory:    one piece of text.
 * Threads:   one at a time.
 */
#ifndef DFTRACERD_TEXT_RANGE_H
#define DFTRACERD_TEXT_RANGE_H

#include "dftracerd/index.h"

enum text_mode {
    TEXT_BYTES,      /* [start, end) */
    TEXT_LINE_BYTES, /* the lines that lie wholly in [start, end) */
    TEXT_LINES
}; /* lines start to end, both inclusive, the first is 1 */
struct text_range;
/* end UINT64_MAX: to the end of the text. Snapshot and budget are borrowed until text_range_close.
 * Returns 0, ERR_STALE, ERR_CORRUPT or -errno. */
int text_range_open(struct index *ix, struct snapshot *snapshot, const struct index_file *file,
                    enum text_mode mode, uint64_t start, uint64_t end, struct budget *budget,
                    struct err *err, struct text_range **ret);
/* Appends at most 64 KiB. Returns 0, ERR_END, or an error as text_range_open. */
int text_range_next(struct text_range *r, struct buf *out, struct err *err);
void text_range_close(struct text_range *r);

#endif
