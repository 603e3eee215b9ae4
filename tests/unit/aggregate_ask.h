/* aggregate_ask.h - an /aggregate and its rows as text, for tests. */
#ifndef DFTRACERD_TESTS_AGGREGATE_ASK_H
#define DFTRACERD_TESTS_AGGREGATE_ASK_H

#include "dftracerd/aggregate.h"
#include "dftracerd/query.h"
#include "query_store.h"

static void put_value(struct buf *out, const struct value *v)
{
    char room[64];

    switch (v->type) {
    case VALUE_NULL:
        buf_puts(out, "null");
        break;
    case VALUE_INT:
    case VALUE_BOOL:
        buf_printf(out, "%lld", (long long)v->i);
        break;
    case VALUE_UINT:
        buf_printf(out, "%llu", (unsigned long long)v->u);
        break;
    case VALUE_TIME: /* us */
        buf_append(out, room, num_format_milli128(v->wide, room));
        break;
    case VALUE_DOUBLE: /* all digits: two answers are compared to the last bit */
        buf_append(out, room, num_format_double(v->d, room));
        break;
    case VALUE_WIDE:
        buf_append(out, room, num_format_i128(v->wide, room));
        break;
    default:
        buf_append(out, v->text.ptr, v->text.len);
    }
}

/* The column's value in a row of name=value pairs, or "" - in a static room. */
static const char *cell(const char *rows, unsigned row, const char *column)
{
    static char room[256];
    char key[128];
    int len = snprintf(key, sizeof(key), " %s=", column);

    for (; row > 0 && rows; row--)
        rows = strchr(rows, '\n') ? strchr(rows, '\n') + 1 : NULL;
    const char *end = rows ? strchr(rows, '\n') : NULL, *at = rows ? strstr(rows, key) : NULL;
    if (!at || !end || at > end)
        return "";
    snprintf(room, sizeof(room), "%.*s", (int)strcspn(at + len, " \n"), at + len);
    return room;
}
#define CELL(row, column, want) CHECK_STR(cell(rows, row, column), want)

static int ask(struct store *s, const char *query, const struct aggregate_options *o,
               struct budget *budget, struct err *err, struct buf *out)
{
    const struct table_column *columns;
    const struct value *values;
    struct selection selection;
    struct aggregate *a = NULL;
    struct query *q;
    size_t n, width = 0;

    selection_init(&selection);
    selection.query = text_of(query);
    CHECK_INT(query_open(&s->env, s->snapshot, &selection, budget, err, &q), 0);
    int rc = aggregate_open(q, o, err, &a);
    if (rc == 0)
        columns = aggregate_table(a)->columns;
    width = rc == 0 ? aggregate_table(a)->count : 0;
    while (rc == 0 && (rc = aggregate_next(a, 100, err, &values, &n)) == 0) {
        for (size_t i = 0; i < n * width; i++) {
            buf_putc(out, ' ');
            buf_puts(out, columns[i % width].name);
            buf_putc(out, '=');
            put_value(out, &values[i]);
            if (i % width == width - 1)
                buf_putc(out, '\n');
        }
    }
    aggregate_close(a);
    query_close(q);
    CHECK_INT(budget->memory_used, 0);
    return rc == ERR_END ? 0 : rc;
}

/* *new* rows, a line each. */
static char *rows_of(struct store *s, const char *query, struct aggregate_options o)
{
    struct budget budget = {0};
    struct err err = {0};
    struct buf out = {0};

    o.limit = o.limit ? o.limit : UINT64_MAX;
    if (!CHECK_INT(ask(s, query, &o, &budget, &err, &out), 0))
        printf("   %s\n", err.text);
    err_done(&err);
    return out.data ? buf_steal(&out, NULL) : strdup("");
}

#endif
