/* trace.c - the column trace: the name of the file, the same in every row. */
#include "engine/derived/bind.h"

#include <errno.h>

static const uint32_t *trace_codes(struct scan_batch *batch, struct binding *b, uint32_t *out)
{
    (void)batch, (void)b, (void)out;
    return no_values.codes;
}

static int bind_trace(struct scan_worker *w, struct binding *b)
{
    struct column_entry *e = scratch_reserve(&b->own[0], sizeof(*e));

    if (!e)
        return -ENOMEM;
    *e = (struct column_entry){
        .type = TRACE_TEXT, .text_id = INDEX_NO_TEXT, .text = text_of(w->chunk.file->name)};
    b->nulls = false;
    return bind_dictionary(b, &derived_trace, SHAPE_TEXT, e, 1);
}

const struct column_kind derived_trace = {.bind = bind_trace, .codes = trace_codes};
