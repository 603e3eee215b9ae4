/* spans.h - unions of time intervals: which of them an interval overlaps, and how long.
 *
 * Used by:   within, engine/group.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_SPANS_H
#define DFTRACERD_ENGINE_DERIVED_SPANS_H

#include "dftracerd/base.h"

struct span {
    int64_t lo, hi; /* ns; [lo, hi), or the instant lo if hi == lo */
    union {
        uint64_t scope; /* until spans_measure */
        int64_t before; /* then: total length of the spans of the same scope before this one */
    };
};
/* Sorts spans by (scope, lo) and unites them within each scope, in place: spans that overlap or
 * touch become one, and an instant inside or at the start of another is removed. *n: their number
 * before and after. Returns 0, -ENOMEM or an error of the budget; on errors *n becomes 0. */
int spans_unite(struct span *s, size_t *n, struct budget *b);
/* Sets `before` of the united spans of one scope. */
void spans_measure(struct span *s, size_t n);
/* Returns the first of the measured spans that overlaps [ts, te) (te <= ts: the instant ts), or n.
 * The search begins at `hint`, best the last result; any value is allowed. */
size_t spans_find(const struct span *s, size_t n, size_t hint, int64_t ts, int64_t te);
/* Returns the length of [ts, te) inside the spans; `first` < n is the result of spans_find. */
int64_t spans_clip(const struct span *s, size_t n, size_t first, int64_t ts, int64_t te);

#endif
