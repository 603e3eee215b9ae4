/* number.c - moments and percentiles of numbers by group. */
#include "dftracerd/kernel.h"
#include "engine/group/encode.h"
#include "engine/group/worker.h"

#include <errno.h>

/* ---- slots ----------------------------------------------------------------------------------- */

static size_t number_bytes(const struct acc_spec *spec)
{
    return spec->sample ? sizeof(struct sampled_moments) : sizeof(struct int_moments);
}

static void number_clear(const struct acc_spec *spec, void *slot)
{
    struct sampled_moments *n = slot;

    n->int_moments = (struct int_moments){.min = INT64_MAX, .max = INT64_MIN};
    if (spec->sample)
        n->sample = (struct sample){0};
}

/* Sums beyond 64 bits are in one list, which may move while other threads merge. */
static int number_merge(struct groups *into, struct acc *acc, void *slot, struct groups *from,
                        const void *other, pthread_mutex_t *shared)
{
    struct sampled_moments *n = slot;
    const struct sampled_moments *o = other;
    int rc = 0;

    if (!int_moments_merge_quickly(&n->int_moments, &o->int_moments)) {
        if (shared)
            pthread_mutex_lock(shared);
        rc = int_moments_merge(into, &n->int_moments, from, &o->int_moments);
        if (shared)
            pthread_mutex_unlock(shared);
    }
    return rc == 0 && acc->spec->sample ? sample_merge(&into->memory, &n->sample, &o->sample) : rc;
}

/* ---- encoding -------------------------------------------------------------------------------- */

static int number_encode(struct groups_encoder *e, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &e->from->set[set];

    for (uint32_t g = 0; s->accs[acc].spec->sample && g < s->ready; g++)
        sample_encode(&((struct sampled_moments *)group_slot(s, g, acc))->sample, e->out);
    return e->out->error;
}

static int number_decode(struct groups_decoder *d, unsigned set, unsigned acc)
{
    const struct groups_of_set *s = &d->into->set[set];
    int rc = 0;

    for (uint32_t g = 0; g < s->ready && rc == 0; g++) {
        struct sampled_moments *c = group_slot(s, g, acc);
        if (c->int_moments.more >> 1 > d->into->large.count)
            return ERR_CORRUPT;
        if (!s->accs[acc].spec->sample)
            continue;
        c->sample = (struct sample){0};
        rc = sample_decode(&d->into->memory, &d->rec, d->keep, &c->sample);
    }
    return rc;
}

/* ---- one value ------------------------------------------------------------------------------- */

struct doubles_entry *number_doubles(struct group_worker *w, unsigned set, unsigned acc,
                                     uint32_t group)
{
    struct acc *a = &w->found->set[set].accs[acc];

    if (group >= a->doubles_at.count && vec_extend(&a->doubles_at, (size_t)group + 1) < 0)
        return NULL;
    uint32_t *at = &a->doubles_at.at[group];
    if (__builtin_expect(*at == 0, 0)) {
        if (vec_push(&w->entries, {.group = group, .set = (uint16_t)set, .acc = (uint16_t)acc}) < 0)
            return NULL;
        *at = (uint32_t)w->entries.count;
    }
    return &w->entries.at[*at - 1];
}

static int add_float_moments(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                             double value)
{
    struct doubles_entry *e = number_doubles(w, set, acc, group);

    if (!e)
        return -ENOMEM;
    entry_add(e, value, w->found->set[set].accs[acc].spec->shape);
    return 0;
}

int number_add(struct group_worker *w, unsigned set, unsigned acc, uint32_t group, int64_t value,
               bool nano)
{
    const struct groups_of_set *s = &w->found->set[set];
    const struct acc_spec *spec = s->accs[acc].spec;
    struct sampled_moments *n = group_slot(s, group, acc);
    int rc = int_moments_add_quickly(&n->int_moments, value, nano)
                 ? 0
                 : int_moments_add(w->found, &n->int_moments, value, nano);

    if (rc == 0 && spec->sample)
        rc = sample_add_i64(&w->found->memory, &n->sample, value, nano);
    if (rc == 0 && spec->shape)
        rc = add_float_moments(w, set, acc, group, nano ? (double)value / 1000 : (double)value);
    return rc;
}

int number_add_f64(struct group_worker *w, unsigned set, unsigned acc, uint32_t group, double value)
{
    const struct groups_of_set *s = &w->found->set[set];
    struct sampled_moments *n = group_slot(s, group, acc);
    int rc = add_float_moments(w, set, acc, group, value);

    return rc == 0 && s->accs[acc].spec->sample
               ? sample_add_f64(&w->found->memory, &n->sample, value)
               : rc;
}

/* ---- many values ----------------------------------------------------------------------------- */

/* Sums values whose squares fit into 64 bits in sum. Returns false if some value is too large. */
static bool sum_small(const int64_t *v, uint32_t n, bool nano, struct int_moments *ret)
{
    struct int_moments c = {.min = INT64_MAX, .max = INT64_MIN, .count = n, .more = nano};
    uint64_t bits = 0;

    for (uint32_t i = 0; i < n; i++)
        bits |= (uint64_t)v[i];
    if (bits >= GROUP_SMALL || n > SCAN_BATCH)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        c.sum += v[i];
        c.squares += (uint64_t)v[i] * (uint64_t)v[i];
        c.min = v[i] < c.min ? v[i] : c.min;
        c.max = v[i] > c.max ? v[i] : c.max;
    }
    *ret = c;
    return true;
}

static int add_block(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                     const int64_t *v, uint32_t n, bool nano)
{
    const struct groups_of_set *s = &w->found->set[set];
    struct sampled_moments *to = group_slot(s, group, acc);
    const struct acc_spec *spec = s->accs[acc].spec;
    struct int_moments sums;
    int rc = 0;

    if (n == 0)
        return 0;
    if (spec->shape || !sum_small(v, n, nano, &sums)) {
        for (uint32_t i = 0; i < n && rc == 0; i++)
            rc = number_add(w, set, acc, group, v[i], nano);
        return rc;
    }
    rc = int_moments_merge(w->found, &to->int_moments, w->found, &sums);
    for (uint32_t i = 0; spec->sample && i < n && rc == 0; i++)
        rc = sample_add_i64(&w->found->memory, &to->sample, v[i], nano);
    return rc;
}

int number_add_all(struct group_worker *w, unsigned set, unsigned acc, uint32_t group,
                   const int64_t *values, uint32_t n, bool nano)
{
    int rc = 0;

    for (uint32_t at = 0; at < n && rc == 0; at += SCAN_BATCH)
        rc = add_block(w, set, acc, group, values + at, n - at < SCAN_BATCH ? n - at : SCAN_BATCH,
                       nano);
    return rc;
}

/* Sets w->value_row to the numbers of selected rows that have a value (and a bit in `also`, unless
 * that is NULL). */
static uint32_t find_value_rows(struct group_worker *w, const struct scan_batch *b,
                                const uint64_t *valid, const uint64_t *also)
{
    const uint16_t *select = b->select;
    uint64_t wanted[SCAN_WORDS];
    uint16_t *ret = w->value_row;
    uint32_t n = 0;

    for (uint32_t i = 0; i < (b->rows + 63) / 64; i++)
        wanted[i] = (valid ? valid[i] : ~(uint64_t)0) & (also ? also[i] : ~(uint64_t)0);
    for (uint32_t j = 0, count = b->count; select && j < count; j++) {
        ret[n] = (uint16_t)j;
        n += wanted[select[j] / 64] >> (select[j] % 64) & 1;
    }
    if (!select && b->rows % 64)
        wanted[b->rows / 64] &= ((uint64_t)1 << b->rows % 64) - 1;
    if (!select)
        n = mask_to_select(wanted, b->rows, ret);
    return n;
}

static void pick_values(const int64_t *restrict v, const uint16_t *restrict rows, uint32_t n,
                        int64_t *restrict out)
{
    for (uint32_t i = 0; i < n; i++)
        out[i] = v[rows[i]];
}

/* Returns the values of selected rows that have one (and a bit in `also`, unless that is NULL). */
static struct group_values select_values(struct group_worker *w, const struct scan_batch *b,
                                         const struct batch_numbers *of, const uint64_t *also)
{
    uint64_t mask[SCAN_WORDS], wanted[SCAN_WORDS], some[SCAN_WORDS + 1];
    const uint64_t *selected = batch_mask(b, mask);
    const uint32_t words = (b->rows + 63) / 64;
    struct group_values ret = {.group = w->group, .v = of->i, .n = b->count, .nano = of->nano};

    if (!of->valid && !also && !b->select)
        return ret;
    for (uint32_t i = 0; i < words; i++)
        wanted[i] =
            selected[i] & (of->valid ? of->valid[i] : UINT64_MAX) & (also ? also[i] : UINT64_MAX);
    ret.n = kernels()->count(wanted, words);
    if (ret.n == b->rows)
        return ret;
    ret.v = w->value_i64;
    if (ret.n == b->count && ret.n < b->rows / 2) {
        pick_values(of->i, b->select, ret.n, w->value_i64);
        return ret;
    }
    kernels()->keep_i64(of->i, wanted, b->rows, w->value_i64);
    if (ret.n == b->count)
        return ret;
    kernels()->extract(wanted, selected, words, some);
    kernels()->keep_u32(w->group, some, b->count, w->value_group);
    ret.group = w->value_group;
    return ret;
}

/* Counts rows without a value; those with a value are counted by their slots. */
static void count_null_rows(const struct group_worker *w, const struct scan_batch *b, unsigned set,
                            const struct group_values *of)
{
    const struct groups_of_set *s = &w->found->set[set];

    group_count_rows(s, w->group, b->count);
    for (uint32_t i = 0; i < of->n; i++)
        --*group_count(s, of->group[i]);
}

/* The members of the set are copied to local variables: otherwise the compiler must assume that
 * each store to a record changes them. */
static int add_to_records(struct group_worker *w, unsigned set, unsigned acc,
                          const struct group_values *of)
{
    const struct groups_of_set *s = &w->found->set[set];
    char *slots = s->records + s->accs[acc].at;
    const size_t stride = s->stride;
    const uint32_t *group = of->group, n = of->n;
    const int64_t *v = of->v;
    const bool nano = of->nano;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct int_moments *to = (struct int_moments *)(slots + group[i] * stride);
        if (__builtin_expect(!int_moments_add_quickly(to, v[i], nano), 0))
            rc = int_moments_add(w->found, to, v[i], nano);
    }
    return rc;
}

static inline __attribute__((always_inline)) int add_samples(struct group_worker *w, unsigned set,
                                                             unsigned acc,
                                                             const struct group_values *of,
                                                             bool nano)
{
    const struct groups_of_set *s = &w->found->set[set];
    struct sample_memory *memory = &w->found->memory;
    char *samples = s->records + s->accs[acc].at + offsetof(struct sampled_moments, sample);
    const size_t stride = s->stride;
    const uint32_t *group = of->group, n = of->n;
    const int64_t *v = of->v;

    for (uint32_t i = 0; i < n; i++) {
        int rc = sample_add_i64(memory, (struct sample *)(samples + group[i] * stride), v[i], nano);
        if (__builtin_expect(rc < 0, 0))
            return rc;
    }
    return 0;
}

static int add_i64(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc,
                   const struct batch_numbers *of, const uint64_t *also)
{
    const struct acc_spec *spec = w->found->set[set].accs[acc].spec;
    struct group_values values = select_values(w, b, of, also);
    int64_t min, max;
    int rc = 0;

    values.small = scan_range(b->chunk, spec->column, &min, &max) && min >= 0 && max < GROUP_SMALL;
    if (acc == w->row_counter && values.n < b->count)
        count_null_rows(w, b, set, &values);
    if (spec->shape) {
        for (uint32_t i = 0; i < values.n && rc == 0; i++)
            rc = number_add(w, set, acc, values.group[i], values.v[i], values.nano);
        return rc;
    }
    rc = dense_sums_usable(w, set, acc) ? dense_sums_add(w, set, acc, &values)
                                        : add_to_records(w, set, acc, &values);
    if (rc < 0 || !spec->sample)
        return rc;
    return values.nano ? add_samples(w, set, acc, &values, true)
                       : add_samples(w, set, acc, &values, false);
}

/* Adds the values w->value_f64 to the groups w->value_group. */
static int add_doubles(struct group_worker *w, unsigned set, unsigned acc, uint32_t n)
{
    const struct groups_of_set *s = &w->found->set[set];
    const struct acc *a = &s->accs[acc];
    const bool shape = a->spec->shape, sample = a->spec->sample;
    char *numbers = s->records + a->at;
    int rc = 0;

    for (uint32_t i = 0; i < n && rc == 0; i++) {
        uint32_t group = w->value_group[i];
        double value = w->value_f64[i];
        bool known = group < a->doubles_at.count && a->doubles_at.at[group];
        struct doubles_entry *e = known ? &w->entries.at[a->doubles_at.at[group] - 1]
                                        : number_doubles(w, set, acc, group);
        if (!e)
            return -ENOMEM;
        entry_add(e, value, shape);
        if (sample)
            rc = sample_add_f64(&w->found->memory,
                                &((struct sampled_moments *)(numbers + group * s->stride))->sample,
                                value);
    }
    return rc;
}

static int add_f64(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc,
                   const struct batch_numbers *of, const uint64_t *also)
{
    uint32_t n = find_value_rows(w, b, of->valid, also);

    for (uint32_t i = 0; i < n; i++) {
        w->value_f64[i] = of->d[batch_row(b, w->value_row[i])];
        w->value_group[i] = w->group[w->value_row[i]];
    }
    return add_doubles(w, set, acc, n);
}

static int numbers_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct acc_spec *spec = w->found->set[set].accs[acc].spec;
    const struct batch_numbers n = batch_numbers(b, spec->column);
    const uint64_t *also = spec->with ? batch_numbers(b, spec->with).valid : NULL;

    if (n.i)
        return add_i64(w, b, set, acc, &n, also);
    return n.d ? add_f64(w, b, set, acc, &n, also) : 0;
}

const struct acc_kind acc_number = {.sums = true,
                                    .bytes = number_bytes,
                                    .clear = number_clear,
                                    .add = numbers_add,
                                    .merge = number_merge,
                                    .encode = number_encode,
                                    .decode = number_decode};

/* ---- rates ----------------------------------------------------------------------------------- */

static int rate_add(struct group_worker *w, struct scan_batch *b, unsigned set, unsigned acc)
{
    const struct acc_spec *spec = w->found->set[set].accs[acc].spec;
    const struct batch_numbers n = batch_numbers(b, spec->column);
    bool nano;
    const int64_t *dur = batch_i64(b, spec->with, NULL, &nano);
    const double unit = nano ? 1e9 : 1e6;
    uint32_t count = 0;

    if ((!n.i && !n.d) || scan_shape(b->chunk, spec->with) == SHAPE_NULL)
        return 0;
    uint32_t some = find_value_rows(w, b, n.valid, NULL);
    for (uint32_t i = 0; i < some; i++) {
        uint32_t row = batch_row(b, w->value_row[i]);
        double bytes = n.i ? (double)n.i[row] : n.d[row];
        w->value_f64[count] = bytes * unit / (double)dur[row];
        w->value_group[count] = w->group[w->value_row[i]];
        count += dur[row] > 0; /* dur of a null row is 0 */
    }
    return add_doubles(w, set, acc, count);
}

const struct acc_kind acc_rate = {.bytes = number_bytes,
                                  .clear = number_clear,
                                  .add = rate_add,
                                  .merge = number_merge,
                                  .encode = number_encode,
                                  .decode = number_decode};
