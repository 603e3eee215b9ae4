/* chunk_dictionary.h - the texts of one path while chunks are built.
 *
 * Used by:   the files of the builder. Threads: the thread of the builder.
 */
#ifndef DFTRACERD_COLUMN_CHUNK_CHUNK_DICTIONARY_H
#define DFTRACERD_COLUMN_CHUNK_CHUNK_DICTIONARY_H

#include "dftracerd/column.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/trace.h"
#include "dftracerd/vec.h"

/* a, b: the bytes of a text of up to 16 bytes, padded with zeros; for a longer one its
 * text_hash() and 0. */
struct dictionary_text {
    uint64_t a, b;
    size_t at;        /* in `bytes` */
    uint64_t hash;    /* text_hash(), once `hashed` */
    uint32_t len, id; /* id: the global one, INDEX_NO_TEXT until known */
    uint8_t type, size_class;
    bool hashed;
};
/* A text of the current chunk if `stamp` is that of the dictionary, else free. */
struct dictionary_slot {
    uint64_t a, b;
    uint32_t len, code, text;
    uint16_t stamp;
    uint8_t type, size_class;
};
struct dictionary {
    /* texts of the current chunk: few enough to stay in the cache */
    struct dictionary_slot *slots;
    uint32_t slot_count;
    uint16_t stamp;
    VEC(uint32_t) used; /* code -> text: the distinct texts of the chunk, by first appearance */
    VEC(struct dictionary_text) texts;  /* all known texts, also those of earlier chunks */
    struct hash_index known;            /* finds `texts` */
    uint32_t known_before;              /* number of `texts` when the chunk began */
    uint32_t idle;                      /* chunks after which texts are kept again */
    VEC(char) bytes;                    /* of all texts */
    uint8_t (*size_class)(struct text); /* sets dictionary_text.size_class of a TEXT; NULL: 0 */
};
_Static_assert(sizeof(struct dictionary_slot) == 32, "two in a cache line");
/* Begins a chunk: no codes are assigned yet. Large memory is freed. */
void dictionary_begin(struct dictionary *d);
/* Returns the slot of (type, text), with its code; valid until the next call. NULL without
 * memory. */
const struct dictionary_slot *dictionary_add(struct dictionary *d, uint8_t type, const char *ptr,
                                             uint32_t len);
/* The same, if the caller has the words a and b. */
const struct dictionary_slot *dictionary_find(struct dictionary *d, uint8_t type, const char *ptr,
                                              uint32_t len, uint64_t a, uint64_t b);
uint64_t dictionary_hash(struct dictionary *d, uint32_t code); /* text_hash(), cached */
void dictionary_done(struct dictionary *d);
size_t dictionary_bytes(const struct dictionary *d);
static inline const struct dictionary_text *dictionary_of(const struct dictionary *d, uint32_t code)
{
    return &d->texts.at[d->used.at[code]];
}
static inline struct text dictionary_text(const struct dictionary *d, uint32_t code)
{
    const struct dictionary_text *t = dictionary_of(d, code);
    return (struct text){d->bytes.at + t->at, t->len};
}

#endif
