/* press_file.c - an incomplete file of a press: memory of its text, and output of its bytes. */
#include "rewrite/press.h"

#include <stdlib.h>

void press_file_free(struct press_file *f)
{
    if (!f)
        return;
    outlet_file_drop(f->out);
    buf_done(&f->text);
    charge_done(&f->charge);
    free(f);
}

int press_put(struct press_file *f, struct text bytes, struct err *err)
{
    hasher_add(&f->hasher, bytes.ptr, bytes.len);
    return outlet_file_write(f->out, bytes, err);
}

int press_hand_over(struct press_file *f, const char *name, uint64_t *bytes, struct hash128 *hash,
                    struct err *err)
{
    struct outlet_file *out = f->out;
    if (bytes)
        *bytes = outlet_file_size(out);
    if (hash)
        *hash = hasher_end(&f->hasher);
    f->out = NULL;
    return outlet_file_finish(out, name, err);
}
