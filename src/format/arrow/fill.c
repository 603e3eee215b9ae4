/* fill.c - columns of a batch from blocks of rows. */
#include "format/arrow/columns.h"

/* Marks up to 64 rows as null, one for each set bit. */
static void mark_nulls(struct arrow_staged *c, size_t row, uint64_t bits)
{
    c->nulls += (size_t)__builtin_popcountll(bits);
    c->valid[row / 64] &= ~bits;
}

/* ---- keys ------------------------------------------------------------------------------------ */

/* Converts the key of a code to the bits that a batch stores. */
static int convert_code(struct arrow_rows *r, size_t column, uint32_t code)
{
    struct arrow_keys *k = &r->columns[column].keys;
    struct value v;
    int rc = r->vector.value(r->vector.arg, r->vector.keys[code], &v);

    rc = rc < 0 ? rc : arrow_bits(r, column, &v, &k->bits[code]);
    k->states[code] = rc == 1 ? KEY_NULL : KEY_KNOWN;
    k->nulls |= rc == 1;
    return rc < 0 ? rc : 0;
}

/* Converts the keys of the codes of the block, unless they are known. */
static int convert_keys(struct arrow_rows *r, size_t column, size_t rows)
{
    struct arrow_keys *k = &r->columns[column].keys;
    const uint32_t *codes = r->vector.codes;
    int rc = arrow_keys_begin(r, column, &r->vector);

    if (rc < 0 || k->all)
        return rc;
    /* If the table has all keys, they are converted together, and only once. */
    for (uint32_t code = 0; code < k->count && r->parts && rc == 0; code++) {
        rc = convert_code(r, column, code);
        if (rc == 0 && code % 0x1000 == 0)
            rc = budget_check(r->charge.budget);
    }
    k->all = r->parts && rc == 0;
    if (r->parts)
        return rc;
    for (size_t i = 0; i < rows && rc == 0; i++) {
        if (k->states[codes[i]] == KEY_NEW)
            rc = convert_code(r, column, codes[i]);
    }
    return rc;
}

/* There is memory for a whole block; surplus values are overwritten later, or not written out. */
static void put_constant(struct arrow_staged *c, enum arrow_type type, uint32_t code, size_t row)
{
    const uint64_t bits = c->keys.bits[code];
    int32_t *texts = (int32_t *)c->values + row;
    uint64_t *numbers = (uint64_t *)c->values + row;

    for (size_t i = 0; i < TABLE_BLOCK && type == ARROW_TEXT; i++)
        texts[i] = (int32_t)bits;
    for (size_t i = 0; i < TABLE_BLOCK && type != ARROW_TEXT; i++)
        numbers[i] = bits;
}

/* The bits of a null value are 0. */
static void put_keys(struct arrow_staged *c, enum arrow_type type, const uint32_t *codes,
                     size_t row, size_t n)
{
    const uint64_t *bits = c->keys.bits;
    int32_t *texts = (int32_t *)c->values + row;
    uint64_t *numbers = (uint64_t *)c->values + row;

    /* Rows are mostly ordered by their keys, so the first key columns of a block are often
     * constant. */
    if (memcmp(codes, codes + 1, (n - 1) * sizeof(*codes)) == 0) {
        put_constant(c, type, codes[0], row);
    } else if (type == ARROW_TEXT) {
        for (size_t i = 0; i < n; i++)
            texts[i] = (int32_t)bits[codes[i]];
    } else {
        for (size_t i = 0; i < n; i++)
            numbers[i] = bits[codes[i]];
    }
}

static void mark_null_keys(struct arrow_staged *c, const uint32_t *codes, size_t row, size_t n)
{
    const uint8_t *states = c->keys.states;

    for (size_t i = 0; i < n;) {
        uint64_t bits = 0;
        size_t first = row + i, end = i + (64 - first % 64) < n ? i + (64 - first % 64) : n;
        for (; i < end; i++)
            bits |= (uint64_t)(states[codes[i]] == KEY_NULL) << (row + i) % 64;
        mark_nulls(c, first, bits);
    }
}

/* ---- numbers: stored in place already, but some in another unit or type ---------------------- */

/* A value that is negative, or too large in nanoseconds, becomes null. */
static void convert_uints(struct arrow_rows *r, struct arrow_staged *c, size_t n)
{
    int64_t *values = r->memory.i;
    const bool larger = r->vector.kind == VECTOR_US && r->nano,
               smaller = r->vector.kind == VECTOR_NS && !r->nano;
    const int64_t most = larger ? (int64_t)(UINT64_MAX / 1000) : INT64_MAX;
    size_t outside = 0;

    if (r->vector.kind == VECTOR_UINT)
        return;
    for (size_t i = 0; i < n; i++)
        outside += (values[i] < 0) | (values[i] > most);
    for (size_t i = 0; i < n && outside; i++) {
        if (values[i] >= 0 && values[i] <= most)
            continue;
        mark_nulls(c, r->rows + i, (uint64_t)1 << (r->rows + i) % 64);
        values[i] = 0;
    }
    for (size_t i = 0; i < n && larger; i++)
        values[i] = (int64_t)((uint64_t)values[i] * 1000);
    for (size_t i = 0; i < n && smaller; i++)
        values[i] /= 1000;
}

static void put_numbers(struct arrow_rows *r, size_t column, size_t n)
{
    struct arrow_staged *c = &r->columns[column];
    const uint64_t *valid = r->vector.valid;

    for (size_t i = 0; i < n && valid; i++)
        mark_nulls(c, r->rows + i, (~valid[i / 64] >> i % 64 & 1) << (r->rows + i) % 64);
    if (r->types[column].type != ARROW_DOUBLE) {
        convert_uints(r, c, n);
        return;
    }
    const enum vector_kind kind = r->vector.kind;
    int64_t *values = r->memory.i;
    for (size_t i = 0; i < n; i++) {
        double d = kind == VECTOR_UINT ? (double)(uint64_t)values[i] : (double)values[i];
        if (kind == VECTOR_NS && !r->nano)
            d /= 1000;
        else if (kind == VECTOR_US && r->nano)
            d *= 1000;
        memcpy(&values[i], &d, sizeof(d));
    }
}

/* ---- blocks ---------------------------------------------------------------------------------- */

/* *ret becomes false if the column must be filled by values. */
static int put_vector(struct arrow_rows *r, size_t column, const struct table_block *b, bool *ret)
{
    enum arrow_type type = r->types[column].type;
    bool number = type != ARROW_TEXT;

    r->memory.i = number ? (int64_t *)r->columns[column].values + r->rows : r->numbers;
    *ret = r->table->ops->vector(r->table, column, &r->memory, &r->vector);
    if (*ret && r->vector.kind == VECTOR_CODE) {
        struct arrow_staged *c = &r->columns[column];
        int rc = convert_keys(r, column, b->count);
        if (rc < 0)
            return rc;
        put_keys(c, r->types[column].type, r->vector.codes, r->rows, b->count);
        if (c->keys.nulls)
            mark_null_keys(c, r->vector.codes, r->rows, b->count);
        return 0;
    }
    *ret = *ret && number;
    if (*ret)
        put_numbers(r, column, b->count);
    return 0;
}

static int put_value(struct arrow_rows *r, size_t column, size_t row, const struct value *v)
{
    struct arrow_staged *c = &r->columns[column];
    uint64_t bits;
    int rc = arrow_bits(r, column, v, &bits);

    if (rc < 0)
        return rc;
    if (r->types[column].type == ARROW_TEXT)
        ((int32_t *)c->values)[row] = (int32_t)bits;
    else
        ((uint64_t *)c->values)[row] = bits;
    if (rc == 1)
        mark_nulls(c, row, (uint64_t)1 << row % 64);
    return 0;
}

int arrow_fill_block(struct arrow_rows *r, const struct table_block *b, struct err *err)
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
    rc = r->table->ops->values(r->table, err, &values);
    for (size_t i = 0; i < r->count; i++) {
        for (size_t row = 0; !r->left_out[i] && row < b->count && rc == 0; row++)
            rc = put_value(r, i, r->rows + row, &values[row * r->count + i]);
    }
    return rc;
}
