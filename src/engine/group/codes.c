/* codes.c - the codes of the key columns of a group map, row by row. */
#include "dftracerd/kernel.h"
#include "engine/group/group.h"

#include <string.h>

const struct group_key *group_next_key(const struct group_map *m, struct scan_batch *b, unsigned *i,
                                       const uint32_t **ret_codes, int *rc)
{
    while (*i < m->width) {
        const struct group_key *k = &m->keys[(*i)++];
        if (k->constant || k->same)
            continue;
        *rc = batch_codes(b, k->source, ret_codes);
        return *rc < 0 ? NULL : k;
    }
    return NULL;
}

int group_sum_codes(struct group_map *m, struct scan_batch *b, bool packed, uint32_t *out)
{
    const struct group_key *k;
    const uint32_t *codes;
    unsigned i = 0;
    int rc = 0;

    memset(out, 0, b->rows * sizeof(*out));
    while ((k = group_next_key(m, b, &i, &codes, &rc)))
        kernels()->add_scaled(codes, b->rows, packed ? (uint32_t)1 << k->shift : k->stride, out);
    return rc;
}
