/* intern.c - maps texts to dense ids, by an index of hashes; the bytes are in blocks that never
 * move. */
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_BLOCK = 4096, LAST_BLOCK = 1024 * 1024 };

struct block {
    struct block *next;
    size_t used, size;
    char data[];
};

struct intern {
    struct hash_index index;
    VEC(struct text) texts;
    struct block *blocks;
    size_t block_bytes;
};

struct intern *intern_new(void)
{
    return calloc(1, sizeof(struct intern));
}

void intern_free(struct intern *t)
{
    if (!t)
        return;
    for (struct block *block = t->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    vec_done(&t->texts);
    hash_index_done(&t->index);
    free(t);
}

static struct block *block_new(struct intern *t, size_t need)
{
    size_t size = t->blocks ? t->blocks->size * 2 : FIRST_BLOCK;

    if (size > LAST_BLOCK)
        size = LAST_BLOCK;
    if (size < need)
        size = need;
    struct block *block = malloc(sizeof(*block) + size);
    if (!block)
        return NULL;
    *block = (struct block){.next = t->blocks, .size = size};
    t->blocks = block;
    t->block_bytes += sizeof(*block) + size;
    return block;
}

static const char *store_text(struct intern *t, struct text text)
{
    struct block *block = t->blocks;

    if (text.len == 0)
        return "";
    if (!block || block->size - block->used < text.len)
        block = block_new(t, text.len);
    if (!block)
        return NULL;
    char *copy = block->data + block->used;
    memcpy(copy, text.ptr, text.len);
    block->used += text.len;
    return copy;
}

static int64_t find_text(const struct intern *t, struct text text, uint64_t hash)
{
    for (struct hash_match m = hash_index_find(&t->index, hash); hash_index_next(&t->index, &m);)
        if (text_eq(t->texts.at[m.position], text))
            return m.position;
    return -ENOENT;
}

int64_t intern_add(struct intern *t, struct text text)
{
    uint64_t hash = text_hash(text);
    int64_t id = find_text(t, text, hash);

    if (id >= 0)
        return id;
    const char *copy = vec_reserve(&t->texts, 1) < 0 ? NULL : store_text(t, text);
    if (!copy || hash_index_add(&t->index, hash, (uint32_t)t->texts.count) < 0)
        return -ENOMEM;
    t->texts.at[t->texts.count] = (struct text){copy, text.len};
    return (int64_t)t->texts.count++;
}

int64_t intern_find(const struct intern *t, struct text text)
{
    return find_text(t, text, text_hash(text));
}

struct text intern_text(const struct intern *t, uint32_t id)
{
    return id < t->texts.count ? t->texts.at[id] : (struct text){NULL, 0};
}

uint32_t intern_count(const struct intern *t)
{
    return (uint32_t)t->texts.count;
}

size_t intern_bytes(const struct intern *t)
{
    size_t slots = t->index.slots ? t->index.mask + (size_t)1 : 0;

    return sizeof(*t) + slots * sizeof(*t->index.slots) + t->texts.cap * sizeof(*t->texts.at) +
           t->block_bytes;
}
