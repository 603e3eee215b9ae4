/* encode.h - groups as bytes, for another process to merge.
 *
 * Both processes run the same program on the same kind of machine: arrays are sent as they are in
 * memory. Keys of texts and of large values differ between processes: each of them is sent once,
 * as its value (key_encode). All other keys are the same everywhere.
 * Used by:   spread.c; scan.c (for tests); accumulators, with encode and decode of struct acc_kind.
 * Path:      groups_encode -> bytes -> groups_decode -> groups_merge, as of another worker.
 * Not sent:  doubles, which are merged by chunk (doubles.h): doubles_encode.
 * Threads:   one at a time. Memory: of the groups, charged to the budget of their grouping.
 */
#ifndef DFTRACERD_ENGINE_GROUP_ENCODE_H
#define DFTRACERD_ENGINE_GROUP_ENCODE_H

#include "base/recbuf.h"
#include "engine/group/groups.h"

struct groups_encoder {
    struct groups *from;
    struct buf *out;
    struct group_table keys; /* those that have to be sent by value */
    bool later;              /* see groups_encode */
};
struct groups_decoder {
    struct groups *into;
    struct rec rec;
    bool keep;               /* arrays are used where they are in the message, not copied */
    struct group_table keys; /* keys of the sender */
    VEC(uint64_t) own;       /* by number in `keys`: the key of this process */
};

/* A block is a part of a message that is preceded by its length. encode_begin returns the position
 * that encode_end needs; decode_block returns a block, borrowed from the message. */
size_t encode_begin(struct buf *out);
void encode_end(struct buf *out, size_t begin);
struct text decode_block(struct rec *r);

/* Appends all groups, without their doubles. Sums in struct dense_sums are not included: call
 * dense_sums_end before. later: for later scans of other ranks; accumulators may leave out data
 * that only the answer needs. Returns 0, -ENOMEM or ERR_MEMORY_LIMIT. */
int groups_encode(struct groups *f, bool later, struct buf *out);
/* Decodes groups of a grouping with the same sets, and a query with the same selection. *ret:
 * *new*; its keys cannot be searched before group_table_place, which merging does not need. keep:
 * the groups are for merging only; their arrays stay in `bytes`, which is modified. Returns 0,
 * ERR_CORRUPT, ERR_ROW_LIMIT, ERR_MEMORY_LIMIT or -ENOMEM. */
int groups_decode(const struct grouping *g, struct text bytes, bool keep, struct groups **ret);
/* Encode and decode the doubles of a chunk. An empty part (NULL) has no bytes. */
int doubles_encode(const struct grouping *g, const struct doubles_part *part, struct buf *out);
int doubles_decode(const struct grouping *g, struct text bytes, struct doubles_part **ret);

/* ---- for accumulators ------------------------------------------------------------------------ */

/* Adds a key of the message to e->keys, unless it is the same in all processes. */
int encode_key(struct groups_encoder *e, uint64_t key);
/* Replaces a key of the sender by that of this process. */
int decode_key(const struct groups_decoder *d, uint64_t *key);

#endif
