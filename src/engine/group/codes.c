/* codes.c - the codes of the key columns of a group map, row by row. */
#include "dftracerd/kernel.h"
#include "engine/group/map.h"

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

const uint32_t *group_sum_codes(struct group_map *m, struct scan_batch *b, uint32_t *sums)
{
    const struct group_key *k;
    const uint32_t *codes, *ret = NULL;
    unsigned i = 0;

    while ((k = group_next_key(m, b, &i, &codes))) {
        if (ret) /* the first has stride 1 */
            kernels()->add_scaled(ret, codes, b->rows, k->stride, sums);
        ret = ret ? sums : codes;
    }
    return ret ? ret : no_values.codes;
}
