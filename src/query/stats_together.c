/* stats_together.c - one pass over a chunk's rows counts them for all who ask. */
#include "stats_together.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Counts of all products and askers are to stay in the cache while rows are counted, and are cleared for each chunk. */
enum { PRODUCTS_MOST = TOGETHER_PRODUCTS, ASKERS = 1 << STATS_SHARE };
/* Rows that follow each other often have one product, and each count would wait for the one before: they go to neighbours. */
enum { LANES = TOGETHER_LANES };
/* With fewer codes comparing with each of them is quicker (group_map_tally). */
enum { PRODUCTS_LEAST = 5 };
/* Of a chunk: what is kept for them is not charged to anybody. */
enum { ROWS_MOST = 1 << 18 };

void together_init(struct together *t)
{
    *t = (struct together){0};
    for (unsigned i = 0; i < TOGETHER_TABLES; i++)
        t->table[i].position = SIZE_MAX;
}

static void table_done(struct together_table *t)
{
    free(t->product);
    free(t->has);
    free(t->count);
    for (unsigned who = 0; who < STATS_SHARE; who++)
        free(t->mask[who]);
}

void together_done(struct together *t)
{
    for (unsigned i = 0; i < TOGETHER_TABLES; i++)
        table_done(&t->table[i]);
}

/* ---- taking ---------------------------------------------------------------------------------------------------- */

static int make_room(struct together_table *t, uint32_t rows)
{
    uint32_t batches = (rows + SCAN_BATCH - 1) / SCAN_BATCH;

    if (t->count && rows <= t->cap)
        return 0;
    table_done(t);
    t->product = malloc((size_t)batches * SCAN_BATCH * sizeof(*t->product));
    t->has = malloc(batches);
    t->count = malloc((size_t)PRODUCTS_MOST * ASKERS * sizeof(*t->count));
    bool ok = t->product && t->has && t->count;
    for (unsigned who = 0; who < STATS_SHARE; who++)
        ok &= (t->mask[who] = malloc((size_t)batches * SCAN_BATCH / 8)) != NULL;
    t->cap = ok ? batches * SCAN_BATCH : 0;
    return ok ? 0 : -ENOMEM;
}

static int begin_chunk(struct together_table *t, const struct group_map *m,
                       const struct scan_chunk *c)
{
    int rc = make_room(t, c->rows);

    if (rc < 0)
        return rc;
    t->position = c->position;
    t->products = m->dense_count;
    t->rows = c->rows;
    memset(t->has, 0, (c->rows + SCAN_BATCH - 1) / SCAN_BATCH);
    return 0;
}

/* Where keys are columns of the chunk, products of their codes are the same, whoever asks. */
static bool can_take(const struct group_map *m, struct scan_chunk *c, const struct scan_batch *b)
{
    bool can = m->way == GROUP_CODES && m->dense_count >= PRODUCTS_LEAST &&
               m->dense_count <= PRODUCTS_MOST && m->dense_count <= c->rows / 16 &&
               c->rows <= ROWS_MOST && !b->places && b->count >= b->rows / 4;

    for (unsigned k = 0; can && k < m->width; k++)
        can = m->keys[k].constant || scan_codes_are_stored(c, m->keys[k].source);
    return can;
}

static int take_products(struct together_table *t, struct group_map *m, struct scan_batch *b)
{
    uint32_t *to = t->product + b->first;
    const uint32_t *products;
    int rc = t->has[b->number] ? 0 : group_products(m, b, to, &products);

    if (rc < 0 || t->has[b->number])
        return rc;
    if (products != to)
        memcpy(to, products, b->rows * sizeof(*to));
    for (uint32_t j = b->rows; j % 8; j++) /* rows are counted by eights */
        to[j] = 0;
    t->has[b->number] = 1;
    return 0;
}

int together_take(struct together *all, unsigned who, unsigned i, struct group_map *m,
                  struct scan_batch *b)
{
    struct together_table *t = &all->table[i];
    struct scan_chunk *c = b->chunk;
    int rc = 0;

    if (t->position == SIZE_MAX && can_take(m, c, b))
        rc = begin_chunk(t, m, c);
    if (rc < 0)
        return rc;
    if (t->position != c->position || !can_take(m, c, b) || m->dense_count != t->products)
        return -EDOM;
    rc = take_products(t, m, b);
    if (rc < 0)
        return rc;
    if (!t->map[who])
        memset(t->mask[who], 0, ((size_t)t->rows + SCAN_BATCH - 1) / SCAN_BATCH * SCAN_BATCH / 8);
    t->map[who] = m;
    memcpy(t->mask[who] + b->first / 64, b->mask, SCAN_WORDS * sizeof(*b->mask));
    return 0;
}

/* ---- counting ----------------------------------------------------------------------------------------------------- */

/* For each bit of a byte a byte that is 0 or 1, the lowest first. */
static const uint64_t *spread_table(void)
{
    static _Thread_local uint64_t table[256];

    for (unsigned v = 1; !table[255] && v < 256; v++) {
        for (unsigned bit = 0; bit < 8; bit++)
            table[v] |= (uint64_t)(v >> bit & 1) << 8 * bit;
    }
    return table;
}

/* So many rows of each asker's mask at a time. */
static void count_word(const uint64_t *spread, uint64_t *word, const uint32_t *product, size_t rows,
                       uint32_t (*count)[LANES])
{
    for (size_t row = 0; row < rows; row += 8, product += 8) {
        uint64_t askers = 0;
        for (unsigned who = 0; who < STATS_SHARE; who++) {
            askers |= spread[(uint8_t)word[who]] << who;
            word[who] >>= 8;
        }
#pragma GCC unroll 8
        for (unsigned k = 0; k < 8; k++)
            count[product[k] * ASKERS + (uint8_t)(askers >> 8 * k)][k % LANES]++;
    }
}

static void count_batch(const struct together_table *t, uint32_t first, uint32_t end)
{
    const uint64_t *spread = spread_table();

    for (uint32_t row = first; row < end; row += 64) {
        uint64_t word[STATS_SHARE];
        for (unsigned who = 0; who < STATS_SHARE; who++)
            word[who] = t->map[who] ? t->mask[who][row / 64] : 0;
        count_word(spread, word, t->product + row, end - row < 64 ? end - row : 64, t->count);
    }
}

/* Those with a row that somebody selects. */
static void list_products(struct together_table *t)
{
    t->met_count = 0;
    for (uint32_t p = 0; p < t->products; p++) {
        uint32_t rows = 0;
        for (uint32_t at = p * ASKERS + 1; at < (p + 1) * ASKERS; at++) {
            for (unsigned lane = 1; lane < LANES; lane++)
                t->count[at][0] += t->count[at][lane];
            rows += t->count[at][0];
        }
        if (rows)
            t->met[t->met_count++] = (uint16_t)p;
    }
}

static bool is_asked(const struct together_table *t)
{
    bool any = false;

    for (unsigned who = 0; who < STATS_SHARE; who++)
        any |= t->map[who] != NULL;
    return any;
}

void together_count(struct together *all)
{
    for (unsigned i = 0; i < TOGETHER_TABLES; i++) {
        struct together_table *t = &all->table[i];
        if (!is_asked(t))
            continue;
        memset(t->count, 0, (size_t)t->products * ASKERS * sizeof(*t->count));
        for (uint32_t first = 0; first < t->rows; first += SCAN_BATCH) {
            uint32_t end = t->rows - first < SCAN_BATCH ? t->rows : first + SCAN_BATCH;
            if (t->has[first / SCAN_BATCH])
                count_batch(t, first, end);
        }
        list_products(t);
    }
}

static uint32_t rows_of(const struct together_table *t, unsigned who, uint32_t product)
{
    uint32_t rows = 0;

    for (uint32_t askers = 1; askers < ASKERS; askers++)
        rows += askers >> who & 1 ? t->count[product * ASKERS + askers][0] : 0;
    return rows;
}

int together_next(struct together *all, unsigned who, unsigned i, uint32_t *at,
                  struct group_rows *ret)
{
    struct together_table *t = &all->table[i];

    while (t->map[who] && *at < t->met_count) {
        uint32_t product = t->met[(*at)++], rows = rows_of(t, who, product);
        if (rows == 0)
            continue;
        int64_t group = group_of_product(t->map[who], product);
        *ret = (struct group_rows){(uint32_t)group, rows};
        return group < 0 ? (int)group : 1;
    }
    return 0;
}

void together_clear(struct together *t)
{
    for (unsigned i = 0; i < TOGETHER_TABLES; i++) {
        t->table[i].position = SIZE_MAX;
        memset(t->table[i].map, 0, sizeof(t->table[i].map));
    }
}
