/* group_count.c - how many rows each group has where nobody asks which: rows are counted by products of codes, and a product
 * becomes a group once a chunk. */
#include "group.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Rows that follow each other often have one group, and each count would wait for the one before: they go to neighbours. */
enum { LANES = GROUP_LANES };
/* Counts of all products are looked at once a chunk, and are to stay in the cache meanwhile. */
enum { PRODUCTS_MOST = 4096 };

static bool can_count(const struct group_map *m, const struct scan_batch *b)
{
    return m->way == GROUP_CODES && m->dense_count <= PRODUCTS_MOST && b->count >= b->rows / 4;
}

/* Before the first batch of a chunk that is counted. */
static int begin_counts(struct group_map *m)
{
    if (m->counted)
        return 0;
    if (m->dense_count > m->lanes_cap) {
        free(m->lanes);
        m->lanes = malloc(m->dense_count * sizeof(*m->lanes));
        m->lanes_cap = m->lanes ? m->dense_count : 0;
        if (!m->lanes)
            return -ENOMEM;
    }
    memset(m->lanes, 0, m->dense_count * sizeof(*m->lanes));
    m->counted = true;
    return 0;
}

static void count_all(uint32_t (*restrict lanes)[LANES], const uint32_t *restrict products,
                      uint32_t n)
{
    uint32_t j = 0;

    for (; j + LANES <= n; j += LANES) {
        for (unsigned k = 0; k < LANES; k++)
            lanes[products[j + k]][k]++;
    }
    for (; j < n; j++)
        lanes[products[j]][0]++;
}

static void count_selected(uint32_t (*restrict lanes)[LANES], const uint32_t *restrict products,
                           const uint16_t *restrict select, uint32_t n)
{
    uint32_t j = 0;

    for (; j + LANES <= n; j += LANES) {
        for (unsigned k = 0; k < LANES; k++)
            lanes[products[select[j + k]]][k]++;
    }
    for (; j < n; j++)
        lanes[products[select[j]]][0]++;
}

int group_map_count(struct group_map *m, struct scan_batch *b)
{
    uint32_t sums[SCAN_BATCH];
    const uint32_t *products = sums;

    if (!can_count(m, b))
        return -EDOM;
    int rc = begin_counts(m);
    rc = rc < 0 ? rc : group_products(m, b, sums, &products);
    if (rc < 0)
        return rc;
    if (b->select)
        count_selected(m->lanes, products, b->select, b->count);
    else
        count_all(m->lanes, products, b->count);
    return 0;
}

int group_map_next_count(struct group_map *m, uint32_t *product, struct group_rows *ret)
{
    for (uint32_t p = *product; m->counted && p < m->dense_count; p++) {
        uint32_t rows = 0;
        for (unsigned k = 0; k < LANES; k++)
            rows += m->lanes[p][k];
        if (rows == 0)
            continue;
        int64_t group = group_of_product(m, p);
        *product = p + 1;
        *ret = (struct group_rows){(uint32_t)group, rows};
        return group < 0 ? (int)group : 1;
    }
    return 0;
}
