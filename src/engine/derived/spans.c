/* within_spans.c - united intervals of time: what meets them, and how much of it lies inside. */
#include "engine/derived/within.h"

static int64_t sum(int64_t a, int64_t b)
{
    int64_t c;

    return __builtin_add_overflow(a, b, &c) ? (a < 0 ? INT64_MIN : INT64_MAX) : c;
}

static int64_t difference(int64_t a, int64_t b)
{
    int64_t c;

    return __builtin_sub_overflow(a, b, &c) ? (a < 0 ? INT64_MIN : INT64_MAX) : c;
}

/* ---- uniting --------------------------------------------------------------------------------- */

/* The longer first, so that an instant comes after the interval that begins with it. */
static int compare(const void *x, const void *y, void *arg)
{
    const struct span *a = x, *b = y;
    (void)arg;

    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi > b->hi ? -1 : a->hi < b->hi;
}

/* Whether `next`, which does not come before, becomes part of `last`. */
static bool joins(const struct span *last, const struct span *next)
{
    if (last->scope != next->scope)
        return false;
    if (last->hi == last->lo)
        return next->lo == last->lo;
    return next->lo < last->hi || (next->lo == last->hi && next->hi > next->lo);
}

/* Charges what sort_items copies. */
static int sort_spans(struct span *s, size_t n, struct budget *b)
{
    int rc = budget_charge(b, n * sizeof(*s));

    if (rc < 0)
        return rc;
    rc = sort_items(s, n, sizeof(*s), compare, NULL, b);
    budget_release(b, n * sizeof(*s));
    return rc;
}

int spans_unite(struct span *s, size_t *n, struct budget *b)
{
    size_t kept = 0;
    bool sorted = true;

    for (size_t i = 1; i < *n && sorted; i++)
        sorted = compare(&s[i - 1], &s[i], NULL) <= 0;
    int rc = sorted ? 0 : sort_spans(s, *n, b);
    for (size_t i = 0; i < *n && rc == 0; i++) {
        if (kept == 0 || !joins(&s[kept - 1], &s[i]))
            s[kept++] = s[i];
        else if (s[i].hi > s[kept - 1].hi)
            s[kept - 1].hi = s[i].hi;
    }
    *n = kept;
    return rc;
}

void spans_measure(struct span *s, size_t n)
{
    int64_t before = 0;

    for (size_t i = 0; i < n; i++) {
        s[i].before = before;
        before = sum(before, difference(s[i].hi, s[i].lo));
    }
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* Everything in the span comes before this time. */
static inline bool is_past(const struct span *s, int64_t ts)
{
    return s->hi > s->lo ? s->hi <= ts : s->lo < ts;
}

/* The first span in [from, to) that is not past; `to`: none. */
static size_t bisect(const struct span *s, size_t from, size_t to, int64_t ts)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (is_past(&s[middle], ts))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* Times mostly go on from the last: steps that double lead there. */
static size_t first_not_past(const struct span *s, size_t n, size_t near, int64_t ts)
{
    size_t step = 1, from = near, to = near;

    if (is_past(&s[near], ts)) {
        while (to < n && is_past(&s[to], ts)) {
            from = to + 1;
            to = n - to > step ? to + step : n;
            step *= 2;
        }
    } else {
        while (from > 0 && !is_past(&s[from - 1], ts)) {
            to = from - 1;
            from = from > step ? from - step : 0;
            step *= 2;
        }
    }
    return bisect(s, from, to, ts);
}

size_t spans_find(const struct span *s, size_t n, size_t near, int64_t ts, int64_t te)
{
    if (n == 0)
        return 0;
    size_t i = first_not_past(s, n, near < n ? near : n - 1, ts);
    return i < n && (s[i].lo <= ts || s[i].lo < te) ? i : n;
}

/* The first span behind `first` that begins at or after `te`. */
static size_t first_after(const struct span *s, size_t n, size_t first, int64_t te)
{
    size_t step = 1, from = first + 1, to = from;

    while (to < n && s[to].lo < te) {
        from = to + 1;
        to = n - to > step ? to + step : n;
        step *= 2;
    }
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (s[middle].lo < te)
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

int64_t spans_clip(const struct span *s, size_t n, size_t first, int64_t ts, int64_t te)
{
    if (te <= ts)
        return 0;
    const struct span *a = &s[first], *z = &s[first_after(s, n, first, te) - 1];
    int64_t end = te < z->hi ? te : z->hi, start = ts > a->lo ? ts : a->lo;
    int64_t up_to_end = sum(z->before, difference(end, z->lo));
    int64_t up_to_start = sum(a->before, difference(start, a->lo));

    return difference(up_to_end, up_to_start);
}
