/* row_writer.c - writes rows from vectors, as JSON, NDJSON or CSV. */
#include "format/writer/row_writer.h"
#include "format/writer/value_text.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    COPY_BYTES = 64,    /* bytes of a text that are copied at once, whatever its length */
    TEXT_PER_CODE = 16, /* bytes of text per code; beyond that all are dropped */
};

/* The text of a code in a row, with the separator and key before it. */
struct code_text {
    uint32_t code; /* UINT32_MAX: none */
    uint32_t len;
    size_t at; /* in `texts` */
};
struct written_column {
    const char *before; /* separator and key */
    size_t before_len;
    struct code_text *kept; /* indexed by the low bits of the code */
    uint32_t count;         /* of `kept`: a power of two, or 0 */
    uint64_t dictionary;    /* see struct vector */
};
struct row_writer {
    const struct row_names *names;
    size_t codes_max;
    struct written_column *columns;
    struct buf texts;
    struct charge charge, text_charge;
    size_t row_bytes; /* bytes of a row without long texts and values of unlimited length */
};

/* ---- names ----------------------------------------------------------------------------------- */

int row_names_init(struct row_names *n, enum format format, bool pretty, size_t count)
{
    *n = (struct row_names){.format = format, .pretty = pretty, .count = count};
    n->before_end = calloc(count + 1, sizeof(*n->before_end));
    n->optional = calloc(count + 1, sizeof(*n->optional));
    return n->before_end && n->optional ? 0 : -ENOMEM;
}

void row_names_add(struct row_names *n, size_t column, const char *name, bool optional)
{
    if (column) {
        buf_putc(&n->before, ',');
        buf_putc(&n->header, ',');
    }
    csv_text(&n->header, text_of(name));
    if (n->format != FORMAT_CSV) {
        if (!column)
            buf_putc(&n->before, ','); /* the row begins with '{' */
        buf_puts(&n->before, n->pretty ? "\n      " : "");
        jw_escape(&n->before, text_of(name));
        buf_puts(&n->before, n->pretty ? ": " : ":");
        n->optional[column] = optional;
    }
    n->before_end[column] = n->before.len;
}

int row_names_end(struct row_names *n)
{
    char *rest = buf_reserve(&n->before, COPY_BYTES); /* copies may read beyond the last name */

    buf_putc(&n->header, '\n');
    if (rest)
        memset(rest, 0, COPY_BYTES);
    return n->before.error ? n->before.error : n->header.error;
}

void row_names_done(struct row_names *n)
{
    buf_done(&n->before);
    buf_done(&n->header);
    free(n->before_end);
    free(n->optional);
}

/* ---- a writer -------------------------------------------------------------------------------- */

int row_writer_new(const struct row_names *names, size_t codes_max, struct budget *budget,
                   struct row_writer **ret)
{
    struct row_writer *w = calloc(1, sizeof(*w));

    if (w)
        w->columns = calloc(names->count + 1, sizeof(*w->columns));
    if (!w || !w->columns) {
        free(w);
        return -ENOMEM;
    }
    w->names = names;
    w->codes_max = codes_max;
    w->charge.budget = w->text_charge.budget = budget;
    w->row_bytes = COPY_BYTES;
    for (size_t i = 0, start = 0; i < names->count; start = names->before_end[i++]) {
        w->columns[i].before = names->before.data + start;
        w->columns[i].before_len = names->before_end[i] - start;
        w->row_bytes += w->columns[i].before_len + COPY_BYTES + VALUE_NUMBER_BYTES;
    }
    *ret = w;
    return 0;
}

void row_writer_free(struct row_writer *w)
{
    if (!w)
        return;
    for (size_t i = 0; i < w->names->count; i++)
        free(w->columns[i].kept);
    charge_done(&w->charge);
    charge_done(&w->text_charge);
    buf_done(&w->texts);
    free(w->columns);
    free(w);
}

static void forget_column(struct written_column *c)
{
    for (uint32_t k = 0; k < c->count; k++)
        c->kept[k].code = UINT32_MAX;
}

/* Keeps as many texts as the column has codes, or as the rows can use. */
static int keep_codes(struct row_writer *w, const struct row_block *b, size_t column)
{
    struct written_column *c = &w->columns[column];
    const struct vector *v = &b->vectors[column];
    size_t most = w->codes_max / w->names->count;
    uint64_t wanted = 2 * (b->rows_to_come > b->count ? b->rows_to_come : b->count);
    uint32_t count = 16;

    if (c->dictionary != v->dictionary)
        forget_column(c);
    c->dictionary = v->dictionary;
    while (count < v->code_count && count < wanted && 2 * (size_t)count <= most)
        count *= 2;
    if (count <= c->count)
        return 0;
    int rc = charge_add(&w->charge, (count - c->count) * sizeof(*c->kept));
    if (rc < 0)
        return rc;
    free(c->kept);
    c->kept = malloc(count * sizeof(*c->kept));
    c->count = c->kept ? count : 0;
    forget_column(c);
    return c->kept ? 0 : -ENOMEM;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void put_value(const struct row_writer *w, size_t column, const struct value *v,
                      struct buf *out)
{
    const struct written_column *c = &w->columns[column];

    if (w->names->optional[column] && v->type == VALUE_NULL)
        return;
    buf_append(out, c->before, c->before_len);
    if (w->names->format == FORMAT_CSV)
        value_csv(out, v);
    else
        value_json(out, v);
}

/* `texts` may be reallocated. */
static int write_code(struct row_writer *w, const struct vector *v, size_t column, uint32_t code,
                      struct code_text **ret)
{
    struct written_column *c = &w->columns[column];
    struct code_text *text = &c->kept[code & (c->count - 1)];
    struct value value;

    if (code >= v->code_count)
        return ERR_CORRUPT;
    if (w->texts.len > w->codes_max * TEXT_PER_CODE) {
        for (size_t i = 0; i < w->names->count; i++)
            forget_column(&w->columns[i]);
        buf_clear(&w->texts);
    }
    int rc = v->value(v->arg, v->keys[code], &value);
    if (rc < 0)
        return rc;
    text->at = w->texts.len;
    put_value(w, column, &value, &w->texts);
    buf_reserve(&w->texts, COPY_BYTES);
    if (w->texts.error || w->texts.len - text->at > UINT32_MAX)
        return -ENOMEM;
    text->code = code;
    text->len = (uint32_t)(w->texts.len - text->at);
    *ret = text;
    return 0;
}

/* Writes a value of unlimited length at `to`; returns the position where the row continues. */
static char *put_other(struct row_writer *w, const struct vector *v, size_t column, size_t k,
                       struct buf *out, char *to)
{
    static const struct value null = {.type = VALUE_NULL};

    out->len = (size_t)(to - out->data);
    put_value(w, column, v->kind == VECTOR_VALUE ? &v->values[k * v->stride] : &null, out);
    return buf_reserve(out, w->row_bytes);
}

static inline char *put_code(struct row_writer *w, const struct vector *v, size_t column,
                             uint32_t code, struct buf *out, char *to, int *rc)
{
    const struct written_column *c = &w->columns[column];
    struct code_text *text = &c->kept[code & (c->count - 1)];

    if (text->code != code) {
        *rc = write_code(w, v, column, code, &text);
        if (*rc < 0)
            return to;
    }
    if (text->len > COPY_BYTES) {
        out->len = (size_t)(to - out->data);
        buf_append(out, w->texts.data + text->at, text->len);
        return buf_reserve(out, w->row_bytes);
    }
    memcpy(to, w->texts.data + text->at, COPY_BYTES); /* copying a fixed length is faster */
    return to + text->len;
}

static inline char *put_number(struct row_writer *w, const struct vector *v, size_t column,
                               uint32_t row, char *to)
{
    const struct written_column *c = &w->columns[column];

    if (c->before_len <= COPY_BYTES)
        memcpy(to, c->before, COPY_BYTES);
    else
        memcpy(to, c->before, c->before_len);
    to += c->before_len;
    switch (v->kind) {
    case VECTOR_UINT:
        return to + num_format_u64((uint64_t)v->i[row], to);
    case VECTOR_NS:
        return to + num_format_milli(v->i[row], to);
    case VECTOR_DOUBLE:
        return to + num_format_double(v->d[row], to);
    default:
        return to + num_format_i64(v->i[row], to);
    }
}

/* ---- rows ------------------------------------------------------------------------------------ */

static inline bool is_number(const struct vector *v, uint32_t row)
{
    if (v->valid && !(v->valid[row / 64] >> row % 64 & 1))
        return false;
    return v->kind < VECTOR_DOUBLE || (v->kind == VECTOR_DOUBLE && __builtin_isfinite(v->d[row]));
}

/* Writes the end of the row that begins at `start`. */
static char *end_row(const struct row_names *n, size_t start, struct buf *out, char *to)
{
    if (n->format != FORMAT_CSV) {
        if (to == out->data + start)
            to++;
        else if (n->pretty)
            to = (char *)memcpy(to, "\n    ", 5) + 5;
        out->data[start] = '{';
        *to++ = '}';
    }
    *to++ = n->format == FORMAT_JSON ? ',' : '\n';
    return to;
}

static int put_row(struct row_writer *w, const struct row_block *b, uint32_t k, struct buf *out)
{
    uint32_t row = b->select ? b->select[k] : k;
    char *to = buf_reserve(out, w->row_bytes);
    size_t start = out->len;
    int rc = 0;

    if (to && w->names->pretty) {
        memcpy(to, "\n    ", 5);
        to += 5;
        start += 5;
    }
    for (size_t i = 0; i < w->names->count && to && rc == 0; i++) {
        const struct vector *v = &b->vectors[i];
        if (v->kind == VECTOR_CODE)
            to = put_code(w, v, i, v->codes[row], out, to, &rc);
        else if (v->kind != VECTOR_VALUE && is_number(v, row))
            to = put_number(w, v, i, row, to);
        else
            to = put_other(w, v, i, k, out, to);
    }
    if (!to || rc < 0)
        return rc < 0 ? rc : -ENOMEM;
    to = end_row(w->names, start, out, to);
    out->len = (size_t)(to - out->data);
    return 0;
}

int row_writer_write(struct row_writer *w, const struct row_block *b, struct buf *out,
                     size_t *ret_end)
{
    int rc = 0;

    for (size_t i = 0; i < w->names->count && rc == 0; i++) {
        if (b->vectors[i].kind == VECTOR_CODE)
            rc = keep_codes(w, b, i);
    }
    for (uint32_t k = 0; k < b->count && rc == 0; k++) {
        rc = put_row(w, b, k, out);
        rc = rc == 0 && out->len > b->max_text ? ERR_MEMORY_LIMIT : rc;
        if (ret_end)
            ret_end[k] = out->len;
    }
    return rc < 0 ? rc : charge_up_to(&w->text_charge, w->texts.cap);
}
