/* aggregate_rows.c - rows of /aggregate, block by block. */
#include "format/report/aggregate_rows.h"
#include "format/writer/row_writer.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { CODES_MOST = 1 << 14, WORDS = AGGREGATE_BLOCK / 64 }; /* codes of a column */

/* A column of the block at hand. */
struct block_column {
    const struct aggregate *aggregate;
    size_t number;
    struct aggregate_vector vector;
    int64_t numbers[AGGREGATE_BLOCK];
    uint64_t valid[WORDS];
};
struct aggregate_rows {
    struct aggregate *aggregate;
    size_t count;
    struct row_names names;
    struct row_writer *writer;
    struct charge charge;
    struct block_column *columns;
    struct vector *vectors;
    bool *left_out; /* by column: not needed as values */
    bool begun;
};

/* ---- making ---------------------------------------------------------------------------------- */

static int prepare(struct aggregate_rows *r, enum format format, bool pretty)
{
    const struct aggregate_column *columns;
    int rc;

    r->count = aggregate_columns(r->aggregate, &columns);
    rc = charge_add(&r->charge, r->count * sizeof(*r->columns));
    rc = rc < 0 ? rc : row_names_init(&r->names, format, pretty, r->count);
    if (rc < 0)
        return rc;
    r->columns = malloc((r->count + 1) * sizeof(*r->columns));
    r->vectors = calloc(r->count + 1, sizeof(*r->vectors));
    r->left_out = calloc(r->count + 1, sizeof(*r->left_out));
    if (!r->columns || !r->vectors || !r->left_out)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++) {
        struct block_column *c = &r->columns[i];
        c->aggregate = r->aggregate;
        c->number = i;
        c->vector.i = c->numbers;
        row_names_add(&r->names, i, columns[i].name, columns[i].optional);
    }
    aggregate_leave_out(r->aggregate, r->left_out);
    rc = row_names_end(&r->names);
    return rc < 0 ? rc
                  : row_writer_new(&r->names, r->count * CODES_MOST, r->charge.budget, &r->writer);
}

int aggregate_rows_new(struct aggregate *a, enum format format, bool pretty, struct budget *budget,
                       struct aggregate_rows **ret)
{
    struct aggregate_rows *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->aggregate = a;
    r->charge.budget = budget;
    int rc = prepare(r, format, pretty);
    if (rc < 0)
        aggregate_rows_free(r);
    else
        *ret = r;
    return rc;
}

void aggregate_rows_free(struct aggregate_rows *r)
{
    if (!r)
        return;
    if (r->left_out)
        aggregate_leave_out(r->aggregate, NULL);
    row_writer_free(r->writer);
    row_names_done(&r->names);
    charge_done(&r->charge);
    free(r->columns);
    free(r->vectors);
    free(r->left_out);
    free(r);
}

/* ---- vectors --------------------------------------------------------------------------------- */

static int key_value(void *arg, uint64_t key, struct value *ret)
{
    const struct block_column *c = arg;

    return aggregate_key_value(c->aggregate, c->number, key, ret);
}

static int class_value(void *arg, uint64_t key, struct value *ret)
{
    static const char *const classes[] = {"event", "profile", "system"};
    (void)arg;

    *ret = (struct value){.type = VALUE_TEXT, .text = text_of(classes[key])};
    return 0;
}

static const uint64_t *valid_bits(struct block_column *c, size_t n)
{
    if (!c->vector.nulls)
        return NULL;
    memset(c->valid, 0, sizeof(c->valid));
    for (size_t i = 0; i < n; i++)
        c->valid[i / 64] |= (uint64_t)!c->vector.null[i] << i % 64;
    return c->valid;
}

static struct vector codes_of(struct block_column *c, uint64_t part)
{
    struct vector v = {
        .kind = VECTOR_CODE, .codes = c->vector.ranks, .dictionary = part + 1, .arg = c};

    v.value = key_value;
    v.code_count = aggregate_part_keys(c->aggregate, part, c->number, &v.keys);
    return v;
}

static struct vector classes_of(struct block_column *c, size_t n)
{
    static const uint64_t keys[] = {0, 1, 2};

    for (size_t i = 0; i < n; i++)
        c->vector.ranks[i] = (uint32_t)c->numbers[i];
    return (struct vector){.kind = VECTOR_CODE,
                           .codes = c->vector.ranks,
                           .keys = keys,
                           .code_count = 3,
                           .value = class_value};
}

static struct vector vector_of(struct block_column *c, const struct aggregate_block *b)
{
    static const enum vector_kind kinds[] = {[AGGREGATE_INT] = VECTOR_INT,
                                             [AGGREGATE_UINT] = VECTOR_UINT,
                                             [AGGREGATE_WHOLE_US] = VECTOR_US,
                                             [AGGREGATE_NS] = VECTOR_NS};

    if (c->vector.kind == AGGREGATE_RANK)
        return codes_of(c, b->part);
    if (c->vector.kind == AGGREGATE_CLASS)
        return classes_of(c, b->count);
    return (struct vector){
        .kind = kinds[c->vector.kind], .i = c->numbers, .valid = valid_bits(c, b->count)};
}

/* All columns of the block; those that are no vectors as values. */
static int fill_vectors(struct aggregate_rows *r, const struct aggregate_block *b, struct err *err)
{
    const struct value *values = NULL;
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < r->count; i++) {
        struct block_column *c = &r->columns[i];
        r->left_out[i] = aggregate_block_column(r->aggregate, i, &c->vector);
        if (r->left_out[i])
            r->vectors[i] = vector_of(c, b);
        all &= r->left_out[i];
    }
    if (!all)
        rc = aggregate_block_values(r->aggregate, err, &values);
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        if (!r->left_out[i])
            r->vectors[i] =
                (struct vector){.kind = VECTOR_VALUE, .values = values + i, .stride = r->count};
    }
    return rc;
}

/* ---- rows ------------------------------------------------------------------------------------ */

int aggregate_rows_next(struct aggregate_rows *r, struct err *err, struct buf *out,
                        size_t *ret_rows)
{
    struct aggregate_block b;
    bool json = r->names.format == FORMAT_JSON, more = r->begun;
    int rc = aggregate_next_block(r->aggregate, err, &b);

    if (!r->begun && r->names.format == FORMAT_CSV)
        buf_append(out, r->names.header.data, r->names.header.len);
    r->begun = true;
    *ret_rows = 0;
    rc = rc < 0 ? rc : fill_vectors(r, &b, err);
    if (rc < 0)
        return rc;
    struct row_block rows = {.vectors = r->vectors,
                             .count = (uint32_t)b.count,
                             .rows_to_come = b.count + aggregate_rows_least(r->aggregate),
                             .most = SIZE_MAX};
    if (json && more)
        buf_putc(out, ',');
    rc = row_writer_write(r->writer, &rows, out, NULL);
    if (json && rc == 0)
        out->len--; /* the comma behind the last row */
    *ret_rows = b.count;
    return rc;
}
