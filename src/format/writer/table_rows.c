/* table_rows.c - rows of a table, block by block. */
#include "format/writer/table_rows.h"
#include "format/writer/row_writer.h"

#include <errno.h>
#include <stdlib.h>

enum { CODES_MAX = 1 << 14 }; /* of a column */

struct table_rows {
    struct table *table;
    struct row_names names;
    struct row_writer *writer;
    struct charge charge;
    struct vector_memory *memory; /* by column */
    int64_t *numbers;             /* TABLE_BLOCK each */
    struct vector *vectors;
    bool *left_out; /* by column: not read as values */
    bool begun;
};

static int prepare_columns(struct table_rows *r, enum format format, bool pretty)
{
    const struct table *t = r->table;
    const size_t block = TABLE_BLOCK * sizeof(*r->numbers);
    int rc = charge_add(&r->charge, t->count * (sizeof(*r->memory) + block));

    rc = rc < 0 ? rc : row_names_init(&r->names, format, pretty, t->count);
    if (rc < 0)
        return rc;
    r->memory = malloc((t->count + 1) * sizeof(*r->memory));
    r->numbers = malloc((t->count + 1) * block);
    r->vectors = calloc(t->count + 1, sizeof(*r->vectors));
    r->left_out = calloc(t->count + 1, sizeof(*r->left_out));
    if (!r->memory || !r->numbers || !r->vectors || !r->left_out)
        return -ENOMEM;
    for (size_t i = 0; i < t->count; i++) {
        r->memory[i].i = r->numbers + i * TABLE_BLOCK;
        row_names_add(&r->names, i, t->columns[i].name, t->columns[i].optional);
    }
    r->table->left_out = r->left_out;
    rc = row_names_end(&r->names);
    return rc < 0 ? rc
                  : row_writer_new(&r->names, t->count * CODES_MAX, r->charge.budget, &r->writer);
}

int table_rows_new(struct table *t, enum format format, bool pretty, struct budget *budget,
                   struct table_rows **ret)
{
    struct table_rows *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->table = t;
    r->charge.budget = budget;
    int rc = prepare_columns(r, format, pretty);
    if (rc < 0)
        table_rows_free(r);
    else
        *ret = r;
    return rc;
}

void table_rows_free(struct table_rows *r)
{
    if (!r)
        return;
    r->table->left_out = NULL;
    row_writer_free(r->writer);
    row_names_done(&r->names);
    charge_done(&r->charge);
    free(r->memory);
    free(r->numbers);
    free(r->vectors);
    free(r->left_out);
    free(r);
}

/* Reads all columns of the block; those that are no vectors as values. */
static int read_block(struct table_rows *r, struct err *err)
{
    struct table *t = r->table;
    const struct value *values = NULL;
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < t->count; i++) {
        r->left_out[i] = t->ops->vector(t, i, &r->memory[i], &r->vectors[i]);
        all &= r->left_out[i];
    }
    if (!all)
        rc = t->ops->values(t, err, &values);
    for (size_t i = 0; i < t->count && rc == 0; i++) {
        if (!r->left_out[i])
            r->vectors[i] =
                (struct vector){.kind = VECTOR_VALUE, .values = values + i, .stride = t->count};
    }
    return rc;
}

int table_rows_next(struct table_rows *r, struct err *err, struct buf *out, size_t *ret_rows)
{
    struct table *t = r->table;
    struct table_block b;
    bool json = r->names.format == FORMAT_JSON, more = r->begun;
    int rc = t->ops->next(t, err, &b);

    if (!r->begun && r->names.format == FORMAT_CSV)
        buf_append(out, r->names.header.data, r->names.header.len);
    r->begun = true;
    *ret_rows = 0;
    rc = rc < 0 ? rc : read_block(r, err);
    if (rc < 0)
        return rc;
    struct row_block rows = {.vectors = r->vectors,
                             .count = (uint32_t)b.count,
                             .rows_to_come = b.count + t->ops->rows_min(t),
                             .max_text = SIZE_MAX};
    if (json && more)
        buf_putc(out, ',');
    rc = row_writer_write(r->writer, &rows, out, NULL);
    if (json && rc == 0)
        out->len--; /* the comma after the last row */
    *ret_rows = b.count;
    return rc;
}
