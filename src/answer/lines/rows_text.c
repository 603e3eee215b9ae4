/* rows_text.c - flat rows as text, which a writer formats from their columns batch by batch. */
#include "answer/lines/rows.h"

#include <errno.h>
#include <stdlib.h>

enum {
    CODES_MAX = 4096, /* with larger dictionaries, the value of each row is looked up */
    SPAN_MAX = 256,   /* whole numbers in such a range have codes: each is written once */
};

struct filler {
    const struct rows_plan *plan;
    struct block *block;
    void *state;            /* of the writer */
    struct vector *columns; /* of the current batch */
    struct value **values;  /* by column, SCAN_BATCH each; NULL until needed */
    struct charge charge;   /* for them */
};

/* ---- columns --------------------------------------------------------------------------------- */

static int read_values(struct filler *f, struct scan_batch *b, size_t column, struct vector *ret)
{
    struct value *to = f->values[column];
    int rc = to ? 0 : charge_add(&f->charge, SCAN_BATCH * sizeof(*to));

    if (rc == 0 && !to)
        to = f->values[column] = malloc(SCAN_BATCH * sizeof(*to));
    if (rc == 0 && !to)
        rc = -ENOMEM;
    for (uint32_t k = 0; rc == 0 && k < b->count; k++)
        to[k] = batch_value(b, f->plan->columns[column], batch_row(b, k));
    *ret = (struct vector){.kind = VECTOR_VALUE, .values = to, .stride = 1};
    return rc;
}

static int key_value(void *query, uint64_t key, struct value *ret)
{
    query_key_value(query, key, ret);
    return 0;
}

static bool read_codes(struct scan_batch *b, const struct source *s, struct vector *ret)
{
    *ret = (struct vector){.kind = VECTOR_CODE, .value = key_value, .arg = b->chunk->query};
    if (!scan_codes(b->chunk, s, CODES_MAX, &ret->code_count, &ret->keys))
        return false;
    ret->codes = batch_codes(b, s);
    return true;
}

static bool spans_few(struct scan_batch *b, const struct source *s)
{
    int64_t min, max;

    return scan_range(b->chunk, s, &min, &max) && (uint64_t)max - (uint64_t)min < SPAN_MAX;
}

static struct vector read_numbers(struct scan_batch *b, const struct source *s)
{
    const struct batch_numbers n = batch_numbers(b, s);

    return (struct vector){.kind = n.d      ? VECTOR_DOUBLE
                                   : n.nano ? VECTOR_NS
                                            : VECTOR_INT,
                           .i = n.i,
                           .d = n.d,
                           .valid = n.valid};
}

static int read_column(struct filler *f, struct scan_batch *b, size_t column, struct vector *ret)
{
    const struct source *s = f->plan->columns[column];
    enum scan_shape shape = scan_shape(b->chunk, s);
    bool few = shape == SHAPE_INT && spans_few(b, s);

    if ((shape == SHAPE_TEXT || few) && read_codes(b, s, ret))
        return 0;
    if (shape == SHAPE_TEXT || shape == SHAPE_MIXED || shape == SHAPE_BOOL)
        return read_values(f, b, column, ret);
    *ret = read_numbers(b, s);
    return 0;
}

/* ---- a place --------------------------------------------------------------------------------- */

static int fill_batch(void *arg, struct scan_batch *b)
{
    struct filler *f = arg;
    struct item *item = &f->block->item;
    struct buf *text = &f->block->text;
    struct budget *budget = query_budget(f->plan->query);
    uint64_t left = f->plan->max - item->count;
    uint32_t count = b->count < left ? b->count : (uint32_t)left;
    size_t used = atomic_load(&budget->memory_used), limit = budget->memory_limit;
    size_t room = !limit ? SIZE_MAX : limit > used ? limit - used : 0;
    struct row_block rows = {.vectors = f->columns,
                             .select = b->select,
                             .count = count,
                             .max_text = room > SIZE_MAX - text->cap ? SIZE_MAX : text->cap + room};
    int rc = rows_grow(f->plan, item, item->count + b->count, (void **)&f->block->end,
                       sizeof(*f->block->end));

    for (size_t i = 0; i < f->plan->width && rc == 0; i++)
        rc = read_column(f, b, i, &f->columns[i]);
    if (rc == 0)
        rc = f->plan->writer->write(f->state, &rows, text, f->block->end + item->count);
    if (rc == 0)
        rc = text->error ? text->error : charge_up_to(&f->block->text_charge, text->cap);
    if (rc == 0 && f->plan->order.by_key)
        item_add_keys(item, b, &f->plan->order);
    item->count += count;
    return rc == 0 && item->count == f->plan->max ? ERR_END : rc;
}

int rows_fill_text(const struct rows_plan *p, struct scan_worker *w, size_t position,
                   struct block *b)
{
    struct filler f = {.plan = p,
                       .block = b,
                       .charge.budget = query_budget(p->query),
                       .columns = malloc((p->width + 1) * sizeof(*f.columns)),
                       .values = calloc(p->width + 1, sizeof(struct value *))};
    int rc = f.columns && f.values ? 0 : -ENOMEM;

    rc = rc < 0 ? rc : p->writer->begin(p->writer->arg, query_budget(p->query), &f.state);
    if (rc == 0) {
        rc = top_scan(p->order.top, w, position, fill_batch, &f);
        p->writer->done(f.state);
    }
    for (size_t i = 0; f.values && i < p->width; i++)
        free(f.values[i]);
    charge_done(&f.charge);
    free(f.columns);
    free(f.values);
    return rc;
}
