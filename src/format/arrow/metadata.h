/* metadata.h - the messages of Arrow IPC without their bodies. Private to arrow*.c.
 *
 * Sources: arrow.apache.org/docs/format/Columnar.html ("Serialization and Interprocess
 * Communication"), the schemas format/Schema.fbs, Message.fbs and File.fbs of Apache Arrow
 * (metadata version V5), and "FlatBuffers Internals" (flatbuffers.dev). A flatbuffer is made of
 * tables, vectors and strings, aligned from its first byte on; a table begins with the distance
 * back to its vtable (u16: own length, length of the table, then where each field is or 0), and
 * fields that are no scalars hold the distance forward to what they mean. Here parents are written
 * before their children, so that every distance is known when the child is written, and no second
 * buffer is needed.
 */
#ifndef DFTRACERD_FORMAT_ARROW_METADATA_H
#define DFTRACERD_FORMAT_ARROW_METADATA_H

#include "dftracerd/format.h"

struct arrow_buffer {
    int64_t offset, length;
}; /* in the body of a batch; as in the file */
struct arrow_node {
    int64_t length, nulls;
}; /* of a column; as in the file */
/* of a file; as in the file */
struct arrow_block {
    int64_t offset;
    int32_t metadata;
    int32_t pad;
    int64_t body;
};

/* Each appends the whole encapsulated message but its body: continuation, length, flatbuffer,
 * padding to 8 bytes. */
void arrow_put_schema(struct buf *out, const struct arrow_column *columns, size_t count);
/* dictionary < 0: a record batch, else the id of a dictionary. */
void arrow_put_batch(struct buf *out, int64_t dictionary, int64_t rows,
                     const struct arrow_node *nodes, size_t node_count,
                     const struct arrow_buffer *buffers, size_t buffer_count, int64_t body);
/* The flatbuffer of the footer, its length and the magic word. */
void arrow_put_footer(struct buf *out, const struct arrow_column *columns, size_t count,
                      const struct arrow_block *dictionaries, size_t dictionary_count,
                      const struct arrow_block *batches, size_t batch_count);

#endif
