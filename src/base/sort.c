/* sort.c - a merge sort that can be stopped: runs as the C library sorts them, put together two by
 * two. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { RUN = 1024, CHECKED = 4096 }; /* items of a run; merged until the budget is checked again */

struct sort {
    size_t each;
    sort_compare *compare;
    void *arg;
    struct budget *budget;
};

/* [0, half) and [half, n) of `from`; of equal ones those of the first half first. */
static int merge(const struct sort *s, const char *from, size_t half, size_t n, char *to)
{
    const char *a = from, *b = from + half * s->each, *a_end = b, *b_end = from + n * s->each;
    size_t looked = 0;

    while (a < a_end && b < b_end) {
        const char **least = s->compare(b, a, s->arg) < 0 ? &b : &a;
        memcpy(to, *least, s->each);
        *least += s->each;
        to += s->each;
        if (++looked % CHECKED == 0) {
            int rc = budget_check(s->budget);
            if (rc < 0)
                return rc;
        }
    }
    memcpy(to, a, (size_t)(a_end - a));
    memcpy(to + (a_end - a), b, (size_t)(b_end - b));
    return 0;
}

/* `items` and `other` hold the same; the sorted ones get into `items`. */
static int sort_into(const struct sort *s, char *items, char *other, size_t n)
{
    const size_t half = n / 2;

    if (n <= RUN) {
        qsort_r(items, n, s->each, s->compare, s->arg);
        return budget_check(s->budget);
    }
    int rc = sort_into(s, other, items, half);
    rc = rc < 0 ? rc : sort_into(s, other + half * s->each, items + half * s->each, n - half);
    return rc < 0 ? rc : merge(s, other, half, n, items);
}

int sort_items(void *items, size_t n, size_t each, sort_compare *compare, void *arg,
               struct budget *b)
{
    const struct sort s = {each, compare, arg, b};
    char *other = NULL;

    if (n > RUN) {
        other = large_realloc(NULL, n * each);
        if (!other)
            return -ENOMEM;
        memcpy(other, items, n * each);
    }
    int rc = n > 1 ? sort_into(&s, items, other, n) : 0;
    large_free(other);
    return rc;
}
