/* row_cells.c - rows of /aggregate as NDJSON or CSV, from columns. */
#include "format/writer/row_cells.h"
#include "format/writer/value_text.h"

#include "dftracerd/vec.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT_MAX = 1 << 14, CELL_ROOM = 56, NO_CELL = 255, NUMBER_ROOM = 64 };

/* A key as the row has it, with what stands before it. */
struct key_cell {
    uint32_t rank;
    uint8_t len; /* NO_CELL: there is none */
    char text[CELL_ROOM];
};

struct cell_column {
    struct aggregate_vector *vector;
    bool known;         /* of the block at hand */
    const char *before; /* `,"name":` */
    size_t before_len;
    VEC(struct key_cell)
    cells; /* by the low bits of their ranks; none: not a key, or none met yet */
    uint32_t mask;
    uint64_t part;
    const uint64_t *keys; /* by rank */
};

struct row_cells {
    struct aggregate *aggregate;
    struct charge charge;
    const struct aggregate_column *told;
    size_t count;
    bool csv, begun;
    struct cell_column *columns;
    struct aggregate_vector *vectors;
    int64_t *numbers; /* of all vectors */
    bool *left_out;
    struct buf names, cell;
};

/* ---- making ---------------------------------------------------------------------------------- */

static int make_names(struct row_cells *r)
{
    size_t start = 0;

    for (size_t i = 0; i < r->count; i++) {
        struct cell_column *c = &r->columns[i];
        buf_putc(&r->names, ',');
        if (!r->csv) {
            jw_escape(&r->names, text_of(r->told[i].name));
            buf_putc(&r->names, ':');
        }
        c->before_len = r->names.len - start;
        start = r->names.len;
    }
    start = 0;
    for (size_t i = 0; i < r->count && r->names.error == 0; i++) {
        r->columns[i].before = r->names.data + start;
        start += r->columns[i].before_len;
    }
    return r->names.error;
}

static int prepare(struct row_cells *r)
{
    int rc = charge_add(&r->charge,
                        r->count * (sizeof(*r->vectors) + AGGREGATE_BLOCK * sizeof(*r->numbers)));

    if (rc < 0)
        return rc;
    r->columns = calloc(r->count + 1, sizeof(*r->columns));
    r->vectors = malloc((r->count + 1) * sizeof(*r->vectors));
    r->numbers = malloc((r->count + 1) * AGGREGATE_BLOCK * sizeof(*r->numbers));
    r->left_out = calloc(r->count + 1, sizeof(*r->left_out));
    if (!r->columns || !r->vectors || !r->numbers || !r->left_out)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++) {
        r->columns[i].vector = &r->vectors[i];
        r->vectors[i].i = r->numbers + i * AGGREGATE_BLOCK;
        r->columns[i].part = UINT64_MAX;
        r->columns[i].cells.budget = r->charge.budget;
    }
    aggregate_leave_out(r->aggregate, r->left_out);
    return make_names(r);
}

int row_cells_new(struct aggregate *a, enum format format, struct budget *budget,
                  struct row_cells **ret)
{
    struct row_cells *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->aggregate = a;
    r->charge.budget = budget;
    r->csv = format == FORMAT_CSV;
    r->count = aggregate_columns(a, &r->told);
    int rc = prepare(r);
    if (rc < 0)
        row_cells_free(r);
    else
        *ret = r;
    return rc;
}

void row_cells_free(struct row_cells *r)
{
    if (!r)
        return;
    if (r->left_out)
        aggregate_leave_out(r->aggregate, NULL);
    for (size_t i = 0; r->columns && i < r->count; i++)
        vec_done(&r->columns[i].cells);
    charge_done(&r->charge);
    buf_done(&r->names);
    buf_done(&r->cell);
    free(r->columns);
    free(r->vectors);
    free(r->numbers);
    free(r->left_out);
    free(r);
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* No cell is kept of the part yet. */
static int begin_part(struct row_cells *r, size_t column, uint64_t part)
{
    struct cell_column *c = &r->columns[column];
    uint32_t count = aggregate_part_keys(r->aggregate, part, column, &c->keys), cap = 1;

    if (c->part == part)
        return 0;
    while (cap < count && cap < KEPT_MAX)
        cap *= 2;
    int rc = vec_reserve(&c->cells, cap);
    if (rc < 0)
        return rc;
    c->mask = cap - 1;
    for (uint32_t i = 0; i < cap; i++) {
        c->cells.at[i].rank = UINT32_MAX;
        c->cells.at[i].len = NO_CELL;
    }
    c->part = part;
    return 0;
}

static void put_value(struct row_cells *r, size_t column, const struct value *v, struct buf *out)
{
    const struct cell_column *c = &r->columns[column];

    if (!r->csv && r->told[column].optional && v->type == VALUE_NULL)
        return;
    buf_append(out, c->before, c->before_len);
    if (r->csv)
        value_csv(out, v);
    else
        value_json(out, v);
}

/* The cell of a rank that is not kept: made, and kept where it is short. */
static int make_cell(struct row_cells *r, size_t column, uint32_t rank, struct buf *out)
{
    struct cell_column *c = &r->columns[column];
    struct key_cell *cell = &c->cells.at[rank & c->mask];
    struct value v;
    int rc = aggregate_key_value(r->aggregate, column, c->keys[rank], &v);

    if (rc < 0)
        return rc;
    buf_clear(&r->cell);
    put_value(r, column, &v, &r->cell);
    buf_append(out, r->cell.data, r->cell.len);
    if (r->cell.len > CELL_ROOM || r->cell.error)
        return r->cell.error;
    memcpy(cell->text, r->cell.data, r->cell.len);
    cell->rank = rank;
    cell->len = (uint8_t)r->cell.len;
    return 0;
}

static inline int put_key(struct row_cells *r, size_t column, uint32_t rank, struct buf *out)
{
    const struct cell_column *c = &r->columns[column];
    const struct key_cell *cell = &c->cells.at[rank & c->mask];

    if (cell->rank != rank || cell->len == NO_CELL)
        return make_cell(r, column, rank, out);
    char *to = buf_reserve(out, CELL_ROOM);
    if (to) {
        memcpy(to, cell->text, CELL_ROOM); /* all of it: shorter than asking how much */
        out->len += cell->len;
    }
    return 0;
}

/* ---- numbers --------------------------------------------------------------------------------- */

static size_t digits_of(const struct aggregate_vector *v, size_t i, char *to)
{
    switch (v->kind) {
    case VECTOR_UINT:
        return num_format_u64((uint64_t)v->i[i], to);
    case VECTOR_NS:
        return num_format_milli(v->i[i], to);
    default:
        return num_format_i64(v->i[i], to);
    }
}

static void put_number(struct row_cells *r, size_t column, size_t i, struct buf *out)
{
    static const char *const classes[] = {"event", "profile", "system"};
    const struct cell_column *c = &r->columns[column];
    const struct aggregate_vector *v = c->vector;
    struct value other = {.type = VALUE_NULL};

    if (v->kind == VECTOR_CLASS)
        other = (struct value){.type = VALUE_TEXT, .text = text_of(classes[v->i[i]])};
    if (v->kind == VECTOR_CLASS || (v->nulls && v->null[i])) {
        put_value(r, column, &other, out);
        return;
    }
    char *to = buf_reserve(out, c->before_len + NUMBER_ROOM);
    if (!to)
        return;
    memcpy(to, c->before, c->before_len);
    out->len += c->before_len + digits_of(v, i, to + c->before_len);
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* values: NULL where all columns are known. */
static int put_row(struct row_cells *r, size_t row, const struct value *values, struct buf *out)
{
    size_t start = out->len;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        const struct cell_column *c = &r->columns[i];
        if (!c->known)
            put_value(r, i, &values[row * r->count + i], out);
        else if (c->vector->kind == VECTOR_RANK)
            rc = put_key(r, i, c->vector->ranks[row], out);
        else
            put_number(r, i, row, out);
    }
    if (rc < 0 || out->error)
        return rc < 0 ? rc : out->error;
    if (r->csv) { /* the comma before the first one */
        memmove(out->data + start, out->data + start + 1, out->len - start - 1);
        out->data[out->len - 1] = '\n';
        return 0;
    }
    if (out->len == start)
        buf_putc(out, '{');
    else
        out->data[start] = '{';
    buf_puts(out, "}\n");
    return out->error;
}

static int fill_columns(struct row_cells *r, const struct aggregate_block *b, struct err *err,
                        const struct value **ret)
{
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct cell_column *c = &r->columns[i];
        r->left_out[i] = c->known = aggregate_block_column(r->aggregate, i, c->vector);
        if (c->known && c->vector->kind == VECTOR_RANK)
            rc = begin_part(r, i, b->part);
        all &= c->known;
    }
    *ret = NULL;
    return rc < 0 || all ? rc : aggregate_block_values(r->aggregate, err, ret);
}

static void put_header(struct row_cells *r, struct buf *out)
{
    for (size_t i = 0; i < r->count; i++) {
        if (i)
            buf_putc(out, ',');
        csv_text(out, text_of(r->told[i].name));
    }
    buf_putc(out, '\n');
}

int row_cells_next(struct row_cells *r, struct err *err, struct buf *out, size_t *ret_rows)
{
    struct aggregate_block block;
    const struct value *values;
    int rc = aggregate_next_block(r->aggregate, err, &block);

    if (!r->begun && r->csv)
        put_header(r, out);
    r->begun = true;
    *ret_rows = 0;
    rc = rc < 0 ? rc : fill_columns(r, &block, err, &values);
    for (size_t i = 0; rc == 0 && i < block.count; i++)
        rc = put_row(r, i, values, out);
    if (rc == 0)
        *ret_rows = block.count;
    return rc;
}
