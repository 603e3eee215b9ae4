/* types.c - the type of each column, the unit of times, and the dictionaries of text columns.
 *
 * The type of a column does not depend on its values, so that answers on different data can be
 * concatenated: uint64, int64, double or text. Times are whole microseconds, or whole nanoseconds
 * if a file has this unit or a time of the answer has a fraction. Columns with a list of choices
 * (batch_type) contain the index of the choice.
 */
#include "format/arrow/columns.h"

#include <errno.h>

/* ---- first pass ------------------------------------------------------------------------------ */

static int survey_value(struct arrow_rows *r, size_t column, const struct value *v)
{
    struct arrow_staged *c = &r->columns[column];

    if (r->types[column].type != ARROW_TEXT) {
        r->nano |= value_has_fraction(v);
        return 0;
    }
    if (value_is_null(v))
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
    return charge_up_to(&r->text_charge, bytes);
}

static int survey_key(struct arrow_rows *r, size_t column, const struct vector *codes,
                      uint32_t code)
{
    struct value v;
    int rc = codes->value(codes->arg, codes->keys[code], &v);

    return rc < 0 ? rc : survey_value(r, column, &v);
}

/* Converts the keys of the block that have not occurred before. *ret becomes false if they must be
 * read as values. */
static int survey_codes(struct arrow_rows *r, size_t column, size_t rows, bool *ret)
{
    struct arrow_keys *k = &r->columns[column].keys;
    const struct vector *v = &r->vector;
    int rc = 0;

    *ret = r->table->ops->vector(r->table, column, &r->memory, &r->vector);
    if (*ret)
        rc = arrow_keys_begin(r, column, v);
    for (size_t row = 0; *ret && row < rows && rc == 0; row++) {
        uint32_t code = v->codes[row];
        if (k->states[code] == KEY_NEW)
            rc = survey_key(r, column, v, code);
        k->states[code] = KEY_KNOWN;
    }
    return rc;
}

/* Reads the columns of the block that are not completely known yet. */
static int survey_block(struct arrow_rows *r, const struct table_block *b, struct err *err)
{
    const struct value *values;
    bool all = true;
    int rc = 0;

    for (size_t i = 0; i < r->count && rc == 0; i++) {
        r->left_out[i] = r->columns[i].complete;
        if (!r->columns[i].complete && r->columns[i].key)
            rc = survey_codes(r, i, b->count, &r->left_out[i]);
        all &= r->left_out[i];
    }
    if (rc < 0 || all)
        return rc;
    rc = r->table->ops->values(r->table, err, &values);
    for (size_t i = 0; i < r->count; i++) {
        for (size_t row = 0; !r->left_out[i] && row < b->count && rc == 0; row++)
            rc = survey_value(r, i, &values[row * r->count + i]);
    }
    return rc;
}

static int survey_rows(struct arrow_rows *r, struct err *err)
{
    struct table_block block;
    bool all = true;
    int rc;

    for (size_t i = 0; i < r->count; i++)
        all &= r->columns[i].complete;
    if (all)
        return 0;
    while ((rc = r->table->ops->next(r->table, err, &block)) == 0) {
        rc = survey_block(r, &block, err);
        rc = rc < 0 ? rc : charge_texts(r);
        if (rc < 0)
            return rc;
    }
    arrow_keys_forget(r);
    r->table->ops->rewind(r->table);
    return rc == ERR_END ? 0 : rc;
}

/* If the table has all groups in memory (parts > 0), their keys are read instead of the rows. */
static int survey_parts(struct arrow_rows *r)
{
    int rc = 0;

    for (size_t i = 0; i < r->count && r->parts && rc == 0; i++) {
        struct arrow_staged *c = &r->columns[i];
        for (unsigned part = 0; part < r->parts && c->key && !c->complete && rc == 0; part++) {
            struct vector codes = {.kind = VECTOR_CODE};
            r->table->ops->codes(r->table, part, i, &codes);
            for (uint32_t k = 0; k < codes.code_count && rc == 0; k++) {
                rc = survey_key(r, i, &codes, k);
                if (rc == 0 && k % 0x1000 == 0)
                    rc = budget_check(r->charge.budget);
            }
        }
        c->complete |= c->key;
        rc = rc < 0 ? rc : charge_texts(r);
    }
    return rc;
}

/* ---- before the first row -------------------------------------------------------------------- */

/* Finds what the table knows of its columns without reading rows. */
static int survey_columns(struct arrow_rows *r)
{
    unsigned *seen = calloc(r->count + 1, sizeof(*seen));
    bool *known = calloc(r->count + 1, sizeof(*known));
    int rc = seen && known ? r->table->ops->survey(r->table, known, seen) : -ENOMEM;

    for (size_t i = 0; i < r->count && rc == 0; i++)
        r->nano |= r->specs[i].type == VALUE_TIME && known[i] && (seen[i] & COLUMN_FRACTION);
    for (size_t i = 0; i < r->count && rc == 0; i++) {
        struct arrow_staged *c = &r->columns[i];
        bool time = r->specs[i].type == VALUE_TIME;
        c->key = r->specs[i].key && !r->specs[i].choices;
        c->complete = r->types[i].type != ARROW_TEXT && (!time || r->nano || known[i]);
    }
    free(seen);
    free(known);
    return rc;
}

int arrow_types_find(struct arrow_rows *r, const struct query *q, struct err *err)
{
    static const char *const units[] = {
        [UNIT_US] = "us", [UNIT_BYTES] = "bytes", [UNIT_BYTES_PER_S] = "bytes/s"};
    const uint32_t *files;

    for (size_t i = 0; i < r->count; i++) {
        const struct table_column *c = &r->specs[i];
        r->types[i].name = c->name;
        r->types[i].type = c->choices                                       ? ARROW_INT64
                           : c->type == VALUE_UINT || c->type == VALUE_TIME ? ARROW_UINT64
                           : c->type == VALUE_DOUBLE                        ? ARROW_DOUBLE
                                                                            : ARROW_TEXT;
    }
    r->nano = false;
    for (size_t n = query_files(q, &files); n > 0 && !r->nano; n--)
        r->nano = snapshot_file(query_snapshot(q), files[n - 1])->unit == TRACE_NS;
    int rc = survey_columns(r);
    r->parts = r->table->ops->whole_parts(r->table);
    arrow_keys_forget(r);
    rc = rc < 0 ? rc : survey_parts(r);
    rc = rc < 0 ? rc : survey_rows(r, err);
    for (size_t i = 0; i < r->count; i++)
        r->types[i].unit = r->specs[i].unit == UNIT_US && r->nano ? "ns" : units[r->specs[i].unit];
    return rc;
}
