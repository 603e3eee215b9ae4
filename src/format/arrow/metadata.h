/* metadata.h - the messages of Arrow IPC without their bodies. Private to this folder.
 *
 * Sources: arrow.apache.org/docs/format/Columnar.html ("Serialization and Interprocess
 * Communication"), the schemas format/Schema.fbs, Message.fbs and File.fbs of Apache Arrow
 * (metadata version V5), and "FlatBuffers Internals" (flatbuffers.dev).
 *
 * A flatbuffer consists of tables, vectors and strings, aligned from its first byte on. A table
 * begins with the offset back to its vtable (u16: own length, length of the table, then the
 * position of each field or 0); fields that are no scalars contain the offset forward to their
 * value. Here parents are written before their children, so that every offset is known when the
 * child is written, and no second buffer is needed.
 */
#ifndef DFTRACERD_FORMAT_ARROW_METADATA_H
#define DFTRACERD_FORMAT_ARROW_METADATA_H

#include "dftracerd/format.h"

/* These three are written as they are in memory: the place of a buffer in the body of a batch, the
 * rows of a column, and the place of a batch in the file. */
struct arrow_buffer {
    int64_t offset, length;
};
struct arrow_node {
    int64_t length, nulls;
};
struct arrow_block {
    int64_t offset;
    int32_t metadata; /* bytes of the message */
    int32_t pad;
    int64_t body; /* bytes after it */
};

/* Each appends the whole encapsulated message without its body: continuation, length, flatbuffer,
 * padding to 8 bytes. */
void arrow_put_schema(struct buf *out, const struct arrow_column *columns, size_t count);
/* Writes a record batch if dictionary < 0, otherwise the dictionary with this id. */
void arrow_put_batch(struct buf *out, int64_t dictionary, int64_t rows,
                     const struct arrow_node *nodes, size_t node_count,
                     const struct arrow_buffer *buffers, size_t buffer_count, int64_t body);
/* Writes the flatbuffer of the footer, its length and the magic bytes. */
void arrow_put_footer(struct buf *out, const struct arrow_column *columns, size_t count,
                      const struct arrow_block *dictionaries, size_t dictionary_count,
                      const struct arrow_block *batches, size_t batch_count);

#endif
