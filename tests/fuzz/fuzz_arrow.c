/* module: format */
/* fuzz_arrow.c - columns, dictionaries and batches of any shape and content written as Arrow IPC,
 * and read back by a reader of this file, which knows flatbuffers from their specification only:
 * types, counts, nulls, offsets within the body, and each value.
 *
 * Input: number and types of columns, file or stream; then for each batch its rows and, column by
 * column, which are null, and the values.
 */
#include "dftracerd/format.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { COLUMNS_MAX = 6, ROWS_MAX = 70, BATCHES_MAX = 4, TEXTS_MAX = 9 };

/* ---- the input ------------------------------------------------------------------------------- */

struct input {
    const uint8_t *data;
    size_t size;
};

static uint8_t take(struct input *in)
{
    uint8_t byte = in->size ? *in->data : 0;

    in->data += in->size > 0;
    in->size -= in->size > 0;
    return byte;
}

static void take_some(struct input *in, void *to, size_t len)
{
    size_t n = in->size < len ? in->size : len;

    memset(to, 0, len);
    if (n)
        memcpy(to, in->data, n);
    in->data += n;
    in->size -= n;
}

struct filled {
    struct arrow_column told;
    uint32_t texts;
    char text[TEXTS_MAX][6];
    uint8_t text_len[TEXTS_MAX];
    uint64_t values[ROWS_MAX]; /* also int32_t, and bits */
    uint8_t valid[ROWS_MAX / 8 + 8];
};

struct read_table {
    struct filled columns[COLUMNS_MAX];
    struct arrow_column told[COLUMNS_MAX];
    size_t count;
};

static const size_t widths[] = {8, 8, 8, 0, 4}; /* bytes of a value by arrow_type; 0: a bit */

static size_t bytes_of(enum arrow_type type, size_t rows)
{
    return widths[type] ? rows * widths[type] : (rows + 7) / 8;
}

/* ---- flatbuffers, read by their rules -------------------------------------------------------- */

struct flat {
    const char *base;
    size_t len;
};

static uint64_t read_at(struct flat f, size_t at, size_t size)
{
    uint64_t value = 0;

    assert(at <= f.len && size <= f.len - at);
    memcpy(&value, f.base + at, size);
    return value;
}

static size_t root(struct flat f)
{
    return (size_t)read_at(f, 0, 4);
}

/* Where a field of a table stands, 0 when it is not there. */
static size_t field(struct flat f, size_t table, unsigned slot)
{
    size_t vtable = table - (size_t)(int64_t)(int32_t)read_at(f, table, 4);

    if (4 + 2 * slot + 2 > read_at(f, vtable, 2))
        return 0;
    size_t offset = (size_t)read_at(f, vtable + 4 + 2 * slot, 2);
    assert(offset == 0 || offset < read_at(f, vtable + 2, 2));
    return offset ? table + offset : 0;
}

static size_t follow(struct flat f, size_t at)
{
    assert(at);
    return at + (size_t)read_at(f, at, 4);
}

/* ---- messages -------------------------------------------------------------------------------- */

struct message {
    struct flat head;
    size_t table; /* of its header */
    unsigned type;
    const char *body;
    size_t body_len;
};

/* False at the end of the stream. */
static bool next_message(struct flat all, size_t *at, struct message *m)
{
    assert(*at % 8 == 0 && read_at(all, *at, 4) == 0xffffffff);
    size_t len = (size_t)read_at(all, *at + 4, 4);
    if (len == 0)
        return false;
    assert(len % 8 == 0 && *at + 8 + len <= all.len);
    m->head = (struct flat){all.base + *at + 8, len};
    size_t message = root(m->head), type = field(m->head, message, 1),
           body = field(m->head, message, 3);
    assert(type);
    m->type = (unsigned)read_at(m->head, type, 1);
    m->table = follow(m->head, field(m->head, message, 2));
    m->body = m->head.base + len;
    m->body_len = body ? (size_t)read_at(m->head, body, 8) : 0;
    assert(m->body_len % 8 == 0 && *at + 8 + len + m->body_len <= all.len);
    *at += 8 + len + m->body_len;
    return true;
}

struct batch {
    size_t rows, nodes, buffers; /* the latter: where the arrays of structs begin */
    uint64_t node_count, buffer_count;
};

static struct batch read_batch(const struct message *m, size_t table)
{
    struct batch b = {0};
    size_t rows = field(m->head, table, 0);

    b.rows = rows ? (size_t)read_at(m->head, rows, 8) : 0;
    b.nodes = follow(m->head, field(m->head, table, 1));
    b.buffers = follow(m->head, field(m->head, table, 2));
    b.node_count = read_at(m->head, b.nodes, 4);
    b.buffer_count = read_at(m->head, b.buffers, 4);
    return b;
}

/* Bytes of a buffer of the body. */
static struct text buffer_of(const struct message *m, const struct batch *b, unsigned i)
{
    assert(i < b->buffer_count);
    size_t at = b->buffers + 4 + (size_t)16 * i;
    uint64_t offset = read_at(m->head, at, 8), len = read_at(m->head, at + 8, 8);
    assert(offset % 8 == 0 && offset <= m->body_len && len <= m->body_len - offset);
    return (struct text){m->body + offset, (size_t)len};
}

static bool bit(const void *bits, size_t i)
{
    return ((const uint8_t *)bits)[i / 8] >> (i % 8) & 1;
}

static void check_column(const struct message *m, const struct batch *b, unsigned i,
                         const struct filled *c, size_t nulls)
{
    size_t node = b->nodes + 4 + (size_t)16 * i;
    struct text valid = buffer_of(m, b, 2 * i), values = buffer_of(m, b, 2 * i + 1);

    assert(i < b->node_count && read_at(m->head, node, 8) == b->rows);
    assert(read_at(m->head, node + 8, 8) == nulls);
    assert(values.len >= bytes_of(c->told.type, b->rows));
    assert(nulls == 0 || valid.len >= (b->rows + 7) / 8);
    for (size_t r = 0; r < b->rows; r++) {
        bool there = nulls == 0 || bit(valid.ptr, r);
        size_t width = widths[c->told.type];
        assert(there == (nulls == 0 || bit(c->valid, r)));
        if (there && width)
            assert(memcmp(values.ptr + r * width, (const char *)c->values + r * width, width) == 0);
        else if (there)
            assert(bit(values.ptr, r) == bit(c->values, r));
    }
}

/* ---- writing and reading --------------------------------------------------------------------- */

static void make_columns(struct input *in, struct read_table *t)
{
    static const char *const names[COLUMNS_MAX] = {"a", "", "c\"", "d\n", "\xff\xfe", "long name"};

    t->count = take(in) % (COLUMNS_MAX + 1);
    for (size_t i = 0; i < t->count; i++) {
        struct filled *c = &t->columns[i];
        uint8_t kind = take(in);
        c->told =
            (struct arrow_column){names[i], (enum arrow_type)(kind % 5), kind & 64 ? "us" : NULL};
        t->told[i] = c->told;
        c->texts = c->told.type == ARROW_TEXT ? 1 + take(in) % TEXTS_MAX : 0;
        for (uint32_t k = 0; k < c->texts; k++) {
            c->text_len[k] = take(in) % 6;
            take_some(in, c->text[k], c->text_len[k]);
        }
    }
}

static struct text text_of_column(void *arg, uint32_t i)
{
    struct filled *c = arg;

    return (struct text){c->text[i], c->text_len[i]};
}

/* Fills the columns with what comes; the numbers of nulls. */
static void fill(struct input *in, struct read_table *t, size_t rows, size_t nulls[COLUMNS_MAX])
{
    for (size_t i = 0; i < t->count; i++) {
        struct filled *c = &t->columns[i];
        bool all = take(in) % 2;
        take_some(in, c->valid, sizeof c->valid);
        nulls[i] = 0;
        for (size_t r = 0; r < rows && !all; r++)
            nulls[i] += !bit(c->valid, r);
        take_some(in, c->values, bytes_of(c->told.type, rows));
        for (size_t r = 0; r < rows && c->texts; r++)
            ((uint32_t *)c->values)[r] %= c->texts;
    }
}

static void check_dictionary(const struct message *m, const struct filled *c)
{
    struct batch b = read_batch(m, follow(m->head, field(m->head, m->table, 1)));
    struct text offsets = buffer_of(m, &b, 1), bytes = buffer_of(m, &b, 2);

    assert(m->type == 2 && b.rows == c->texts && offsets.len >= 4 * (b.rows + 1));
    for (uint32_t i = 0; i < c->texts; i++) {
        int32_t from, to;
        memcpy(&from, offsets.ptr + 4 * (size_t)i, 4);
        memcpy(&to, offsets.ptr + 4 * (size_t)i + 4, 4);
        assert(from >= 0 && from <= to && (size_t)to <= bytes.len);
        struct text got = {bytes.ptr + from, (size_t)(to - from)},
                    text = {c->text[i], c->text_len[i]};
        assert(text_is_utf8(got) && (!text_is_utf8(text) || text_eq(got, text)));
    }
}

static void check_schema(const struct message *m, size_t columns)
{
    size_t fields = follow(m->head, field(m->head, m->table, 1));

    assert(m->type == 1 && read_at(m->head, fields, 4) == columns);
}

/* A batch is checked as soon as it is written, while its columns are there. */
static void write_batch(struct input *in, struct read_table *t, struct arrow *a, struct buf *out)
{
    size_t rows = take(in) % (ROWS_MAX + 1), nulls[COLUMNS_MAX], at = out->len;
    struct arrow_data data[COLUMNS_MAX];
    struct message m;

    fill(in, t, rows, nulls);
    for (size_t i = 0; i < t->count; i++)
        data[i] = (struct arrow_data){t->columns[i].values, t->columns[i].valid, nulls[i]};
    assert(arrow_batch(a, data, rows, out) == 0);
    for (size_t i = 0; i < t->count; i++)
        arrow_batch_column(a, i, &data[i], out);
    assert(!out->error && next_message((struct flat){out->data, out->len}, &at, &m));
    assert(at == out->len && m.type == 3);
    struct batch b = read_batch(&m, m.table);
    assert(b.rows == rows && b.node_count == t->count && b.buffer_count == 2 * t->count);
    for (unsigned i = 0; i < t->count; i++)
        check_column(&m, &b, i, &t->columns[i], nulls[i]);
}

static void write_all(struct input *in, struct read_table *t, bool file, struct buf *out)
{
    struct arrow *a;
    struct message m;
    unsigned batches = take(in) % (BATCHES_MAX + 1);
    size_t at;

    assert(arrow_new(t->told, t->count, file, &a) == 0);
    arrow_begin(a, out);
    at = file ? 8 : 0;
    assert(!file || memcmp(out->data, "ARROW1\0\0", 8) == 0);
    assert(next_message((struct flat){out->data, out->len}, &at, &m));
    check_schema(&m, t->count);
    for (size_t i = 0; i < t->count; i++) {
        if (t->columns[i].told.type != ARROW_TEXT)
            continue;
        at = out->len;
        assert(arrow_dictionary(a, i, text_of_column, &t->columns[i], t->columns[i].texts, out) ==
               0);
        assert(next_message((struct flat){out->data, out->len}, &at, &m) && at == out->len);
        check_dictionary(&m, &t->columns[i]);
    }
    for (unsigned i = 0; i < batches; i++)
        write_batch(in, t, a, out);
    at = out->len;
    arrow_end(a, out);
    assert(!next_message((struct flat){out->data, out->len}, &at, &m));
    assert(!file || memcmp(out->data + out->len - 6, "ARROW1", 6) == 0);
    arrow_free(a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct input in = {size ? data : (const uint8_t *)"", size};
    struct read_table *t = calloc(1, sizeof *t);
    struct buf out = {0};
    bool file = take(&in) % 2;

    assert(t);
    make_columns(&in, t);
    write_all(&in, t, file, &out);
    assert(!out.error);
    buf_done(&out);
    free(t);
    return 0;
}
