/* scratch.c - scratch memory that is reused from chunk to chunk. */
#include "engine/scratch.h"

#include <stdlib.h>

void *scratch_reserve(struct scratch *g, size_t bytes)
{
    if (bytes <= g->cap)
        return g->data;
    size_t cap = g->cap * 2 > bytes ? g->cap * 2 : bytes;
    cap = (cap + 63) & ~(size_t)63;
    void *data = aligned_alloc(64, cap);
    if (!data)
        return NULL;
    free(g->data);
    g->data = data;
    g->cap = cap;
    return data;
}

void scratch_done(struct scratch *g)
{
    free(g->data);
    *g = (struct scratch){0};
}
