/* over.h - where a long list ends early. Private to the format module. */
#ifndef DFTRACERD_FORMAT_WRITER_OVER_H
#define DFTRACERD_FORMAT_WRITER_OVER_H

#include "dftracerd/base.h"

/* Whether an error, or the budget (NULL: none; checked once in many items), ends a list before its
 * i-th item: it is an error of `out` then. */
static inline bool list_is_over(struct budget *b, size_t i, struct buf *out)
{
    if (i % 128 == 0 && b && out->error == 0)
        out->error = budget_check_answer(b, out);
    return out->error != 0;
}

#endif
