/* compare_number.c - numbers of /compare in text formats. */
#include "format/report/compare.h"
#include "format/writer/text_number.h"

#include <math.h>

static void put_time(struct buf *out, double us)
{
    if (us < 1)
        buf_printf(out, "%.0f ns", us * 1000);
    else if (us < 1000)
        buf_printf(out, "%.1f us", us);
    else if (us < 1e6)
        buf_printf(out, "%.2f ms", us / 1e3);
    else
        buf_printf(out, "%.3f s", us / 1e6);
}

static void put_bytes(struct buf *out, double bytes)
{
    static const char *const units[] = {"B", "KB", "MB", "GB"};
    unsigned unit = 0;

    for (; bytes >= 1024 && unit < 3; unit++)
        bytes /= 1024;
    buf_printf(out, "%.*f %s", (int)unit, bytes, units[unit]);
}

static void put_plain(struct buf *out, double d)
{
    if (d >= 1e18)
        buf_printf(out, "%.6g", d);
    else if (d == floor(d))
        put_commas(out, (uint64_t)d);
    else
        buf_printf(out, "%.2f", d);
}

void compare_number(struct buf *out, const struct value *v, enum column_unit unit, bool with_sign)
{
    double d = value_double(v, 0);

    if (d == 0) {
        buf_putc(out, '0');
        return;
    }
    buf_puts(out, d < 0 ? "-" : with_sign ? "+" : "");
    d = fabs(d);
    if (unit == UNIT_US)
        put_time(out, d);
    else if (unit == UNIT_NONE)
        put_plain(out, d);
    else
        put_bytes(out, d);
    buf_puts(out, unit == UNIT_BYTES_PER_S ? "/s" : "");
}

void compare_percent(struct buf *out, const struct compare_change *c)
{
    buf_printf(out, "%+.1f%%", c->percent == 0 ? 0.0 : c->percent);
}

bool compare_is_zero(const struct comparison *c, const struct compare_metric *m)
{
    bool zero = value_double(&m->value, 0) == 0;

    for (size_t i = 0; i + 1 < c->side_count; i++)
        zero = zero && value_double(&m->changes[i].value, 0) == 0;
    return zero;
}
