/* compressor_file.c - an incomplete file of a compressor: memory of its text, and output of its
 * bytes. */
#include "rewrite/compressor.h"

#include <stdlib.h>

void compressor_file_free(struct compressor_file *f)
{
    if (!f)
        return;
    archive_writer_file_drop(f->out);
    buf_done(&f->text);
    charge_done(&f->charge);
    free(f);
}

int compressor_file_write(struct compressor_file *f, struct text bytes, struct err *err)
{
    hasher_add(&f->hasher, bytes.ptr, bytes.len);
    return archive_writer_file_write(f->out, bytes, err);
}

int compressor_file_finish(struct compressor_file *f, const char *name, uint64_t *ret_bytes,
                           struct hash128 *ret_hash, struct err *err)
{
    struct archive_writer_file *out = f->out;
    if (ret_bytes)
        *ret_bytes = archive_writer_file_size(out);
    if (ret_hash)
        *ret_hash = hasher_end(&f->hasher);
    f->out = NULL;
    return archive_writer_file_finish(out, name, err);
}
