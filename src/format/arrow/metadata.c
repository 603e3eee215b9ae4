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

/* A field of a table: a scalar, or (size 0) the place of a distance. `at`: its place. */
struct field {
    unsigned slot, size;
    uint64_t value;
    size_t at;
};

static size_t here(const struct flat *f)
{
    return f->out->len - f->start;
}

static void put(struct flat *f, uint64_t value, unsigned size)
{
    buf_append(f->out, &value, size);
}

/* Zeros, until the place is `rest` beyond a multiple of `to`. */
static void align(struct flat *f, size_t to, size_t rest)
{
    while (here(f) % to != rest && !f->out->error)
        buf_putc(f->out, 0);
}

/* The distance at `at` leads to `target`. */
static void lead(struct flat *f, size_t at, size_t target)
{
    uint32_t distance = (uint32_t)(target - at);

    if (!f->out->error)
        memcpy(f->out->data + f->start + at, &distance, sizeof(distance));
}

/* Fields by falling size behind the distance to the vtable: all are aligned when the first is. */
static size_t table(struct flat *f, struct field *fields, size_t count)
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
    align(f, 8, (8 + 4 - vtable[0] % 8) % 8);
    buf_append(f->out, vtable, vtable[0]);
    size_t start = here(f);
    put(f, vtable[0], 4);
    char *room = buf_reserve(f->out, at - 4u);
    f->out->len += room ? at - 4u : 0;
    for (size_t i = 0; i < count && room; i++) {
        unsigned offset = vtable[2 + fields[i].slot];
        fields[i].at = start + offset;
        memcpy(room + offset - 4, &fields[i].value, fields[i].size ? fields[i].size : 4);
    }
    return start;
}

static size_t vector(struct flat *f, size_t count, size_t alignment)
{
    align(f, alignment < 4 ? 4 : alignment, alignment == 8 ? 4 : 0);
    size_t start = here(f);
    put(f, count, 4);
    return start;
}

static size_t structs(struct flat *f, const void *items, size_t size, size_t count)
{
    size_t start = vector(f, count, 8);

    buf_append(f->out, items, size * count);
    return start;
}

static size_t string(struct flat *f, struct text t)
{
    size_t start = vector(f, t.len, 4);

    buf_text(f->out, t);
    buf_putc(f->out, 0);
    return start;
}

/* Room for `count` distances; the first is 4 bytes behind the start. */
static size_t distances(struct flat *f, size_t count)
{
    size_t start = vector(f, count, 4);

    for (size_t i = 0; i < count; i++)
        put(f, 0, 4);
    return start;
}

/* ---- the schema ------------------------------------------------------------------------------ */

static size_t type_int(struct flat *f, uint32_t bits, bool is_signed)
{
    struct field fields[] = {{0, 4, bits}, {1, 1, is_signed}};

    return table(f, fields, 2);
}

static size_t put_type(struct flat *f, enum arrow_type type)
{
    struct field precision = {0, 2, FLOAT_DOUBLE};

    switch (type) {
    case ARROW_INT64:
    case ARROW_UINT64:
        return type_int(f, 64, type == ARROW_INT64);
    case ARROW_DOUBLE:
        return table(f, &precision, 1);
    default:
        return table(f, NULL, 0);
    }
}

static size_t put_unit(struct flat *f, const char *unit)
{
    size_t start = distances(f, 1);
    struct field fields[] = {{0, 0}, {1, 0}};

    lead(f, start + 4, table(f, fields, 2));
    lead(f, fields[0].at, string(f, TEXT("unit")));
    lead(f, fields[1].at, string(f, text_of(unit)));
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
    size_t start = table(f, fields, count);
    lead(f, fields[NAME].at, string(f, text_of(c->name)));
    lead(f, fields[TYPE].at, put_type(f, c->type));
    lead(f, fields[CHILDREN].at, distances(f, 0));
    if (dictionary) { /* the texts of the column as int32, in a dictionary of its own */
        struct field encoding[] = {{0, 8, id}, {1, 0}};
        lead(f, fields[dictionary].at, table(f, encoding, 2));
        lead(f, encoding[1].at, type_int(f, 32, true));
    }
    if (unit)
        lead(f, fields[unit].at, put_unit(f, c->unit));
    return start;
}

static size_t schema(struct flat *f, const struct arrow_column *columns, size_t count)
{
    struct field fields[] = {{0, 2, 0}, {1, 0}};
    size_t start = table(f, fields, 2), list = distances(f, count);

    lead(f, fields[1].at, list);
    for (size_t i = 0; i < count; i++)
        lead(f, list + 4 + 4 * i, put_field(f, &columns[i], i));
    return start;
}

/* ---- messages -------------------------------------------------------------------------------- */

/* Begins an encapsulated message; the distance to its header is at *ret_header. */
static struct flat message(struct buf *out, unsigned type, int64_t body, size_t *ret_header)
{
    struct field fields[] = {{0, 2, METADATA_V5}, {1, 1, type}, {2, 0}, {3, 8, (uint64_t)body}};

    buf_append(out, "\xff\xff\xff\xff\0\0\0", 8);
    struct flat f = {out, out->len};
    put(&f, 0, 4);
    lead(&f, 0, table(&f, fields, 4));
    *ret_header = fields[2].at;
    return f;
}

static void message_end(struct flat *f)
{
    align(f, 8, 0);
    uint32_t length = (uint32_t)here(f);
    if (!f->out->error)
        memcpy(f->out->data + f->start - 4, &length, sizeof(length));
}

void arrow_put_schema(struct buf *out, const struct arrow_column *columns, size_t count)
{
    size_t header;
    struct flat f = message(out, HEADER_SCHEMA, 0, &header);

    lead(&f, header, schema(&f, columns, count));
    message_end(&f);
}

void arrow_put_batch(struct buf *out, int64_t dictionary, int64_t rows,
                     const struct arrow_node *nodes, size_t node_count,
                     const struct arrow_buffer *buffers, size_t buffer_count, int64_t body)
{
    struct field of[] = {{0, 8, (uint64_t)dictionary}, {1, 0}};
    struct field fields[] = {{0, 8, (uint64_t)rows}, {1, 0}, {2, 0}};
    size_t header;
    struct flat f =
        message(out, dictionary < 0 ? HEADER_RECORDS : HEADER_DICTIONARY, body, &header);

    if (dictionary >= 0) {
        lead(&f, header, table(&f, of, 2));
        header = of[1].at;
    }
    lead(&f, header, table(&f, fields, 3));
    lead(&f, fields[1].at, structs(&f, nodes, sizeof(*nodes), node_count));
    lead(&f, fields[2].at, structs(&f, buffers, sizeof(*buffers), buffer_count));
    message_end(&f);
}

void arrow_put_footer(struct buf *out, const struct arrow_column *columns, size_t count,
                      const struct arrow_block *dictionaries, size_t dictionary_count,
                      const struct arrow_block *batches, size_t batch_count)
{
    struct field fields[] = {{0, 2, METADATA_V5}, {1, 0}, {2, 0}, {3, 0}};
    struct flat f = {out, out->len};

    put(&f, 0, 4);
    lead(&f, 0, table(&f, fields, 4));
    lead(&f, fields[1].at, schema(&f, columns, count));
    lead(&f, fields[2].at, structs(&f, dictionaries, sizeof(*dictionaries), dictionary_count));
    lead(&f, fields[3].at, structs(&f, batches, sizeof(*batches), batch_count));
    put(&f, here(&f), 4);
    buf_append(out, "ARROW1", 6);
}
