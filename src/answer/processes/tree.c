/* tree.c - puts children below their parents, without recursion. Top-level processes and siblings
 * are ordered by host and pid. */
#include "answer/processes/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Lists of children, in order; those of position `count` have no parent. */
struct links {
    uint32_t *first, *next, *last;
};

static int link_children(const struct process_list *l, const uint32_t *parents, struct links *k)
{
    size_t n = l->rows.count + 1;

    k->first = malloc(n * 3 * sizeof(*k->first));
    if (!k->first)
        return -ENOMEM;
    memset(k->first, 0xFF, n * 3 * sizeof(*k->first));
    k->next = k->first + n;
    k->last = k->next + n;
    for (uint32_t i = 0; i < l->rows.count; i++) {
        size_t parent = parents[i] == PROCESS_NONE ? l->rows.count : parents[i];
        if (k->last[parent] == PROCESS_NONE)
            k->first[parent] = i;
        else
            k->next[k->last[parent]] = i;
        k->last[parent] = i;
    }
    return 0;
}

/* Copies the rows to `to`, parents before their children. */
static void order_rows(struct process_list *l, const struct links *k, const uint32_t *parents,
                       struct process_info *to)
{
    uint32_t at = k->first[l->rows.count], depth = 0;

    for (size_t n = 0; at != PROCESS_NONE; n++) {
        to[n] = l->rows.at[at];
        to[n].depth = depth;
        if (k->first[at] != PROCESS_NONE) {
            at = k->first[at];
            depth++;
            continue;
        }
        while (at != PROCESS_NONE && k->next[at] == PROCESS_NONE) {
            at = parents[at];
            depth--;
        }
        at = at == PROCESS_NONE ? at : k->next[at];
    }
}

int process_make_tree(struct process_list *l)
{
    uint32_t *parents = malloc((l->rows.count + 1) * sizeof(*parents));
    VEC(struct process_info) ordered = {.budget = l->rows.budget};
    struct links k = {0};
    int rc = parents ? vec_extend(&ordered, l->rows.count) : -ENOMEM;

    for (size_t i = 0; i < l->rows.count && rc == 0; i++) {
        const struct process_info *p = &l->rows.at[i];
        parents[i] = p->has_parent ? process_find_row(l, &p->host, p->parent_pid) : PROCESS_NONE;
    }
    rc = rc < 0 ? rc : process_cut_circles(parents, l->rows.count);
    rc = rc < 0 ? rc : link_children(l, parents, &k);
    if (rc == 0) {
        order_rows(l, &k, parents, ordered.at);
        free(k.first);
        vec_done(&l->rows);
        l->rows.vec = ordered.vec;
    } else {
        vec_done(&ordered);
    }
    free(parents);
    return rc;
}
