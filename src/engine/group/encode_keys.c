/* encode_keys.c - keys on their way between processes. */
#include "engine/derived/keys.h"
#include "engine/group/encode.h"

#include <errno.h>

int encode_key(struct groups_encoder *e, uint64_t key)
{
    int64_t rc = key_is_value(key) ? 0 : group_table_add(&e->keys, &key);

    return rc < 0 ? (int)rc : 0;
}

int decode_key(const struct groups_decoder *d, uint64_t *key)
{
    if (key_is_value(*key))
        return 0;
    int64_t number = d->keys.count ? group_table_find(&d->keys, key) : -ENOENT;
    if (number < 0)
        return ERR_CORRUPT;
    *key = d->own.at[number];
    return 0;
}
