/* table.c - flat rows as JSON, NDJSON, CSV or aligned columns. */
#include "format/writer/text_number.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The widths of a text table fit the first rows, up to this number, or this many bytes of cells.
 * Longer cells move the rest of their line. */
enum { ROWS_MEASURED = 1000, BYTES_MEASURED = 8 << 20, WIDTH_MAX = 256 };

struct format_table {
    enum format format;
    size_t count;
    struct buf keys; /* JSON: `{"a":`, `,"b":` ...; else the names */
    size_t *key_end;
    uint64_t rows;
    /* TEXT */
    struct buf cells; /* of the collected rows, one after another */
    uint32_t *cell_end;
    uint8_t *cell_right; /* aligned to the right: numbers */
    size_t collected;    /* rows in `cells` */
    size_t *widths;      /* by column */
    bool measured;       /* the widths are final */
};

int format_table_new(enum format f, const char *const *columns, size_t count,
                     struct format_table **ret)
{
    if (f != FORMAT_JSON && f != FORMAT_NDJSON && f != FORMAT_CSV && f != FORMAT_TEXT)
        return ERR_FORMAT;
    struct format_table *t = calloc(1, sizeof(*t));
    if (!t)
        return -ENOMEM;
    size_t cells = f == FORMAT_TEXT ? count * ROWS_MEASURED : 0;
    t->format = f;
    t->count = count;
    t->key_end = calloc(count + 1, sizeof(*t->key_end));
    t->widths = calloc(count + 1, sizeof(*t->widths));
    t->cell_end = malloc((cells + 1) * sizeof(*t->cell_end));
    t->cell_right = malloc(cells + 1);
    bool json = f == FORMAT_JSON || f == FORMAT_NDJSON;
    for (size_t i = 0; i < count && t->key_end && t->widths; i++) {
        buf_puts(&t->keys, !json ? "" : i ? "," : "{");
        if (json)
            jw_escape(&t->keys, text_of(columns[i]));
        else
            buf_puts(&t->keys, columns[i]);
        buf_puts(&t->keys, json ? ":" : "");
        t->key_end[i] = t->keys.len;
        t->widths[i] = text_width(text_of(columns[i]));
    }
    if (!t->key_end || !t->widths || !t->cell_end || !t->cell_right || t->keys.error) {
        format_table_free(t);
        return -ENOMEM;
    }
    *ret = t;
    return 0;
}

void format_table_free(struct format_table *t)
{
    if (!t)
        return;
    buf_done(&t->keys);
    buf_done(&t->cells);
    free(t->key_end);
    free(t->widths);
    free(t->cell_end);
    free(t->cell_right);
    free(t);
}

static struct text key_of(const struct format_table *t, size_t i)
{
    size_t start = i ? t->key_end[i - 1] : 0;

    return (struct text){t->keys.data + start, t->key_end[i] - start};
}

static void json_row(struct format_table *t, const struct value *values, struct buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        struct text key = key_of(t, i);
        char *to = buf_reserve(out, key.len + VALUE_NUMBER_BYTES);
        if (!to)
            return;
        memcpy(to, key.ptr, key.len);
        out->len += key.len;
        size_t digits = value_format_number(&values[i], to + key.len);
        out->len += digits;
        if (digits == 0)
            value_json(out, &values[i]);
    }
    buf_putc(out, '}');
}

/* ---- aligned columns ------------------------------------------------------------------------- */

static void put_cell(struct buf *out, struct text cell, size_t width, bool right, bool last)
{
    put_padded(out, cell, right ? (int)width : last ? 0 : -(int)width);
    buf_puts(out, last ? "\n" : "  ");
}

/* Writes the header and the rows that decided the widths. */
static void put_collected(struct format_table *t, struct buf *out)
{
    size_t start = 0;

    t->measured = true;
    for (size_t i = 0; i < t->count; i++)
        put_cell(out, key_of(t, i), t->widths[i], t->collected > 0 && t->cell_right[i],
                 i + 1 == t->count);
    for (size_t i = 0; i < t->collected * t->count; i++) {
        size_t column = i % t->count;
        struct text cell = {t->cells.data + start, t->cell_end[i] - start};
        put_cell(out, cell, t->widths[column], t->cell_right[i], column + 1 == t->count);
        start = t->cell_end[i];
    }
    buf_clear(&t->cells);
}

static void text_row(struct format_table *t, const struct value *values, struct buf *out)
{
    for (size_t i = 0; i < t->count; i++) {
        size_t at = t->collected * t->count + i, start = t->cells.len;
        value_plain(&t->cells, &values[i]);
        struct text cell = {t->cells.data + start, t->cells.len - start};
        if (t->measured) {
            put_cell(out, cell, t->widths[i], value_is_number(&values[i]), i + 1 == t->count);
            continue;
        }
        size_t width = text_width(cell);
        width = width < WIDTH_MAX ? width : WIDTH_MAX;
        t->widths[i] = width > t->widths[i] ? width : t->widths[i];
        t->cell_end[at] = (uint32_t)t->cells.len;
        t->cell_right[at] = value_is_number(&values[i]);
    }
    if (t->measured)
        buf_clear(&t->cells);
    else if (++t->collected == ROWS_MEASURED || t->cells.len > BYTES_MEASURED)
        put_collected(t, out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static void begin_rows(struct format_table *t, struct buf *out)
{
    if (t->format == FORMAT_JSON)
        buf_puts(out, "{\"rows\":[");
    else if (t->format == FORMAT_CSV) {
        for (size_t i = 0; i < t->count; i++) {
            if (i)
                buf_putc(out, ',');
            csv_text(out, key_of(t, i));
        }
        buf_putc(out, '\n');
    }
}

void format_table_row(struct format_table *t, const struct value *values, struct buf *out)
{
    if (t->rows == 0)
        begin_rows(t, out);
    switch (t->format) {
    case FORMAT_CSV:
        for (size_t i = 0; i < t->count; i++) {
            if (i)
                buf_putc(out, ',');
            value_csv(out, &values[i]);
        }
        buf_putc(out, '\n');
        break;
    case FORMAT_TEXT:
        text_row(t, values, out);
        break;
    case FORMAT_JSON:
        if (t->rows)
            buf_putc(out, ',');
        json_row(t, values, out);
        break;
    default:
        json_row(t, values, out);
        buf_putc(out, '\n');
        break;
    }
    t->rows++;
    if (t->cells.error)
        out->error = t->cells.error;
}

void format_table_end(struct format_table *t, struct buf *out)
{
    if (t->rows == 0)
        begin_rows(t, out);
    if (t->format == FORMAT_JSON)
        buf_puts(out, "]}\n");
    else if (t->format == FORMAT_TEXT && !t->measured)
        put_collected(t, out);
}
