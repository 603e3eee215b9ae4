/* recbuf.h - encodes and decodes values, for the store and messages between processes:
 * variable-length integers, texts, bytes. Errors are sticky in both directions.
 *
 * Layout: unsigned as LEB128, signed as zigzag, 128 bits as two halves, texts as length and bytes.
 */
#ifndef DFTRACERD_BASE_RECBUF_H
#define DFTRACERD_BASE_RECBUF_H

#include "dftracerd/base.h"

void rec_put_u(struct buf *b, uint64_t v);
void rec_put_i(struct buf *b, int64_t v);
void rec_put_i128(struct buf *b, __int128 v);
void rec_put_text(struct buf *b, struct text t);
void rec_put_buf(struct buf *b,
                 const struct buf *bytes); /* as a text; its error becomes that of b */

struct text_ids;
struct rec {
    const uint8_t *ptr, *end;
    bool bad;       /* ran out of bytes or of memory, or a number is too large; values are then 0 */
    bool no_memory; /* it is `bad` because texts_get_ref had no memory for a text */
    /* maps ids of texts of another process (index/store/text_ids.h); NULL: they are of this one */
    const struct text_ids *ids;
};
struct rec rec_of(struct text t);
int rec_error(const struct rec *r); /* returns 0, ERR_CORRUPT or -ENOMEM */
uint64_t rec_u_long(struct rec *r); /* a number of any length: called by rec_u */
static inline uint64_t rec_u(struct rec *r)
{
    return !r->bad && r->ptr != r->end && *r->ptr < 0x80 ? *r->ptr++ : rec_u_long(r);
}
int64_t rec_i(struct rec *r);
__int128 rec_i128(struct rec *r);
struct text rec_text(struct rec *r); /* borrowed from the record */
/* Reads an array as it is in memory: only between processes of the same program. */
bool rec_array(struct rec *r, void *ret, size_t bytes);
uint64_t rec_choice(struct rec *r, uint64_t max); /* a number up to max; more is bad (0) */
/* A count of items of at least `min_bytes` each; more than the record can hold is bad (0). */
uint64_t rec_count(struct rec *r, size_t min_bytes);

#endif
