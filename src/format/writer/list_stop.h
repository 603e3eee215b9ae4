/* list_stop.h - ends a long list early. Private to the format module. */
#ifndef DFTRACERD_FORMAT_WRITER_LIST_STOP_H
#define DFTRACERD_FORMAT_WRITER_LIST_STOP_H

#include "dftracerd/base.h"

/* True if an error, or the budget (NULL: none; checked every few items), ends a list before its
 * i-th item. `out` then has the error. */
static inline bool list_must_stop(struct budget *b, size_t i, struct buf *out)
{
    if (i % 128 == 0 && b && out->error == 0)
        out->error = budget_check_answer(b, out);
    return out->error != 0;
}

#endif
