/* sort.c - a merge sort that can be cancelled: runs are sorted by the C library, then merged in
 * pairs. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RUN_ITEMS = 1024, CHECK_ITEMS = 4096 }; /* CHECK_ITEMS: between two checks of the budget */

struct sort {
    size_t each; /* bytes of an item */
    sort_compare *compare;
    void *arg;
    struct budget *budget;
};

/* Merges [0, half) and [half, n) of `from`; of equal items, those of the first half come first. */
static int merge_runs(const struct sort *s, const char *from, size_t half, size_t n, char *to)
{
    const char *a = from, *b = from + half * s->each, *a_end = b, *b_end = from + n * s->each;
    size_t compared = 0;

    while (a < a_end && b < b_end) {
        const char **smaller = s->compare(b, a, s->arg) < 0 ? &b : &a;
        memcpy(to, *smaller, s->each);
        *smaller += s->each;
        to += s->each;
        if (++compared % CHECK_ITEMS == 0) {
            int rc = budget_check(s->budget);
            if (rc < 0)
                return rc;
        }
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(to + (a_end - a), b, (size_t)(b_end - b));
    return 0;
}

/* `items` and `copy` have the same content; `items` gets the sorted one. */
static int sort_into(const struct sort *s, char *items, char *copy, size_t n)
{
    const size_t half = n / 2;

    if (n <= RUN_ITEMS) {
        qsort_r(items, n, s->each, s->compare, s->arg);
        return budget_check(s->budget);
    }
    int rc = sort_into(s, copy, items, half);
    rc = rc < 0 ? rc : sort_into(s, copy + half * s->each, items + half * s->each, n - half);
    return rc < 0 ? rc : merge_runs(s, copy, half, n, items);
}

int sort_items(void *items, size_t n, size_t each, sort_compare *compare, void *arg,
               struct budget *b)
{
    const struct sort s = {each, compare, arg, b};
    char *copy = NULL;

    if (n > RUN_ITEMS) {
        copy = large_realloc(NULL, n * each);
        if (!copy)
            return -ENOMEM;
        memcpy(copy, items, n * each);
    }
    int rc = n > 1 ? sort_into(&s, items, copy, n) : 0;
    large_free(copy);
    return rc;
}
