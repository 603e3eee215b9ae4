/* manifest.c - functions shared by manifest.json and reconstruct.json. */
#include "rewrite/manifest.h"

void manifest_hash(struct jw *j, const void *hash)
{
    char text[33];

    hash128_hex(*(const struct hash128 *)hash, text);
    jw_str(j, text);
}

int manifest_put(struct archive_writer *archive_writer, const char *name,
                 const struct buf *manifest, struct err *err)
{
    struct archive_writer_file *file = NULL;
    int rc = archive_writer_file_new(archive_writer, err, &file);

    if (rc < 0)
        return rc;
    rc = archive_writer_file_write(file, (struct text){manifest->data, manifest->len}, err);
    if (rc < 0) {
        archive_writer_file_drop(file);
        return rc;
    }
    return archive_writer_file_finish(file, name, err);
}
