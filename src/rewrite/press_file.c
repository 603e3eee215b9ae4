/* press_file.c - one file in the making: memory of its text, and where its bytes go. */
#include "rewrite/press.h"

#include <stdlib.h>

int press_charge(const struct press *p, size_t bytes, size_t *charged)
{
    int rc = p->options.budget ? budget_charge(p->options.budget, bytes) : 0;
    *charged += rc == 0 ? bytes : 0;
    return rc;
}

void press_release(const struct press *p, size_t charged)
{
    if (p->options.budget)
        budget_release(p->options.budget, charged);
}

void press_file_free(struct press_file *f)
{
    if (!f)
        return;
    outlet_file_drop(f->out);
    buf_done(&f->text);
    press_release(f->press, f->charged);
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
