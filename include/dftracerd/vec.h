/* vec.h - arrays that grow by doubling, charged to a budget.
 *
 * May use:   base.      Used by: every module.
 * Threads:   as the array's owner; the budget may be shared.
 * Memory:    a budget, if there is one, is charged before memory is allocated. vec_done frees the
 *            array and releases its charge. A call that fails changes nothing.
 *
 *     VEC(struct row) rows = {.budget = budget};
 *     rc = vec_push(&rows, {.ts = ts, .pid = pid});
 *     for (size_t i = 0; i < rows.count; i++)
 *         print(&rows.at[i]);
 *     vec_done(&rows);
 */
#ifndef DFTRACERD_VEC_H
#define DFTRACERD_VEC_H

#include "dftracerd/base.h"

struct vec {
    void *at;
    size_t count, cap;     /* elements */
    struct budget *budget; /* NULL: none; borrowed until vec_done; set before the first element */
};
/* The type of an array of `type`. Zero-initialise. A struct with such a member may be moved. */
#define VEC(type) \
    union { \
        struct vec vec; \
        struct { \
            type *at; \
            size_t count, cap; \
            struct budget *budget; \
        }; \
    }

/* Allocates memory for `more` elements after the last. Returns 0, ERR_MEMORY_LIMIT or -ENOMEM. */
#define vec_reserve(v, more) vec_reserve_items(&(v)->vec, sizeof(*(v)->at), (more))
/* Appends an element: a value or an initialiser in braces. Returns as vec_reserve. */
#define vec_push(v, ...) \
    vec_push_item(&(v)->vec, sizeof(*(v)->at), (__typeof__(*(v)->at)[1]){__VA_ARGS__})
/* Appends zeroed elements up to a total of `n`. Returns as vec_reserve. */
#define vec_extend(v, n) vec_extend_items(&(v)->vec, sizeof(*(v)->at), (n))
/* Frees and releases; the budget stays. */
#define vec_done(v) vec_done_items(&(v)->vec, sizeof(*(v)->at))

/* Functions that the macros call. */
int vec_grow(struct vec *v, size_t each, size_t more);
int vec_push_item(struct vec *v, size_t each, const void *item);
int vec_extend_items(struct vec *v, size_t each, size_t n);
void vec_done_items(struct vec *v, size_t each);
static inline int vec_reserve_items(struct vec *v, size_t each, size_t more)
{
    return more <= v->cap - v->count ? 0 : vec_grow(v, each, more);
}

#endif
