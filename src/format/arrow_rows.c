/* arrow_rows.c - rows of /aggregate as typed columns, 65,536 at a time.
 *
 * Types: whole numbers are uint64, int64 where one is negative, and double where one has a fraction or fits neither; a
 * column of numbers and texts tells all of them as text. So the same question on other data may have other types, but
 * nothing is cut off. batch_type is 0, 1, 2.
 */
#include "arrow_rows.h"
#include "value_text.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { BATCH = 65536, RECENT = 256 };
enum {
    SAW_NUMBER = COLUMN_NUMBER,
    SAW_FRACTION = COLUMN_FRACTION,
    SAW_NEGATIVE = COLUMN_NEGATIVE,
    SAW_TEXT = 8,
    SAW_BOOL = 16,
    SAW_LARGE = 32,
    SAW_HUGE = 64
};

/* A column that is a key: what a batch has for each rank of the part at hand, once it was met. */
enum { NOT_MET, MET, MET_NULL };
struct ranks {
    uint64_t *bits;
    uint8_t *met;
    uint32_t count, cap;
    bool nulls; /* some are null */
    uint64_t part;
};

struct staged {
    unsigned saw;
    bool class, key;
    struct ranks ranks; /* of a key */
    struct intern *texts;
    uint32_t recent[RECENT]; /* by address of a text: its code, most likely */
    void *values;
    uint64_t *valid;
    size_t nulls;
};

struct arrow_rows {
    struct aggregate *aggregate;
    struct budget *budget;
    const struct aggregate_column *told;
    size_t count, charged, texts_charged;
    struct staged *columns;
    bool *sure, *left_out; /* sure: what is needed for its type is known */
    struct arrow_column *types;
    struct arrow *arrow;
    struct buf scratch;
    struct aggregate_vector vector;
    bool begun;
    size_t dictionary, part,
        rows; /* next dictionary, next column of the batch, rows of the batch */
};

/* ---- what a column holds ---------------------------------------------------------------------------------- */

static bool is_text(const struct value *v)
{
    return v->type == VALUE_TEXT || v->type == VALUE_JSON;
}

/* False: it has a fraction. */
static bool whole(const struct value *v, __int128 *ret)
{
    int64_t ns = (int64_t)v->wide;

    *ret = v->type == VALUE_INT ? v->i : v->type == VALUE_UINT ? (__int128)v->u : v->wide;
    if (v->type == VALUE_TIME && ns == v->wide) { /* a division of 128 bits takes long */
        *ret = ns / 1000;
        return ns % 1000 == 0;
    }
    if (v->type == VALUE_TIME) {
        *ret = v->wide / 1000;
        return v->wide % 1000 == 0;
    }
    return v->type != VALUE_DOUBLE;
}

static bool is_null(const struct value *v)
{
    return v->type == VALUE_NULL || (v->type == VALUE_DOUBLE && !isfinite(v->d));
}

static unsigned saw(const struct value *v)
{
    __int128 n;

    if (is_null(v))
        return 0;
    if (is_text(v))
        return SAW_TEXT;
    if (v->type == VALUE_BOOL)
        return SAW_BOOL;
    if (!whole(v, &n))
        return SAW_NUMBER | SAW_FRACTION;
    return SAW_NUMBER | (n < 0 ? SAW_NEGATIVE : 0) | (n > INT64_MAX ? SAW_LARGE : 0) |
           (n > UINT64_MAX || n < INT64_MIN ? SAW_HUGE : 0);
}

static enum arrow_type type_of(const struct staged *c, const struct aggregate_column *told)
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

/* ---- texts --------------------------------------------------------------------------------------------------- */

/* A value that is no text, in a column of texts, is told as JSON tells it. */
static struct text text_of_value(struct arrow_rows *r, const struct value *v)
{
    if (is_text(v))
        return v->text;
    buf_clear(&r->scratch);
    value_json(&r->scratch, v);
    return (struct text){r->scratch.data, r->scratch.len};
}

static int64_t code_of(struct staged *c, struct text t)
{
    uint32_t *recent = &c->recent[((uintptr_t)t.ptr >> 3 ^ t.len) % RECENT];

    if (*recent < intern_count(c->texts) && text_eq(intern_text(c->texts, *recent), t))
        return *recent;
    int64_t code = intern_add(c->texts, t);
    if (code >= 0)
        *recent = (uint32_t)code;
    return code;
}

static struct text dictionary_text(void *arg, uint32_t i)
{
    return intern_text(arg, i);
}

/* ---- the first reading ------------------------------------------------------------------------------------------ */

static int look_at_value(struct arrow_rows *r, struct staged *c, const struct value *v, bool mixed)
{
    c->saw |= saw(v);
    if (c->class || is_null(v) || !(mixed || is_text(v)))
        return 0;
    if (!c->texts && !(c->texts = intern_new()))
        return -ENOMEM;
    int64_t code = code_of(c, text_of_value(r, v));
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

static int charge(struct arrow_rows *r, size_t bytes)
{
    int rc = budget_charge(r->budget, bytes);

    r->charged += rc < 0 ? 0 : bytes;
    return rc;
}

static int look_at_key(struct arrow_rows *r, size_t column, uint64_t key, bool mixed)
{
    struct value v;
    int rc = aggregate_key_value(r->aggregate, column, key, &v);

    return rc < 0 ? rc : look_at_value(r, &r->columns[column], &v, mixed);
}

static const uint64_t NO_PART = UINT64_MAX;

/* Nothing was met of the part yet. */
static int begin_part(struct arrow_rows *r, size_t column, uint64_t part)
{
    const uint64_t *keys;
    struct ranks *k = &r->columns[column].ranks;

    if (k->part == part)
        return 0;
    k->count = aggregate_part_keys(r->aggregate, part, column, &keys);
    if (k->count > k->cap) {
        size_t more = (k->count - k->cap) * (sizeof(*k->bits) + sizeof(*k->met));
        int rc = charge(r, more);
        uint64_t *bits = rc < 0 ? NULL : realloc(k->bits, k->count * sizeof(*bits));
        k->bits = bits ? bits : k->bits;
        uint8_t *met = bits ? realloc(k->met, k->count) : NULL;
        k->met = met ? met : k->met;
        if (!bits || !met)
            return rc < 0 ? rc : -ENOMEM;
        k->cap = k->count;
    }
    if (k->count)
        memset(k->met, NOT_MET, k->count);
    k->nulls = false;
    k->part = part;
    return 0;
}

/* Keys of the block, those that were not met yet. False in *ret: they are told as values. */
static int look_at_ranks(struct arrow_rows *r, size_t column, const struct aggregate_block *b,
                         bool mixed, bool *ret)
{
    struct ranks *k = &r->columns[column].ranks;
    const uint64_t *keys;
    int rc = begin_part(r, column, b->part);

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
        r->left_out[i] = r->sure[i];
        if (!r->sure[i] && r->columns[i].key)
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

static void forget_ranks(struct arrow_rows *r)
{
    for (size_t i = 0; i < r->count; i++)
        r->columns[i].ranks.part = NO_PART;
}

static int look_at_rows(struct arrow_rows *r, bool mixed, struct err *err)
{
    struct aggregate_block block;
    bool all = true;
    int rc;

    for (size_t i = 0; i < r->count; i++)
        all &= r->sure[i];
    if (all)
        return 0;
    while ((rc = aggregate_next_block(r->aggregate, err, &block)) == 0) {
        rc = look_at_block(r, &block, mixed, err);
        rc = rc < 0 ? rc : charge_texts(r);
        if (rc < 0)
            return rc;
    }
    forget_ranks(r);
    aggregate_rewind(r->aggregate);
    return rc == ERR_END ? 0 : rc;
}

/* Where all groups are told, their keys are looked at instead of rows. */
static int look_at_parts(struct arrow_rows *r, bool mixed)
{
    unsigned parts = aggregate_whole_parts(r->aggregate);
    const uint64_t *keys;
    int rc = 0;

    for (size_t i = 0; i < r->count && parts; i++) {
        struct staged *c = &r->columns[i];
        for (unsigned part = 0; part < parts && c->key && !r->sure[i] && rc == 0; part++) {
            uint32_t n = aggregate_part_keys(r->aggregate, part, i, &keys);
            for (uint32_t k = 0; k < n && rc == 0; k++) {
                rc = look_at_key(r, i, keys[k], mixed);
                if (rc == 0 && k % 0x1000 == 0)
                    rc = budget_check(r->budget);
            }
        }
        r->sure[i] |= c->key;
        rc = rc < 0 ? rc : charge_texts(r);
    }
    return rc;
}

/* mixed: columns of texts that have numbers, too, which get their codes now. */
static int look(struct arrow_rows *r, bool mixed, struct err *err)
{
    for (size_t i = 0; i < r->count && mixed; i++)
        r->sure[i] = r->types[i].type != ARROW_TEXT;
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

static size_t width_of(enum arrow_type type)
{
    return type == ARROW_TEXT ? sizeof(int32_t) : sizeof(uint64_t);
}

static int make_room(struct arrow_rows *r)
{
    int rc = charge(r, r->count * (BATCH * 8 + BATCH / 8));

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->count; i++) {
        struct staged *c = &r->columns[i];
        c->values = calloc(BATCH, width_of(r->types[i].type));
        c->valid = calloc(BATCH / 64, 8);
        if (r->types[i].type == ARROW_TEXT && !c->texts)
            c->texts = intern_new();
        if (!c->values || !c->valid || (r->types[i].type == ARROW_TEXT && !c->texts))
            return -ENOMEM;
    }
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

/* What is known without a look at rows. */
static int survey(struct arrow_rows *r)
{
    unsigned *seen = calloc(r->count + 1, sizeof(*seen));
    int rc = seen ? aggregate_survey(r->aggregate, r->sure, seen) : -ENOMEM;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct staged *c = &r->columns[i];
        c->saw = r->sure[i] ? seen[i] : 0;
        c->key = r->told[i].key && !c->class;
        r->sure[i] |= c->class || r->told[i].type == VALUE_DOUBLE || r->told[i].type == VALUE_UINT;
    }
    free(seen);
    forget_ranks(r);
    aggregate_leave_out(r->aggregate, r->left_out);
    return rc;
}

static int prepare(struct arrow_rows *r, bool file, struct err *err)
{
    r->columns = calloc(r->count + 1, sizeof(*r->columns));
    r->types = calloc(r->count + 1, sizeof(*r->types));
    r->sure = calloc(r->count + 1, sizeof(*r->sure));
    r->left_out = calloc(r->count + 1, sizeof(*r->left_out));
    if (!r->columns || !r->types || !r->sure || !r->left_out)
        return -ENOMEM;
    /* the pipeline's, not a key of the general form that has this name */
    r->columns[0].class = r->count > 8 && strcmp(r->told[0].name, "batch_type") == 0 &&
                          strcmp(r->told[8].name, "count") == 0;
    int rc = survey(r);
    rc = rc < 0 ? rc : look(r, false, err);
    if (rc == 0 && choose_types(r))
        rc = look(r, true, err);
    rc = rc < 0 ? rc : make_room(r);
    return rc < 0 ? rc : arrow_new(r->types, r->count, file, &r->arrow);
}

int arrow_rows_new(struct aggregate *a, struct budget *budget, bool file, struct err *err,
                   struct arrow_rows **ret)
{
    struct arrow_rows *r = calloc(1, sizeof(*r));

    if (!r)
        return -ENOMEM;
    r->aggregate = a;
    r->budget = budget;
    r->count = aggregate_columns(a, &r->told);
    int rc = prepare(r, file, err);
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
        free(r->columns[i].ranks.bits);
        free(r->columns[i].ranks.met);
        free(r->columns[i].values);
        free(r->columns[i].valid);
    }
    budget_release(r->budget, r->charged + r->texts_charged);
    arrow_free(r->arrow);
    buf_done(&r->scratch);
    free(r->columns);
    free(r->sure);
    free(r->left_out);
    free(r->types);
    free(r);
}

/* ---- batches ----------------------------------------------------------------------------------------------------- */

static double double_of(const struct value *v)
{
    bool negative = v->wide < 0;
    __int128 n;
    double d;

    if (v->type == VALUE_DOUBLE)
        return v->d;
    if (whole(v, &n))
        return (double)n;
    __int128 size = negative ? -v->wide : v->wide;
    if (size <= UINT64_MAX && num_make_double((uint64_t)size, -3, negative, &d))
        return d;
    return (double)v->wide / 1000;
}

static int64_t class_of(struct text t)
{
    return text_eq(t, TEXT("event")) ? 0 : text_eq(t, TEXT("profile")) ? 1 : 2;
}

static void put_bits(struct staged *c, enum arrow_type type, size_t row, uint64_t bits)
{
    c->valid[row / 64] |= 1ull << row % 64;
    if (type == ARROW_TEXT)
        ((int32_t *)c->values)[row] = (int32_t)bits;
    else if (type == ARROW_BOOL)
        ((uint64_t *)c->values)[row / 64] |= bits << row % 64;
    else
        ((uint64_t *)c->values)[row] = bits;
}

/* It is 0 to those who look nevertheless. */
static void put_null(struct staged *c, enum arrow_type type, size_t row)
{
    c->nulls++;
    if (type == ARROW_TEXT)
        ((int32_t *)c->values)[row] = 0;
    else if (type != ARROW_BOOL) /* bits were cleared */
        ((uint64_t *)c->values)[row] = 0;
}

static void put_valid(struct staged *c, size_t row, size_t n)
{
    for (size_t end = row + n; row < end;) {
        size_t bits = 64 - row % 64 < end - row ? 64 - row % 64 : end - row;
        c->valid[row / 64] |= (bits < 64 ? (1ull << bits) - 1 : ~0ull) << row % 64;
        row += bits;
    }
}

/* What a batch has of a value that is not null. */
static int bits_of(struct arrow_rows *r, size_t column, const struct value *v, uint64_t *ret)
{
    struct staged *c = &r->columns[column];
    int64_t code;
    __int128 n;
    double d;

    switch (r->types[column].type) {
    case ARROW_TEXT:
        code = code_of(c, text_of_value(r, v));
        *ret = (uint64_t)code;
        return code < 0 ? (int)code : r->scratch.error;
    case ARROW_BOOL:
        *ret = v->i != 0;
        return 0;
    case ARROW_DOUBLE:
        d = double_of(v);
        memcpy(ret, &d, sizeof(d));
        return 0;
    default:
        (void)whole(v, &n);
        *ret = c->class ? (uint64_t)class_of(v->text) : (uint64_t)n;
        return 0;
    }
}

static int put_value(struct arrow_rows *r, size_t column, size_t row, const struct value *v)
{
    struct staged *c = &r->columns[column];
    uint64_t bits;

    if (is_null(v)) {
        put_null(c, r->types[column].type, row);
        return 0;
    }
    int rc = bits_of(r, column, v, &bits);
    if (rc == 0)
        put_bits(c, r->types[column].type, row, bits);
    return rc;
}

/* What a batch has of a key. */
static int meet(struct arrow_rows *r, size_t column, uint64_t key, uint32_t rank)
{
    struct ranks *k = &r->columns[column].ranks;
    struct value v;
    int rc = aggregate_key_value(r->aggregate, column, key, &v);

    if (rc < 0)
        return rc;
    k->met[rank] = is_null(&v) ? MET_NULL : MET;
    k->bits[rank] = 0;
    k->nulls |= is_null(&v);
    return is_null(&v) ? 0 : bits_of(r, column, &v, &k->bits[rank]);
}

static int meet_all(struct arrow_rows *r, size_t column, const struct aggregate_block *b)
{
    struct ranks *k = &r->columns[column].ranks;
    const uint32_t *ranks = r->vector.ranks;
    const uint64_t *keys;
    int rc = begin_part(r, column, b->part);

    (void)aggregate_part_keys(r->aggregate, b->part, column, &keys);
    for (size_t i = 0; i < b->count && rc == 0; i++) {
        if (k->met[ranks[i]] == NOT_MET)
            rc = meet(r, column, keys[ranks[i]], ranks[i]);
    }
    return rc;
}

static int put_ranks(struct arrow_rows *r, size_t column, const struct aggregate_block *b)
{
    struct staged *c = &r->columns[column];
    const enum arrow_type type = r->types[column].type;
    const uint32_t *ranks = r->vector.ranks;
    const uint64_t *bits;
    int rc = meet_all(r, column, b);

    if (rc < 0)
        return rc;
    bits = c->ranks.bits;
    if (c->ranks.nulls || type == ARROW_BOOL) {
        for (size_t i = 0; i < b->count; i++) {
            if (c->ranks.met[ranks[i]] == MET_NULL)
                put_null(c, type, r->rows + i);
            else
                put_bits(c, type, r->rows + i, bits[ranks[i]]);
        }
        return 0;
    }
    put_valid(c, r->rows, b->count);
    if (type == ARROW_TEXT) {
        int32_t *to = (int32_t *)c->values + r->rows;
        for (size_t i = 0; i < b->count; i++)
            to[i] = (int32_t)bits[ranks[i]];
    } else {
        uint64_t *to = (uint64_t *)c->values + r->rows;
        for (size_t i = 0; i < b->count; i++)
            to[i] = bits[ranks[i]];
    }
    return 0;
}

static double double_of_vector(const struct aggregate_vector *v, size_t i)
{
    struct value value = {.type = VALUE_TIME, .wide = v->i[i]};

    return v->kind == VECTOR_NS     ? double_of(&value)
           : v->kind == VECTOR_UINT ? (double)(uint64_t)v->i[i]
                                    : (double)v->i[i];
}

static void put_numbers(struct arrow_rows *r, size_t column, size_t n)
{
    struct staged *c = &r->columns[column];
    const struct aggregate_vector *v = &r->vector;
    int64_t *to = (int64_t *)c->values + r->rows;

    if (r->types[column].type == ARROW_DOUBLE) {
        for (size_t i = 0; i < n; i++)
            ((double *)c->values)[r->rows + i] = double_of_vector(v, i);
    } else if (v->kind == VECTOR_NS) {
        for (size_t i = 0; i < n; i++)
            to[i] = v->i[i] / 1000;
    } else {
        memcpy(to, v->i, n * sizeof(*to));
    }
    if (v->kind == VECTOR_CLASS || v->kind == VECTOR_UINT || v->nulls == 0) {
        put_valid(c, r->rows, n);
        return;
    }
    c->nulls += v->nulls;
    for (size_t i = 0; i < n; i++)
        c->valid[(r->rows + i) / 64] |= (uint64_t)!v->null[i] << (r->rows + i) % 64;
}

/* False in *ret: it has to be told as values. */
static int put_vector(struct arrow_rows *r, size_t column, const struct aggregate_block *b,
                      bool *ret)
{
    enum arrow_type type = r->types[column].type;

    *ret = aggregate_block_column(r->aggregate, column, &r->vector);
    if (*ret && r->vector.kind == VECTOR_RANK)
        return put_ranks(r, column, b);
    *ret = *ret && type != ARROW_TEXT && type != ARROW_BOOL;
    if (*ret)
        put_numbers(r, column, b->count);
    return 0;
}

static int put_block(struct arrow_rows *r, const struct aggregate_block *b, struct err *err)
{
    const struct value *values;
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        rc = put_vector(r, i, b, &r->left_out[i]);
        all &= r->left_out[i];
    }
    if (rc < 0 || all)
        return rc;
    rc = aggregate_block_values(r->aggregate, err, &values);
    for (size_t i = 0; i < r->count; i++) {
        for (size_t row = 0; !r->left_out[i] && row < b->count && rc == 0; row++)
            rc = put_value(r, i, r->rows + row, &values[row * r->count + i]);
    }
    return rc;
}

static struct arrow_data data_of(const struct staged *c)
{
    return (struct arrow_data){c->values, c->valid, c->nulls};
}

static int begin_batch(struct arrow_rows *r, struct buf *out)
{
    struct arrow_data *data = calloc(r->count + 1, sizeof(*data));

    if (!data)
        return -ENOMEM;
    for (size_t i = 0; i < r->count; i++)
        data[i] = data_of(&r->columns[i]);
    int rc = arrow_batch(r->arrow, data, r->rows, out);
    free(data);
    r->part = 0;
    return rc;
}

static int read_batch(struct arrow_rows *r, struct err *err)
{
    struct aggregate_block block;
    int rc = 0;

    r->rows = 0;
    for (size_t i = 0; i < r->count; i++) {
        if (r->types[i].type == ARROW_BOOL)
            memset(r->columns[i].values, 0, BATCH / 8);
        memset(r->columns[i].valid, 0, BATCH / 8);
        r->columns[i].nulls = 0;
    }
    while (r->rows + AGGREGATE_BLOCK <= BATCH &&
           (rc = aggregate_next_block(r->aggregate, err, &block)) == 0) {
        rc = put_block(r, &block, err);
        if (rc < 0)
            return rc;
        r->rows += block.count;
    }
    return rc == ERR_END && r->rows ? 0 : rc;
}

static int next_dictionary(struct arrow_rows *r, struct buf *out)
{
    struct intern *texts = r->columns[r->dictionary].texts;

    return arrow_dictionary(r->arrow, r->dictionary++, dictionary_text, texts, intern_count(texts),
                            out);
}

int arrow_rows_next(struct arrow_rows *r, struct err *err, struct buf *out)
{
    if (!r->begun) {
        r->begun = true;
        r->part = r->count;
        arrow_begin(r->arrow, out);
        return out->error;
    }
    while (r->dictionary < r->count && r->types[r->dictionary].type != ARROW_TEXT)
        r->dictionary++;
    if (r->dictionary < r->count)
        return next_dictionary(r, out);
    if (r->part < r->count) {
        struct arrow_data data = data_of(&r->columns[r->part]);
        arrow_batch_column(r->arrow, r->part++, &data, out);
        return out->error;
    }
    int rc = read_batch(r, err);
    if (rc == ERR_END) {
        arrow_end(r->arrow, out);
        return out->error ? out->error : ERR_END;
    }
    return rc < 0 ? rc : begin_batch(r, out);
}
