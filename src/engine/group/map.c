/* map.c - group numbers of rows, chunk by chunk, without hashing where columns have codes. */
#include "dftracerd/kernel.h"
#include "engine/group/map.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* A dense table is cleared for every chunk, so it should not have many more entries than the chunk
 * has rows. */
enum { DENSE_MIN = 4096, DENSE_MAX = 1 << 18 };

void group_map_init(struct group_map *m, const struct source *const *sources, unsigned width,
                    uint64_t limit, struct budget *budget)
{
    assert(width <= GROUP_KEYS_MAX);
    memset(m, 0, sizeof(*m));
    m->width = width;
    m->charge.budget = budget;
    group_table_init(&m->table, width, limit, budget);
    for (unsigned i = 0; i < width; i++)
        m->keys[i].source = sources[i];
}

void group_map_done(struct group_map *m)
{
    free(m->dense);
    m->dense = NULL;
    free(m->seen);
    m->seen = NULL;
    charge_done(&m->charge);
    group_pack_done(m);
    group_table_done(&m->table);
}

static uint32_t dense_limit(const struct scan_chunk *c)
{
    uint32_t limit = c->rows > DENSE_MAX / 4 ? DENSE_MAX : c->rows * 4;

    return limit < DENSE_MIN ? DENSE_MIN : limit;
}

/* Returns true if key i has the codes of a key before it. It then shares their place in sums and
 * words. */
static bool shares_codes(struct group_map *m, struct scan_chunk *c, unsigned i)
{
    struct group_key *k = &m->keys[i];

    for (unsigned j = 0; j < i; j++) {
        const struct group_key *other = &m->keys[j];
        if (other->constant || other->same || !scan_same_codes(c, other->source, k->source))
            continue;
        k->same = true;
        k->stride = other->stride;
        k->shift = other->shift;
        k->bits = other->bits;
        return true;
    }
    return false;
}

/* Sets the constants and codes of the key columns. *ret_product: number of combinations of codes, 0
 * if a key has no codes or there are too many; *ret_bits: bits of all codes together, 0 if a key
 * has no codes. */
static void prepare_keys(struct group_map *m, struct scan_chunk *c, uint64_t *ret_product,
                         unsigned *ret_bits)
{
    uint32_t limit = dense_limit(c);
    uint64_t product = 1;
    unsigned bits = 0;
    bool coded = true;

    for (unsigned i = 0; i < m->width; i++) {
        struct group_key *k = &m->keys[i];
        k->coded = k->same = false;
        k->constant = scan_constant(c, k->source, &k->key);
        if (k->constant || !coded)
            continue;
        coded = k->coded = scan_codes(c, k->source, limit, &k->codes, &k->code_keys);
        if (coded && shares_codes(m, c, i))
            continue;
        k->stride = (uint32_t)product;
        product = coded ? product * k->codes : 0;
        if (product > limit)
            product = 0;
        k->shift = bits;
        k->bits = coded ? 32 - (unsigned)__builtin_clz(k->codes) : 0;
        bits += k->bits;
    }
    *ret_product = product;
    *ret_bits = coded ? bits : 0;
}

static int choose_codes(struct group_map *m, uint32_t product)
{
    if (product > m->dense_cap) {
        free(m->dense);
        m->dense = malloc(product * sizeof(*m->dense));
        m->dense_cap = m->dense ? product : 0;
        if (!m->dense)
            return -ENOMEM;
    }
    memset(m->dense, 0xFF, product * sizeof(*m->dense));
    m->method = GROUP_CODES;
    return 0;
}

int group_map_chunk(struct group_map *m, struct scan_chunk *c)
{
    uint64_t product;
    unsigned bits;
    int rc = 0;

    prepare_keys(m, c, &product, &bits);
    m->method = GROUP_HASH;
    m->bits = bits;
    if (product > 0)
        rc = choose_codes(m, (uint32_t)product);
    else if (bits > 0 && bits <= 64)
        group_words_chunk(m);
    if (m->method == GROUP_HASH)
        return rc < 0 ? rc : group_map_unpack(m);
    return rc < 0 ? rc : group_pack_chunk(m);
}

/* Adds the group of a combination of codes that is new in this chunk. */
static int64_t add_product(struct group_map *m, uint32_t product)
{
    uint64_t keys[GROUP_KEYS_MAX];

    for (unsigned i = 0; i < m->width; i++) {
        struct group_key *k = &m->keys[i];
        keys[i] = k->constant ? k->key : k->code_keys[product / k->stride % k->codes];
    }
    int64_t group = group_map_add(m, keys);
    if (group >= 0)
        m->dense[product] = (uint32_t)group;
    return group;
}

/* out[j]: the group of the combination of codes. New ones, which are rare, are added. */
static int look_up_products(struct group_map *m, const uint32_t *products, uint32_t n,
                            uint32_t *out)
{
    enum { BLOCK = 128 };

    for (uint32_t first = 0; first < n; first += BLOCK) {
        uint32_t end = n - first < BLOCK ? n : first + BLOCK;
        if (kernels()->look_up(m->dense, products + first, end - first, out + first))
            continue;
        for (uint32_t j = first; j < end; j++) {
            int64_t added = m->dense[products[j]] == GROUP_NONE ? add_product(m, products[j]) : 0;
            if (added < 0)
                return (int)added;
            out[j] = m->dense[products[j]];
        }
    }
    return 0;
}

/* For batches with few selected rows. `restrict` lets the compiler vectorise the loop. */
static void add_selected(const struct scan_batch *b, const uint32_t *restrict codes,
                         uint32_t stride, uint32_t *restrict out)
{
    const uint16_t *restrict select = b->select;

    for (uint32_t j = 0, n = b->count; j < n; j++)
        out[j] += codes[select[j]] * stride;
}

static int batch_by_codes(struct group_map *m, struct scan_batch *b, uint32_t *out)
{
    uint32_t sums[SCAN_BATCH], kept[SCAN_BATCH];
    uint64_t mask[SCAN_WORDS];
    const struct group_key *k;
    const uint32_t *codes;
    unsigned i = 0;

    if (b->count < b->rows / 2) {
        memset(sums, 0, b->count * sizeof(*sums));
        while ((k = group_next_key(m, b, &i, &codes)))
            add_selected(b, codes, k->stride, sums);
        return look_up_products(m, sums, b->count, out);
    }
    const uint32_t *products = group_sum_codes(m, b, sums);
    if (b->select) {
        kernels()->keep_u32(products, batch_mask(b, mask), b->rows, kept);
        products = kept;
    }
    return look_up_products(m, products, b->count, out);
}

/* Collects the tuples of keys of n rows, without those that repeat the one before, which is
 * frequent. of[j]: the tuple of row j. Returns the number of tuples. */
static uint32_t collect_keys(const uint64_t *const *columns, unsigned width, const uint16_t *rows,
                             uint32_t n, uint64_t *keys, uint8_t *of)
{
    uint32_t count = 0;

    for (uint32_t j = 0; j < n; j++) {
        uint64_t *to = keys + (size_t)count * width, changed = count == 0;
        for (unsigned i = 0; i < width; i++)
            to[i] = columns[i][rows[j]];
        for (unsigned i = 0; count && i < width; i++)
            changed |= to[i] ^ to[(int)i - (int)width];
        count += changed != 0;
        of[j] = (uint8_t)(count - 1);
    }
    return count;
}

int group_map_few(struct group_map *m, struct scan_batch *b, uint32_t *out)
{
    enum { BLOCK = 64 };
    const uint64_t *columns[GROUP_KEYS_MAX];
    uint64_t keys[BLOCK * GROUP_KEYS_MAX];
    uint32_t groups[BLOCK];
    uint16_t rows[BLOCK];
    uint8_t of[BLOCK];
    int rc = 0;

    assert(!m->pack);
    for (unsigned i = 0; i < m->width; i++)
        columns[i] = batch_keys(b, m->keys[i].source);
    for (uint32_t first = 0; first < b->count && rc == 0; first += BLOCK) {
        uint32_t n = b->count - first < BLOCK ? b->count - first : BLOCK;
        for (uint32_t j = 0; j < n; j++)
            rows[j] = b->select ? b->select[first + j] : (uint16_t)(first + j);
        uint32_t count = collect_keys(columns, m->width, rows, n, keys, of);
        rc = group_table_add_all(&m->table, keys, count, groups);
        for (uint32_t j = 0; j < n && rc == 0; j++)
            out[first + j] = groups[of[j]];
    }
    return rc;
}

int group_map_batch(struct group_map *m, struct scan_batch *b, uint32_t *out)
{
    if (m->method == GROUP_CODES)
        return batch_by_codes(m, b, out);
    if (m->method == GROUP_PACKED)
        return group_words_batch(m, b, out);
    return group_map_few(m, b, out);
}
