/* keys.h - one 64-bit key for any value: equal values have equal keys (see keys.c).
 *
 * Used by:   engine/ and answers.
 * Threads:   any. Keys, and texts from query_key_value (dftracerd/query.h), live as long as the
 *            query.
 * Memory:    values that do not fit into a key are kept in the query and charged to its budget.
 */
#ifndef DFTRACERD_ENGINE_DERIVED_KEYS_H
#define DFTRACERD_ENGINE_DERIVED_KEYS_H

#include "base/recbuf.h"
#include "engine/query.h"

#define QUERY_KEY_NULL 0ull
#define QUERY_KEY_OTHERS UINT64_MAX
/* Sets *ret to the power of two of a number: -1 below 0, 0 for [0, 1), n for [2^(n - 1), 2^n);
 * times are in us. Returns false if the key is no number. Any thread. */
bool query_key_bin(struct query *q, uint64_t key, int *ret);
/* Returns the key of a text with a global id of the index, as batch_keys does. */
uint64_t query_key_text_id(uint32_t id);
int keys_init(struct query *q);
void keys_done(struct query *q);
int key_of_entry(struct query *q, const struct column_entry *e, uint64_t *ret);
int key_of_i64(struct query *q, int64_t value, uint64_t *ret);
int key_of_f64(struct query *q, double value, uint64_t *ret);
int key_of_time(struct query *q, int64_t value, bool nano, uint64_t *ret);
int key_of_bool(int64_t value, uint64_t *ret);
/* key_encode writes the value of a key; key_decode returns the key of the value, in another query
 * or with another index. It returns 0, -ENOMEM or ERR_MEMORY_LIMIT, and sets r->bad if the bytes
 * are invalid. */
void key_encode(struct query *q, uint64_t key, struct buf *out);
int key_decode(struct query *q, struct rec *r, uint64_t *ret);
/* Returns true if it is called with this kind and hash for the first time in the query. */
bool keys_mark(struct query *q, unsigned kind, uint32_t hash);
/* A key is a tag in the top 4 bits, and below it the value, if it fits (key_fits), or an id. */
#define KEY_SHIFT 60
enum key_tag { KEY_INT = 1, KEY_US, KEY_NS, KEY_TEXT, KEY_STORED, KEY_BOOL };
static inline bool key_fits(int64_t v)
{
    return v >= -((int64_t)1 << 59) && v < (int64_t)1 << 59;
}
static inline uint64_t key_make(enum key_tag tag, int64_t v)
{
    return (uint64_t)tag << KEY_SHIFT | ((uint64_t)v & (((uint64_t)1 << KEY_SHIFT) - 1));
}
static inline enum key_tag key_tag(uint64_t key)
{
    return (enum key_tag)(key >> KEY_SHIFT);
}
static inline int64_t key_payload(uint64_t key)
{
    return (int64_t)(key << 4) >> 4;
}
/* Returns true if the key contains the value, so that it is the same in all queries. */
static inline bool key_is_value(uint64_t key)
{
    return key_tag(key) != KEY_TEXT && key_tag(key) != KEY_STORED;
}

#endif
