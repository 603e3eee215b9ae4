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

enum { BATCH = 65536, AT_ONCE = 256, RECENT = 256, KNOWN = 8192 };
enum {
    SAW_TEXT = 1,
    SAW_BOOL = 2,
    SAW_NUMBER = 4,
    SAW_FRACTION = 8,
    SAW_NEGATIVE = 16,
    SAW_LARGE = 32,
    SAW_HUGE = 64
};

/* A value of a column that is a key: rows have few different ones, one after the other. */
struct known {
    uint64_t key, bits; /* bits: as the batch has it */
    uint32_t reading;   /* other than that at hand: not known */
    bool null;
};

struct staged {
    unsigned saw;
    bool class;
    struct known *known; /* by hash of the key; NULL: not a key */
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
    bool *sure, *left_out; /* sure: whatever its values are, the type is known */
    struct arrow_column *types;
    struct arrow *arrow;
    struct buf scratch;
    bool begun;
    uint32_t reading; /* of all rows; from 1 */
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

/* Where the key is, or belongs. */
static struct known *known_of(const struct staged *c, uint64_t key)
{
    return &c->known[key * 0x9E3779B97F4A7C15u >> 51];
}

static int look_at_keys(struct arrow_rows *r, size_t column, size_t n, bool mixed)
{
    struct staged *c = &r->columns[column];
    uint64_t keys[AT_ONCE];
    struct value v;
    int rc = 0;

    (void)aggregate_keys(r->aggregate, column, n, keys);
    for (size_t row = 0; row < n && rc == 0; row++) {
        struct known *k = known_of(c, keys[row]);
        if (k->reading == r->reading && k->key == keys[row])
            continue;
        rc = aggregate_key_value(r->aggregate, column, keys[row], &v);
        rc = rc < 0 ? rc : look_at_value(r, c, &v, mixed);
        *k = (struct known){.key = keys[row], .reading = r->reading};
    }
    return rc;
}

static int look_at_column(struct arrow_rows *r, size_t column, const struct value *values, size_t n,
                          bool mixed)
{
    struct staged *c = &r->columns[column];
    int rc = 0;

    mixed = mixed && r->types[column].type == ARROW_TEXT;
    if (c->known)
        return look_at_keys(r, column, n, mixed);
    for (size_t row = 0; row < n && rc == 0; row++)
        rc = look_at_value(r, c, &values[row * r->count + column], mixed);
    return rc;
}

/* mixed: columns of texts have numbers, too, which get their codes now. */
static int look_at_rows(struct arrow_rows *r, bool mixed, struct err *err)
{
    const struct value *values;
    size_t n;
    int rc;

    for (size_t i = 0; i < r->count; i++)
        r->left_out[i] = r->sure[i] || r->columns[i].known;
    aggregate_leave_out(r->aggregate, r->left_out);
    r->reading++;
    while ((rc = aggregate_next(r->aggregate, AT_ONCE, err, &values, &n)) == 0) {
        for (size_t i = 0; i < r->count && rc == 0; i++)
            if (!r->sure[i])
                rc = look_at_column(r, i, values, n, mixed);
        rc = rc < 0 ? rc : charge_texts(r);
        rc = rc < 0 ? rc : budget_check(r->budget);
        if (rc < 0)
            return rc;
    }
    for (size_t i = 0; i < r->count; i++)
        r->left_out[i] = r->columns[i].known;
    r->reading++;
    aggregate_rewind(r->aggregate);
    return rc == ERR_END ? 0 : rc;
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

static int charge(struct arrow_rows *r, size_t bytes)
{
    int rc = budget_charge(r->budget, bytes);

    r->charged += rc < 0 ? 0 : bytes;
    return rc;
}

static int make_room(struct arrow_rows *r)
{
    int rc = charge(r, r->count * (BATCH * 8 + BATCH / 8));

    if (rc < 0)
        return rc;
    for (size_t i = 0; i < r->count; i++) {
        struct staged *c = &r->columns[i];
        c->values = calloc(BATCH, 8);
        c->valid = calloc(BATCH / 64, 8);
        if (r->types[i].type == ARROW_TEXT && !c->texts)
            c->texts = intern_new();
        if (!c->values || !c->valid || (r->types[i].type == ARROW_TEXT && !c->texts))
            return -ENOMEM;
    }
    return 0;
}

/* ---- making ---------------------------------------------------------------------------------------------------- */

static int make_known(struct arrow_rows *r)
{
    uint64_t none;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        if (!aggregate_keys(r->aggregate, i, 0, &none))
            continue;
        rc = charge(r, KNOWN * sizeof(struct known));
        r->columns[i].known = rc < 0 ? NULL : calloc(KNOWN, sizeof(struct known));
        rc = rc == 0 && !r->columns[i].known ? -ENOMEM : rc;
    }
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
    for (size_t i = 0; i < r->count; i++)
        r->sure[i] =
            r->columns[i].class || r->told[i].type == VALUE_DOUBLE || r->told[i].type == VALUE_UINT;
    int rc = make_known(r);
    rc = rc < 0 ? rc : look_at_rows(r, false, err);
    if (rc == 0 && choose_types(r))
        rc = look_at_rows(r, true, err);
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
        free(r->columns[i].known);
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
        c->nulls++;
        return 0; /* both were zeroed */
    }
    int rc = bits_of(r, column, v, &bits);
    if (rc == 0)
        put_bits(c, r->types[column].type, row, bits);
    return rc;
}

static int know(struct arrow_rows *r, size_t column, uint64_t key, struct known *k)
{
    struct value v;
    int rc = aggregate_key_value(r->aggregate, column, key, &v);
    struct known made = {.key = key, .reading = r->reading, .null = rc == 0 && is_null(&v)};

    if (rc == 0 && !made.null)
        rc = bits_of(r, column, &v, &made.bits);
    if (rc == 0)
        *k = made;
    return rc;
}

static int put_keys(struct arrow_rows *r, size_t column, size_t n)
{
    struct staged *c = &r->columns[column];
    enum arrow_type type = r->types[column].type;
    uint64_t keys[AT_ONCE];
    int rc = 0;

    (void)aggregate_keys(r->aggregate, column, n, keys);
    for (size_t row = 0; row < n && rc == 0; row++) {
        struct known *k = known_of(c, keys[row]);
        if (k->reading != r->reading || k->key != keys[row])
            rc = know(r, column, keys[row], k);
        if (rc == 0 && k->null)
            c->nulls++;
        else if (rc == 0)
            put_bits(c, type, r->rows + row, k->bits);
    }
    return rc;
}

static int put_column(struct arrow_rows *r, size_t column, const struct value *values, size_t n)
{
    int rc = 0;

    if (r->columns[column].known)
        return put_keys(r, column, n);
    for (size_t row = 0; row < n && rc == 0; row++)
        rc = put_value(r, column, r->rows + row, &values[row * r->count + column]);
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
    const struct value *values;
    size_t n;
    int rc = 0;

    r->rows = 0;
    for (size_t i = 0; i < r->count; i++) {
        memset(r->columns[i].values, 0, BATCH * 8);
        memset(r->columns[i].valid, 0, BATCH / 8);
        r->columns[i].nulls = 0;
    }
    while (r->rows + AT_ONCE <= BATCH &&
           (rc = aggregate_next(r->aggregate, AT_ONCE, err, &values, &n)) == 0) {
        for (size_t i = 0; i < r->count && rc == 0; i++)
            rc = put_column(r, i, values, n);
        rc = rc < 0 ? rc : budget_check(r->budget);
        if (rc < 0)
            return rc;
        r->rows += n;
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
