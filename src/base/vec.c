/* vec.c - arrays that grow by doubling. */
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST = 8 };

int vec_grow(struct vec *v, size_t each, size_t more)
{
    size_t max = (size_t)PTRDIFF_MAX / each, cap = v->cap < FIRST / 2 ? FIRST : v->cap * 2;

    if (more > max - v->count)
        return -ENOMEM;
    if (cap < v->count + more)
        cap = v->count + more;
    if (cap > max)
        cap = max;
    size_t bytes = (cap - v->cap) * each;
    int rc = budget_charge(v->budget, bytes);
    if (rc < 0)
        return rc;
    void *grown = realloc(v->at, cap * each);
    if (!grown) {
        budget_release(v->budget, bytes);
        return -ENOMEM;
    }
    v->at = grown;
    v->cap = cap;
    return 0;
}

int vec_push_item(struct vec *v, size_t each, const void *item)
{
    int rc = vec_reserve_items(v, each, 1);

    if (rc == 0)
        memcpy((char *)v->at + v->count++ * each, item, each);
    return rc;
}

int vec_extend_items(struct vec *v, size_t each, size_t n)
{
    int rc = n > v->count ? vec_reserve_items(v, each, n - v->count) : 0;

    if (rc < 0 || n <= v->count)
        return rc;
    memset((char *)v->at + v->count * each, 0, (n - v->count) * each);
    v->count = n;
    return 0;
}

void vec_done_items(struct vec *v, size_t each)
{
    budget_release(v->budget, v->cap * each);
    free(v->at);
    *v = (struct vec){.budget = v->budget};
}
