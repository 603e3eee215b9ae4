/* texts.h - the texts that all chunks share: each has an id, dense from 0. They persist in the
 * store.
 *
 * May use:   base, kv.     Used by: the rest of src/index.
 * Threads:   all calls from any thread; texts_flush and texts_load only from the writer (or before
 *            there is one).
 * Memory:    a text never moves and lives until texts_free.
 * Ids:       below TEXTS_STORED they are ids of the store; from TEXTS_LOCAL on ids of this process
 *            only (the limits were reached); from TEXTS_LINES on whole records, see names.c.
 */
#ifndef DFTRACERD_INDEX_STORE_TEXTS_H
#define DFTRACERD_INDEX_STORE_TEXTS_H

#include "dftracerd/index.h"
#include "index/store/kv.h"
#include "base/recbuf.h"

#define TEXTS_STORED (1u << 20)
#define TEXTS_STORED_BYTES (64ull << 20)
#define TEXTS_LOCAL (1u << 29)
#define TEXTS_LINES (1u << 31)

struct texts;
struct texts *texts_new(void);
void texts_free(struct texts *t);
/* Returns an id of the store, and adds the text if necessary. Returns INDEX_NO_TEXT if the table or
 * memory is full. */
uint32_t texts_add(struct texts *t, struct text text);
/* Like texts_add, but returns an id of this process beyond the limits. INDEX_NO_TEXT only without
 * memory. */
uint32_t texts_add_any(struct texts *t, struct text text);
/* Like texts_add_any, for up to TEXTS_MANY texts: cache misses overlap. */
enum { TEXTS_MANY = 32 };
void texts_add_many(struct texts *t, const struct text *texts, uint32_t count, uint32_t *ret_ids);
/* Limits the bytes of texts that have ids of the store (also limited by TEXTS_STORED_BYTES); limits
 * of texts_add_name and texts_load follow from it. Must be called before anything else. */
void texts_limit(struct texts *t, uint64_t bytes);
/* Like texts_add_any, for optional texts: also returns INDEX_NO_TEXT if there are more than memory
 * allows. */
uint32_t texts_add_name(struct texts *t, struct text text);
uint32_t texts_find(struct texts *t, struct text text);
struct text texts_get(const struct texts *t, uint32_t id); /* ptr is NULL if there is none */
uint32_t texts_count(const struct texts *t);               /* number of ids of the store */
/* Adds new texts to the batch, which must be committed with or before the chunks that use them. */
void texts_flush(struct texts *t, struct kv_batch *b);
void texts_stored(struct texts *t); /* the texts in batches have been committed */
void texts_lost(struct texts *t);   /* they have not been committed, and are in no batch any more */
/* Returns 0, ERR_CORRUPT, ERR_MEMORY_LIMIT (too large for texts_limit) or -ENOMEM. */
int texts_load(struct texts *t, struct kv_read *r);

/* References in records: the id if the store has the text, else the text itself. INDEX_NO_TEXT has
 * its own form. Without memory for a text, texts_get_ref sets r->no_memory. */
void texts_put_ref(const struct texts *t, struct buf *b, uint32_t id);
uint32_t texts_get_ref(struct texts *t, struct rec *r);

#endif
