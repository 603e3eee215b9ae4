/* arrow_types.c - the type of each column, and texts of columns that have numbers, too.
 *
 * Types: whole numbers are uint64, int64 where one is negative, and double where one has a fraction or fits neither; a
 * column of numbers and texts tells all of them as text. So the same question on other data may have other types, but
 * nothing is cut off. batch_type is 0, 1, 2.
 */
#include "arrow_columns.h"

#include <errno.h>

static unsigned saw(const struct value *v)
{
    __int128 n;

    if (value_is_none(v))
        return 0;
    if (value_is_text(v))
        return SAW_TEXT;
    if (v->type == VALUE_BOOL)
        return SAW_BOOL;
    if (!value_is_whole(v, &n))
        return SAW_NUMBER | SAW_FRACTION;
    return SAW_NUMBER | (n < 0 ? SAW_NEGATIVE : 0) | (n > INT64_MAX ? SAW_LARGE : 0) |
           (n > UINT64_MAX || n < INT64_MIN ? SAW_HUGE : 0);
}

static enum arrow_type type_of(const struct arrow_staged *c, const struct aggregate_column *told)
{
    unsigned kinds = c->saw & (SAW_TEXT | SAW_BOOL | SAW_NUMBER);

    if (c->class)
        return ARROW_INT64;
    if (kinds == 0 &&
        (told->type == VALUE_TEXT || told->type == VALUE_JSON || told->type == VALUE_NULL))
        return ARROW_TEXT;
    if (kinds == SAW_BOOL || (kinds == 0 && told->type == VALUE_BOOL))
        return ARROW_BOOL;
    if (kinds && kinds != SAW_NUMBER)
        return ARROW_TEXT;
    bool both = (c->saw & SAW_NEGATIVE) && (c->saw & SAW_LARGE);
    if (told->type == VALUE_DOUBLE || (c->saw & (SAW_FRACTION | SAW_HUGE)) || both)
        return ARROW_DOUBLE;
    return c->saw & SAW_NEGATIVE ? ARROW_INT64 : ARROW_UINT64;
}

/* ---- a first reading ---- */

static int look_at_value(struct arrow_rows *r, struct arrow_staged *c, const struct value *v,
                         bool mixed)
{
    c->saw |= saw(v);
    if (c->class || value_is_none(v) || !(mixed || value_is_text(v)))
        return 0;
    if (!c->texts && !(c->texts = intern_new()))
        return -ENOMEM;
    int64_t code = arrow_code(c, arrow_text(r, v));
    code = code >= INT32_MAX ? ERR_MEMORY_LIMIT : code;
    return code < 0 ? (int)code : r->scratch.error;
}

static int charge_texts(struct arrow_rows *r)
{
    size_t bytes = 0;

    for (size_t i = 0; i < r->count; i++)
        bytes += r->columns[i].texts ? intern_bytes(r->columns[i].texts) : 0;
    int rc = bytes > r->texts_charged ? budget_charge(r->budget, bytes - r->texts_charged) : 0;
    r->texts_charged = rc == 0 && bytes > r->texts_charged ? bytes : r->texts_charged;
    return rc;
}

static int look_at_key(struct arrow_rows *r, size_t column, uint64_t key, bool mixed)
{
    struct value v;
    int rc = aggregate_key_value(r->aggregate, column, key, &v);

    return rc < 0 ? rc : look_at_value(r, &r->columns[column], &v, mixed);
}

/* Keys of the block, those that were not met yet. False in *ret: they are told as values. */
static int look_at_ranks(struct arrow_rows *r, size_t column, const struct aggregate_block *b,
                         bool mixed, bool *ret)
{
    struct arrow_ranks *k = &r->columns[column].ranks;
    const uint64_t *keys;
    int rc = arrow_ranks_begin(r, column, b->part);

    *ret = rc == 0 && aggregate_block_column(r->aggregate, column, &r->vector);
    (void)aggregate_part_keys(r->aggregate, b->part, column, &keys);
    for (size_t row = 0; *ret && row < b->count && rc == 0; row++) {
        uint32_t rank = r->vector.ranks[row];
        if (k->met[rank] == NOT_MET)
            rc = look_at_key(r, column, keys[rank], mixed);
        k->met[rank] = MET;
    }
    return rc;
}

/* Columns of the block whose types are not known yet. */
static int look_at_block(struct arrow_rows *r, const struct aggregate_block *b, bool mixed,
                         struct err *err)
{
    const struct value *values;
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        r->left_out[i] = r->columns[i].sure;
        if (!r->columns[i].sure && r->columns[i].key)
            rc = look_at_ranks(r, i, b, mixed, &r->left_out[i]);
        all &= r->left_out[i];
    }
    if (rc < 0 || all)
        return rc;
    rc = aggregate_block_values(r->aggregate, err, &values);
    for (size_t i = 0; i < r->count; i++) {
        for (size_t row = 0; !r->left_out[i] && row < b->count && rc == 0; row++)
            rc = look_at_value(r, &r->columns[i], &values[row * r->count + i], mixed);
    }
    return rc;
}

static int look_at_rows(struct arrow_rows *r, bool mixed, struct err *err)
{
    struct aggregate_block block;
    bool all = true;
    int rc;

    for (size_t i = 0; i < r->count; i++)
        all &= r->columns[i].sure;
    if (all)
        return 0;
    while ((rc = aggregate_next_block(r->aggregate, err, &block)) == 0) {
        rc = look_at_block(r, &block, mixed, err);
        rc = rc < 0 ? rc : charge_texts(r);
        if (rc < 0)
            return rc;
    }
    arrow_ranks_forget(r);
    aggregate_rewind(r->aggregate);
    return rc == ERR_END ? 0 : rc;
}

static int look_at_part(struct arrow_rows *r, size_t column, unsigned part, bool mixed)
{
    const uint64_t *keys;
    uint32_t n = aggregate_part_keys(r->aggregate, part, column, &keys);
    int rc = 0;

    for (uint32_t k = 0; k < n && rc == 0; k++) {
        rc = look_at_key(r, column, keys[k], mixed);
        if (rc == 0 && k % 0x1000 == 0)
            rc = budget_check(r->budget);
    }
    return rc;
}

/* Where all groups are told, their keys are looked at instead of rows. */
static int look_at_parts(struct arrow_rows *r, bool mixed)
{
    int rc = 0;

    for (size_t i = 0; i < r->count && r->parts && rc == 0; i++) {
        struct arrow_staged *c = &r->columns[i];
        for (unsigned part = 0; part < r->parts && c->key && !c->sure && rc == 0; part++)
            rc = look_at_part(r, i, part, mixed);
        c->sure |= c->key;
        rc = rc < 0 ? rc : charge_texts(r);
    }
    return rc;
}

/* mixed: columns of texts that have numbers, too, which get their codes now. */
static int look(struct arrow_rows *r, bool mixed, struct err *err)
{
    for (size_t i = 0; i < r->count && mixed; i++)
        r->columns[i].sure = r->types[i].type != ARROW_TEXT;
    int rc = look_at_parts(r, mixed);
    return rc < 0 ? rc : look_at_rows(r, mixed, err);
}

static bool choose_types(struct arrow_rows *r)
{
    static const char *const units[] = {
        [AGGREGATE_US] = "us", [AGGREGATE_BYTES] = "bytes", [AGGREGATE_BYTES_PER_S] = "bytes/s"};
    bool mixed = false;

    for (size_t i = 0; i < r->count; i++) {
        r->types[i] = (struct arrow_column){r->told[i].name, type_of(&r->columns[i], &r->told[i]),
                                            units[r->told[i].unit]};
        mixed |= r->types[i].type == ARROW_TEXT && (r->columns[i].saw & ~(unsigned)SAW_TEXT);
    }
    return mixed;
}

/* What is known without a look at rows. */
static int survey(struct arrow_rows *r)
{
    unsigned *seen = calloc(r->count + 1, sizeof(*seen));
    bool *known = calloc(r->count + 1, sizeof(*known));
    int rc = seen && known ? aggregate_survey(r->aggregate, known, seen) : -ENOMEM;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct arrow_staged *c = &r->columns[i];
        const struct aggregate_column *told = &r->told[i];
        c->saw = known[i] ? seen[i] : 0;
        c->class = told->row_class;
        c->key = told->key && !c->class;
        c->sure = known[i] || c->class || told->type == VALUE_DOUBLE || told->type == VALUE_UINT;
    }
    free(seen);
    free(known);
    return rc;
}

int arrow_types_find(struct arrow_rows *r, struct err *err)
{
    int rc = survey(r);

    r->parts = aggregate_whole_parts(r->aggregate);
    arrow_ranks_forget(r);
    rc = rc < 0 ? rc : look(r, false, err);
    if (rc == 0 && choose_types(r))
        rc = look(r, true, err);
    return rc;
}
