/* chunk_dictionary.c - the distinct texts of one path; a lookup takes a few nanoseconds.
 *
 * Names and categories are short and repeat in small cycles; hashes have 4 to 32 characters; file
 * names 100. The same texts occur in chunk after chunk, so their global ids and hashes are kept;
 * codes are assigned for each chunk. Texts up to 16 bytes are compared as two words. */
#include "column/chunk/chunk_dictionary.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IDLE_CHUNKS 16u /* chunks for which nothing is kept after keeping texts was useless */
#define KEPT_TEXTS (1u << 14)
#define KEPT_BYTES (8u << 20)

static inline uint32_t slot_hash(uint64_t a, uint64_t b, uint32_t len)
{
    unsigned __int128 m =
        (unsigned __int128)(a ^ 0x9E3779B97F4A7C15u) * (b ^ 0xD6E8FEB86659FD93u ^ len);
    return (uint32_t)(m >> 64) ^ (uint32_t)m ^ (uint32_t)(m >> 32);
}

/* ---- known texts ----------------------------------------------------------------------------- */

/* Finds or adds a text. Returns its number in d->texts, UINT32_MAX without memory. */
static uint32_t find_known(struct dictionary *d, uint8_t type, const char *ptr, uint32_t len,
                           uint64_t a, uint64_t b)
{
    uint32_t hash = slot_hash(a, b, len);

    for (struct hash_match m = hash_index_find(&d->known, hash); hash_index_next(&d->known, &m);) {
        const struct dictionary_text *t = &d->texts.at[m.position];
        if (t->a == a && t->b == b && t->len == len && t->type == type &&
            (len <= 16 || memcmp(d->bytes.at + t->at, ptr, len) == 0))
            return m.position;
    }
    struct dictionary_text text = {
        .a = a, .b = b, .at = d->bytes.count, .len = len, .id = INDEX_NO_TEXT, .type = type};
    if (type == TRACE_TEXT && d->size_class != NULL)
        text.size_class = d->size_class((struct text){ptr, len});
    if (vec_reserve(&d->bytes, len) < 0 || vec_push(&d->texts, text) < 0)
        return UINT32_MAX;
    if (hash_index_add(&d->known, hash, (uint32_t)d->texts.count - 1) < 0) {
        d->texts.count--;
        return UINT32_MAX;
    }
    if (len > 0)
        memcpy(d->bytes.at + d->bytes.count, ptr, len);
    d->bytes.count += len;
    return (uint32_t)d->texts.count - 1;
}

/* ---- texts of the current chunk -------------------------------------------------------------- */

static struct dictionary_slot *free_slot(const struct dictionary *d, uint64_t a, uint64_t b,
                                         uint32_t len)
{
    uint32_t s = slot_hash(a, b, len);

    while (d->slots[s & (d->slot_count - 1)].stamp == d->stamp)
        s++;
    return &d->slots[s & (d->slot_count - 1)];
}

static bool grow_slots(struct dictionary *d)
{
    struct dictionary old = *d;

    d->slot_count = old.slot_count ? old.slot_count * 2 : 32;
    d->slots = aligned_alloc(64, d->slot_count * sizeof(*d->slots));
    if (d->slots == NULL) {
        *d = old;
        return false;
    }
    memset(d->slots, 0, d->slot_count * sizeof(*d->slots));
    for (uint32_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].stamp == d->stamp)
            *free_slot(d, old.slots[i].a, old.slots[i].b, old.slots[i].len) = old.slots[i];
    free(old.slots);
    return true;
}

static const struct dictionary_slot *assign_code(struct dictionary *d, uint8_t type,
                                                 const char *ptr, uint32_t len, uint64_t a,
                                                 uint64_t b)
{
    uint32_t text = find_known(d, type, ptr, len, a, b);

    if (text == UINT32_MAX || (2 * d->used.count >= d->slot_count && !grow_slots(d)) ||
        vec_reserve(&d->used, 1) < 0)
        return NULL;
    struct dictionary_slot *slot = free_slot(d, a, b, len);
    *slot = (struct dictionary_slot){.a = a,
                                     .b = b,
                                     .len = len,
                                     .code = (uint32_t)d->used.count,
                                     .text = text,
                                     .stamp = d->stamp,
                                     .type = type,
                                     .size_class = d->texts.at[text].size_class};
    d->used.at[d->used.count++] = text;
    return slot;
}

const struct dictionary_slot *dictionary_find(struct dictionary *d, uint8_t type, const char *ptr,
                                              uint32_t len, uint64_t a, uint64_t b)
{
    for (uint32_t s = slot_hash(a, b, len); d->slot_count > 0; s++) {
        const struct dictionary_slot *slot = &d->slots[s & (d->slot_count - 1)];
        if (slot->stamp != d->stamp)
            break;
        if (slot->a == a && slot->b == b && slot->len == len && slot->type == type &&
            (len <= 16 || memcmp(d->bytes.at + d->texts.at[slot->text].at, ptr, len) == 0))
            return slot;
    }
    return assign_code(d, type, ptr, len, a, b);
}

const struct dictionary_slot *dictionary_add(struct dictionary *d, uint8_t type, const char *ptr,
                                             uint32_t len)
{
    uint64_t words[2] = {0, 0};

    if (len > 16)
        words[0] = text_hash((struct text){ptr, len});
    else if (len > 0)
        memcpy(words, ptr, len);
    return dictionary_find(d, type, ptr, len, words[0], words[1]);
}

/* ---- chunks ---------------------------------------------------------------------------------- */

void dictionary_begin(struct dictionary *d)
{
    if (d->known_before > 0 && 2 * (d->texts.count - d->known_before) > d->used.count)
        d->idle = IDLE_CHUNKS;
    if (d->idle > 0) {
        d->idle--;
        /* For texts that seldom repeat (paths, dates), a search among those of all chunks does not
         * pay. */
        hash_index_done(&d->known);
        d->texts.count = 0;
        d->bytes.count = 0;
    }
    if (d->texts.count > KEPT_TEXTS || d->bytes.cap > KEPT_BYTES ||
        d->slot_count > 2 * KEPT_TEXTS || d->stamp == UINT16_MAX) {
        uint8_t (*size_class)(struct text) = d->size_class;
        dictionary_done(d);
        d->size_class = size_class;
    }
    d->stamp++; /* never 0, which is the stamp of a new slot */
    d->used.count = 0;
    d->known_before = (uint32_t)d->texts.count;
}

void dictionary_done(struct dictionary *d)
{
    free(d->slots);
    vec_done(&d->used);
    vec_done(&d->texts);
    hash_index_done(&d->known);
    vec_done(&d->bytes);
    memset(d, 0, sizeof(*d));
}

size_t dictionary_bytes(const struct dictionary *d)
{
    return d->slot_count * sizeof(*d->slots) + d->used.cap * sizeof(*d->used.at) +
           d->texts.cap * sizeof(*d->texts.at) +
           (d->known.slots ? d->known.mask + (size_t)1 : 0) * sizeof(*d->known.slots) +
           d->bytes.cap;
}

/* ---- hashes of values ------------------------------------------------------------------------ */

uint64_t dictionary_hash(struct dictionary *d, uint32_t code)
{
    struct dictionary_text *t = &d->texts.at[d->used.at[code]];

    if (!t->hashed) {
        t->hash = text_hash(dictionary_text(d, code));
        t->hashed = true;
    }
    return t->hash;
}
