/* reconstruct_text.c - writes the text of the current source. */
#include "rewrite/reconstruct.h"

struct reconstruct_source *reconstruct_current_source(struct reconstruct *r)
{
    return &r->sources.at[r->source_at - 1];
}

static int put_text(struct reconstruct *r, struct text text, struct err *err)
{
    struct reconstruct_source *s = reconstruct_current_source(r);

    if (s->too_long || text.len > s->bytes - s->written) {
        s->too_long = true; /* it differs from the original: no more is written */
        return 0;
    }
    s->written += text.len;
    hasher_add(&r->hasher, text.ptr, text.len);
    return compressor_text(r->file, text, err);
}

int reconstruct_end_line(struct reconstruct *r, struct err *err)
{
    int rc = r->newline ? put_text(r, TEXT("\n"), err) : 0;

    r->newline = false;
    return rc;
}

/* The last '\n' is held back, because the line may have none. */
int reconstruct_write_text(struct reconstruct *r, struct text text, struct err *err)
{
    if (!text.len)
        return 0;
    int rc = reconstruct_end_line(r, err);
    r->newline = text.ptr[text.len - 1] == '\n';
    text.len -= r->newline;
    return rc == 0 && text.len ? put_text(r, text, err) : rc;
}
