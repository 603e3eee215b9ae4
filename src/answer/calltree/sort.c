/* sort.c - sorts the events of a thread by start, the longer first. In traces they are nearly
 * sorted: an event is written when it ends, so only enclosing events are late. These are moved to a
 * separate array, sorted, and merged with the others. */
#include "answer/calltree/call_tree.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { RUN = 16 }; /* items that are sorted by insertion */

void *call_map(struct budget *b, size_t bytes, int *rc)
{
    *rc = b ? budget_charge(b, bytes) : 0;
    if (*rc < 0)
        return NULL;
    void *at =
        mmap(NULL, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at != MAP_FAILED)
        return at;
    if (b)
        budget_release(b, bytes);
    *rc = -ENOMEM;
    return NULL;
}

void call_unmap(struct budget *b, void *at, size_t bytes)
{
    if (!at)
        return;
    munmap(at, bytes ? bytes : 1);
    if (b)
        budget_release(b, bytes);
}

static bool call_is_less(const struct call_item *a, const struct call_item *b)
{
    if (a->ts != b->ts)
        return a->ts < b->ts;
    if (a->te != b->te)
        return a->te > b->te;
    return a->id < b->id;
}

/* Counts the items that are not greater than all before them, including equal ones, because the
 * later line comes first. */
static size_t count_late(const struct call_item *items, size_t n)
{
    const struct call_item *last = items;
    size_t late = 0;

    for (size_t i = 1; i < n; i++) {
        if (call_is_less(last, &items[i]))
            last = &items[i];
        else
            late++;
    }
    return late;
}

/* Reverses items that are in descending order: a single chain of nested calls is written from the
 * innermost one outwards. Returns false for others. */
static bool reverse_descending(struct call_item *items, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        if (call_is_less(&items[i - 1], &items[i]))
            return false;
    }
    for (size_t i = 0, j = n - 1; i < j; i++, j--) {
        struct call_item other = items[i];
        items[i] = items[j];
        items[j] = other;
    }
    return true;
}

static void sort_run(struct call_item *a, size_t n)
{
    for (size_t i = 1; i < n; i++) {
        struct call_item x = a[i];
        size_t j = i;
        for (; j > 0 && !call_is_less(&a[j - 1], &x); j--)
            a[j] = a[j - 1];
        a[j] = x;
    }
}

/* Merges [0, half) and [half, n) of `from`; of equal items those of the second half come first. */
static void merge_runs(const struct call_item *from, size_t half, size_t n, struct call_item *to)
{
    size_t i = 0, j = half;

    if (half >= n || call_is_less(&from[half - 1], &from[half])) {
        memcpy(to, from, n * sizeof(*to));
        return;
    }
    for (size_t k = 0; k < n; k++) {
        bool left = i < half && (j == n || call_is_less(&from[i], &from[j]));
        to[k] = left ? from[i++] : from[j++];
    }
}

/* `scratch` is memory for `n` items. */
static int merge_sort(struct call_item *a, size_t n, struct call_item *scratch,
                      struct budget *budget)
{
    struct call_item *from = a, *to = scratch;

    for (size_t i = 0; i < n; i += RUN)
        sort_run(a + i, n - i < RUN ? n - i : RUN);
    for (size_t width = RUN; width < n; width *= 2) {
        int rc = budget_check(budget);
        if (rc < 0)
            return rc;
        for (size_t i = 0; i < n; i += 2 * width)
            merge_runs(from + i, width, n - i < 2 * width ? n - i : 2 * width, to + i);
        struct call_item *other = from;
        from = to;
        to = other;
    }
    if (from != a)
        memcpy(a, from, n * sizeof(*a));
    return 0;
}

/* Moves items that are in order to the front, the others to `late`. Returns the number of the
 * former. */
static size_t split_late(struct call_item *items, size_t n, struct call_item *late)
{
    size_t kept = 1, out = 0;

    for (size_t i = 1; i < n; i++) {
        if (call_is_less(&items[kept - 1], &items[i]))
            items[kept++] = items[i];
        else
            late[out++] = items[i];
    }
    return kept;
}

int call_sort(struct call_item *items, size_t n, struct budget *budget)
{
    size_t late_count = n ? count_late(items, n) : 0;
    int rc;

    if (late_count == 0 || (late_count == n - 1 && reverse_descending(items, n)))
        return 0;
    struct call_item *late = call_map(budget, late_count * sizeof(*late), &rc);
    if (!late)
        return rc;
    size_t kept = split_late(items, n, late);
    rc = merge_sort(late, late_count, items + kept, budget);
    /* Merges from the end, so that no item is overwritten before it is moved. */
    for (size_t i = kept, j = late_count, to = n; j > 0;) {
        bool greater = i > 0 && !call_is_less(&items[i - 1], &late[j - 1]);
        items[--to] = greater ? items[--i] : late[--j];
    }
    call_unmap(budget, late, late_count * sizeof(*late));
    return rc;
}
