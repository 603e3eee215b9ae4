/* items.c - memory of items and of the maps of their numbers. */
#include "answer/calltree/items.h"

#include <errno.h>
#include <stdlib.h>

int items_new(struct call_tree *t, uint32_t count, struct item_part **ret)
{
    struct item_part *p = calloc(1, sizeof(*p));
    int rc;

    if (!p)
        return -ENOMEM;
    p->count = count;
    p->items = call_map(t->budget, count * sizeof(*p->items), &rc);
    if (!p->items) {
        free(p);
        return rc;
    }
    *ret = p;
    return 0;
}

void items_free(struct call_tree *t, struct item_part *p)
{
    call_unmap(t->budget, p->items, p->count * sizeof(*p->items));
    free(p);
}

void items_add(struct item_job *job, struct item_part *p)
{
    p->next = job->first;
    job->first = p;
    job->part_count++;
    job->tree->totals.in_tree += p->count;
}

int item_numbers_new(struct item_job *job, uint32_t lanes, uint32_t tuples,
                     struct item_numbers **ret)
{
    struct item_numbers *n = calloc(1, sizeof(*n));

    if (!n)
        return -ENOMEM;
    n->next = job->numbers;
    job->numbers = n;
    n->lane = malloc((lanes + 1ul) * sizeof(*n->lane));
    n->tuple = malloc((tuples + 1ul) * sizeof(*n->tuple));
    *ret = n;
    return n->lane && n->tuple ? 0 : -ENOMEM;
}

void item_job_done(struct item_job *job)
{
    for (struct item_part *p; (p = job->first);) {
        job->first = p->next;
        items_free(job->tree, p);
    }
    for (struct item_numbers *n; (n = job->numbers);) {
        job->numbers = n->next;
        free(n->lane);
        free(n->tuple);
        free(n);
    }
}
