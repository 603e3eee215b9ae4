/* source_read.c - the values of a bound source for one batch, kept in its lanes until the next. */
#include "dftracerd/kernel.h"
#include "engine/derived/batch.h"
#include "engine/derived/derived.h"
#include "engine/derived/ranks.h"
#include "engine/derived/times.h"

#include <errno.h>
#include <string.h>

/* What was filled for a few rows does not serve whole-chunk work, which has no mask. */
static bool lane_has(const struct lane *l, const struct scan_batch *batch)
{
    return l->batch == batch->number && (!l->few || batch->mask);
}

static void *lane_begin(struct lane *l, size_t value_size)
{
    l->batch = UINT32_MAX;
    l->few = false;
    l->valid = NULL;
    return grow_to(&l->memory, SCAN_BATCH * value_size);
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
static void valid_end(struct bound *b, const struct scan_batch *batch)
{
    uint64_t *mask = b->valid.memory.data;

    if (batch->rows % 64)
        mask[batch->rows / 64] &= ((uint64_t)1 << batch->rows % 64) - 1;
    b->valid.valid = all_set(mask, batch->rows) ? NULL : mask;
    lane_end(&b->valid, batch);
}

static int valid_of_codes(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    const uint32_t *codes;
    int rc = bound_codes(batch, b, &codes);

    if (rc < 0)
        return rc;
    b->valid.few = b->codes.few;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++)
        mask[i / 64] |= (uint64_t)(codes[i] != b->entries) << i % 64;
    return 0;
}

static int stored_valid(const struct scan_batch *b, const struct column *c, uint64_t *mask)
{
    if (b->places)
        return column_pick_valid(b->chunk->view, c, b->places, b->rows, mask);
    return column_read_valid(b->chunk->view, c, b->first, b->rows, mask);
}

static int valid_stored(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    return stored_valid(batch, &b->column, mask);
}

int bound_valid(struct scan_batch *batch, struct bound *b, const uint64_t **ret)
{
    const int64_t *ignored;
    int rc = 0;

    if (!b->nulls) {
        *ret = NULL;
        return 0;
    }
    if (b->form == FORM_TE || b->form == FORM_BUCKET) /* where ts is; nothing has to be computed */
        return bound_valid(batch, b->part[0], ret);
    if (b->form == FORM_DUR || b->form == FORM_ROWS || b->form == FORM_RANK ||
        b->form == FORM_PROCESS || b->form == FORM_CLIP)
        return bound_i64(batch, b, &ignored, ret);
    if (!lane_has(&b->valid, batch)) {
        uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));
        if (!mask)
            return -ENOMEM;
        if (b->form == FORM_NULL)
            memset(mask, 0, SCAN_WORDS * 8);
        else if (b->form == FORM_STORED || (b->form == FORM_MAPPED && !b->remap))
            rc = valid_stored(batch, b, mask);
        else
            rc = valid_of_codes(batch, b, mask);
        if (rc < 0)
            return rc;
        valid_end(b, batch);
    }
    *ret = b->valid.valid;
    return 0;
}

/* ---- codes ----------------------------------------------------------------------------------- */

/* Null rows of a stored column get the code behind the last. */
static int mark_nulls(struct scan_batch *batch, struct bound *b, uint32_t *codes,
                      uint32_t null_code)
{
    uint64_t valid[SCAN_WORDS];

    if (b->column.nulls == 0)
        return 0;
    int rc = valid_stored(batch, b, valid);
    if (rc < 0)
        return rc;
    for (uint32_t at = 0; at < batch->rows; at += 64) {
        uint32_t end = batch->rows - at < 64 ? batch->rows - at : 64;
        uint64_t missing = ~valid[at / 64];
        if (end < 64)
            missing &= ((uint64_t)1 << end) - 1;
        for (; missing; missing &= missing - 1)
            codes[at + (uint32_t)__builtin_ctzll(missing)] = null_code;
    }
    return 0;
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

static int read_codes(struct scan_batch *batch, struct bound *b, uint32_t *codes)
{
    if (b->form == FORM_SINGLE) {
        memset(codes, 0, batch->rows * sizeof(*codes));
        return 0;
    }
    if (batch->places && b->only_serial == batch->chunk->worker->serial) {
        for (uint32_t i = 0; i < batch->rows; i++)
            codes[i] = b->only_code;
        return 0;
    }
    if (b->form == FORM_CODED) {
        for (uint32_t i = 0; i < batch->rows; i++)
            codes[i] = ((const uint32_t *)b->rows_memory.data)[batch->places[i]];
        return 0;
    }
    int rc = read_stored_codes(batch, b, codes);
    if (rc < 0)
        return rc;
    if (b->form == FORM_MAPPED && b->remap) {
        rc = mark_nulls(batch, b, codes, b->column.entries);
        for (uint32_t i = 0; i < batch->rows; i++)
            codes[i] = b->remap[codes[i]];
        return rc;
    }
    return mark_nulls(batch, b, codes, b->entries);
}

int bound_codes(struct scan_batch *batch, struct bound *b, const uint32_t **ret)
{
    if (b->form == FORM_CODED && !batch->places) {
        *ret = (const uint32_t *)b->rows_memory.data + batch->first;
        return 0;
    }
    if (!lane_has(&b->codes, batch)) {
        uint32_t *codes = lane_begin(&b->codes, sizeof(*codes));
        if (!codes)
            return -ENOMEM;
        int rc = read_codes(batch, b, codes);
        if (rc < 0)
            return rc;
        lane_end(&b->codes, batch);
    }
    *ret = b->codes.memory.data;
    return 0;
}

int bound_entry(struct scan_worker *w, struct bound *b, uint32_t code, struct column_entry *ret)
{
    if (b->form == FORM_STORED)
        return column_entry(w->chunk.view, &b->column, code, ret);
    *ret = b->entry[code];
    return 0;
}

/* ---- computed integers ----------------------------------------------------------------------- */

/* Rows that are X events, as a bitmap. */
static int read_x_of_ph(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *ph = b->part[1];
    const uint32_t *codes;
    const int64_t *values;
    const uint64_t *valid;

    if (b->x_all) {
        memset(mask, 0xFF, SCAN_WORDS * 8);
        return 0;
    }
    if (ph->shape == SHAPE_INT) { /* a null row is 0 */
        int rc = bound_i64(batch, ph, &values, &valid);
        if (rc == 0)
            kernels()->range_i64(values, batch->rows, 1, 1, mask);
        return rc;
    }
    int rc = bound_codes(batch, ph, &codes);
    if (rc == 0)
        kernels()->table_u32(codes, batch->rows, b->x_table.data, ph->entries + 1, mask);
    return rc;
}

/* Rows whose dur is 0 if there is none: not those that had one which is too large (clocks that
 * stepped back). */
static int read_x(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *bad = b->part[2];
    const int64_t *values;
    const uint64_t *valid;
    uint64_t is_bad[SCAN_WORDS];
    int rc = read_x_of_ph(batch, b, mask);

    if (rc < 0 || bad->shape != SHAPE_BOOL)
        return rc;
    rc = bound_i64(batch, bad, &values, &valid);
    if (rc == 0)
        kernels()->range_i64(values, batch->rows, 1, 1, is_bad);
    for (uint32_t i = 0; rc == 0 && i < (batch->rows + 63) / 64; i++)
        mask[i] &= ~is_bad[i];
    return rc;
}

/* A stored column into a lane of `b`. */
static int read_stored(struct scan_batch *batch, struct bound *b, const struct column *column,
                       int64_t *out)
{
    struct chunk_view *view = batch->chunk->view;
    int64_t few[SCAN_BATCH];
    uint32_t count;

    if (batch->places)
        return column_pick_i64(view, column, batch->places, batch->rows, out);
    const uint32_t *rows = batch_few(batch, &count);
    b->i64.few = rows != NULL;
    if (!rows)
        return column_read_i64(view, column, batch->first, batch->rows, out);
    int rc = column_pick_i64(view, column, rows, count, few);
    for (uint32_t k = 0; rc == 0 && k < count; k++)
        out[rows[k] - batch->first] = few[k];
    return rc;
}

/* Straight into the lane, not through that of the stored column, which few ask for besides. */
static int read_stored_dur(struct scan_batch *batch, struct bound *b, struct bound *dur,
                           int64_t *out, uint64_t *mask)
{
    uint64_t valid[SCAN_WORDS];
    int rc = read_stored(batch, b, &dur->column, out);

    if (rc == 0 && dur->nulls)
        rc = stored_valid(batch, &dur->column, valid);
    for (uint32_t i = 0; rc == 0 && i < (batch->rows + 63) / 64; i++)
        mask[i] |= dur->nulls ? valid[i] : ~(uint64_t)0;
    return rc;
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

int dur_zeros(struct scan_batch *batch, struct bound *b, uint64_t *mask)
{
    struct bound *dur = b->part[0];
    uint64_t valid[SCAN_WORDS], x[SCAN_WORDS];
    int rc = 0;

    memset(valid, 0xFF, sizeof(valid));
    if (dur->nulls)
        rc = stored_valid(batch, &dur->column, valid);
    if (rc < 0 || !wants_x(batch, valid))
        return rc;
    rc = read_x(batch, b, x);
    for (uint32_t i = 0; rc == 0 && i < (batch->rows + 63) / 64; i++)
        mask[i] |= x[i] & ~valid[i];
    return rc;
}

static int read_dur(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t)), x[SCAN_WORDS];
    int rc = mask ? 0 : -ENOMEM;

    if (rc < 0)
        return rc;
    memset(mask, 0, SCAN_WORDS * 8);
    if (b->part[0]->shape == SHAPE_TIME)
        rc = read_stored_dur(batch, b, b->part[0], out, mask);
    else
        memset(out, 0, batch->rows * sizeof(*out));
    b->valid.few = b->i64.few = batch->mask && batch->chunk->worker->interest;
    if (rc == 0 && wants_x(batch, mask)) {
        rc = read_x(batch, b, x);
        for (uint32_t i = 0; rc == 0 && i < (batch->rows + 63) / 64; i++)
            mask[i] |= x[i];
    }
    if (rc == 0)
        valid_end(b, batch);
    return rc;
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

static int read_te(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    struct bound *ts = b->part[0], *dur = b->part[1];
    const int64_t *starts, *lengths = NULL;
    const uint64_t *valid, *ignored;
    int rc = bound_i64(batch, ts, &starts, &valid);

    if (rc == 0 && dur->shape == SHAPE_TIME)
        rc = bound_i64(batch, dur, &lengths, &ignored); /* null rows are 0: te is ts there */
    if (rc < 0)
        return rc;
    for (uint32_t i = 0; i < batch->rows; i++) {
        int64_t start = time_in(starts[i], ts->nano, b->nano);
        out[i] = lengths ? add_times(start, time_in(lengths[i], dur->nano, b->nano)) : start;
    }
    for (uint32_t i = 0; valid && i < batch->rows; i++)
        out[i] = bit(valid, i) ? out[i] : 0;
    b->i64.valid = valid;
    b->i64.few = is_few(ts) || (lengths && is_few(dur));
    return 0;
}

/* Times mostly come in order: the bucket of the row before is tried first. */
static int read_bucket(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    struct bound *ts = b->part[0];
    const int64_t *starts;
    const uint64_t *valid;
    int rc = bound_i64(batch, ts, &starts, &valid);
    int64_t from = 0, to = 0, value = 0; /* [from, to) gives value; empty at first */

    if (rc < 0)
        return rc;
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
    return 0;
}

/* A pid that the table has not is of a row that nobody looks at. */
static int read_rank(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    const int64_t *pids, *ranks = b->rows_memory.data;
    const uint64_t *ignored, first = (uint64_t)b->base, span = (uint64_t)b->step;
    uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));
    int rc = mask ? bound_i64(batch, b->part[0], &pids, &ignored) : -ENOMEM;

    if (rc < 0)
        return rc;
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
    valid_end(b, batch);
    b->i64.valid = b->valid.valid;
    return 0;
}

int bound_processes(struct scan_batch *batch, struct bound *pid, struct bound *host,
                    struct processes *ret)
{
    int rc = bound_i64(batch, pid, &ret->pids, &ret->valid);

    ret->codes = NULL;
    if (rc == 0 && host->shape != SHAPE_NULL)
        rc = bound_codes(batch, host, &ret->codes);
    return rc;
}

static int read_ranks(struct scan_batch *batch, struct bound *b, int64_t *out, uint64_t *valid)
{
    struct ranks *r = b->rows_memory.data;
    struct processes of;
    int rc = bound_processes(batch, r->pid, r->host, &of);

    if (rc == 0)
        ranks_of_rows(r, &of, batch->rows, out, valid);
    return rc;
}

/* Of a batch that is no list of places: those of its rows that are wanted. */
static int read_wanted_ranks(struct scan_batch *batch, struct bound *b, int64_t *out,
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
    int rc = n == 0 ? 0 : read_ranks(&few, b, ranks, valid);
    memset(out, 0, batch->rows * sizeof(*out));
    for (uint32_t k = 0; rc == 0 && k < n; k++) {
        out[rows[k]] = ranks[k];
        mask[rows[k] / 64] |= (uint64_t)bit(valid, k) << rows[k] % 64;
    }
    return rc;
}

static int read_process_ranks(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));

    if (!mask)
        return -ENOMEM;
    memset(mask, 0, SCAN_WORDS * 8);
    int rc =
        batch->places ? read_ranks(batch, b, out, mask) : read_wanted_ranks(batch, b, out, mask);
    if (rc < 0)
        return rc;
    valid_end(b, batch);
    b->i64.valid = b->valid.valid;
    return 0;
}

static int read_i64(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    int rc = 0;

    switch (b->form) {
    case FORM_STORED:
        rc = read_stored(batch, b, &b->column, out);
        if (rc == 0)
            rc = bound_valid(batch, b, &b->i64.valid);
        return rc;
    case FORM_DUR:
        rc = read_dur(batch, b, out);
        b->i64.valid = b->valid.valid;
        return rc;
    case FORM_TE:
        return read_te(batch, b, out);
    case FORM_BUCKET:
        return read_bucket(batch, b, out);
    case FORM_CLIP:
        return b->source->read(batch, b, out);
    case FORM_RANK:
        return read_rank(batch, b, out);
    case FORM_PROCESS:
        return read_process_ranks(batch, b, out);
    case FORM_ZERO:
        memset(out, 0, batch->rows * sizeof(*out));
        return 0;
    default:
        return -EDOM;
    }
}

/* Whole-chunk rows: only the bitmap has to be told for the batch. */
static int rows_of_batch(struct scan_batch *batch, struct bound *b, const int64_t **ret,
                         const uint64_t **ret_valid)
{
    const uint64_t *valid = b->rows_valid.data;

    if (!lane_has(&b->valid, batch)) {
        uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));
        if (!mask)
            return -ENOMEM;
        memcpy(mask, valid + batch->first / 64, (batch->rows + 63) / 64 * 8);
        valid_end(b, batch);
    }
    *ret = (const int64_t *)b->rows_memory.data + batch->first;
    *ret_valid = b->valid.valid;
    return 0;
}

/* The same rows, gathered. */
static int gather_rows(struct scan_batch *batch, struct bound *b, int64_t *out)
{
    const uint64_t *valid = b->rows_valid.data;
    uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));

    if (!mask)
        return -ENOMEM;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++) {
        uint32_t place = batch->places[i];
        out[i] = ((const int64_t *)b->rows_memory.data)[place];
        mask[i / 64] |= (uint64_t)bit(valid, place) << i % 64;
    }
    valid_end(b, batch);
    b->i64.valid = b->valid.valid;
    return 0;
}

int bound_i64(struct scan_batch *batch, struct bound *b, const int64_t **ret,
              const uint64_t **ret_valid)
{
    if (b->shape != SHAPE_INT && b->shape != SHAPE_TIME && b->shape != SHAPE_BOOL)
        return -EDOM;
    if (b->form == FORM_ROWS && !batch->places)
        return rows_of_batch(batch, b, ret, ret_valid);
    if (!lane_has(&b->i64, batch)) {
        int64_t *values = lane_begin(&b->i64, sizeof(*values));
        if (!values)
            return -ENOMEM;
        int rc = b->form == FORM_ROWS ? gather_rows(batch, b, values) : read_i64(batch, b, values);
        if (rc < 0)
            return rc;
        lane_end(&b->i64, batch);
    }
    *ret = b->i64.memory.data;
    *ret_valid = b->i64.valid;
    return 0;
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
static int read_mixed_f64(struct scan_batch *batch, struct bound *b, double *out)
{
    const uint32_t *codes;
    struct column_entry e;
    uint64_t *mask = lane_begin(&b->valid, sizeof(uint64_t));
    int rc = mask ? bound_codes(batch, b, &codes) : -ENOMEM;

    if (rc < 0)
        return rc;
    memset(mask, 0, SCAN_WORDS * 8);
    for (uint32_t i = 0; i < batch->rows; i++) {
        out[i] = 0;
        if (codes[i] == b->entries)
            continue;
        rc = bound_entry(batch->chunk->worker, b, codes[i], &e);
        if (rc < 0)
            return rc;
        mask[i / 64] |= (uint64_t)entry_number(&e, &out[i]) << i % 64;
    }
    /* Not the validity of the source: texts are not null. So it is kept with the doubles only. */
    uint64_t *own = grow_to(&b->x_table, SCAN_WORDS * 8);
    if (!own)
        return -ENOMEM;
    memcpy(own, mask, SCAN_WORDS * 8);
    b->f64.few = b->valid.few = b->codes.few;
    b->f64.valid = all_set(own, batch->rows) ? NULL : own;
    return 0;
}

static int read_doubles(struct scan_batch *batch, struct bound *b, double *out)
{
    struct chunk_view *view = batch->chunk->view;
    double few[SCAN_BATCH];
    uint32_t count;

    if (batch->places)
        return column_pick_f64(view, &b->column, batch->places, batch->rows, out);
    const uint32_t *rows = batch_few(batch, &count);
    b->f64.few = rows != NULL;
    if (!rows)
        return column_read_f64(view, &b->column, batch->first, batch->rows, out);
    int rc = column_pick_f64(view, &b->column, rows, count, few);
    for (uint32_t k = 0; rc == 0 && k < count; k++)
        out[rows[k] - batch->first] = few[k];
    return rc;
}

static int read_f64(struct scan_batch *batch, struct bound *b, double *out)
{
    const int64_t *values;
    int rc;

    if (b->shape == SHAPE_MIXED)
        return read_mixed_f64(batch, b, out);
    if (b->shape == SHAPE_DOUBLE) {
        rc = read_doubles(batch, b, out);
        return rc < 0 ? rc : bound_valid(batch, b, &b->f64.valid);
    }
    rc = bound_i64(batch, b, &values, &b->f64.valid);
    if (rc < 0)
        return rc;
    b->f64.few = is_few(b);
    if (b->shape == SHAPE_TIME && b->nano) {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i] / 1000.0;
    } else {
        for (uint32_t i = 0; i < batch->rows; i++)
            out[i] = (double)values[i];
    }
    return 0;
}

int bound_f64(struct scan_batch *batch, struct bound *b, const double **ret,
              const uint64_t **ret_valid)
{
    if (b->shape != SHAPE_INT && b->shape != SHAPE_TIME && b->shape != SHAPE_DOUBLE &&
        b->shape != SHAPE_MIXED)
        return -EDOM;
    if (!lane_has(&b->f64, batch)) {
        double *values = lane_begin(&b->f64, sizeof(*values));
        if (!values)
            return -ENOMEM;
        int rc = read_f64(batch, b, values);
        if (rc < 0)
            return rc;
        lane_end(&b->f64, batch);
    }
    *ret = b->f64.memory.data;
    *ret_valid = b->f64.valid;
    return 0;
}
