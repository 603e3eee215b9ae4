/* row_text.c - flat rows as JSON, NDJSON or CSV, from columns: a value that many rows have is
 * written once and copied. */
#include "dftracerd/rows.h"
#include "format/writer/value_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    CELLS_MOST = 1 << 16, /* of a chunk's columns together: 1 MiB */
    TEXTS_MOST = 1 << 20, /* of their texts: all are forgotten beyond that */
    COPY_ROOM = 64,       /* so much of a text is copied at once, whatever its length */
    NUMBER_ROOM = 64,     /* see value_number */
};

struct format_rows {
    struct rows_writer writer;
    enum format format;
    size_t count;
    struct buf before; /* `{"a":`, `,"b":` ...; CSV: commas. COPY_ROOM more can be read behind it */
    size_t *before_end;
    struct buf header;
    bool begun; /* rows were told */
};

/* What a code's value looks like in a row, with what stands before it. */
struct cell {
    uint32_t code; /* UINT32_MAX: none */
    uint32_t len;
    size_t at; /* in `texts` */
};
struct column_cells {
    const char *before;
    size_t before_len;
    struct cell *cells; /* by the low bits of their codes */
    uint32_t count;     /* a power of two, or 0 */
};
/* Of one chunk. */
struct writing {
    const struct format_rows *f;
    struct column_cells *columns;
    struct buf texts;
    struct charge charge, text_charge;
    size_t row_room; /* of a row but for what is longer than COPY_ROOM or has no fixed length */
};

/* ---- one chunk ------------------------------------------------------------------------------- */

static void forget(struct writing *w)
{
    for (size_t i = 0; i < w->f->count; i++) {
        for (uint32_t k = 0; k < w->columns[i].count; k++)
            w->columns[i].cells[k].code = UINT32_MAX;
    }
    buf_clear(&w->texts);
}

static void writing_done(void *state)
{
    struct writing *w = state;

    for (size_t i = 0; i < w->f->count; i++)
        free(w->columns[i].cells);
    charge_done(&w->charge);
    charge_done(&w->text_charge);
    buf_done(&w->texts);
    free(w->columns);
    free(w);
}

static int writing_begin(void *arg, struct budget *budget, void **ret)
{
    const struct format_rows *f = arg;
    struct writing *w = calloc(1, sizeof(*w));

    if (w)
        w->columns = calloc(f->count + 1, sizeof(*w->columns));
    if (!w || !w->columns) {
        free(w);
        return -ENOMEM;
    }
    w->f = f;
    w->charge.budget = w->text_charge.budget = budget;
    w->row_room = COPY_ROOM;
    for (size_t i = 0, start = 0; i < f->count; start = f->before_end[i++]) {
        w->columns[i].before = f->before.data + start;
        w->columns[i].before_len = f->before_end[i] - start;
        w->row_room += w->columns[i].before_len + COPY_ROOM + NUMBER_ROOM;
    }
    *ret = w;
    return 0;
}

/* As many cells as the codes of the column, or as so few rows can use. */
static int room_for_cells(struct writing *w, const struct rows_batch *b, size_t column)
{
    struct column_cells *c = &w->columns[column];
    size_t most = CELLS_MOST / w->f->count, wanted = 2 * (size_t)b->count;
    uint32_t count = 16;

    while (count < b->columns[column].codes && count < wanted && 2 * (size_t)count <= most)
        count *= 2;
    if (count <= c->count)
        return 0;
    int rc = charge_add(&w->charge, (count - c->count) * sizeof(*c->cells));
    if (rc < 0)
        return rc;
    free(c->cells);
    c->cells = malloc(count * sizeof(*c->cells));
    c->count = c->cells ? count : 0;
    for (uint32_t k = 0; k < c->count; k++)
        c->cells[k].code = UINT32_MAX;
    return c->cells ? 0 : -ENOMEM;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_value(const struct format_rows *f, struct buf *out, const struct value *v)
{
    if (f->format == FORMAT_CSV)
        value_csv(out, v);
    else
        value_json(out, v);
}

/* Places in `texts` may move. */
static int make_cell(struct writing *w, const struct rows_batch *b, size_t column, uint32_t code,
                     struct cell **ret)
{
    const struct rows_column *told = &b->columns[column];
    struct column_cells *c = &w->columns[column];
    struct value v;

    if (code >= told->codes)
        return ERR_CORRUPT;
    if (w->texts.len > TEXTS_MOST)
        forget(w);
    struct cell *cell = &c->cells[code & (c->count - 1)];
    cell->at = w->texts.len;
    query_key_value(b->query, told->keys[code], &v);
    buf_append(&w->texts, c->before, c->before_len);
    put_value(w->f, &w->texts, &v);
    buf_reserve(&w->texts, COPY_ROOM);
    if (w->texts.error || w->texts.len - cell->at > UINT32_MAX)
        return -ENOMEM;
    cell->code = code;
    cell->len = (uint32_t)(w->texts.len - cell->at);
    *ret = cell;
    return 0;
}

/* The value of one row that has no cell; `to` is where the row goes on. */
static char *put_other(struct writing *w, const struct rows_column *told, size_t column, size_t k,
                       struct buf *out, char *to)
{
    static const struct value null = {.type = VALUE_NULL};
    const struct column_cells *c = &w->columns[column];

    out->len = (size_t)(to - out->data);
    buf_append(out, c->before, c->before_len);
    put_value(w->f, out, told->kind == ROWS_VALUE ? &told->values[k] : &null);
    return buf_reserve(out, w->row_room);
}

/* Any length. */
static char *put_long(struct writing *w, const struct cell *cell, struct buf *out, char *to)
{
    out->len = (size_t)(to - out->data);
    buf_append(out, w->texts.data + cell->at, cell->len);
    return buf_reserve(out, w->row_room);
}

static inline char *put_code(struct writing *w, const struct rows_batch *b, size_t column,
                             uint32_t code, struct buf *out, char *to, int *rc)
{
    const struct column_cells *c = &w->columns[column];
    struct cell *cell = &c->cells[code & (c->count - 1)];

    if (cell->code != code) {
        *rc = make_cell(w, b, column, code, &cell);
        if (*rc < 0)
            return to;
    }
    if (cell->len > COPY_ROOM)
        return put_long(w, cell, out, to);
    memcpy(to, w->texts.data + cell->at, COPY_ROOM); /* all of it: shorter than asking how much */
    return to + cell->len;
}

static inline bool is_there(const uint64_t *valid, uint32_t row)
{
    return !valid || (valid[row / 64] >> row % 64 & 1);
}

static inline char *put_before(const struct column_cells *c, char *to)
{
    if (c->before_len <= COPY_ROOM)
        memcpy(to, c->before, COPY_ROOM);
    else
        memcpy(to, c->before, c->before_len);
    return to + c->before_len;
}

static inline char *put_number(struct writing *w, const struct rows_column *told, size_t column,
                               uint32_t row, char *to)
{
    to = put_before(&w->columns[column], to);
    if (told->kind == ROWS_INT)
        return to + num_format_i64(told->i[row], to);
    if (told->kind == ROWS_NS)
        return to + num_format_milli(told->i[row], to);
    struct value v = {.type = VALUE_DOUBLE, .d = told->d[row]};
    return to + value_number(&v, to);
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline bool is_number(const struct rows_column *c, uint32_t row)
{
    return c->kind < ROWS_DOUBLE || (c->kind == ROWS_DOUBLE && __builtin_isfinite(c->d[row]));
}

static int put_row(struct writing *w, const struct rows_batch *b, uint32_t k, struct buf *out)
{
    uint32_t row = b->select ? b->select[k] : k;
    char *to = buf_reserve(out, w->row_room);
    int rc = 0;

    for (size_t i = 0; i < w->f->count && to && rc == 0; i++) {
        const struct rows_column *told = &b->columns[i];
        if (told->kind == ROWS_CODE)
            to = put_code(w, b, i, told->code[row], out, to, &rc);
        else if (told->kind != ROWS_VALUE && is_there(told->valid, row) && is_number(told, row))
            to = put_number(w, told, i, row, to);
        else
            to = put_other(w, told, i, k, out, to);
    }
    if (!to || rc < 0)
        return rc < 0 ? rc : -ENOMEM;
    if (w->f->format != FORMAT_CSV)
        *to++ = '}';
    *to++ = w->f->format == FORMAT_JSON ? ',' : '\n';
    out->len = (size_t)(to - out->data);
    return 0;
}

static int write_rows(void *state, const struct rows_batch *b, struct buf *out, size_t *ret_end)
{
    struct writing *w = state;
    int rc = 0;

    for (size_t i = 0; i < w->f->count && rc == 0; i++) {
        if (b->columns[i].kind == ROWS_CODE)
            rc = room_for_cells(w, b, i);
    }
    for (uint32_t k = 0; k < b->count && rc == 0; k++) {
        rc = put_row(w, b, k, out);
        rc = rc == 0 && out->len > b->most ? ERR_MEMORY_LIMIT : rc;
        ret_end[k] = out->len;
    }
    return rc < 0 ? rc : charge_up_to(&w->text_charge, w->texts.cap);
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void put_names(struct format_rows *f, const char *const *columns)
{
    for (size_t i = 0; i < f->count; i++) {
        bool csv = f->format == FORMAT_CSV;
        if (i || !csv)
            buf_putc(&f->before, i ? ',' : '{');
        if (i)
            buf_putc(&f->header, ',');
        csv_text(&f->header, text_of(columns[i]));
        if (!csv) {
            jw_escape(&f->before, text_of(columns[i]));
            buf_putc(&f->before, ':');
        }
        f->before_end[i] = f->before.len;
    }
    buf_putc(&f->header, '\n');
    char *rest = buf_reserve(&f->before, COPY_ROOM);
    if (rest)
        memset(rest, 0, COPY_ROOM);
}

int format_rows_new(enum format format, const char *const *columns, size_t count,
                    struct format_rows **ret)
{
    if (count == 0 || (format != FORMAT_JSON && format != FORMAT_NDJSON && format != FORMAT_CSV))
        return ERR_FORMAT;
    struct format_rows *f = calloc(1, sizeof(*f));
    if (!f)
        return -ENOMEM;
    f->writer = (struct rows_writer){f, writing_begin, write_rows, writing_done};
    f->format = format;
    f->count = count;
    f->before_end = calloc(count, sizeof(*f->before_end));
    if (f->before_end)
        put_names(f, columns);
    if (!f->before_end || f->before.error || f->header.error) {
        format_rows_free(f);
        return -ENOMEM;
    }
    *ret = f;
    return 0;
}

void format_rows_free(struct format_rows *f)
{
    if (!f)
        return;
    buf_done(&f->before);
    buf_done(&f->header);
    free(f->before_end);
    free(f);
}

const struct rows_writer *format_rows_writer(const struct format_rows *f)
{
    return &f->writer;
}

static void begin(struct format_rows *f, struct buf *out)
{
    if (f->begun)
        return;
    f->begun = true;
    if (f->format == FORMAT_JSON)
        buf_puts(out, "{\"rows\":[");
    else if (f->format == FORMAT_CSV)
        buf_text(out, (struct text){f->header.data, f->header.len});
}

int format_rows_next(struct format_rows *f, struct rows *rows, struct err *err, struct buf *out,
                     size_t *ret_count)
{
    size_t start = out->len;
    bool first = !f->begun;

    begin(f, out);
    if (!first && f->format == FORMAT_JSON)
        buf_putc(out, ',');
    int rc = rows_next_text(rows, err, out, ret_count);
    if (rc == 0 && f->format == FORMAT_JSON)
        out->len--; /* the comma behind the last row */
    if (rc != 0) {
        out->len = start;
        f->begun = !first;
    }
    return rc;
}

void format_rows_end(struct format_rows *f, struct buf *out)
{
    begin(f, out);
    if (f->format == FORMAT_JSON)
        buf_puts(out, "]}\n");
}
