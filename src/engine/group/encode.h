/* encode.h - groups as bytes, for another process to merge.
 *
 * Between processes of one program on one kind of machine: arrays are sent as they are in memory.
 * What is known in one process only, keys of texts and of large values, is sent once each as its
 * value (key_encode); other keys, counts and sums of integers need no look.
 * Used by:   scan.c; accumulators, with encode and decode of struct acc_kind.
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
    bool later;
};
struct groups_decoder {
    struct groups *into;
    struct rec rec;
    bool keep;               /* arrays stay where they are in the message */
    struct group_table keys; /* as the sender has them */
    VEC(uint64_t) own;       /* by number in `keys`: that of this process */
};

/* A part of a message whose length comes before it, once it is known. */
size_t encode_begin(struct buf *out);
void encode_end(struct buf *out, size_t begin);
struct text decode_block(struct rec *r); /* borrowed */

/* Appends all that was found but the doubles, in slots too: after slots_end. later: for later scans
 * of other ranks; accumulators may leave out what only the answer needs. 0, -ENOMEM,
 * ERR_MEMORY_LIMIT. */
int groups_encode(struct groups *f, bool later, struct buf *out);
/* Of a grouping with the same sets, of a query of the same selection. *ret: *new*; its keys have no
 * slots yet (group_table_place), which merging does not need. keep: it is for merging only, and
 * keeps its arrays in the bytes, which it changes. ERR_CORRUPT, ERR_ROW_LIMIT, ERR_MEMORY_LIMIT,
 * -ENOMEM. */
int groups_decode(const struct grouping *g, struct text bytes, bool keep, struct groups **ret);
/* The doubles of a chunk. A part of nothing (NULL) has no bytes. */
int doubles_encode(const struct grouping *g, const struct doubles_part *part, struct buf *out);
int doubles_decode(const struct grouping *g, struct text bytes, struct doubles_part **ret);

/* ---- for accumulators ------------------------------------------------------------------------ */

/* A key that is in what is sent: its value is sent, too. */
int encode_key(struct groups_encoder *e, uint64_t key);
/* *key: the sender's, which becomes that of this process. */
int decode_key(const struct groups_decoder *d, uint64_t *key);

#endif
