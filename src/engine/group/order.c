/* order.c - sorts groups by the values of their keys.
 *
 * Only the distinct keys of each column are compared by value. Then each key is replaced by its
 * rank, and the ranks of a group are packed into as few 64-bit words as they need, so that groups
 * are sorted by a radix sort of integers. Many groups are sorted by all threads of the pool: each
 * has a lane, which is a range of the groups. Bit-packed keys have numbers already.
 */
#include "engine/group/order.h"

#include <errno.h>
#include <stdlib.h>

/* MANY: groups from which on all threads sort; also the number of items between two checks of the
 * budget. LARGE: items of a bucket from which on wide passes are faster. */
enum { BUCKETS = 2048, BUCKET_BITS = RADIX_BITS, LANES_MAX = 64, MANY = 4096, LARGE = 1 << 15 };

struct lane {
    struct group_table distinct[GROUP_KEYS_MAX];
    uint32_t *rank[GROUP_KEYS_MAX]; /* by number of a key in `distinct` */
    uint32_t at[BUCKETS];           /* position of its next item in each bucket */
    int rc;
};

/* A set that is being sorted. */
struct order {
    struct query *query;
    struct budget *budget;
    struct pool *pool; /* NULL: only the calling thread */
    const struct group_map *map;
    const struct group_table *table; /* of the map */
    unsigned width;                  /* keys a group */
    struct lane *lanes;
    unsigned lane_count;
    uint32_t *ranks; /* by group, then key; until they are ranked: numbers of keys in their lane */
    struct key_ranks *ranked;
    int rc[GROUP_KEYS_MAX];
    unsigned begin, end; /* keys of the present word */
    unsigned shift;      /* of the bits that choose the bucket */
    struct row_id *items, *scratch;
    uint32_t from[BUCKETS + 1]; /* first item of a bucket */
    uint32_t set;
};

static bool is_within_budget(const struct order *o, uint32_t i)
{
    return !budget_check_is_due(i, o->table->count) || budget_check(o->budget) == 0;
}

/* Runs one step of sorting; then the budget is checked. */
static int run_step(struct order *o, unsigned n, void (*job)(void *arg, unsigned i))
{
    pool_run(o->pool, n, job, o);
    return budget_check(o->budget);
}

static uint32_t lane_begin(const struct order *o, unsigned lane)
{
    return (uint32_t)((uint64_t)o->table->count * lane / o->lane_count);
}

/* ---- ranks ----------------------------------------------------------------------------------- */

/* Numbers the distinct keys of a lane, by column. */
static void number_job(void *arg, unsigned i)
{
    struct order *o = arg;
    struct lane *l = &o->lanes[i];
    const unsigned width = o->width;
    uint32_t begin = lane_begin(o, i), end = lane_begin(o, i + 1);

    for (uint32_t g = begin; g < end && l->rc == 0; g++) {
        if (g % MANY == 0 && (l->rc = budget_check(o->budget)) < 0)
            return;
        const uint64_t *keys = group_table_keys(o->table, g);
        uint32_t *ranks = o->ranks + (size_t)g * width;
        for (unsigned c = 0; c < width; c++) {
            if (g > begin && keys[c] == keys[(int)c - (int)width]) {
                ranks[c] = ranks[(int)c - (int)width];
                continue;
            }
            int64_t number = group_table_add(&l->distinct[c], &keys[c]);
            l->rc = number < 0 ? (int)number : l->rc;
            ranks[c] = (uint32_t)number;
        }
    }
}

/* Adds the keys of all lanes to one table; l->rank has their numbers in it. */
static int join_lanes(struct order *o, unsigned column, struct group_table *all)
{
    for (unsigned i = 0; i < o->lane_count; i++) {
        struct lane *l = &o->lanes[i];
        const struct group_table *t = &l->distinct[column];
        l->rank[column] = malloc((t->count + 1) * sizeof(uint32_t));
        if (!l->rank[column])
            return -ENOMEM;
        for (uint32_t k = 0; k < t->count; k++) {
            int rc = k % MANY == 0 ? budget_check(o->budget) : 0;
            int64_t number = rc < 0 ? rc : group_table_add(all, group_table_keys(t, k));
            if (number < 0)
                return (int)number;
            l->rank[column][k] = (uint32_t)number;
        }
    }
    return 0;
}

/* Ranks bit-packed keys. Only the first lane has the ranks. */
static void rank_packed_job(void *arg, unsigned column)
{
    struct order *o = arg;
    const struct group_table *all = &o->map->pack->column[column];
    uint32_t *rank = o->lanes[0].rank[column] = malloc((all->count + 1) * sizeof(*rank));
    uint64_t *keys = o->ranked->keys[column] = malloc((all->count + 1) * sizeof(*keys));

    o->ranked->count[column] = all->count;
    o->rc[column] = rank && keys ? rank_keys(o->query, all, rank, keys) : -ENOMEM;
}

static void rank_job(void *arg, unsigned column)
{
    struct order *o = arg;
    struct group_table all;

    group_table_init(&all, 1, UINT32_MAX - 1, o->budget);
    int rc = join_lanes(o, column, &all);
    uint32_t *rank = rc < 0 ? NULL : malloc((all.count + 1) * sizeof(*rank));
    uint64_t *keys = rc < 0 ? NULL : malloc((all.count + 1) * sizeof(*keys));
    o->ranked->keys[column] = keys;
    if (rc == 0)
        rc = rank && keys ? rank_keys(o->query, &all, rank, keys) : -ENOMEM;
    for (unsigned i = 0; i < o->lane_count && rc == 0; i++) {
        struct lane *l = &o->lanes[i];
        for (uint32_t k = 0; k < l->distinct[column].count; k++)
            l->rank[column][k] = rank[l->rank[column][k]];
    }
    free(rank);
    o->ranked->count[column] = all.count;
    o->rc[column] = rc;
    group_table_done(&all);
}

static int rank_all(struct order *o)
{
    int rc = 0;

    if (!o->map->pack)
        pool_run(o->pool, o->lane_count, number_job, o);
    for (unsigned i = 0; i < o->lane_count && rc == 0; i++)
        rc = o->lanes[i].rc;
    if (rc == 0)
        pool_run(o->pool, o->width, o->map->pack ? rank_packed_job : rank_job, o);
    for (unsigned c = 0; c < o->width && rc == 0; c++)
        rc = o->rc[c];
    return rc;
}

/* ---- words ----------------------------------------------------------------------------------- */

/* Chooses as many keys before `end` as fit into a word. Returns their bits. */
static unsigned choose_word(struct order *o, unsigned end)
{
    unsigned bits = 0;

    o->begin = o->end = end;
    while (o->begin > 0 && bits + group_bits(o->ranked->count[o->begin - 1]) <= 64)
        bits += group_bits(o->ranked->count[--o->begin]);
    return bits;
}

static uint64_t word_of(const struct order *o, const unsigned *bits, const uint32_t *ranks)
{
    uint64_t word = 0;

    for (unsigned c = o->begin; c < o->end; c++)
        word = (bits[c] < 64 ? word << bits[c] : 0) | ranks[c];
    return word;
}

/* For bit-packed keys, all of which fit into a word. */
static void only_word_job(void *arg, unsigned i)
{
    const struct order *o = arg;
    uint32_t *const *rank = o->lanes[0].rank;
    const struct bit_field *field = o->map->pack->field;
    const unsigned width = o->width;
    unsigned bits[GROUP_KEYS_MAX];

    for (unsigned c = 0; c < width; c++)
        bits[c] = group_bits(o->ranked->count[c]);
    for (uint32_t g = lane_begin(o, i), end = lane_begin(o, i + 1); g < end; g++) {
        uint64_t numbers = *group_table_keys(o->table, g), word = 0;
        for (unsigned c = 0; c < width; c++)
            word = word << bits[c] | rank[c][group_number(numbers, &field[c])];
        o->items[g] = (struct row_id){word, o->set, g};
    }
}

/* Replaces numbers by ranks, and makes an item with the first word for each group. */
static void first_word_job(void *arg, unsigned i)
{
    const struct order *o = arg;
    const struct lane *l = &o->lanes[i];
    const unsigned width = o->width;
    unsigned bits[GROUP_KEYS_MAX];
    uint32_t begin = lane_begin(o, i);

    for (unsigned c = 0; c < width; c++)
        bits[c] = group_bits(o->ranked->count[c]);
    for (uint32_t g = begin, end = lane_begin(o, i + 1); g < end && is_within_budget(o, g - begin);
         g++) {
        uint32_t *ranks = o->ranks + (size_t)g * width;
        for (unsigned c = 0; c < width; c++)
            ranks[c] = l->rank[c][ranks[c]];
        o->items[g] = (struct row_id){word_of(o, bits, ranks), o->set, g};
    }
}

static void next_word_job(void *arg, unsigned i)
{
    const struct order *o = arg;
    unsigned bits[GROUP_KEYS_MAX];

    for (unsigned c = o->begin; c < o->end; c++)
        bits[c] = group_bits(o->ranked->count[c]);
    for (uint32_t at = lane_begin(o, i), end = lane_begin(o, i + 1); at < end; at++)
        o->items[at].word = word_of(o, bits, o->ranks + (size_t)o->items[at].group * o->width);
}

/* ---- sorting: stable, by the highest bits first, then each bucket by the others -------------- */

static unsigned bucket_of(const struct order *o, uint64_t key)
{
    return key >> o->shift & (BUCKETS - 1);
}

static void count_job(void *arg, unsigned i)
{
    struct order *o = arg;
    uint32_t *at = o->lanes[i].at;

    memset(at, 0, sizeof(o->lanes[i].at));
    for (uint32_t k = lane_begin(o, i), end = lane_begin(o, i + 1); k < end; k++)
        at[bucket_of(o, o->items[k].word)]++;
}

static void distribute_job(void *arg, unsigned i)
{
    struct order *o = arg;
    uint32_t *at = o->lanes[i].at, begin = lane_begin(o, i);

    for (uint32_t k = begin, end = lane_begin(o, i + 1); k < end && is_within_budget(o, k - begin);
         k++)
        o->scratch[at[bucket_of(o, o->items[k].word)]++] = o->items[k];
}

/* Sorts a bucket from `scratch` to `items`. Passes of fewer bits are faster for small buckets. */
static void bucket_job(void *arg, unsigned b)
{
    struct order *o = arg;
    size_t n = o->from[b + 1] - o->from[b];
    struct row_id *now = o->scratch + o->from[b], *next = o->items + o->from[b];
    unsigned step = n < LARGE ? 8 : BUCKET_BITS;
    int moved = 0;

    for (unsigned shift = 0; n > 1 && shift < o->shift && moved >= 0; shift += step) {
        unsigned bits = o->shift - shift < step ? o->shift - shift : step;
        moved = rows_radix(now, next, n, shift, bits, n < LARGE ? NULL : o->budget);
        if (moved > 0) {
            struct row_id *swap = now;
            now = next;
            next = swap;
        }
    }
    if (moved >= 0 && now == o->scratch + o->from[b])
        memcpy(o->items + o->from[b], now, n * sizeof(*now));
}

/* Few items are one bucket. */
static int radix_few(struct order *o, unsigned bits)
{
    memcpy(o->scratch, o->items, o->table->count * sizeof(*o->items));
    o->shift = bits;
    o->from[0] = 0;
    o->from[1] = o->table->count;
    return run_step(o, 1, bucket_job);
}

static int radix_items(struct order *o, unsigned bits)
{
    uint32_t sum = 0;

    if (!o->pool)
        return radix_few(o, bits);
    o->shift = bits > BUCKET_BITS ? bits - BUCKET_BITS : 0;
    int rc = run_step(o, o->lane_count, count_job);
    if (rc < 0)
        return rc;
    for (unsigned b = 0; b < BUCKETS; b++) {
        o->from[b] = sum;
        for (unsigned i = 0; i < o->lane_count; i++) {
            uint32_t count = o->lanes[i].at[b];
            o->lanes[i].at[b] = sum;
            sum += count;
        }
    }
    o->from[BUCKETS] = sum;
    rc = run_step(o, o->lane_count, distribute_job);
    return rc < 0 ? rc : run_step(o, BUCKETS, bucket_job);
}

/* If one word holds all keys, `ranks` is not needed any more. Its memory is used again, for pages
 * that are mapped already cost less than new ones. */
static int alloc_scratch(struct order *o)
{
    if (o->scratch)
        return 0;
    if (o->ranks && o->begin == 0 && o->width * sizeof(*o->ranks) >= sizeof(*o->scratch)) {
        o->scratch = (struct row_id *)(void *)o->ranks;
        o->ranks = NULL;
    } else {
        o->scratch = large_realloc(NULL, o->table->count * sizeof(*o->scratch));
    }
    return o->scratch ? 0 : -ENOMEM;
}

/* A stable sort by each word, the last one first. */
static int sort_words(struct order *o)
{
    unsigned end = o->width;

    do {
        unsigned bits = choose_word(o, end);
        int rc = run_step(o, o->lane_count,
                          o->map->pack      ? only_word_job
                          : end == o->width ? first_word_job
                                            : next_word_job);
        rc = rc < 0 ? rc : alloc_scratch(o);
        rc = rc < 0 ? rc : radix_items(o, bits);
        if (rc < 0)
            return rc;
        end = o->begin;
    } while (end > 0);
    return 0;
}

static struct lane *lanes_new(const struct order *o)
{
    struct lane *ret = calloc(o->lane_count, sizeof(*ret));

    for (unsigned i = 0; ret && i < o->lane_count; i++) {
        for (unsigned c = 0; c < o->width; c++)
            group_table_init(&ret[i].distinct[c], 1, UINT32_MAX - 1, o->budget);
    }
    return ret;
}

static void order_free(struct order *o)
{
    for (unsigned i = 0; o->lanes && i < o->lane_count; i++) {
        for (unsigned c = 0; c < o->width; c++) {
            group_table_done(&o->lanes[i].distinct[c]);
            free(o->lanes[i].rank[c]);
        }
    }
    free(o->lanes);
    large_free(o->ranks);
    large_free(o->scratch);
}

/* Sets the position of each rank within the word. If one word does not hold all ranks, they are
 * kept by group. */
static void keep_ranks(struct order *o)
{
    struct key_ranks *r = o->ranked;
    unsigned shift = 0;

    for (unsigned c = r->width; c-- > 0; shift += r->bits[c]) {
        r->bits[c] = group_bits(r->count[c]);
        r->shift[c] = shift < 64 ? shift : 0;
    }
    if (shift > 64) {
        r->ranks = o->ranks;
        o->ranks = NULL;
    }
}

static int order_set(struct query *q, const struct group_map *map, struct budget *budget,
                     uint32_t set, struct group_order *ret)
{
    const struct group_table *t = &map->table;
    struct pool *pool = t->count < MANY ? NULL : query_environment(q)->pool;
    unsigned threads = pool ? pool_threads(pool) : 1;
    size_t n = t->count;
    struct order o = {.query = q,
                      .budget = budget,
                      .pool = pool,
                      .map = map,
                      .table = t,
                      .width = map->width,
                      .ranked = &ret->set[set],
                      .items = ret->rows + ret->count,
                      .set = set};

    *o.ranked = (struct key_ranks){.width = o.width, .groups = t->count};
    if (n == 0)
        return 0;
    o.lane_count = threads < LANES_MAX ? threads : LANES_MAX;
    o.lanes = lanes_new(&o);
    o.ranks = map->pack ? NULL : large_realloc(NULL, (n * o.width + 1) * sizeof(*o.ranks));
    int rc = o.lanes && (o.ranks || map->pack) ? 0 : -ENOMEM;
    rc = rc < 0 ? rc : rank_all(&o);
    rc = rc < 0 ? rc : sort_words(&o);
    if (rc == 0) {
        keep_ranks(&o);
        ret->count += n;
    }
    order_free(&o);
    return rc;
}

/* Returns the memory that a sorted set keeps: rows, keys by rank, and ranks that do not fit into a
 * word. */
static size_t kept_bytes(const struct key_ranks *r)
{
    size_t bytes =
        r->groups * (sizeof(struct row_id) + (r->ranks ? r->width * sizeof(*r->ranks) : 0));

    for (unsigned c = 0; c < r->width; c++)
        bytes += r->count[c] * sizeof(*r->keys[c]);
    return bytes;
}

int groups_order(const struct groups *f, unsigned first, unsigned end, struct group_order *ret)
{
    struct budget *budget = f->grouping->budget;
    size_t n = 0, peak = 0, kept = 0;

    *ret = (struct group_order){0};
    for (unsigned i = first; i < end; i++) {
        size_t ranks = f->set[i].map.pack ? 0 : f->set[i].map.width * sizeof(uint32_t);
        size_t bytes = f->set[i].map.table.count * (ranks + sizeof(struct row_id));
        n += f->set[i].map.table.count;
        peak = bytes > peak ? bytes : peak;
    }
    peak += n * sizeof(*ret->rows);
    int rc = budget_charge(budget, peak);
    if (rc < 0)
        return rc;
    ret->charged = peak;
    ret->rows = large_realloc(NULL, (n + 1) * sizeof(*ret->rows));
    rc = ret->rows ? 0 : -ENOMEM;
    for (unsigned i = first; i < end && rc == 0; i++) {
        rc = order_set(f->grouping->query, &f->set[i].map, budget, i, ret);
        kept += kept_bytes(&ret->set[i]);
    }
    if (rc == 0 && kept > peak)
        rc = budget_charge(budget, kept - peak);
    else
        budget_release(budget, rc < 0 ? 0 : peak - kept);
    ret->charged = rc < 0 ? peak : kept;
    return rc;
}

void group_order_done(struct group_order *o, struct budget *budget)
{
    for (unsigned i = 0; i < GROUP_SETS_MAX; i++) {
        for (unsigned c = 0; c < o->set[i].width; c++)
            free(o->set[i].keys[c]);
        large_free(o->set[i].ranks);
    }
    large_free(o->rows);
    budget_release(budget, o->charged);
    *o = (struct group_order){0};
}

/* ---- by number of rows ----------------------------------------------------------------------- */

struct counted {
    uint64_t count;
    uint32_t group, place; /* place: in the order of keys */
};

static int compare_counts(const void *a, const void *b, void *arg)
{
    const struct counted *x = a, *y = b;
    (void)arg;

    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->place < y->place ? -1 : 1;
}

static int sort_counts(const struct groups_of_set *s, struct group_order *o, uint32_t *ret)
{
    struct budget *budget = s->map.table.budget;
    size_t bytes = o->count * 2 * sizeof(struct counted); /* sort_items has a copy */
    int rc = budget_charge(budget, bytes);
    struct counted *all = rc < 0 ? NULL : malloc((o->count + 1) * sizeof(*all));

    if (rc < 0)
        return rc;
    for (size_t i = 0; all && i < o->count; i++)
        all[i] = (struct counted){*group_count(s, o->rows[i].group), o->rows[i].group, (uint32_t)i};
    rc = all ? sort_items(all, o->count, sizeof(*all), compare_counts, NULL, budget) : -ENOMEM;
    for (size_t i = 0; rc == 0 && i < o->count; i++)
        ret[i] = all[i].group;
    free(all);
    budget_release(budget, bytes);
    return rc;
}

int groups_by_count(const struct groups *f, unsigned set, bool by_count, uint64_t top,
                    uint32_t **ret, size_t *ret_count)
{
    struct group_order o;
    int rc = groups_order(f, set, set + 1, &o);
    uint32_t *numbers = rc < 0 ? NULL : malloc((o.count + 1) * sizeof(*numbers));

    rc = rc == 0 && !numbers ? -ENOMEM : rc;
    for (size_t i = 0; rc == 0 && i < o.count; i++)
        numbers[i] = o.rows[i].group;
    if (rc == 0 && by_count)
        rc = sort_counts(&f->set[set], &o, numbers);
    *ret_count = top && top < o.count ? (size_t)top : o.count;
    group_order_done(&o, f->grouping->budget);
    if (rc < 0)
        free(numbers);
    else
        *ret = numbers;
    return rc;
}
