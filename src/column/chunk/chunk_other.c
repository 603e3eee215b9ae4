/* chunk_other.c - values of paths beyond CHUNK_PATHS_MAX: one JSON text an event, for the column
 * "@other". */
#include "column/chunk/chunk_build.h"

static void put_json_value(struct buf *out, const struct trace_value *v)
{
    char number[64];

    switch (v->type) {
    case TRACE_INT:
        buf_append(out, number, num_format_i64(v->i, number));
        break;
    case TRACE_DOUBLE:
        buf_append(out, number, num_format_double(v->d, number));
        break;
    case TRACE_BOOL:
        buf_puts(out, v->i ? "true" : "false");
        break;
    case TRACE_TEXT:
        trace_put_other_text(out, (struct text){v->ptr, v->len});
        break;
    default:
        buf_append(out, v->ptr, v->len);
    }
}

int build_other(struct chunk_builder *b, const struct trace_value *v)
{
    buf_putc(&b->other, b->other.len ? ',' : '{');
    if (v->field == TRACE_FIELD_OTHER) {
        buf_append(&b->other, v->ptr, v->len);
    } else {
        trace_put_other_text(&b->other, trace_field_path(b->scanner, v->field));
        buf_putc(&b->other, ':');
        put_json_value(&b->other, v);
    }
    b->other_values++;
    return b->other.error;
}
