/* checkpoint_record.h - checkpoints in the store: positions in a file from which its text can be
 * read.
 *
 * May use:   trace, kv. Used by: ingest (writes them), catalog and index (read text through them).
 * Threads:   any.
 */
#ifndef DFTRACERD_INDEX_STORE_CHECKPOINT_RECORD_H
#define DFTRACERD_INDEX_STORE_CHECKPOINT_RECORD_H

#include "dftracerd/trace.h"
#include "index/store/kv.h"

/* Encodes a value of table KV_CHECKPOINT. */
void checkpoint_encode(const struct trace_checkpoint *c, struct buf *out);
/* Decodes a checkpoint; the window is borrowed from the value. Returns 0 or ERR_CORRUPT. */
int checkpoint_decode(struct text key, struct text value, struct trace_checkpoint *ret);
/* Copies a checkpoint with a *new* window. Returns 0, or -ENOMEM: then *ret is unchanged. */
int checkpoint_clone(const struct trace_checkpoint *from, struct trace_checkpoint *ret);
/* Finds the checkpoint before (or at) a text offset; the window is borrowed from the read. Returns
 * 0, -ENOENT, ERR_CORRUPT or ERR_STORE. */
int checkpoint_find(struct kv_read *r, uint32_t file, uint64_t text_offset,
                    struct trace_checkpoint *ret);
/* Copies the window, since no read may stay open while a file is read. The copy belongs to the
 * thread until it copies another one of the same kind. There are two kinds because reading a
 * compressed file in an archive uses two checkpoints at a time: its own, and one of the archive.
 * Returns 0, ERR_CORRUPT (too long) or -ENOMEM. */
enum checkpoint_kind { CHECKPOINT_FILE, CHECKPOINT_ARCHIVE, CHECKPOINT_KINDS };
int checkpoint_copy_window(struct trace_checkpoint *c, enum checkpoint_kind kind);
/* Like checkpoint_find, in a read of its own, and copies the window. Returns ERR_CORRUPT if
 * there is no checkpoint. */
int checkpoint_copy(struct kv *kv, uint32_t file, uint64_t text_offset, enum checkpoint_kind kind,
                    struct trace_checkpoint *ret);

#endif
