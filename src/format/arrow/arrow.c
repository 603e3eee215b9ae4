/* arrow.c - writes typed columns as an Arrow IPC file or stream; metadata.c writes the metadata. */
#include "format/arrow/metadata.h"
#include "dftracerd/vec.h"

#include <stdlib.h>
#include <string.h>

/* A message body is written piece by piece, because its layout is known in advance. */
struct arrow {
    const struct arrow_column *columns;
    size_t count;
    bool file;
    uint64_t offset; /* bytes written so far */
    struct arrow_node *nodes;
    struct arrow_buffer *buffers; /* two for each column */
    struct arrow_block *dictionaries;
    size_t dictionary_count;
    VEC(struct arrow_block) batches;
};

/* Below this number of bytes, copying is faster than allocating memory for the next values. */
enum { GIVEN_MIN = 65536 };

static size_t padded(size_t bytes)
{
    return (bytes + 7) & ~(size_t)7;
}

static void put_padded(struct buf *out, const void *data, size_t bytes)
{
    buf_append(out, data, bytes);
    buf_append(out, "\0\0\0\0\0\0\0", padded(bytes) - bytes);
}

int arrow_new(const struct arrow_column *columns, size_t count, bool file, struct arrow **ret)
{
    struct arrow *a = calloc(1, sizeof(*a));

    if (!a)
        return -ENOMEM;
    a->columns = columns;
    a->count = count;
    a->file = file;
    a->nodes = calloc(count + 1, sizeof(*a->nodes));
    a->buffers = calloc(2 * count + 3, sizeof(*a->buffers));
    a->dictionaries = calloc(count + 1, sizeof(*a->dictionaries));
    if (!a->nodes || !a->buffers || !a->dictionaries) {
        arrow_free(a);
        return -ENOMEM;
    }
    *ret = a;
    return 0;
}

void arrow_free(struct arrow *a)
{
    if (!a)
        return;
    free(a->nodes);
    free(a->buffers);
    free(a->dictionaries);
    vec_done(&a->batches);
    free(a);
}

void arrow_begin(struct arrow *a, struct buf *out)
{
    size_t start = out->len;

    if (a->file)
        buf_append(out, "ARROW1\0\0", 8);
    arrow_put_schema(out, a->columns, a->count);
    a->offset = out->len - start;
}

/* ---- dictionaries ---------------------------------------------------------------------------- */

static void put_text(struct buf *out, struct text t)
{
    int32_t code;

    if (text_is_utf8(t)) {
        buf_text(out, t);
        return;
    }
    while (t.len) {
        size_t n = text_utf8_next(t, &code);
        if (code < 0)
            buf_puts(out, "\xef\xbf\xbd");
        else
            buf_append(out, t.ptr, n);
        t = (struct text){t.ptr + n, t.len - n};
    }
}

int arrow_dictionary(struct arrow *a, size_t column, struct text (*text)(void *arg, uint32_t i),
                     void *arg, uint32_t count, struct buf *out)
{
    struct buf texts = {0}, offsets = {0};
    size_t start = out->len;

    for (uint32_t i = 0; i <= count && texts.len <= INT32_MAX; i++) {
        int32_t at = (int32_t)texts.len;
        buf_append(&offsets, &at, sizeof(at));
        if (i < count)
            put_text(&texts, text(arg, i));
    }
    int rc = offsets.error ? offsets.error : texts.error;
    rc = rc == 0 && texts.len > INT32_MAX ? ERR_MEMORY_LIMIT : rc;
    if (rc == 0) {
        struct arrow_node node = {count, 0};
        int64_t index = (int64_t)padded(offsets.len), body = index + (int64_t)padded(texts.len);
        struct arrow_buffer buffers[3] = {
            {0, 0}, {0, (int64_t)offsets.len}, {index, (int64_t)texts.len}};
        arrow_put_batch(out, (int64_t)column, count, &node, 1, buffers, 3, body);
        a->dictionaries[a->dictionary_count++] =
            (struct arrow_block){(int64_t)a->offset, (int32_t)(out->len - start), 0, body};
        put_padded(out, offsets.data, offsets.len);
        put_padded(out, texts.data, texts.len);
        a->offset += out->len - start;
    }
    buf_done(&texts);
    buf_done(&offsets);
    return rc < 0 ? rc : out->error;
}

/* ---- batches --------------------------------------------------------------------------------- */

int arrow_batch(struct arrow *a, const struct arrow_data *data, size_t rows, struct buf *out)
{
    size_t start = out->len;
    int64_t body = 0;

    for (size_t i = 0; i < a->count; i++) {
        enum arrow_type type = a->columns[i].type;
        struct arrow_buffer *b = &a->buffers[2 * i];
        size_t bits = data[i].nulls ? (rows + 7) / 8 : 0;
        a->nodes[i] = (struct arrow_node){(int64_t)rows, (int64_t)data[i].nulls};
        b[0] = (struct arrow_buffer){body, (int64_t)bits};
        body += (int64_t)padded(bits);
        size_t bytes = type == ARROW_BOOL ? (rows + 7) / 8 : rows * (type == ARROW_TEXT ? 4 : 8);
        b[1] = (struct arrow_buffer){body, (int64_t)bytes};
        body += (int64_t)padded((size_t)b[1].length);
    }
    arrow_put_batch(out, -1, (int64_t)rows, a->nodes, a->count, a->buffers, 2 * a->count, body);
    int rc = a->file
                 ? vec_push(&a->batches, (struct arrow_block){(int64_t)a->offset,
                                                              (int32_t)(out->len - start), 0, body})
                 : 0;
    a->offset += out->len - start + (size_t)body;
    return rc < 0 ? rc : out->error;
}

void arrow_batch_column(struct arrow *a, size_t column, const struct arrow_data *data,
                        struct buf *out)
{
    const struct arrow_buffer *b = &a->buffers[2 * column];

    if (b[0].length)
        put_padded(out, data->valid, (size_t)b[0].length);
    put_padded(out, data->values, (size_t)b[1].length);
}

bool arrow_batch_column_given(struct arrow *a, size_t column, void **values, size_t size,
                              struct buf *out)
{
    const struct arrow_buffer *b = &a->buffers[2 * column];
    size_t length = (size_t)b[1].length, bytes = padded(length);

    if (out->len || out->error || b[0].length || bytes < GIVEN_MIN || bytes > size)
        return false;
    void *other = out->cap >= size ? out->data : malloc(size);
    if (!other)
        return false;
    if (other != out->data)
        free(out->data);
    memset((char *)*values + length, 0, bytes - length);
    *out = (struct buf){.data = *values, .len = bytes, .cap = size};
    *values = other;
    return true;
}

void arrow_end(struct arrow *a, struct buf *out)
{
    buf_append(out, "\xff\xff\xff\xff\0\0\0", 8);
    if (a->file)
        arrow_put_footer(out, a->columns, a->count, a->dictionaries, a->dictionary_count,
                         a->batches.at, a->batches.count);
}
