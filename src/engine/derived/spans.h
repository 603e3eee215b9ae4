/* spans.h - intervals of time, united: what meets them, and how much of it lies inside.
 *
 * Used by:   within, engine/group.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_SPANS_H
#define DFTRACERD_ENGINE_DERIVED_SPANS_H

#include "dftracerd/base.h"

struct span {
    int64_t lo, hi; /* ns; [lo, hi), or the instant lo where hi == lo */
    union {
        uint64_t scope; /* while collected */
        int64_t before; /* united: time in the spans of the same scope before this one */
    };
};
/* Sorts by (scope, lo) and unites within each scope, in place: spans that share time or touch
 * become one, an instant inside or at the start of another is gone. *n: how many there are, and
 * then how many are left; they still tell `scope`. 0, ERR_MEMORY_LIMIT, or what sort_items says:
 * none are left. */
int spans_unite(struct span *s, size_t *n, struct budget *b);
/* For the united spans of one scope: `before` instead of `scope`. */
void spans_measure(struct span *s, size_t n);
/* The first of the measured spans that [ts, te) (te <= ts: the instant ts) meets; n: none. `near`:
 * where to begin looking, best the last answer; any value below n, or 0. */
size_t spans_find(const struct span *s, size_t n, size_t near, int64_t ts, int64_t te);
/* How much of [ts, te) lies inside; `first` is what spans_find gave, below n. */
int64_t spans_clip(const struct span *s, size_t n, size_t first, int64_t ts, int64_t te);

#endif
