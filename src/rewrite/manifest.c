/* manifest.c - functions shared by manifest.json and reconstruct.json. */
#include "rewrite/manifest.h"

void manifest_hash(struct jw *j, const void *hash)
{
    char text[33];

    hash128_hex(*(const struct hash128 *)hash, text);
    jw_str(j, text);
}

int manifest_put(struct outlet *outlet, const char *name, const struct buf *manifest,
                 struct err *err)
{
    struct outlet_file *file = NULL;
    int rc = outlet_file_new(outlet, err, &file);

    if (rc < 0)
        return rc;
    rc = outlet_file_write(file, (struct text){manifest->data, manifest->len}, err);
    if (rc < 0) {
        outlet_file_drop(file);
        return rc;
    }
    return outlet_file_finish(file, name, err);
}
