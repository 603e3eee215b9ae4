/* sample_memory.c - memory of samples: an arena whose blocks grow from 4 KiB to 1 MiB. */
#include "engine/group/sample.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_BLOCK = 4096, LAST_BLOCK = 1 << 20, ALIGNMENT = 16 };

struct block {
    struct block *next;
    char pad[ALIGNMENT - sizeof(void *)];
};

void sample_memory_init(struct sample_memory *m, struct budget *budget, bool exact)
{
    memset(m, 0, sizeof(*m));
    m->budget = budget;
    m->exact = exact;
    m->block_bytes = FIRST_BLOCK;
}

void sample_memory_done(struct sample_memory *m)
{
    for (struct sample_pages *p = m->pages; p; p = p->next) {
        sketch_free(p->negative);
        sketch_free(p->tiny);
        sketch_free(p->huge);
    }
    for (struct block *b = m->blocks, *next; b; b = next) {
        next = b->next;
        free(b);
    }
    budget_release(m->budget, m->charged);
    memset(m, 0, sizeof(*m));
}

static struct block *add_block(struct sample_memory *m, size_t bytes, int *ret_error)
{
    *ret_error = budget_charge(m->budget, bytes);
    if (*ret_error < 0)
        return NULL;
    struct block *b = calloc(1, bytes);
    if (!b) {
        budget_release(m->budget, bytes);
        *ret_error = -ENOMEM;
        return NULL;
    }
    m->charged += bytes;
    b->next = m->blocks;
    m->blocks = b;
    return b;
}

void *sample_alloc(struct sample_memory *m, size_t bytes)
{
    bytes = (bytes + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (bytes > LAST_BLOCK / 4) {
        struct block *own = add_block(m, sizeof(*own) + bytes, &m->error);
        return own ? own + 1 : NULL;
    }
    if (bytes > m->left) {
        struct block *b =
            add_block(m, m->block_bytes < bytes * 2 ? LAST_BLOCK : m->block_bytes, &m->error);
        if (!b)
            return NULL;
        m->left = (m->block_bytes < bytes * 2 ? LAST_BLOCK : m->block_bytes) - sizeof(*b);
        m->next = (char *)(b + 1);
        if (m->block_bytes < LAST_BLOCK)
            m->block_bytes *= 2;
    }
    void *at = m->next;
    m->next += bytes;
    m->left -= bytes;
    return at;
}
