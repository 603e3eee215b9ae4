/* rows.c - `having`, a filter on rows, and `sort`. */
#include "answer/aggregate/rows.h"
#include "engine/lang/dsl.h"
#include "engine/filter/filter.h"

#include <errno.h>
#include <stdlib.h>

/* ---- columns by name ------------------------------------------------------------------------- */

static int find_column(const struct aggregate_plan *p, struct text name)
{
    for (size_t i = 0; i < p->columns.count; i++) {
        if (text_eq(text_of(p->columns.at[i].name), name))
            return (int)i;
    }
    return -1;
}

static int unknown_column_error(const struct aggregate_plan *p, struct err *err, const char *param,
                                struct text name)
{
    struct buf names = {0};

    for (size_t i = 0; i < p->columns.count && names.len < 300; i++)
        buf_printf(&names, "%s%.100s", i ? ", " : "", p->columns.at[i].name);
    int rc =
        err_set_param(err, ERR_PARAM, param, "`%s`: the result has no column \"%.*s\"; it has %.*s",
                      param, (int)(name.len < 100 ? name.len : 100), name.ptr, (int)names.len,
                      names.data ? names.data : "");
    buf_done(&names);
    return rc;
}

/* ---- having ---------------------------------------------------------------------------------- */

struct having {
    const struct aggregate_plan *plan;
    const struct value *values;
    char digits[64]; /* of a wide value */
};

/* Converts a value to what the filter compares. */
static void entry_of_value(struct having *h, const struct value *v, struct column_entry *ret)
{
    *ret = (struct column_entry){
        .type = TRACE_INT, .i = v->i, .text = v->text, .text_id = INDEX_NO_TEXT};
    switch (v->type) {
    case VALUE_DOUBLE:
        ret->type = TRACE_DOUBLE;
        ret->d = v->d;
        break;
    case VALUE_BOOL:
        ret->type = TRACE_BOOL;
        break;
    case VALUE_TEXT:
        ret->type = TRACE_TEXT;
        break;
    case VALUE_JSON:
        ret->type = TRACE_JSON;
        break;
    case VALUE_TIME:
        ret->nano = v->wide == (int64_t)v->wide;
        if (ret->nano) {
            ret->i = (int64_t)v->wide;
        } else if (v->wide % 1000 == 0 && v->wide / 1000 == (int64_t)(v->wide / 1000)) {
            ret->i = (int64_t)(v->wide / 1000);
        } else {
            ret->type = TRACE_DOUBLE;
            ret->d = (double)v->wide / 1000;
        }
        break;
    case VALUE_UINT:
        if (v->u <= INT64_MAX)
            break;
        ret->type = TRACE_BIG;
        ret->text = (struct text){h->digits, num_format_u64(v->u, h->digits)};
        break;
    case VALUE_WIDE:
        ret->type = TRACE_BIG;
        ret->text = (struct text){h->digits, num_format_i128(v->wide, h->digits)};
        break;
    default:
        break;
    }
}

static int row_passes(struct having *h, const struct dsl_node *n)
{
    struct column_entry e;
    int rc;

    switch (n->op) {
    case DSL_AND:
    case DSL_OR:
        for (const struct dsl_node *c = n->child; c; c = c->next) {
            rc = row_passes(h, c);
            if (rc < 0 || (rc != 0) != (n->op == DSL_AND))
                return rc;
        }
        return n->op == DSL_AND;
    case DSL_NOT:
        rc = row_passes(h, n->child);
        return rc < 0 ? rc : !rc;
    default:
        break;
    }
    const struct value *v = &h->values[find_column(h->plan, n->path)];
    struct test t = {.node = n};
    if (v->type == VALUE_NULL)
        return n->op == DSL_NULL && !n->negated;
    entry_of_value(h, v, &e);
    return test_entry(&t, &e);
}

static int check_paths(const struct aggregate_plan *p, const struct dsl_node *n, struct err *err)
{
    int rc = 0;

    if (n->op == DSL_AND || n->op == DSL_OR || n->op == DSL_NOT) {
        for (const struct dsl_node *c = n->child; c && rc == 0; c = c->next)
            rc = check_paths(p, c, err);
        return rc;
    }
    return find_column(p, n->path) < 0 ? unknown_column_error(p, err, "having", n->path) : 0;
}

static int filter_rows(struct row_reader *t, const struct dsl_node *root, struct value *values,
                       struct row_id *rows, size_t *count)
{
    struct having h = {.plan = t->plan, .values = values};
    size_t kept = 0;
    int rc = 0;

    for (size_t i = 0; i < *count && rc >= 0; i++) {
        rc = i % 1024 ? 0 : budget_check(t->plan->budget);
        rc = rc < 0 ? rc : aggregate_values(t, rows[i], NULL, values);
        rc = rc < 0 ? rc : row_passes(&h, root);
        if (rc > 0)
            rows[kept++] = rows[i];
    }
    *count = kept;
    return rc < 0 ? rc : 0;
}

static int apply_having(struct row_reader *t, const char *having, struct value *values,
                        struct row_id *rows, size_t *count, struct err *err)
{
    struct err parse = {0};
    struct dsl dsl;
    int rc = dsl_parse(text_of(having), &parse, &dsl);

    if (rc == ERR_QUERY_SYNTAX)
        rc = err_set_param(err, ERR_PARAM, "having", "`having`: %.300s", parse.text);
    if (rc == 0 && dsl.root)
        rc = check_paths(t->plan, dsl.root, err);
    if (rc == 0 && dsl.root)
        rc = filter_rows(t, dsl.root, values, rows, count);
    dsl_done(&dsl);
    err_done(&parse);
    return rc;
}

/* ---- sort ------------------------------------------------------------------------------------ */

struct row_sort {
    const struct sort_key *keys;
    size_t width;
    const struct value *values;
    size_t stride;             /* values of a row */
    const uint32_t *positions; /* in `values`, of the rows that are sorted; NULL: the same */
};

int rows_compare(const struct sort_key *keys, size_t width, const struct value *a,
                 const struct value *b)
{
    for (size_t i = 0; i < width; i++) {
        int cmp = value_cmp(&a[keys[i].column], &b[keys[i].column]);
        if (cmp)
            return keys[i].descending ? -cmp : cmp;
    }
    return 0;
}

static int compare_rows(const void *a, const void *b, void *arg)
{
    const struct row_sort *s = arg;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    size_t x_at = s->positions ? s->positions[x] : x, y_at = s->positions ? s->positions[y] : y;
    int cmp =
        rows_compare(s->keys, s->width, s->values + x_at * s->stride, s->values + y_at * s->stride);

    return cmp ? cmp : (x > y) - (x < y);
}

enum { ORDER_BYTES = 2 * sizeof(uint32_t) }; /* of a row: sort_items makes a copy */

/* Keeps only the values of the sort keys: then `keys` refer to these. */
static int sort_rows(struct row_reader *t, struct sort_key *keys, size_t width,
                     struct value *values, struct row_id *rows, size_t count)
{
    size_t bytes = count * (width * sizeof(struct value) + ORDER_BYTES + sizeof(struct row_id));
    int rc = budget_charge(t->plan->budget, bytes);

    if (rc < 0)
        return rc;
    struct value *kept = malloc((count * width + 1) * sizeof(*kept));
    struct row_sort s = {.keys = keys, .width = width, .values = kept, .stride = width};
    uint32_t *order = malloc((count + 1) * sizeof(*order));
    struct row_id *before = malloc((count + 1) * sizeof(*before));
    rc = kept && order && before ? 0 : -ENOMEM;
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = i % 1024 ? 0 : budget_check(t->plan->budget);
        rc = rc < 0 ? rc : aggregate_values(t, rows[i], NULL, values);
        for (size_t k = 0; k < width && rc == 0; k++)
            kept[i * width + k] = values[keys[k].column];
        order[i] = (uint32_t)i;
        before[i] = rows[i];
    }
    for (size_t k = 0; k < width; k++)
        keys[k].column = (unsigned)k;
    if (rc == 0)
        rc = sort_items(order, count, sizeof(*order), compare_rows, &s, t->plan->budget);
    for (size_t i = 0; i < count && rc == 0; i++)
        rows[i] = before[order[i]];
    free(kept);
    free(order);
    free(before);
    budget_release(t->plan->budget, bytes);
    return rc;
}

static int parse_sort_key(const struct aggregate_plan *p, const char *param, struct text name,
                          struct sort_key *ret, struct err *err)
{
    ret->descending = name.len > 1 && name.ptr[0] == '-' && find_column(p, name) < 0;
    if (ret->descending)
        name = (struct text){name.ptr + 1, name.len - 1};
    int column = find_column(p, name);
    if (column < 0)
        return unknown_column_error(p, err, param, name);
    ret->column = (unsigned)column;
    return 0;
}

static int parse_sort_keys(const struct aggregate_plan *p, const struct aggregate_options *o,
                           struct sort_key **ret, struct err *err)
{
    struct sort_key *keys = *ret = arena_alloc(p->arena, (o->sort_count + 1) * sizeof(*keys));
    int rc = keys ? 0 : -ENOMEM;

    for (size_t i = 0; i < o->sort_count && rc == 0; i++)
        rc = parse_sort_key(p, "sort", text_of(o->sort[i]), &keys[i], err);
    return rc;
}

int rows_sort_keys(const struct aggregate_plan *p, const struct aggregate_options *o,
                   struct sort_key **ret, size_t *ret_width, struct err *err)
{
    int rc = parse_sort_keys(p, o, ret, err);

    *ret_width = o->sort_count;
    if (rc < 0 || o->top == 0)
        return rc;
    struct text name = text_of(o->top_by ? o->top_by : "");
    int column = find_column(p, name);
    if (column < 0)
        return unknown_column_error(p, err, "by", name);
    **ret = (struct sort_key){(unsigned)column, true};
    *ret_width = 1;
    return 0;
}

int rows_sort_values(const struct aggregate_plan *p, const struct aggregate_options *o,
                     const struct value *values, uint32_t *order, size_t count, struct err *err)
{
    struct row_sort s = {.width = o->sort_count, .values = values, .stride = p->columns.count};
    struct sort_key *keys;
    int rc = parse_sort_keys(p, o, &keys, err);

    rc = rc < 0 || s.width == 0 ? rc : budget_charge(p->budget, count * ORDER_BYTES);
    if (rc < 0 || s.width == 0)
        return rc;
    uint32_t *positions = malloc((count + 1) * sizeof(*positions));
    rc = positions ? 0 : -ENOMEM;
    s.keys = keys;
    s.positions = positions;
    for (size_t i = 0; i < count && rc == 0; i++) {
        positions[i] = order[i];
        order[i] = (uint32_t)i;
    }
    if (rc == 0)
        rc = sort_items(order, count, sizeof(*order), compare_rows, &s, p->budget);
    for (size_t i = 0; i < count && rc == 0; i++)
        order[i] = positions[order[i]];
    free(positions);
    budget_release(p->budget, count * ORDER_BYTES);
    return rc;
}

int rows_choose(struct row_reader *t, const struct aggregate_options *o, struct row_id *rows,
                size_t *count, struct err *err)
{
    struct value *values = malloc((t->plan->columns.count + 1) * sizeof(*values));
    struct sort_key *keys;
    int rc = values ? 0 : -ENOMEM;

    if (rc == 0 && o->having)
        rc = apply_having(t, o->having, values, rows, count, err);
    if (rc == 0 && o->sort_count && !o->top) {
        rc = parse_sort_keys(t->plan, o, &keys, err);
        rc = rc < 0 ? rc : sort_rows(t, keys, o->sort_count, values, rows, *count);
    }
    free(values);
    return rc;
}
