/* rows.c - rows of a table as typed columns, 65,536 at a time: written batch by batch. */
#include "format/arrow/rows.h"
#include "format/arrow/columns.h"

#include <errno.h>

/* All buffers have one size, because a buffer given away may be replaced by one of the next column,
 * or of a column after a header. */
enum { VALUE_BYTES = ARROW_BATCH * sizeof(uint64_t) + 4096 };

static int allocate_columns(struct arrow_rows *r)
{
    int rc = charge_add(&r->charge, r->count * (VALUE_BYTES + ARROW_BATCH / 8));

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->count; i++) {
        struct arrow_staged *c = &r->columns[i];
        c->values = malloc(VALUE_BYTES);
        c->valid = malloc(ARROW_BATCH / 8);
        if (r->types[i].type == ARROW_TEXT && !c->texts)
            c->texts = intern_new();
        if (!c->values || !c->valid || (r->types[i].type == ARROW_TEXT && !c->texts))
            return -ENOMEM;
    }
    return 0;
}

int arrow_rows_new(struct table *t, const struct query *q, struct budget *budget, bool file,
                   struct err *err, struct arrow_rows **ret)
{
    struct arrow_rows *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->table = t;
    r->charge.budget = r->text_charge.budget = budget;
    r->specs = t->columns;
    r->count = t->count;
    r->memory.i = r->numbers;
    r->columns = calloc(r->count + 1, sizeof(*r->columns));
    r->types = calloc(r->count + 1, sizeof(*r->types));
    r->left_out = calloc(r->count + 1, sizeof(*r->left_out));
    t->left_out = r->left_out;
    int rc = r->columns && r->types && r->left_out ? arrow_types_find(r, q, err) : -ENOMEM;
    rc = rc < 0 ? rc : allocate_columns(r);
    rc = rc < 0 ? rc : arrow_new(r->types, r->count, file, &r->arrow);
    if (rc < 0)
        arrow_rows_free(r);
    else
        *ret = r;
    return rc;
}

void arrow_rows_free(struct arrow_rows *r)
{
    if (!r)
        return;
    for (size_t i = 0; r->columns && i < r->count; i++) {
        intern_free(r->columns[i].texts);
        free(r->columns[i].keys.bits);
        free(r->columns[i].keys.states);
        free(r->columns[i].values);
        free(r->columns[i].valid);
    }
    charge_done(&r->charge);
    charge_done(&r->text_charge);
    arrow_free(r->arrow);
    buf_done(&r->scratch);
    free(r->columns);
    free(r->left_out);
    free(r->types);
    free(r);
}

size_t arrow_rows_width(const struct arrow_rows *r)
{
    size_t bytes = 0;

    for (size_t i = 0; i < r->count; i++)
        bytes += r->types[i].type == ARROW_TEXT ? 4 : 8;
    return bytes;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int begin_batch(struct arrow_rows *r, struct buf *out)
{
    struct arrow_data *data = calloc(r->count + 1, sizeof(*data));

    if (!data)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++)
        data[i].nulls = r->columns[i].nulls;
    int rc = arrow_batch(r->arrow, data, r->rows, out);
    free(data);
    r->next_column = 0;
    return rc;
}

static int read_batch(struct arrow_rows *r, struct err *err)
{
    struct table_block block;
    int rc = 0;

    r->rows = 0;
    for (size_t i = 0; i < r->count; i++) {
        memset(r->columns[i].valid, 0xff, ARROW_BATCH / 8);
        r->columns[i].nulls = 0;
    }
    while (r->rows + TABLE_BLOCK <= ARROW_BATCH &&
           (rc = r->table->ops->next(r->table, err, &block)) == 0) {
        rc = arrow_fill_block(r, &block, err);
        if (rc < 0)
            return rc;
        r->rows += block.count;
    }
    /* Bits after the last row are 0. */
    for (size_t i = 0; i < r->count && r->rows % 64; i++)
        r->columns[i].valid[r->rows / 64] &= ((uint64_t)1 << r->rows % 64) - 1;
    return rc == ERR_END && r->rows ? 0 : rc;
}

static struct text dictionary_text(void *arg, uint32_t i)
{
    return intern_text(arg, i);
}

int arrow_rows_next(struct arrow_rows *r, struct err *err, struct buf *out)
{
    if (!r->begun) {
        r->begun = true;
        r->next_column = r->count;
        arrow_begin(r->arrow, out);
        return out->error;
    }
    while (r->next_dictionary < r->count && r->types[r->next_dictionary].type != ARROW_TEXT)
        r->next_dictionary++;
    if (r->next_dictionary < r->count) {
        struct intern *texts = r->columns[r->next_dictionary].texts;
        return arrow_dictionary(r->arrow, r->next_dictionary++, dictionary_text, texts,
                                intern_count(texts), out);
    }
    if (r->next_column < r->count) {
        size_t column = r->next_column++;
        struct arrow_staged *c = &r->columns[column];
        struct arrow_data data = {c->values, c->valid, c->nulls};
        if (!arrow_batch_column_given(r->arrow, column, &c->values, VALUE_BYTES, out))
            arrow_batch_column(r->arrow, column, &data, out);
        return out->error;
    }
    int rc = read_batch(r, err);
    if (rc == ERR_END) {
        arrow_end(r->arrow, out);
        return out->error ? out->error : ERR_END;
    }
    return rc < 0 ? rc : begin_batch(r, out);
}
