/* schema.c - the answer of /schema. */
#include "format/report/info.h"

static const char *const names[] = {"path",           "type", "rows", "distinct",
                                    "distinct_exact", "min",  "max",  "bloom"};
enum { COLUMNS = sizeof(names) / sizeof(names[0]) };

static void row_of(const struct schema_column *c, struct value *row)
{
    row[0] = (struct value){.type = VALUE_TEXT, .text = c->path};
    row[1] = (struct value){.type = VALUE_TEXT, .text = text_of(c->type)};
    row[2] = (struct value){.type = VALUE_UINT, .u = c->rows};
    row[3] = (struct value){.type = VALUE_UINT, .u = c->distinct};
    row[4] = (struct value){.type = VALUE_BOOL, .i = c->distinct_exact};
    row[5] = c->min;
    row[6] = c->max;
    row[7] = (struct value){.type = VALUE_BOOL, .i = c->bloom};
}

void schema_put_column(struct jw *j, const struct schema_column *c)
{
    struct value row[COLUMNS];

    row_of(c, row);
    jw_begin(j, '{');
    for (size_t k = 0; k < COLUMNS; k++)
        jw_put_value(j, names[k], &row[k]);
    jw_end(j, '}');
}

static void write_json(const struct schema *s, bool pretty, struct buf *out)
{
    struct jw j;

    jw_init(&j, out, pretty);
    jw_begin(&j, '{');
    jw_key(&j, "columns");
    jw_begin(&j, '[');
    for (size_t i = 0; i < s->count; i++)
        schema_put_column(&j, &s->columns[i]);
    jw_end(&j, ']');
    jw_end(&j, '}');
    jw_finish(&j);
}

int format_schema(const struct schema *s, enum format f, bool pretty, struct buf *out)
{
    struct value row[COLUMNS];
    struct format_table *t;

    if (f == FORMAT_JSON) {
        write_json(s, pretty, out);
        return out->error;
    }
    int rc = format_table_new(f, names, COLUMNS, &t);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < s->count; i++) {
        row_of(&s->columns[i], row);
        format_table_row(t, row, out);
    }
    format_table_end(t, out);
    format_table_free(t);
    return out->error;
}
