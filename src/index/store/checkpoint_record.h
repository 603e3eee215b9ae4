/* checkpoint_record.h - checkpoints in the store: places in a file from which its text can be read.
 *
 * May use:   trace, kv. Used by: ingest (writes them), catalog and index (read text through them).
 * Threads:   any.
 */
#ifndef DFTRACERD_INDEX_STORE_CHECKPOINT_RECORD_H
#define DFTRACERD_INDEX_STORE_CHECKPOINT_RECORD_H

#include "dftracerd/trace.h"
#include "index/store/kv.h"

/* The value of table KV_CHECKPOINT. */
void checkpoint_encode(const struct trace_checkpoint *c, struct buf *out);
/* The window is borrowed from the value. 0, ERR_CORRUPT. */
int checkpoint_decode(struct text key, struct text value, struct trace_checkpoint *ret);
/* The same with a *new* window. 0, -ENOMEM: then *ret is as it was. */
int checkpoint_clone(const struct trace_checkpoint *from, struct trace_checkpoint *ret);
/* The one before (or at) a text offset; window borrowed from the read. 0, -ENOENT, ERR_CORRUPT,
 * ERR_STORE. */
int checkpoint_find(struct kv_read *r, uint32_t file, uint64_t text_offset,
                    struct trace_checkpoint *ret);
/* The same, its window copied, for the store must not be pinned while a file is read; there is one:
 * else ERR_CORRUPT. The copy is the thread's, until it gets another one of the kind: the reader of
 * a packed member is not done with its own when it asks the archive for bytes. Also -ENOMEM. */
enum checkpoint_kind { CHECKPOINT_FILE, CHECKPOINT_ARCHIVE, CHECKPOINT_KINDS };
int checkpoint_copy(struct kv *kv, uint32_t file, uint64_t text_offset, enum checkpoint_kind kind,
                    struct trace_checkpoint *ret);
/* The same of a record. */
int checkpoint_keep(struct text key, struct text value, enum checkpoint_kind kind,
                    struct trace_checkpoint *ret);

#endif
