/* codes.c - the codes of the key columns of a group map, row by row. */
#include "dftracerd/kernel.h"
#include "engine/group/map.h"

#include <string.h>

const struct group_key *group_next_key(const struct group_map *m, struct scan_batch *b, unsigned *i,
                                       const uint32_t **ret_codes)
{
    while (*i < m->width) {
        const struct group_key *k = &m->keys[(*i)++];
        if (k->constant || k->same)
            continue;
        *ret_codes = batch_codes(b, k->source);
        return k;
    }
    return NULL;
}

void group_sum_codes(struct group_map *m, struct scan_batch *b, bool packed, uint32_t *out)
{
    const struct group_key *k;
    const uint32_t *codes;
    unsigned i = 0;

    memset(out, 0, b->rows * sizeof(*out));
    while ((k = group_next_key(m, b, &i, &codes)))
        kernels()->add_scaled(codes, b->rows, packed ? (uint32_t)1 << k->shift : k->stride, out);
}
