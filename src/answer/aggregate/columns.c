/* columns.c - rows of the answer as vectors: ranks of keys, and integers and times copied from the
 * records.
 *
 * Each column of a block of rows is filled by a loop of its own, without a struct value or a call
 * for each row. All other columns (with doubles, sums beyond 64 bits, percentiles, parents ...) are
 * filled by aggregate_values.
 */
#include "answer/aggregate/columns.h"

#include <stddef.h>
#include <string.h>

/* ---- a column of a block --------------------------------------------------------------------- */

static void fill_ranks(const struct key_ranks *r, const struct column_block *b, unsigned key,
                       uint32_t *ret)
{
    const struct row_id *rows = b->rows;
    const uint64_t mask = ((uint64_t)1 << r->bits[key]) - 1;
    const unsigned shift = r->shift[key], width = r->width;
    const uint32_t *ranks = r->ranks ? r->ranks + key : NULL;
    const size_t n = b->count;
    const uint32_t first = (uint32_t)(rows->word >> shift & mask);
    const bool same = !ranks && (b->varying_bits >> shift & mask) == 0;

    for (size_t i = 0; i < TABLE_BLOCK && same; i++)
        ret[i] = first; /* a constant number of rows is filled with vector instructions */
    for (size_t i = 0; i < n && !ranks && !same; i++)
        ret[i] = (uint32_t)(rows[i].word >> shift & mask);
    for (size_t i = 0; i < n && ranks; i++)
        ret[i] = ranks[(size_t)rows[i].group * width];
}

static const void *slot_at(const struct column_block *b, size_t i, unsigned acc)
{
    return b->records + i * b->stride + b->set->accs[acc].at;
}

static inline void flags_add(struct moment_flags *a, const struct int_moments *c)
{
    bool some = c->count > 0;

    a->large |= c->more >> 1;
    a->nano |= c->more & some;
    a->micro |= ~c->more & some;
}

/* Copies a number of 64 bits from each record. */
static void copy_numbers(const struct column_block *b, size_t offset, int64_t *to)
{
    const char *from = b->records + offset;
    const size_t n = b->count, stride = b->stride;

    for (size_t i = 0; i < n; i++)
        memcpy(to + i, from + i * stride, sizeof(*to));
}

/* Sets the flags of a measure, which are used for three successive columns: sum, minimum and
 * maximum. */
static void block_set_flags(struct column_block *b, unsigned measure)
{
    if (b->has_flags && b->flags_of == measure)
        return;
    b->has_flags = true;
    b->flags_of = measure;
    b->flags = (struct moment_flags){0};
    b->nulls = 0;
    for (size_t i = 0; i < b->count; i++) {
        const struct int_moments *c = slot_at(b, i, measure);
        flags_add(&b->flags, c);
        b->nulls += c->count == 0;
    }
}

static bool fill_measure(const struct row_reader *t, struct column_block *b,
                         const struct output_column *what, struct vector_memory *m,
                         struct vector *v)
{
    if (what->of >= plan_measures(t->plan, b->rows->set) ||
        t->found->doubles.set[b->rows->set].float_moments.count)
        return false;
    block_set_flags(b, what->of);
    if (b->flags.large || (b->flags.nano && b->flags.micro))
        return false;
    size_t at = what->what == OUTPUT_SUM   ? offsetof(struct int_moments, sum)
                : what->what == OUTPUT_MIN ? offsetof(struct int_moments, min)
                                           : offsetof(struct int_moments, max);
    copy_numbers(b, b->set->accs[what->of].at + at, m->i);
    v->valid = b->nulls ? m->valid : NULL;
    if (b->nulls)
        memset(m->valid, 0, sizeof(m->valid));
    for (size_t i = 0; b->nulls && i < b->count; i++) {
        bool some = ((const struct int_moments *)slot_at(b, i, what->of))->count > 0;
        m->valid[i / 64] |= (uint64_t)some << i % 64;
        m->i[i] = some ? m->i[i] : 0;
    }
    v->kind = !t->plan->measures.at[what->of].time ? VECTOR_INT
              : b->flags.nano                      ? VECTOR_NS
                                                   : VECTOR_US;
    return true;
}

static bool fill_times(const struct aggregate_plan *p, const struct column_block *b,
                       enum output what, struct vector_memory *m, struct vector *v)
{
    bool fits = true, nulls = false;

    memset(m->valid, 0, sizeof(m->valid));
    for (size_t i = 0; i < b->count; i++) {
        const struct extent *e = slot_at(b, i, plan_measures(p, b->rows->set));
        bool some = extent_has_times(e);
        __int128 ns = 0;
        if (some) /* else the difference may overflow */
            ns = (what == OUTPUT_TS ? e->min_ts : e->max_te) - p->origin_ns;
        m->valid[i / 64] |= (uint64_t)some << i % 64;
        nulls |= !some;
        m->i[i] = (int64_t)ns;
        fits &= ns == (int64_t)ns;
    }
    v->kind = VECTOR_NS;
    v->valid = nulls ? m->valid : NULL;
    return fits;
}

static int class_value(void *arg, uint64_t key, struct value *ret)
{
    (void)arg;
    *ret = (struct value){.type = VALUE_TEXT, .text = text_of(aggregate_classes[key])};
    return 0;
}

static bool fill_class(const struct column_block *b, struct vector_memory *m, struct vector *v)
{
    static const uint64_t keys[SETS] = {0, 1, 2};

    for (size_t i = 0; i < b->count; i++)
        m->codes[i] = b->rows->set;
    *v = (struct vector){.kind = VECTOR_CODE,
                         .codes = m->codes,
                         .keys = keys,
                         .code_count = SETS,
                         .value = class_value};
    return true;
}

bool column_fill(const struct row_reader *t, const struct group_order *o, struct column_block *b,
                 const struct output_column *what, struct vector_memory *m, struct vector *v)
{
    *v = (struct vector){.i = m->i, .codes = m->codes};
    switch (what->what) {
    case OUTPUT_CLASS:
        return fill_class(b, m, v);
    case OUTPUT_KEY:
        v->kind = VECTOR_CODE;
        fill_ranks(&o->set[b->rows->set], b, what->of, m->codes);
        return true;
    case OUTPUT_COUNT:
        v->kind = VECTOR_UINT;
        copy_numbers(b, 0, m->i);
        return true;
    case OUTPUT_SUM:
    case OUTPUT_MIN:
    case OUTPUT_MAX:
        return fill_measure(t, b, what, m, v);
    case OUTPUT_TS:
    case OUTPUT_TE:
        return fill_times(t->plan, b, what->what, m, v);
    default:
        return false;
    }
}

/* Copies a record of whole words, in pieces of a constant size to avoid calls. */
static inline void copy_record(char *to, const char *from, size_t bytes)
{
    size_t at = 0;

    for (; at + 16 <= bytes; at += 16)
        memcpy(to + at, from + at, 16);
    if (at < bytes)
        memcpy(to + at, from + at, 8);
}

enum { TOUCHED = 64 }; /* records that are loaded at once */

int block_gather(const struct groups *f, struct column_block *b, const struct row_id *rows,
                 size_t n)
{
    const struct groups_of_set *s = &f->set[rows->set];
    const size_t stride = s->stride;

    if (stride > b->record_cap) {
        char *grown = realloc(b->records, TABLE_BLOCK * stride);
        if (!grown)
            return -ENOMEM;
        b->records = grown;
        b->record_cap = stride;
    }
    b->rows = rows;
    b->count = n;
    b->stride = stride;
    b->set = s;
    b->varying_bits = 0;
    b->has_flags = false;
    for (size_t i = 0; i < n; i++) {
        for (size_t k = i; i % TOUCHED == 0 && k < n && k < i + TOUCHED; k++)
            group_touch(s, rows[k].group);
        b->varying_bits |= rows[i].word ^ rows->word;
        copy_record(b->records + i * stride, s->records + rows[i].group * stride, stride);
    }
    return 0;
}

void block_prefetch(const struct groups *f, struct column_block *b, size_t max)
{
    for (; max > 0 && b->ahead_count > 0; max--, b->ahead_count--) {
        const struct row_id *row = b->ahead++;
        const struct groups_of_set *s = &f->set[row->set];
        const char *r = s->records + row->group * s->stride;
        for (size_t at = 0; at < s->stride; at += 64)
            __builtin_prefetch(r + at, 0, 2);
        /* It may begin in the middle of a cache line. */
        __builtin_prefetch(r + s->stride - 1, 0, 2);
    }
}

/* ---- ranges of values ------------------------------------------------------------------------ */

/* Properties of all sums, minima and maxima of one measure, or of ts (min) and te (max). */
struct value_survey {
    struct moment_flags flags;
    bool any;
    int64_t sum, min, max; /* bitwise OR of all: negative if one of them is */
    bool sum_fraction, min_fraction, max_fraction; /* one of them is no whole number of us */
};

/* surveys: by measure, then that of ts and te. */
static void survey_row(const struct row_reader *t, uint32_t set, uint32_t group,
                       struct value_survey *surveys)
{
    const struct aggregate_plan *p = t->plan;
    const struct groups_of_set *records = &t->found->set[set];
    struct value_survey *s = surveys;

    for (unsigned m = 0; m < plan_measures(p, set); m++, s++) {
        const struct int_moments *c = group_slot(records, group, m);
        flags_add(&s->flags, c);
        if (c->count == 0)
            continue;
        s->any = true;
        s->sum |= c->sum;
        s->min |= c->min;
        s->max |= c->max;
        if (c->more & 1) {
            s->sum_fraction |= c->sum % 1000 != 0;
            s->min_fraction |= c->min % 1000 != 0;
            s->max_fraction |= c->max % 1000 != 0;
        }
    }
    const struct extent *e = p->general ? NULL : plan_extent(p, records, set, group);
    if (!e || !extent_has_times(e))
        return;
    __int128 from = e->min_ts - p->origin_ns, to = e->max_te - p->origin_ns;
    s = &surveys[p->measures.count];
    s->any = true;
    s->flags.large |= from != (int64_t)from || to != (int64_t)to;
    s->min |= (int64_t)from;
    s->max |= (int64_t)to;
    s->min_fraction |= (int64_t)from % 1000 != 0;
    s->max_fraction |= (int64_t)to % 1000 != 0;
}

static unsigned column_bits(bool any, bool negative, bool fraction)
{
    return any ? COLUMN_NUMBER | (negative ? COLUMN_NEGATIVE : 0) | (fraction ? COLUMN_FRACTION : 0)
               : 0;
}

static bool column_flags(const struct row_reader *t, const struct output_column *what,
                         const struct value_survey *surveys, unsigned *ret)
{
    const struct aggregate_plan *p = t->plan;
    const struct set_doubles *d = t->found->doubles.set;
    bool doubles = d[SET_EVENT].float_moments.count || d[SET_PROFILE].float_moments.count ||
                   d[SET_SYSTEM].float_moments.count;
    bool extent = what->what == OUTPUT_TS || what->what == OUTPUT_TE;
    const struct value_survey *s = &surveys[extent ? p->measures.count : what->of];
    bool time = extent || p->measures.at[what->of].time;

    if (s->flags.large || (doubles && !extent))
        return false;
    if (what->what == OUTPUT_SUM)
        *ret = column_bits(s->any, s->sum < 0, time && s->sum_fraction);
    else if (what->what == OUTPUT_MIN || what->what == OUTPUT_TS)
        *ret = column_bits(s->any, s->min < 0, time && s->min_fraction);
    else
        *ret = column_bits(s->any, s->max < 0, time && s->max_fraction);
    return true;
}

static bool has_survey(enum output what)
{
    return what == OUTPUT_SUM || what == OUTPUT_MIN || what == OUTPUT_MAX || what == OUTPUT_TS ||
           what == OUTPUT_TE;
}

int columns_survey(const struct row_reader *t, const struct row_id *rows, size_t n, bool all,
                   bool *known, unsigned *ret)
{
    const struct aggregate_plan *p = t->plan;
    struct value_survey *surveys = calloc(p->measures.count + 1, sizeof(*surveys));
    int rc = surveys ? 0 : -ENOMEM;

    for (unsigned i = 0; all && i < SETS && rc == 0; i++) {
        for (uint32_t g = 0; g < t->found->set[i].map.table.count; g++)
            survey_row(t, i, g, surveys);
        rc = budget_check(p->budget);
    }
    for (size_t i = 0; !all && i < n && rc == 0; i++) {
        for (size_t k = i; i % TOUCHED == 0 && k < n && k < i + TOUCHED; k++)
            group_touch(&t->found->set[rows[k].set], rows[k].group);
        survey_row(t, rows[i].set, rows[i].group, surveys);
        rc = i % 0x10000 ? 0 : budget_check(p->budget);
    }
    for (size_t c = 0; c < p->columns.count && rc == 0; c++)
        known[c] = has_survey(p->outputs.at[c].what) &&
                   column_flags(t, &p->outputs.at[c], surveys, &ret[c]);
    free(surveys);
    return rc;
}
