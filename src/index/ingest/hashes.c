/* hashes.c - distinct values of a dimension, for the filter of a file. */
#include "column/chunk/bloom.h"
#include "index/ingest/hashes.h"

#include <errno.h>
#include <stdlib.h>

struct hashes {
    uint64_t *slots;
    uint32_t mask, count, max;
    bool full, has_zero;
};

struct hashes *hashes_new(const struct index_params *t, unsigned dimension)
{
    struct hashes *h = calloc(1, sizeof *h);

    if (h) {
        h->max = t->expected_entries > INDEX_PARAMS_VALUES_MAX ? (uint32_t)t->expected_entries
                                                               : INDEX_PARAMS_VALUES_MAX;
        h->full = !index_params_hashed(t, dimension);
    }
    return h;
}

void hashes_free(struct hashes *h)
{
    if (!h)
        return;
    free(h->slots);
    free(h);
}

static void insert_hash(uint64_t *slots, uint32_t mask, uint64_t hash, uint32_t *count)
{
    uint32_t i = (uint32_t)(hash >> 20) & mask;

    while (slots[i] && slots[i] != hash)
        i = (i + 1) & mask;
    *count += slots[i] == 0;
    slots[i] = hash;
}

static bool hashes_grow(struct hashes *h)
{
    uint32_t size = h->slots ? (h->mask + 1) * 2 : 64, count = 0;
    uint64_t *slots = calloc(size, sizeof *slots);

    if (!slots)
        return false;
    for (uint32_t i = 0; h->slots && i <= h->mask; i++)
        if (h->slots[i])
            insert_hash(slots, size - 1, h->slots[i], &count);
    free(h->slots);
    h->slots = slots;
    h->mask = size - 1;
    return true;
}

void hashes_match_all(struct hashes *h)
{
    h->full = true;
    free(h->slots);
    h->slots = NULL;
}

void hashes_add(struct hashes *h, uint64_t hash)
{
    if (h->full)
        return;
    if (hash == 0) {
        h->has_zero = true;
        return;
    }
    if ((!h->slots || h->count * 4 >= (h->mask + 1) * 3) && !hashes_grow(h)) {
        hashes_match_all(h);
        return;
    }
    insert_hash(h->slots, h->mask, hash, &h->count);
    if (h->count > h->max)
        hashes_match_all(h); /* too many values: the filter would be large and exclude little */
}

void hashes_merge(struct hashes *into, const struct hashes *from)
{
    if (from->full)
        hashes_match_all(into);
    if (from->has_zero)
        into->has_zero = true;
    for (uint32_t i = 0; from->slots && i <= from->mask; i++)
        if (from->slots[i])
            hashes_add(into, from->slots[i]);
}

int hashes_build_filter(const struct hashes *h, struct view *v, unsigned dimension)
{
    uint64_t values = h->count + h->has_zero;

    if (h->full)
        return 0;
    if (values < v->index_params->expected_entries)
        values = v->index_params->expected_entries;
    size_t len = bloom_bytes(values, v->index_params->bloom_rate);
    uint8_t *bits = view_add_filter(v, dimension, len);
    if (!bits)
        return -ENOMEM;
    for (uint32_t i = 0; h->slots && i <= h->mask; i++)
        if (h->slots[i])
            bloom_add(bits, len, h->slots[i]);
    if (h->has_zero)
        bloom_add(bits, len, 0);
    return 0;
}
