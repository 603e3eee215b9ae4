/* texts.h - the texts that all chunks share: one id for each, dense from 0, and how they persist.
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
/* Id of the store, made if there is none; INDEX_NO_TEXT when the table is full (or memory is). */
uint32_t texts_add(struct texts *t, struct text text);
/* The same, but beyond the limits an id of this process. INDEX_NO_TEXT only without memory. */
uint32_t texts_add_any(struct texts *t, struct text text);
/* The same for up to TEXTS_MANY texts: memory is waited for about once, not for each. */
enum { TEXTS_MANY = 32 };
void texts_add_many(struct texts *t, const struct text *texts, uint32_t count, uint32_t *ret_ids);
/* Ids of the store are given to at most so many bytes of texts (and TEXTS_STORED_BYTES);
 * texts_add_name and texts_load have limits that follow from it. Before anything else. */
void texts_limit(struct texts *t, uint64_t bytes);
/* As texts_add_any, for texts that the caller can do without: INDEX_NO_TEXT also where they are
 * more than memory has room for. */
uint32_t texts_add_name(struct texts *t, struct text text);
uint32_t texts_find(struct texts *t, struct text text);
struct text texts_get(const struct texts *t, uint32_t id); /* ptr NULL when there is none */
uint32_t texts_count(const struct texts *t);               /* ids of the store */
/* Puts what is new into the batch; it must be committed with or before the chunks that use it. */
void texts_flush(struct texts *t, struct kv_batch *b);
void texts_stored(struct texts *t); /* what was put into batches has been committed */
void texts_lost(struct texts *t);   /* it has not, and is not in any batch any more */
/* 0, ERR_CORRUPT, ERR_MEMORY_LIMIT: too large for texts_limit; -ENOMEM */
int texts_load(struct texts *t, struct kv_read *r);

/* References in records: the id where the store knows it, else the text itself. INDEX_NO_TEXT has
 * its own form. */
void texts_put_ref(const struct texts *t, struct buf *b, uint32_t id);
uint32_t texts_get_ref(struct texts *t, struct rec *r);

#endif
