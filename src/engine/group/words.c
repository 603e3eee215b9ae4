/* words.c - group numbers of rows whose codes stand side by side in a word: the words of a
 * chunk are looked up in a small table of its own, and only those that are new in it among all
 * groups. */
#include "engine/group/map.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

void group_words_chunk(struct group_map *m)
{
    m->way = GROUP_PACKED;
    m->seen_count = 0;
    m->stamp++;
    if (m->stamp == 0 && m->seen) { /* stamps of old begin anew */
        memset(m->seen, 0, ((size_t)m->seen_mask + 1) * sizeof(*m->seen));
        m->stamp = 1;
    }
}

static uint32_t place_of(const struct group_map *m, uint64_t word)
{
    uint64_t h = word * 0x9E3779B97F4A7C15ull;
    uint32_t at = (uint32_t)(h >> 32) & m->seen_mask;

    while (m->seen[at].stamp == m->stamp && m->seen[at].word != word)
        at = (at + 1) & m->seen_mask;
    return at;
}

/* Places for `more` words, half of them free. */
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
    struct group_seen *seen = calloc(cap, sizeof(*seen));
    if (!seen)
        return -ENOMEM;
    m->seen = seen;
    m->seen_mask = cap - 1;
    for (uint32_t i = 0; i < before; i++) {
        if (old[i].stamp == m->stamp)
            seen[place_of(m, old[i].word)] = old[i];
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

/* Groups of words that are met for the first time in this chunk. */
static int groups_of_fresh(struct group_map *m, const uint64_t *words, uint32_t n, uint32_t *out)
{
    uint64_t keys[GROUP_PACK_BLOCK * GROUP_KEYS_MAX];
    int rc = m->pack ? group_pack_words(m, words, n, keys) : -ERANGE;

    for (uint32_t j = 0; rc == -ERANGE && j < n; j++)
        keys_of_word(m, words[j], keys + (size_t)j * m->width);
    return rc < 0 && rc != -ERANGE ? rc : group_table_add_all(&m->table, keys, n, out);
}

/* Groups of n words: those that are new in the chunk are looked for in the large table side by
 * side. */
static int groups_of_words(struct group_map *m, const uint64_t *words, uint32_t n, uint32_t *out)
{
    enum { BLOCK = GROUP_PACK_BLOCK };
    uint64_t fresh_words[BLOCK];
    uint32_t place[BLOCK], fresh[BLOCK], groups[BLOCK];

    for (uint32_t first = 0; first < n; first += BLOCK) {
        uint32_t end = n - first < BLOCK ? n - first : BLOCK, count = 0;
        int rc = seen_grow(m, BLOCK);
        for (uint32_t j = 0; j < end && rc == 0; j++) {
            uint64_t word = words[first + j];
            uint32_t at = place[j] = place_of(m, word);
            if (m->seen[at].stamp == m->stamp)
                continue;
            m->seen[at] = (struct group_seen){.word = word, .stamp = m->stamp};
            fresh_words[count] = word;
            fresh[count++] = at;
        }
        rc = rc < 0 ? rc : groups_of_fresh(m, fresh_words, count, groups);
        if (rc < 0)
            return rc;
        for (uint32_t i = 0; i < count; i++)
            m->seen[fresh[i]].group = groups[i];
        for (uint32_t j = 0; j < end; j++)
            out[first + j] = m->seen[place[j]].group;
        m->seen_count += count;
    }
    return 0;
}

/* Words of 32 bits of all rows, by a kernel: quicker than row by row where most rows are selected.
 */
static void narrow_words(struct group_map *m, struct scan_batch *b, uint64_t *words)
{
    uint32_t room[SCAN_BATCH];
    const uint32_t *narrow = group_sum_codes(m, b, true, room);

    for (uint32_t j = 0, n = b->count; j < n; j++)
        words[j] = narrow[batch_row(b, j)];
}

static void wide_words(struct group_map *m, struct scan_batch *b, uint64_t *words)
{
    const struct group_key *k;
    const uint32_t *codes;
    unsigned i = 0;

    memset(words, 0, b->count * sizeof(*words));
    while ((k = group_next_key(m, b, &i, &codes))) {
        for (uint32_t j = 0, n = b->select ? b->count : 0; j < n; j++)
            words[j] |= (uint64_t)codes[b->select[j]] << k->shift;
        for (uint32_t j = 0, n = b->select ? 0 : b->count; j < n; j++)
            words[j] |= (uint64_t)codes[j] << k->shift;
    }
}

int group_words_batch(struct group_map *m, struct scan_batch *b, uint32_t *out)
{
    uint64_t words[SCAN_BATCH];

    if (m->bits <= 32 && b->count >= b->rows / 2)
        narrow_words(m, b, words);
    else
        wide_words(m, b, words);
    return groups_of_words(m, words, b->count, out);
}
