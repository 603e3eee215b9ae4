/* spans.c - unions of time intervals: which of them an interval overlaps, and how long. */
#include "engine/derived/spans.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int64_t subtract_clamped(int64_t a, int64_t b)
{
    int64_t c;

    return __builtin_sub_overflow(a, b, &c) ? (a < 0 ? INT64_MIN : INT64_MAX) : c;
}

/* ---- uniting --------------------------------------------------------------------------------- */

/* The longer one comes first, so that an instant follows the interval that begins with it. */
static int compare_spans(const void *x, const void *y, void *arg)
{
    const struct span *a = x, *b = y;
    (void)arg;

    if (a->scope != b->scope)
        return a->scope < b->scope ? -1 : 1;
    if (a->lo != b->lo)
        return a->lo < b->lo ? -1 : 1;
    return a->hi > b->hi ? -1 : a->hi < b->hi;
}

/* Returns true if `next`, which is not sorted before `last`, is to be united with it. */
static bool span_is_united(const struct span *last, const struct span *next)
{
    if (last->scope != next->scope)
        return false;
    if (last->hi == last->lo)
        return next->lo == last->lo;
    return next->lo < last->hi || (next->lo == last->hi && next->hi > next->lo);
}

/* Merges s[0, half) and s[half, n), each of which is sorted; `front` has `half` elements. */
static void merge_spans(struct span *s, size_t half, size_t n, struct span *front)
{
    const struct span *a = front, *a_end = front + half, *b = s + half, *b_end = s + n;

    memcpy(front, s, half * sizeof(*s));
    while (a < a_end)
        *s++ = b < b_end && compare_spans(b, a, NULL) < 0 ? *b++ : *a++;
}

/* Returns the number of spans at the beginning that are sorted. */
static size_t sorted_prefix(const struct span *s, size_t n)
{
    size_t i = 1;

    while (i < n && compare_spans(&s[i - 1], &s[i], NULL) <= 0)
        i++;
    return i;
}

/* Sorts spans whose first part is often sorted: those that were united before. */
static int sort_appended(struct span *s, size_t n, struct budget *b)
{
    size_t half = sorted_prefix(s, n);

    if (half >= n)
        return 0;
    int rc = sort_items(s + half, n - half, sizeof(*s), compare_spans, NULL, b);
    struct span *front = rc < 0 ? NULL : large_realloc(NULL, half * sizeof(*s));
    if (front)
        merge_spans(s, half, n, front);
    large_free(front);
    return rc == 0 && !front ? -ENOMEM : rc;
}

/* A counting sort by scope, stable. first[k]: before the call the number of spans of scope k - 1,
 * afterwards the first span of scope k. */
static int partition_scopes(struct span *s, size_t n, size_t *first, size_t scopes)
{
    struct span *copy = large_realloc(NULL, n * sizeof(*s));

    if (!copy)
        return -ENOMEM;
    memcpy(copy, s, n * sizeof(*s));
    for (size_t k = 0; k < scopes; k++)
        first[k + 1] += first[k];
    for (size_t i = 0; i < n; i++)
        s[first[copy[i].scope]++] = copy[i];
    memmove(first + 1, first, scopes * sizeof(*first));
    first[0] = 0;
    large_free(copy);
    return 0;
}

/* Spans of a scope are mostly sorted by time already. */
static int sort_by_scope(struct span *s, size_t n, size_t scopes, struct budget *b)
{
    size_t *first = calloc(scopes + 2, sizeof(*first));
    int rc = first ? 0 : -ENOMEM;

    for (size_t i = 0; i < n && rc == 0; i++)
        first[s[i].scope + 1]++;
    rc = rc < 0 ? rc : partition_scopes(s, n, first, scopes);
    for (size_t k = 0; k < scopes && rc == 0; k++)
        rc = sort_appended(s + first[k], first[k + 1] - first[k], b);
    free(first);
    return rc;
}

/* Charges the budget for copies of the spans. */
static int sort_spans(struct span *s, size_t n, struct budget *b)
{
    size_t bytes = n * (sizeof(*s) + sizeof(size_t));
    uint64_t last = 0;

    if (sorted_prefix(s, n) >= n)
        return 0;
    int rc = budget_check(b);
    rc = rc < 0 ? rc : budget_charge(b, bytes);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < n; i++)
        last = s[i].scope > last ? s[i].scope : last;
    rc = last > 0 && last < n ? sort_by_scope(s, n, last + 1, b) : sort_appended(s, n, b);
    budget_release(b, bytes);
    return rc;
}

int spans_unite(struct span *s, size_t *n, struct budget *b)
{
    size_t kept = 0;
    int rc = sort_spans(s, *n, b);

    for (size_t i = 0; i < *n && rc == 0; i++) {
        if (kept == 0 || !span_is_united(&s[kept - 1], &s[i]))
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
        before = add_clamped(before, subtract_clamped(s[i].hi, s[i].lo));
    }
}

/* ---- searching ------------------------------------------------------------------------------- */

/* Returns true if the whole span ends before this time. */
static inline bool span_is_past(const struct span *s, int64_t ts)
{
    return s->hi > s->lo ? s->hi <= ts : s->lo < ts;
}

/* Returns the first span in [from, to) that is not past, or `to`. */
static size_t span_bisect(const struct span *s, size_t from, size_t to, int64_t ts)
{
    while (from < to) {
        size_t middle = from + (to - from) / 2;
        if (span_is_past(&s[middle], ts))
            from = middle + 1;
        else
            to = middle;
    }
    return from;
}

/* An exponential search from `hint`: times are mostly a little later than the last one. */
static size_t first_not_past(const struct span *s, size_t n, size_t hint, int64_t ts)
{
    size_t step = 1, from = hint, to = hint;

    if (span_is_past(&s[hint], ts)) {
        while (to < n && span_is_past(&s[to], ts)) {
            from = to + 1;
            to = n - to > step ? to + step : n;
            step *= 2;
        }
    } else {
        while (from > 0 && !span_is_past(&s[from - 1], ts)) {
            to = from - 1;
            from = from > step ? from - step : 0;
            step *= 2;
        }
    }
    return span_bisect(s, from, to, ts);
}

size_t spans_find(const struct span *s, size_t n, size_t hint, int64_t ts, int64_t te)
{
    if (n == 0)
        return 0;
    size_t i = first_not_past(s, n, hint < n ? hint : n - 1, ts);
    return i < n && (s[i].lo <= ts || s[i].lo < te) ? i : n;
}

/* Returns the first span after `first` that begins at or after `te`. */
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
    int64_t up_to_end = add_clamped(z->before, subtract_clamped(end, z->lo));
    int64_t up_to_start = add_clamped(a->before, subtract_clamped(start, a->lo));

    return subtract_clamped(up_to_end, up_to_start);
}
