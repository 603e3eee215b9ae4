/* intern.c - text -> dense id. Open addressing with linear probing over (hash, id) pairs of 8
 * bytes; the bytes live in blocks that never move. */
#include "dftracerd/base.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64, FIRST_BLOCK = 4096, LAST_BLOCK = 1024 * 1024 };

struct slot {
    uint32_t hash;    /* low half; the slot number comes from it, too */
    uint32_t id_plus; /* id + 1, 0 = free */
};

struct block {
    struct block *next;
    size_t used, size;
    char data[];
};

struct intern {
    struct slot *slots;
    uint32_t mask; /* slots - 1 */
    uint32_t count;
    uint32_t capacity; /* of texts */
    struct text *texts;
    struct block *blocks;
    size_t block_bytes;
};

struct intern *intern_new(void)
{
    struct intern *t = calloc(1, sizeof(*t));

    if (!t)
        return NULL;
    t->slots = calloc(FIRST_SLOTS, sizeof(*t->slots));
    t->mask = FIRST_SLOTS - 1;
    if (!t->slots) {
        free(t);
        return NULL;
    }
    return t;
}

void intern_free(struct intern *t)
{
    if (!t)
        return;
    for (struct block *block = t->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(t->texts);
    free(t->slots);
    free(t);
}

/* The slot that holds the text, or the free one where it belongs. */
static struct slot *find_slot(const struct intern *t, struct text text, uint32_t hash)
{
    for (uint32_t at = hash & t->mask;; at = (at + 1) & t->mask) {
        struct slot *slot = &t->slots[at];
        if (slot->id_plus == 0 ||
            (slot->hash == hash && text_eq(t->texts[slot->id_plus - 1], text)))
            return slot;
    }
}

/* At most half full, so that probes stay short and one slot is always free. */
static int grow_slots(struct intern *t)
{
    uint32_t size = t->mask + 1;

    if (t->count < size / 2)
        return 0;
    if (size > UINT32_MAX / 2)
        return -ENOMEM;
    struct slot *bigger = calloc((size_t)size * 2, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    uint32_t mask = size * 2 - 1;
    for (uint32_t i = 0; i < size; i++) {
        if (t->slots[i].id_plus == 0)
            continue;
        uint32_t at = t->slots[i].hash & mask;
        while (bigger[at].id_plus != 0)
            at = (at + 1) & mask;
        bigger[at] = t->slots[i];
    }
    free(t->slots);
    t->slots = bigger;
    t->mask = mask;
    return 0;
}

static int grow_texts(struct intern *t)
{
    if (t->count < t->capacity)
        return 0;
    uint32_t capacity = t->capacity ? t->capacity * 2 : FIRST_SLOTS / 2;
    struct text *texts = realloc(t->texts, capacity * sizeof(*texts));
    if (!texts)
        return -ENOMEM;
    t->texts = texts;
    t->capacity = capacity;
    return 0;
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

static const char *store(struct intern *t, struct text text)
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

int64_t intern_add(struct intern *t, struct text text)
{
    uint32_t hash = (uint32_t)text_hash(text);
    struct slot *slot = find_slot(t, text, hash);

    if (slot->id_plus != 0)
        return slot->id_plus - 1;
    if (grow_slots(t) < 0 || grow_texts(t) < 0)
        return -ENOMEM;
    const char *copy = store(t, text);
    if (!copy)
        return -ENOMEM;
    slot = find_slot(t, text, hash);
    t->texts[t->count] = (struct text){copy, text.len};
    *slot = (struct slot){.hash = hash, .id_plus = ++t->count};
    return t->count - 1;
}

int64_t intern_find(const struct intern *t, struct text text)
{
    const struct slot *slot = find_slot(t, text, (uint32_t)text_hash(text));

    return slot->id_plus ? (int64_t)slot->id_plus - 1 : -ENOENT;
}

struct text intern_text(const struct intern *t, uint32_t id)
{
    return id < t->count ? t->texts[id] : (struct text){NULL, 0};
}

uint32_t intern_count(const struct intern *t)
{
    return t->count;
}

size_t intern_bytes(const struct intern *t)
{
    return sizeof(*t) + ((size_t)t->mask + 1) * sizeof(*t->slots) +
           t->capacity * sizeof(*t->texts) + t->block_bytes;
}
