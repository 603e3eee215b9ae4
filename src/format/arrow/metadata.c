/* metadata.c - flatbuffers of Arrow IPC: schema, dictionary and record batches, footer. */
#include "format/arrow/metadata.h"

#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are written as they are");
_Static_assert(sizeof(struct arrow_block) == 24, "as File.fbs has it");

enum { METADATA_V5 = 4 };
enum { HEADER_SCHEMA = 1, HEADER_DICTIONARY = 2, HEADER_RECORDS = 3 };
enum { TYPE_INT = 2, TYPE_FLOAT = 3, TYPE_UTF8 = 5, TYPE_BOOL = 6 };
enum { FLOAT_DOUBLE = 2 };

/* ---- flatbuffers ----------------------------------------------------------------------------- */

struct flat {
    struct buf *out;
    size_t start;
};

/* A field of a table: a scalar, or (size 0) an offset. `at` is its position. */
struct field {
    unsigned slot, size;
    uint64_t value;
    size_t at;
};

static size_t position(const struct flat *f)
{
    return f->out->len - f->start;
}

static void put_number(struct flat *f, uint64_t value, unsigned size)
{
    buf_append(f->out, &value, size);
}

/* Appends zeros until the position is `rest` bytes after a multiple of `to`. */
static void put_padding(struct flat *f, size_t to, size_t rest)
{
    while (position(f) % to != rest && !f->out->error)
        buf_putc(f->out, 0);
}

/* Stores the offset from `at` to `target`. */
static void set_offset(struct flat *f, size_t at, size_t target)
{
    uint32_t distance = (uint32_t)(target - at);

    if (!f->out->error)
        memcpy(f->out->data + f->start + at, &distance, sizeof(distance));
}

/* Writes the fields by falling size after the offset to the vtable: if the first is aligned, all
 * are. */
static size_t put_table(struct flat *f, struct field *fields, size_t count)
{
    uint16_t vtable[10] = {0}, slots = 0, at = 4;

    for (unsigned size = 8; size; size /= 2) {
        for (size_t i = 0; i < count; i++) {
            unsigned own = fields[i].size ? fields[i].size : 4;
            if (own != size)
                continue;
            vtable[2 + fields[i].slot] = at;
            at = (uint16_t)(at + size);
            slots = fields[i].slot + 1 > slots ? (uint16_t)(fields[i].slot + 1) : slots;
        }
    }
    vtable[0] = (uint16_t)(4 + 2 * slots);
    vtable[1] = at;
    put_padding(f, 8, (8 + 4 - vtable[0] % 8) % 8);
    buf_append(f->out, vtable, vtable[0]);
    size_t start = position(f);
    put_number(f, vtable[0], 4);
    char *to = buf_reserve(f->out, at - 4u);
    f->out->len += to ? at - 4u : 0;
    for (size_t i = 0; i < count && to; i++) {
        unsigned offset = vtable[2 + fields[i].slot];
        fields[i].at = start + offset;
        memcpy(to + offset - 4, &fields[i].value, fields[i].size ? fields[i].size : 4);
    }
    return start;
}

static size_t put_vector(struct flat *f, size_t count, size_t alignment)
{
    put_padding(f, alignment < 4 ? 4 : alignment, alignment == 8 ? 4 : 0);
    size_t start = position(f);
    put_number(f, count, 4);
    return start;
}

static size_t put_structs(struct flat *f, const void *items, size_t size, size_t count)
{
    size_t start = put_vector(f, count, 8);

    buf_append(f->out, items, size * count);
    return start;
}

static size_t put_string(struct flat *f, struct text t)
{
    size_t start = put_vector(f, t.len, 4);

    buf_text(f->out, t);
    buf_putc(f->out, 0);
    return start;
}

/* Reserves space for `count` offsets; the first is 4 bytes after the start. */
static size_t reserve_offsets(struct flat *f, size_t count)
{
    size_t start = put_vector(f, count, 4);

    for (size_t i = 0; i < count; i++)
        put_number(f, 0, 4);
    return start;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static size_t put_int_type(struct flat *f, uint32_t bits, bool is_signed)
{
    struct field fields[] = {{0, 4, bits}, {1, 1, is_signed}};

    return put_table(f, fields, 2);
}

static size_t put_type(struct flat *f, enum arrow_type type)
{
    struct field precision = {0, 2, FLOAT_DOUBLE};

    switch (type) {
    case ARROW_INT64:
    case ARROW_UINT64:
        return put_int_type(f, 64, type == ARROW_INT64);
    case ARROW_DOUBLE:
        return put_table(f, &precision, 1);
    default:
        return put_table(f, NULL, 0);
    }
}

static size_t put_unit(struct flat *f, const char *unit)
{
    size_t start = reserve_offsets(f, 1);
    struct field fields[] = {{0, 0}, {1, 0}};

    set_offset(f, start + 4, put_table(f, fields, 2));
    set_offset(f, fields[0].at, put_string(f, TEXT("unit")));
    set_offset(f, fields[1].at, put_string(f, text_of(unit)));
    return start;
}

static size_t put_field(struct flat *f, const struct arrow_column *c, size_t id)
{
    static const uint8_t types[] = {[ARROW_INT64] = TYPE_INT,
                                    [ARROW_UINT64] = TYPE_INT,
                                    [ARROW_DOUBLE] = TYPE_FLOAT,
                                    [ARROW_BOOL] = TYPE_BOOL,
                                    [ARROW_TEXT] = TYPE_UTF8};
    enum { NAME, NULLABLE, TYPE_TYPE, TYPE, CHILDREN, DICTIONARY, METADATA };
    struct field fields[7] = {[NAME] = {0, 0},
                              [NULLABLE] = {1, 1, 1},
                              [TYPE_TYPE] = {2, 1, types[c->type]},
                              [TYPE] = {3, 0},
                              [CHILDREN] = {5, 0}};
    size_t count = 5, dictionary = 0, unit = 0;

    if (c->type == ARROW_TEXT)
        fields[dictionary = count++] = (struct field){4, 0};
    if (c->unit)
        fields[unit = count++] = (struct field){6, 0};
    size_t start = put_table(f, fields, count);
    set_offset(f, fields[NAME].at, put_string(f, text_of(c->name)));
    set_offset(f, fields[TYPE].at, put_type(f, c->type));
    set_offset(f, fields[CHILDREN].at, reserve_offsets(f, 0));
    if (dictionary) { /* the texts of the column as int32, in a dictionary of its own */
        struct field encoding[] = {{0, 8, id}, {1, 0}};
        set_offset(f, fields[dictionary].at, put_table(f, encoding, 2));
        set_offset(f, encoding[1].at, put_int_type(f, 32, true));
    }
    if (unit)
        set_offset(f, fields[unit].at, put_unit(f, c->unit));
    return start;
}

static size_t put_schema(struct flat *f, const struct arrow_column *columns, size_t count)
{
    struct field fields[] = {{0, 2, 0}, {1, 0}};
    size_t start = put_table(f, fields, 2), list = reserve_offsets(f, count);

    set_offset(f, fields[1].at, list);
    for (size_t i = 0; i < count; i++)
        set_offset(f, list + 4 + 4 * i, put_field(f, &columns[i], i));
    return start;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Begins an encapsulated message. *ret_header: the position of the offset to its header. */
static struct flat begin_message(struct buf *out, unsigned type, int64_t body, size_t *ret_header)
{
    struct field fields[] = {{0, 2, METADATA_V5}, {1, 1, type}, {2, 0}, {3, 8, (uint64_t)body}};

    buf_append(out, "\xff\xff\xff\xff\0\0\0", 8);
    struct flat f = {out, out->len};
    put_number(&f, 0, 4);
    set_offset(&f, 0, put_table(&f, fields, 4));
    *ret_header = fields[2].at;
    return f;
}

static void end_message(struct flat *f)
{
    put_padding(f, 8, 0);
    uint32_t length = (uint32_t)position(f);
    if (!f->out->error)
        memcpy(f->out->data + f->start - 4, &length, sizeof(length));
}

void arrow_put_schema(struct buf *out, const struct arrow_column *columns, size_t count)
{
    size_t header;
    struct flat f = begin_message(out, HEADER_SCHEMA, 0, &header);

    set_offset(&f, header, put_schema(&f, columns, count));
    end_message(&f);
}

void arrow_put_batch(struct buf *out, int64_t dictionary, int64_t rows,
                     const struct arrow_node *nodes, size_t node_count,
                     const struct arrow_buffer *buffers, size_t buffer_count, int64_t body)
{
    struct field dictionary_fields[] = {{0, 8, (uint64_t)dictionary}, {1, 0}};
    struct field fields[] = {{0, 8, (uint64_t)rows}, {1, 0}, {2, 0}};
    size_t header;
    struct flat f =
        begin_message(out, dictionary < 0 ? HEADER_RECORDS : HEADER_DICTIONARY, body, &header);

    if (dictionary >= 0) {
        set_offset(&f, header, put_table(&f, dictionary_fields, 2));
        header = dictionary_fields[1].at;
    }
    set_offset(&f, header, put_table(&f, fields, 3));
    set_offset(&f, fields[1].at, put_structs(&f, nodes, sizeof(*nodes), node_count));
    set_offset(&f, fields[2].at, put_structs(&f, buffers, sizeof(*buffers), buffer_count));
    end_message(&f);
}

void arrow_put_footer(struct buf *out, const struct arrow_column *columns, size_t count,
                      const struct arrow_block *dictionaries, size_t dictionary_count,
                      const struct arrow_block *batches, size_t batch_count)
{
    struct field fields[] = {{0, 2, METADATA_V5}, {1, 0}, {2, 0}, {3, 0}};
    struct flat f = {out, out->len};

    put_number(&f, 0, 4);
    set_offset(&f, 0, put_table(&f, fields, 4));
    set_offset(&f, fields[1].at, put_schema(&f, columns, count));
    set_offset(&f, fields[2].at,
               put_structs(&f, dictionaries, sizeof(*dictionaries), dictionary_count));
    set_offset(&f, fields[3].at, put_structs(&f, batches, sizeof(*batches), batch_count));
    put_number(&f, position(&f), 4);
    buf_append(out, "ARROW1", 6);
}
