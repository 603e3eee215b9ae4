/* arena.c - allocations that are freed together. Blocks double in size, so a small arena stays
 * small. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK_BYTES = 512, DOUBLED_BYTES_MAX = 256 * 1024, ALIGNMENT = 16 };

struct block {
    struct block *next;
    size_t used, size; /* of data */
    char data[] __attribute__((aligned(ALIGNMENT)));
};

static void *arena_fail(struct arena *a, int code)
{
    if (a->error == 0)
        a->error = code;
    return NULL;
}

static struct block *block_new(struct arena *a, size_t need)
{
    const struct block *head = a->head;
    size_t size = head ? head->size * 2 : FIRST_BLOCK_BYTES;

    if (size > DOUBLED_BYTES_MAX)
        size = DOUBLED_BYTES_MAX;
    if (size < need)
        size = need;
    size_t bytes = sizeof(struct block) + size;
    int rc = budget_charge(a->budget, bytes);
    if (rc < 0)
        return arena_fail(a, rc);
    a->charged += bytes;
    struct block *block = calloc(1, bytes);
    if (!block)
        return arena_fail(a, -ENOMEM);
    block->size = size;
    return block;
}

/* The head is the block that later allocations use. A new block becomes the head unless the old
 * head has more bytes left: a block for a large allocation is full already. */
static void block_link(struct arena *a, struct block *block)
{
    struct block *head = a->head;

    if (head && head->size - head->used > block->size - block->used) {
        block->next = head->next;
        head->next = block;
    } else {
        block->next = head;
        a->head = block;
    }
}

void *arena_alloc(struct arena *a, size_t size)
{
    struct block *block = a->head;

    if (size > SIZE_MAX / 2)
        return arena_fail(a, -ENOMEM);
    size = (size + ALIGNMENT - 1) & ~(size_t)(ALIGNMENT - 1);
    if (size == 0)
        size = ALIGNMENT;
    if (a->limit && (a->used > a->limit || size > a->limit - a->used))
        return arena_fail(a, -ENOMEM);
    if (!block || block->size - block->used < size) {
        block = block_new(a, size);
        if (!block)
            return NULL;
        block->used = size;
        block_link(a, block);
    } else {
        block->used += size;
    }
    a->used += size;
    return block->data + (block->used - size);
}

char *arena_strdup(struct arena *a, struct text t)
{
    char *copy = arena_alloc(a, t.len + 1);

    if (copy && t.len)
        memcpy(copy, t.ptr, t.len);
    return copy;
}

void arena_done(struct arena *a)
{
    if (!a)
        return;
    for (struct block *block = a->head, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    budget_release(a->budget, a->charged);
    a->head = NULL;
    a->used = a->charged = 0;
    a->error = 0;
}
