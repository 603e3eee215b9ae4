/* reader_text.c - the state that a reader updates for delivered text and corrupt ranges. */
#include "trace/gzip/reader.h"

void reader_add_damage(struct trace_reader *r, uint8_t kind, uint64_t from, uint64_t to)
{
    damages_add(&r->damages, &(struct trace_damage){kind, from, to, r->text});
}

void reader_deliver(struct trace_reader *r, struct output *out, size_t len)
{
    if (!len)
        return;
    out->done += len;
    r->text += len;
    r->last_byte = out->data[out->done - 1];
}
