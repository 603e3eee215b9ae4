/* text_number.c - numbers in text formats. */
#include "format/writer/text_number.h"

#include <stdlib.h>
#include <string.h>

void put_fixed(struct buf *out, const struct value *v, unsigned digits)
{
    char number[64];

    if (!value_is_number(v)) {
        buf_putc(out, '-');
        return;
    }
    /* Only doubles and times with a fraction have digits to round. */
    if (v->type == VALUE_DOUBLE || (v->type == VALUE_TIME && v->wide % 1000 != 0)) {
        buf_printf(out, "%.*f", (int)digits, value_double(v, 0));
        return;
    }
    buf_append(out, number, value_format_number(v, number));
    if (digits) {
        buf_putc(out, '.');
        for (unsigned i = 0; i < digits; i++)
            buf_putc(out, '0');
    }
}

void put_commas(struct buf *out, uint64_t u)
{
    char digits[24];
    size_t len = num_format_u64(u, digits);

    for (size_t i = 0; i < len; i++) {
        if (i && (len - i) % 3 == 0)
            buf_putc(out, ',');
        buf_putc(out, digits[i]);
    }
}

void put_size(struct buf *out, uint64_t bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB", "TB", "PB", "EB"};
    double size = (double)bytes;
    unsigned unit = 0;

    while (size >= 1024 && unit + 1 < sizeof(units) / sizeof(units[0])) {
        size /= 1024;
        unit++;
    }
    buf_printf(out, "%.2f %s (%llu bytes)", size, units[unit], (unsigned long long)bytes);
}

void put_spaces(struct buf *out, size_t n)
{
    char *to = buf_reserve(out, n);

    if (!to)
        return;
    memset(to, ' ', n);
    out->len += n;
}

void put_ruler(struct buf *out)
{
    for (unsigned i = 0; i < 80; i++)
        buf_putc(out, '=');
    buf_putc(out, '\n');
}

void put_padded(struct buf *out, struct text text, int width)
{
    size_t used = text_width(text), want = (size_t)abs(width), pad = want > used ? want - used : 0;

    if (width > 0)
        put_spaces(out, pad);
    buf_text(out, text);
    if (width < 0)
        put_spaces(out, pad);
}

void put_done(struct buf *out, struct buf *text)
{
    out->error = out->error ? out->error : text->error;
    buf_done(text);
}
