/* kv_batch.h - the inside of a batch: filled in kv_batch.c, applied in kv_commit.c. */
#ifndef DFTRACERD_INDEX_STORE_KV_BATCH_H
#define DFTRACERD_INDEX_STORE_KV_BATCH_H

#include "dftracerd/vec.h"
#include "index/store/kv.h"

enum op_kind { OP_PUT, OP_DELETE, OP_DELETE_PREFIX };
struct op {
    uint8_t kind, table; /* enum op_kind, enum kv_table */
    struct kv_key key;
    void *data; /* owned; NULL: no value */
    size_t len;
};
struct kv_batch {
    VEC(struct op) ops;
    size_t bytes; /* see kv_batch_bytes */
    int error;    /* the first one, sticky */
};

#endif
