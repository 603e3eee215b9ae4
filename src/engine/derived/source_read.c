/* source_read.c - the values of a bound source for one batch, kept in its lanes until the next. */
#include "dftracerd/kernel.h"
#include "engine/derived/batch.h"
#include "engine/derived/derived.h"
#include "engine/derived/ranks.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <string.h>

const union no_values no_values;

/* What was filled for a few rows does not serve whole-chunk work, which has no mask. */
static bool lane_has(const struct lane *l, const struct scan_batch *batch)
{
    return l->batch == batch->number && (!l->few || batch->mask);
}

/* Where memory fails, what is read goes to a place that nobody looks at. */
static void *lane_begin(struct lane *l, const struct scan_batch *batch, size_t value_size)
{
    struct scan_worker *w = batch->chunk->worker;
    void *values = grow_to(&l->memory, SCAN_BATCH * value_size);

    l->batch = UINT32_MAX;
    l->few = false;
    l->valid = NULL;
    return worker_fails(w, values ? 0 : -ENOMEM) ? w->spare : values;
}

static void lane_end(struct lane *l, const struct scan_batch *batch)
{
    l->batch = batch->number;
}

static bool bit(const uint64_t *mask, uint32_t i)
{
    return mask[i / 64] >> i % 64 & 1;
}

/* ---- validity -------------------------------------------------------------------------------- */

static bool all_set(const uint64_t *mask, uint32_t rows)
{
    for (uint32_t i = 0; i < rows / 64; i++) {
        if (~mask[i])
            return false;
    }
    return rows % 64 == 0 || (~mask[rows / 64] & (((uint64_t)1 << rows % 64) - 1)) == 0;
}

/* Takes the bitmap that was put into the lane: cut to the rows, and NULL when all are valid. */
static void valid_end(struct bound *b, const struct scan_batch *batch, uint64_t *mask)
{
    if (batch->rows % 64)
        mask[batch->rows / 64] &= ((uint64_t)1 << batch->rows % 64) - 1;
    b->valid.valid = all_set(mask, batch->rows) ? NULL : mask;
    lane_end(&b->valid, batch);
}

static void valid_of_codes(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    const uint32_t *codes = bound_codes(batch, b);

    b->valid.few = b->codes.few;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++)
        mask[i / 64] |= (uint64_t)(codes[i] != b->entries) << i % 64;
}

static void stored_valid(const struct scan_batch *b, const struct column *c, uint64_t *mask)
{
    struct chunk_view *view = b->chunk->view;

    if (worker_fails(b->chunk->worker, b->places
                                           ? column_pick_valid(view, c, b->places, b->rows, mask)
                                           : column_read_valid(view, c, b->first, b->rows, mask)))
        memset(mask, 0, SCAN_WORDS * 8);
}

const uint64_t *bound_valid(struct scan_batch *batch, struct bound *b)
{
    const uint64_t *valid;

    if (!b->nulls)
        return NULL;
    if (b->form == FORM_NULL)
        return no_values.keys;
    if (b->form == FORM_TE || b->form == FORM_BUCKET) /* where ts is; nothing has to be computed */
        return bound_valid(batch, b->part[0]);
    if (b->form == FORM_DUR || b->form == FORM_ROWS || b->form == FORM_RANK ||
        b->form == FORM_PROCESS || b->form == FORM_CLIP) {
        (void)bound_i64(batch, b, &valid);
        return valid;
    }
    if (!lane_has(&b->valid, batch)) {
        uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t));
        if (b->form == FORM_STORED || (b->form == FORM_MAPPED && !b->remap))
            stored_valid(batch, &b->column, mask);
        else
            valid_of_codes(batch, b, mask);
        if (batch->chunk->worker->error)
            return no_values.keys;
        valid_end(b, batch, mask);
    }
    return b->valid.valid;
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Null rows of a stored column get the code behind the last. */
static void mark_nulls(struct scan_batch *batch, struct bound *b, uint32_t *codes,
                       uint32_t null_code)
{
    uint64_t valid[SCAN_WORDS];

    if (b->column.nulls == 0)
        return;
    stored_valid(batch, &b->column, valid);
    for (uint32_t at = 0; at < batch->rows; at += 64) {
        uint32_t end = batch->rows - at < 64 ? batch->rows - at : 64;
        uint64_t missing = ~valid[at / 64];
        if (end < 64)
            missing &= ((uint64_t)1 << end) - 1;
        for (; missing; missing &= missing - 1)
            codes[at + (uint32_t)__builtin_ctzll(missing)] = null_code;
    }
}

/* Codes are places in arrays, also those of rows that nobody looks at. */
static int read_stored_codes(struct scan_batch *batch, struct bound *b, uint32_t *codes)
{
    struct chunk_view *view = batch->chunk->view;
    uint32_t few[SCAN_BATCH], count;

    if (batch->places)
        return column_pick_codes(view, &b->column, batch->places, batch->rows, codes);
    const uint32_t *rows = batch_few(batch, &count);
    if (!rows)
        return column_read_codes(view, &b->column, batch->first, batch->rows, codes);
    b->codes.few = true;
    memset(codes, 0, batch->rows * sizeof(*codes));
    int rc = column_pick_codes(view, &b->column, rows, count, few);
    for (uint32_t k = 0; rc == 0 && k < count; k++)
        codes[rows[k] - batch->first] = few[k];
    return rc;
}

static void read_codes(struct scan_batch *batch, struct bound *b, uint32_t *codes)
{
    struct scan_worker *w = batch->chunk->worker;

    if (b->form == FORM_SINGLE) {
        memset(codes, 0, batch->rows * sizeof(*codes));
    } else if (batch->places && b->only_serial == w->serial) {
        for (uint32_t i = 0; i < batch->rows; i++)
            codes[i] = b->only_code;
    } else if (b->form == FORM_CODED) {
        for (uint32_t i = 0; i < batch->rows; i++)
            codes[i] = ((const uint32_t *)b->rows_memory.data)[batch->places[i]];
    } else if (!worker_fails(w, read_stored_codes(batch, b, codes))) {
        mark_nulls(batch, b, codes, b->remap ? b->column.entries : b->entries);
        for (uint32_t i = 0; b->remap && i < batch->rows; i++)
            codes[i] = b->remap[codes[i]];
    }
}

const uint32_t *bound_codes(struct scan_batch *batch, struct bound *b)
{
    if (b->form == FORM_CODED && !batch->places)
        return (const uint32_t *)b->rows_memory.data + batch->first;
    if (b->form == FORM_NULL)
        return no_values.codes;
    if (!lane_has(&b->codes, batch)) {
        read_codes(batch, b, lane_begin(&b->codes, batch, sizeof(uint32_t)));
        if (batch->chunk->worker->error)
            return no_values.codes;
        lane_end(&b->codes, batch);
    }
    return b->codes.memory.data;
}

struct column_entry bound_entry(struct scan_worker *w, struct bound *b, uint32_t code)
{
    struct column_entry e;

    if (b->form != FORM_STORED)
        return b->entry[code];
    if (w->error || worker_fails(w, column_entry(w->chunk.view, &b->column, code, &e)))
        e = (struct column_entry){0};
    return e;
}

/* ---- computed integers ----------------------------------------------------------------------- */

/* Rows that are X events, as a bitmap. */
static void read_x_of_ph(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *ph = b->part[1];

    if (b->x_all)
        memset(mask, 0xFF, SCAN_WORDS * 8);
    else if (ph->shape == SHAPE_INT) /* a null row is 0 */
        kernels()->range_i64(bound_i64(batch, ph, NULL), batch->rows, 1, 1, mask);
    else
        kernels()->table_u32(bound_codes(batch, ph), batch->rows, b->x_table.data, ph->entries + 1,
                             mask);
}

/* Rows whose dur is 0 if there is none: not those that had one which is too large (clocks that
 * stepped back). */
static void read_x(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *bad = b->part[2];
    uint64_t is_bad[SCAN_WORDS];

    read_x_of_ph(batch, b, mask);
    if (bad->shape != SHAPE_BOOL)
        return;
    kernels()->range_i64(bound_i64(batch, bad, NULL), batch->rows, 1, 1, is_bad);
    for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
        mask[i] &= ~is_bad[i];
}

/* A stored column into a lane of `b`. */
static void read_stored(struct scan_batch *batch, struct bound *b, const struct column *column,
                        int64_t *out)
{
    struct chunk_view *view = batch->chunk->view;
    int64_t few[SCAN_BATCH];
    uint32_t count = batch->rows;
    const uint32_t *rows = batch->places ? NULL : batch_few(batch, &count);

    b->i64.few = rows != NULL;
    int rc = batch->places ? column_pick_i64(view, column, batch->places, batch->rows, out)
             : rows        ? column_pick_i64(view, column, rows, count, few)
                           : column_read_i64(view, column, batch->first, batch->rows, out);
    for (uint32_t k = 0; rows && rc == 0 && k < count; k++)
        out[rows[k] - batch->first] = few[k];
    (void)worker_fails(batch->chunk->worker, rc);
}

/* Whether a row that anybody can see has no dur. */
static bool wants_x(const struct scan_batch *batch, const uint64_t *valid)
{
    const uint64_t *interest = batch->chunk->worker->interest;
    uint64_t any = 0;

    for (uint32_t i = 0; i < batch->rows / 64; i++)
        any |= ~valid[i] & (interest ? interest[i] : ~(uint64_t)0);
    if (batch->rows % 64)
        any |= ~valid[batch->rows / 64] & (((uint64_t)1 << batch->rows % 64) - 1) &
               (interest ? interest[batch->rows / 64] : ~(uint64_t)0);
    return any != 0;
}

void dur_zeros(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *dur = b->part[0];
    uint64_t valid[SCAN_WORDS], x[SCAN_WORDS];

    memset(valid, 0xFF, sizeof(valid));
    if (dur->nulls)
        stored_valid(batch, &dur->column, valid);
    if (!wants_x(batch, valid))
        return;
    read_x(batch, b, x);
    for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
        mask[i] |= x[i] & ~valid[i];
}

/* The stored column goes straight into the lane, not through its own, which few ask for besides. */
static void read_dur(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t)), x[SCAN_WORDS];
    struct bound *dur = b->part[0];

    memset(mask, dur->shape == SHAPE_TIME ? 0xFF : 0, SCAN_WORDS * 8);
    if (dur->shape == SHAPE_TIME)
        read_stored(batch, b, &dur->column, out);
    else
        memset(out, 0, batch->rows * sizeof(*out));
    if (dur->shape == SHAPE_TIME && dur->nulls)
        stored_valid(batch, &dur->column, mask);
    b->valid.few = b->i64.few = batch->mask && batch->chunk->worker->interest;
    if (wants_x(batch, mask)) {
        read_x(batch, b, x);
        for (uint32_t i = 0; i < (batch->rows + 63) / 64; i++)
            mask[i] |= x[i];
    }
    valid_end(b, batch, mask);
    b->i64.valid = b->valid.valid;
}

/* Whether what was read of a source last is only some rows of the batch. */
static bool is_few(const struct bound *b)
{
    return b->i64.few;
}

static int64_t add_times(int64_t a, int64_t b)
{
    int64_t sum;

    if (!__builtin_add_overflow(a, b, &sum))
        return sum;
    return a < 0 ? INT64_MIN : INT64_MAX;
}

static void read_te(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    struct bound *ts = b->part[0], *dur = b->part[1];
    const uint64_t *valid;
    const int64_t *starts = bound_i64(batch, ts, &valid);
    /* null rows are 0: te is ts there */
    const int64_t *lengths = dur->shape == SHAPE_TIME ? bound_i64(batch, dur, NULL) : NULL;

    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t start = time_in(starts[i], ts->nano, b->nano);
        out[i] = lengths ? add_times(start, time_in(lengths[i], dur->nano, b->nano)) : start;
    }
    for (uint32_t i = 0; valid && i < batch->rows; i++)
        out[i] = bit(valid, i) ? out[i] : 0;
    b->i64.valid = valid;
    b->i64.few = is_few(ts) || (lengths && is_few(dur));
}

/* Times mostly come in order: the bucket of the row before is tried first. */
static void read_bucket(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    struct bound *ts = b->part[0];
    const uint64_t *valid;
    const int64_t *starts = bound_i64(batch, ts, &valid);
    int64_t from = 0, to = 0, value = 0; /* [from, to) gives value; empty at first */

    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t start = time_in(starts[i], ts->nano, b->nano);
        if (start < from || start >= to) {
            value = bucket_floor(start, b->base, b->step);
            from = add_times(value, b->base);
            to = add_times(from, b->step);
        }
        out[i] = value;
    }
    for (uint32_t i = 0; valid && i < batch->rows; i++)
        out[i] = bit(valid, i) ? out[i] : 0;
    b->i64.valid = valid;
    b->i64.few = is_few(ts);
}

/* A pid that the table has not is of a row that nobody looks at. */
static void read_rank(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    const int64_t *pids = bound_i64(batch, b->part[0], NULL), *ranks = b->rows_memory.data;
    const uint64_t first = (uint64_t)b->base, span = (uint64_t)b->step;
    uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t));

    for (uint32_t i = 0; i < batch->rows; i++) {
        uint64_t at = (uint64_t)pids[i] - first;
        out[i] = ranks[at < span ? at : 0];
    }
    memset(mask, b->nulls ? 0 : 0xFF, SCAN_WORDS * 8);
    for (uint32_t i = 0; b->nulls && i < batch->rows; i++) {
        uint64_t at = (uint64_t)pids[i] - first;
        mask[i / 64] |= (uint64_t)(at < span && bit(b->rows_valid.data, (uint32_t)at)) << i % 64;
    }
    b->i64.few = b->valid.few = is_few(b->part[0]);
    valid_end(b, batch, mask);
    b->i64.valid = b->valid.valid;
}

struct processes bound_processes(struct scan_batch *batch, struct bound *pid, struct bound *host)
{
    struct processes of;

    of.pids = bound_i64(batch, pid, &of.valid);
    of.codes = bound_codes(batch, host);
    return of;
}

static void read_ranks(struct scan_batch *batch, struct bound *b, int64_t *out, uint64_t *valid)
{
    struct ranks *r = b->rows_memory.data;
    const struct processes of = bound_processes(batch, r->pid, r->host);

    ranks_of_rows(r, &of, batch->rows, out, valid);
}

/* Of a batch that is no list of places: those of its rows that are wanted. */
static void read_wanted_ranks(struct scan_batch *batch, struct bound *b, int64_t *out,
                              uint64_t *mask)
{
    uint16_t rows[SCAN_BATCH];
    uint32_t places[SCAN_BATCH];
    uint32_t n = mask_to_select(batch->chunk->wanted + batch->first / 64, batch->rows, rows);
    int64_t ranks[SCAN_BATCH];
    uint64_t valid[SCAN_WORDS] = {0};

    for (uint32_t k = 0; k < n; k++)
        places[k] = batch->first + rows[k];
    struct scan_batch few = batch_of_places(batch->chunk, places, n);
    memset(out, 0, batch->rows * sizeof(*out));
    if (n > 0)
        read_ranks(&few, b, ranks, valid);
    for (uint32_t k = 0; k < n; k++) {
        out[rows[k]] = ranks[k];
        mask[rows[k] / 64] |= (uint64_t)bit(valid, k) << rows[k] % 64;
    }
}

static void read_process_ranks(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t));

    memset(mask, 0, SCAN_WORDS * 8);
    if (batch->places)
        read_ranks(batch, b, out, mask);
    else
        read_wanted_ranks(batch, b, out, mask);
    valid_end(b, batch, mask);
    b->i64.valid = b->valid.valid;
}

/* Whole-chunk rows: only the bitmap has to be told for the batch. */
static const int64_t *rows_of_batch(struct scan_batch *batch, struct bound *b,
                                    const uint64_t **ret_valid)
{
    const uint64_t *valid = b->rows_valid.data;

    if (!lane_has(&b->valid, batch)) {
        uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t));
        memcpy(mask, valid + batch->first / 64, (batch->rows + 63) / 64 * 8);
        valid_end(b, batch, mask);
    }
    *ret_valid = b->valid.valid;
    return (const int64_t *)b->rows_memory.data + batch->first;
}

/* The same rows, gathered. */
static void gather_rows(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    const uint64_t *valid = b->rows_valid.data;
    uint64_t *mask = lane_begin(&b->valid, batch, sizeof(uint64_t));

    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t place = batch->places[i];
        out[i] = ((const int64_t *)b->rows_memory.data)[place];
        mask[i / 64] |= (uint64_t)bit(valid, place) << i % 64;
    }
    valid_end(b, batch, mask);
    b->i64.valid = b->valid.valid;
}

static void read_i64(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    switch (b->form) {
    case FORM_STORED:
        read_stored(batch, b, &b->column, out);
        b->i64.valid = bound_valid(batch, b);
        break;
    case FORM_DUR:
        read_dur(batch, b, out);
        break;
    case FORM_TE:
        read_te(batch, b, out);
        break;
    case FORM_BUCKET:
        read_bucket(batch, b, out);
        break;
    case FORM_CLIP:
        b->source->read(batch, b, out);
        break;
    case FORM_ROWS:
        gather_rows(batch, b, out);
        break;
    case FORM_RANK:
        read_rank(batch, b, out);
        break;
    case FORM_PROCESS:
        read_process_ranks(batch, b, out);
        break;
    default: /* FORM_ZERO */
        memset(out, 0, batch->rows * sizeof(*out));
        break;
    }
}

const int64_t *bound_i64(struct scan_batch *batch, struct bound *b, const uint64_t **ret_valid)
{
    const uint64_t *ignored, **valid = ret_valid ? ret_valid : &ignored;

    *valid = no_values.keys;
    if (b->shape != SHAPE_INT && b->shape != SHAPE_TIME && b->shape != SHAPE_BOOL)
        return no_values.integers;
    if (b->form == FORM_ROWS && !batch->places)
        return rows_of_batch(batch, b, valid);
    if (!lane_has(&b->i64, batch)) {
        read_i64(batch, b, lane_begin(&b->i64, batch, sizeof(int64_t)));
        if (batch->chunk->worker->error)
            return no_values.integers;
        lane_end(&b->i64, batch);
    }
    *valid = b->i64.valid;
    return b->i64.memory.data;
}

/* ---- doubles --------------------------------------------------------------------------------- */

static bool entry_number(const struct column_entry *e, double *ret)
{
    if (e->type == TRACE_INT)
        *ret = (double)e->i;
    else if (e->type == TRACE_DOUBLE)
        *ret = e->d;
    else if (e->type == TRACE_BIG)
        return num_parse_double(e->text, ret) == 0;
    else
        return false;
    return true;
}

/* The numbers of a mixed column. */
static void read_mixed_f64(struct scan_batch *batch, struct bound *b, double *out)
{
    struct scan_worker *w = batch->chunk->worker;
    const uint32_t *codes = bound_codes(batch, b);
    /* Not the validity of the source: texts are not null. So it is kept with the doubles only. */
    uint64_t *mask = grow_to(&b->x_table, SCAN_WORDS * 8);

    if (worker_fails(w, mask ? 0 : -ENOMEM))
        return;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++) {
        out[i] = 0;
        if (codes[i] == b->entries)
            continue;
        struct column_entry e = bound_entry(w, b, codes[i]);
        mask[i / 64] |= (uint64_t)entry_number(&e, &out[i]) << i % 64;
    }
    b->f64.few = b->codes.few;
    b->f64.valid = all_set(mask, batch->rows) ? NULL : mask;
}

static void read_doubles(struct scan_batch *batch, struct bound *b, double *out)
{
    struct chunk_view *view = batch->chunk->view;
    double few[SCAN_BATCH];
    uint32_t count = batch->rows;
    const uint32_t *rows = batch->places ? NULL : batch_few(batch, &count);

    b->f64.few = rows != NULL;
    int rc = batch->places ? column_pick_f64(view, &b->column, batch->places, batch->rows, out)
             : rows        ? column_pick_f64(view, &b->column, rows, count, few)
                           : column_read_f64(view, &b->column, batch->first, batch->rows, out);
    for (uint32_t k = 0; rows && rc == 0 && k < count; k++)
        out[rows[k] - batch->first] = few[k];
    (void)worker_fails(batch->chunk->worker, rc);
}

static void read_f64(struct scan_batch *batch, struct bound *b, double *out)
{
    if (b->shape == SHAPE_MIXED) {
        read_mixed_f64(batch, b, out);
        return;
    }
    if (b->shape == SHAPE_DOUBLE) {
        read_doubles(batch, b, out);
        b->f64.valid = bound_valid(batch, b);
        return;
    }
    const int64_t *values = bound_i64(batch, b, &b->f64.valid);
    b->f64.few = is_few(b);
    if (b->shape == SHAPE_TIME && b->nano) {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i] / 1000.0;
    } else {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i];
    }
}

const double *bound_f64(struct scan_batch *batch, struct bound *b, const uint64_t **ret_valid)
{
    *ret_valid = no_values.keys;
    if (b->shape != SHAPE_INT && b->shape != SHAPE_TIME && b->shape != SHAPE_DOUBLE &&
        b->shape != SHAPE_MIXED)
        return no_values.doubles;
    if (!lane_has(&b->f64, batch)) {
        read_f64(batch, b, lane_begin(&b->f64, batch, sizeof(double)));
        if (batch->chunk->worker->error)
            return no_values.doubles;
        lane_end(&b->f64, batch);
    }
    *ret_valid = b->f64.valid;
    return b->f64.memory.data;
}
