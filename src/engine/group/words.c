/* words.c - group numbers of rows whose codes are bit-packed into a word: each chunk has a small
 * table of its words, and only words that are new in it are looked up among all groups. */
#ifndef __clang__
#pragma GCC optimize("O3") /* its loops are to be vectorised; clang does so at O2 */
#endif
#include "engine/group/map.h"

#include <errno.h>
#include <stdlib.h>

/* No word has this value, because the largest value of a bit field is never a code. */
#define FREE UINT64_MAX

static void clear_seen(struct group_seen *seen, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        seen[i].word = FREE;
}

void group_words_chunk(struct group_map *m)
{
    m->method = GROUP_PACKED;
    m->seen_count = 0;
    if (m->seen)
        clear_seen(m->seen, m->seen_mask + 1);
}

/* Returns the slot of a word in `seen`, or the free one where it is to be added. */
static uint32_t seen_find(const struct group_map *m, uint64_t word)
{
    uint64_t h = word * 0x9E3779B97F4A7C15ull;
    uint32_t at = (uint32_t)(h >> 32) & m->seen_mask;

    while (m->seen[at].word != word && m->seen[at].word != FREE)
        at = (at + 1) & m->seen_mask;
    return at;
}

/* Grows the table of the chunk for `more` words; it is at most half full. */
static int seen_grow(struct group_map *m, uint32_t more)
{
    uint32_t cap = m->seen ? m->seen_mask + 1 : 1024, before = m->seen ? cap : 0;
    struct group_seen *old = m->seen;

    while (cap < 2 * (m->seen_count + more))
        cap *= 2;
    if (cap == before)
        return 0;
    int rc = charge_add(&m->charge, (cap - before) * sizeof(*old));
    if (rc < 0)
        return rc;
    struct group_seen *seen = malloc(cap * sizeof(*seen));
    if (!seen)
        return -ENOMEM;
    clear_seen(seen, cap);
    m->seen = seen;
    m->seen_mask = cap - 1;
    for (uint32_t i = 0; i < before; i++) {
        if (old[i].word != FREE)
            seen[seen_find(m, old[i].word)] = old[i];
    }
    free(old);
    return 0;
}

static void keys_of_word(const struct group_map *m, uint64_t word, uint64_t *keys)
{
    for (unsigned i = 0; i < m->width; i++) {
        const struct group_key *k = &m->keys[i];
        keys[i] =
            k->constant ? k->key : k->code_keys[word >> k->shift & (((uint64_t)1 << k->bits) - 1)];
    }
}

/* Finds or adds the groups of words that are new in this chunk. */
static int groups_of_new_words(struct group_map *m, const uint64_t *words, uint32_t n,
                               uint32_t *out)
{
    uint64_t keys[GROUP_PACK_BLOCK * GROUP_KEYS_MAX];
    int rc = m->pack ? group_pack_words(m, words, n, keys) : -ERANGE;

    for (uint32_t j = 0; rc == -ERANGE && j < n; j++)
        keys_of_word(m, words[j], keys + (size_t)j * m->width);
    return rc < 0 && rc != -ERANGE ? rc : group_table_add_all(&m->table, keys, n, out);
}

/* Finds the groups of n words. Words that are new in the chunk are looked up together, so that
 * cache misses overlap. */
static int groups_of_words(struct group_map *m, const uint64_t *words, uint32_t n, uint32_t *out)
{
    uint64_t new_words[GROUP_PACK_BLOCK];
    uint32_t place[GROUP_PACK_BLOCK], added[GROUP_PACK_BLOCK], groups[GROUP_PACK_BLOCK], count = 0;
    int rc = seen_grow(m, GROUP_PACK_BLOCK);

    for (uint32_t j = 0; j < n && rc == 0; j++) {
        uint32_t at = place[j] = seen_find(m, words[j]);
        out[j] = m->seen[at].group;
        if (m->seen[at].word != FREE)
            continue;
        m->seen[at].word = new_words[count] = words[j];
        added[count++] = at;
    }
    if (rc < 0 || count == 0)
        return rc;
    rc = groups_of_new_words(m, new_words, count, groups);
    for (uint32_t i = 0; i < count && rc == 0; i++)
        m->seen[added[i]].group = groups[i];
    for (uint32_t j = 0; j < n; j++)
        out[j] = m->seen[place[j]].group;
    m->seen_count += count;
    return rc;
}

/* Adds codes at `shift` to words that have no bits from there on. With shift 0, words are set. */
static void put_codes(const uint32_t *restrict codes, const uint16_t *restrict select, uint32_t n,
                      unsigned shift, uint64_t *restrict words)
{
    for (uint32_t j = 0; select && j < n; j++)
        words[j] = (shift ? words[j] : 0) | (uint64_t)codes[select[j]] << shift;
    for (uint32_t j = 0; !select && j < n; j++)
        words[j] = (shift ? words[j] : 0) | (uint64_t)codes[j] << shift;
}

int group_words_batch(struct group_map *m, struct scan_batch *b, uint32_t *out)
{
    uint64_t words[SCAN_BATCH];
    const struct group_key *k;
    const uint32_t *codes;
    unsigned i = 0;
    int rc = 0;

    while ((k = group_next_key(m, b, &i, &codes)))
        put_codes(codes, b->select, b->count, k->shift, words);
    for (uint32_t first = 0; first < b->count && rc == 0; first += GROUP_PACK_BLOCK) {
        uint32_t n = b->count - first < GROUP_PACK_BLOCK ? b->count - first : GROUP_PACK_BLOCK;
        rc = groups_of_words(m, words + first, n, out + first);
    }
    return rc;
}
