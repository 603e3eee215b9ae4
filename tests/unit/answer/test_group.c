/* module: answer */
/* Groups by keys, and the samples that percentiles of groups come from. */
#include <errno.h>

#include "answer/stats/measure.h"
#include "check.h"
#include "dftracerd/stats.h"
#include "engine/group/map.h"
#include "engine/group/worker.h"

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 16;
}

static void groups_are_numbered_in_order(void)
{
    struct budget b = {0};
    struct group_table t;

    group_table_init(&t, 2, 0, &b);
    CHECK_INT(group_table_find(&t, (uint64_t[]){1, 2}), -ENOENT);
    for (uint64_t i = 0; i < 5000; i++)
        CHECK_INT(group_table_add(&t, (uint64_t[]){i / 7, i << 60 | i}), i);
    for (uint64_t i = 0; i < 5000; i++) {
        CHECK_INT(group_table_add(&t, (uint64_t[]){i / 7, i << 60 | i}), i);
        CHECK_INT(group_table_find(&t, (uint64_t[]){i / 7, i << 60 | i}), i);
        CHECK_INT(group_table_keys(&t, (uint32_t)i)[0], i / 7);
    }
    CHECK_INT(group_table_find(&t, (uint64_t[]){9, 9}), -ENOENT);
    CHECK_INT(t.count, 5000);
    CHECK(b.memory_used >= 5000 * 16);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

/* As tables are merged by several threads: new groups get room first, and are found once they are
 * placed. */
static void groups_are_appended(void)
{
    struct budget b = {0};
    struct group_table t;
    uint64_t keys[200];
    uint32_t found[200];

    group_table_init(&t, 1, 250, &b);
    for (uint64_t i = 0; i < 200; i++)
        keys[i] = i * 2;
    group_table_find_all(&t, keys, 200, found);
    CHECK_INT(found[199], GROUP_NONE);
    for (uint64_t i = 0; i < 50; i++)
        CHECK_INT(group_table_add(&t, &keys[i * 2]), i);
    group_table_find_all(&t, keys, 200, found);
    for (uint32_t i = 0; i < 200; i++)
        CHECK_INT(found[i], i % 2 == 0 && i < 100 ? i / 2 : GROUP_NONE);
    CHECK_INT(group_table_append(&t, 201), ERR_ROW_LIMIT);
    CHECK_INT(group_table_append(&t, 150), 0);
    CHECK_INT(t.count, 200);
    for (uint32_t i = 0; i < 150; i++)
        t.keys[50 + i] = 1001 + i;
    CHECK_INT(group_table_add(&t, (uint64_t[]){1003}), 52);
    CHECK_INT(group_table_add(&t, (uint64_t[]){7}), 200);
    CHECK_INT(group_table_find(&t, (uint64_t[]){1150}), 199);
    CHECK_INT(group_table_find(&t, &keys[98]), 49);
    CHECK_INT(group_table_append(&t, 1), 0);
    t.keys[201] = 9;
    CHECK_INT(group_table_place(&t), 0);
    CHECK_INT(group_table_find(&t, (uint64_t[]){9}), 201);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
    group_table_init(&t, 1, 0, &b);
    b.memory_limit = 4096;
    CHECK_INT(group_table_append(&t, 4000), ERR_MEMORY_LIMIT);
    CHECK_INT(t.count, 0);
    CHECK_INT(group_table_append(&t, 0), 0); /* room, but no slots */
    CHECK_INT(group_table_add(&t, keys), 0);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

static void double_keys(void *arg, const uint64_t *from, uint64_t *to)
{
    (void)arg;
    to[0] = *from;
    to[1] = *from * 2;
}

static void add_one(void *arg, const uint64_t *from, uint64_t *to)
{
    (void)arg;
    *to = *from + 1;
}

static void keys_are_borrowed(void)
{
    struct budget b = {.memory_limit = 1 << 16};
    uint64_t keys[4] = {5, 7, 9, 11};
    struct group_table t;

    group_table_init(&t, 1, 3, &b);
    CHECK_INT(group_table_borrow(&t, keys, 4), ERR_ROW_LIMIT);
    CHECK_INT(group_table_borrow(&t, keys, 3), 0);
    CHECK_INT(b.memory_used, 0);
    CHECK_INT(group_table_rekey(&t, 1, add_one, NULL), 0);
    CHECK_INT(keys[1], 8);
    CHECK_INT(group_table_rekey(&t, 2, double_keys, NULL), 0);
    CHECK_INT(group_table_keys(&t, 1)[1], 16);
    CHECK_INT(keys[1], 8);
    CHECK_INT(group_table_place(&t), 0);
    for (uint64_t i = 0; i < 3; i++)
        CHECK_INT(group_table_find(&t, (uint64_t[]){6 + 2 * i, 12 + 4 * i}), i);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

static void groups_are_expected(void)
{
    struct budget b = {.memory_limit = 100000};
    struct group_table t;

    group_table_init(&t, 1, 0, &b);
    CHECK_INT(group_table_add(&t, (uint64_t[]){3}), 0);
    group_table_expect(&t, 1 << 20); /* beyond the budget */
    CHECK(t.cap < 1000);
    group_table_expect(&t, 1000);
    CHECK_INT(t.cap, 1024);
    for (uint64_t i = 4; i < 1000; i++)
        CHECK_INT(group_table_add(&t, &i), (int64_t)i - 3);
    CHECK_INT(group_table_find(&t, (uint64_t[]){3}), 0);
    CHECK_INT(t.cap, 1024);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

/* Groups are numbered as without packing, whatever happens to the words: numbers that need wider
 * places, and do not fit. */
static void packed_groups_are_the_same(void)
{
    static const struct source *const none[6] = {NULL};
    uint64_t random = 3, keys[6], told[6];
    struct budget b = {0};
    struct group_table plain;
    struct group_map m;

    group_table_init(&plain, 6, 0, &b);
    group_map_init(&m, none, 6, 0, &b);
    CHECK_INT(group_map_pack(&m), 0);
    for (uint64_t i = 0; i < 60000; i++) {
        for (unsigned k = 0; k < 6; k++) /* a constant, few, ever more */
            keys[k] = (uint64_t)k << 60 | next_random(&random) % (k * (1 + i / 16) + 1);
        if (i == 20000)
            CHECK(m.pack && m.table.width == 1);
        CHECK_INT(group_map_add(&m, keys), group_table_add(&plain, keys));
    }
    CHECK(!m.pack && m.table.width == 6); /* 68 bits */
    CHECK_INT(m.table.count, plain.count);
    for (uint32_t g = 0; g < plain.count; g++) {
        group_map_keys(&m, g, told);
        CHECK(memcmp(told, group_table_keys(&plain, g), sizeof(told)) == 0);
    }
    group_map_done(&m);
    group_table_done(&plain);
    CHECK_INT(b.memory_used, 0);
}

static void add_some(struct group_map *m, uint64_t random, uint64_t keys_a_column, uint32_t n)
{
    uint64_t keys[4];

    for (uint32_t i = 0; i < n; i++) {
        for (unsigned k = 0; k < 4; k++)
            keys[k] = next_random(&random) % (k == 0 ? keys_a_column : 9);
        CHECK(group_map_add(m, keys) >= 0);
    }
}

/* Words of one map become those of another, where both have them; else both have tuples. */
static void packed_maps_are_joined(void)
{
    static const struct source *const none[4] = {NULL};

    for (unsigned plain = 0; plain < 3; plain++) { /* none of them, one, the other */
        struct budget b = {0};
        struct group_map m[2];
        uint64_t keys[4];
        for (unsigned i = 0; i < 2; i++) {
            group_map_init(&m[i], none, 4, 0, &b);
            CHECK_INT(plain == i + 1 ? 0 : group_map_pack(&m[i]), 0);
            add_some(&m[i], i + 5, 30 + i * 7000, 3000 + i * 4000);
        }
        const uint32_t count = m[1].table.count, before = m[0].table.count;
        uint64_t *of = calloc(count, sizeof(keys));
        for (uint32_t g = 0; g < count; g++)
            group_map_keys(&m[1], g, of + (size_t)g * 4);
        CHECK_INT(group_map_join(&m[0], &m[1]), 0);
        CHECK(!m[0].pack == (plain > 0) && !m[1].pack == (plain > 0));
        group_map_rename(&m[1], 0, count);
        for (uint32_t g = 0; g < count; g++) {
            int64_t to = group_table_add(&m[0].table, group_table_keys(&m[1].table, g));
            group_map_keys(&m[0], (uint32_t)to, keys);
            CHECK(memcmp(keys, of + (size_t)g * 4, sizeof(keys)) == 0);
        }
        CHECK(m[0].table.count > before && m[0].table.count < before + count);
        free(of);
        for (unsigned i = 0; i < 2; i++)
            group_map_done(&m[i]);
        CHECK_INT(b.memory_used, 0);
    }
}

static void no_keys_are_one_group(void)
{
    struct budget b = {0};
    struct group_table t;

    group_table_init(&t, 0, 0, &b);
    CHECK_INT(group_table_add(&t, NULL), 0);
    CHECK_INT(group_table_add(&t, NULL), 0);
    CHECK_INT(t.count, 1);
    group_table_done(&t);
}

static void limits_are_told(void)
{
    struct budget b = {.memory_limit = 64 << 10};
    struct group_table t;
    uint64_t i = 0;
    int64_t rc = 0;

    group_table_init(&t, 1, 3, &b);
    for (; i < 3; i++)
        CHECK_INT(group_table_add(&t, &i), i);
    CHECK_INT(group_table_add(&t, &i), ERR_ROW_LIMIT);
    CHECK_INT(group_table_add(&t, (uint64_t[]){2}), 2);
    group_table_done(&t);
    group_table_init(&t, 1, 0, &b);
    for (i = 0; rc >= 0 && i < 1000000; i++)
        rc = group_table_add(&t, &i);
    CHECK_INT(rc, ERR_MEMORY_LIMIT);
    CHECK(i > 1000);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

/* ---- samples --------------------------------------------------------------------------------- */

static int compare_i64(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

static int64_t sample_rank(struct sample *s, uint64_t rank, double min, double max)
{
    struct value v;

    CHECK_INT(sample_ranks(s, &rank, 1, false, min, max, &v), 0);
    CHECK_INT(v.type, VALUE_INT);
    return v.i;
}

static void few_values_are_exact(void)
{
    struct budget b = {0};
    struct sample_memory m;
    struct sample s = {0};

    sample_memory_init(&m, &b, false);
    for (int64_t i = 0; i < SKETCH_EXACT; i++)
        CHECK_INT(sample_add_i64(&m, &s, (i * 37 % SKETCH_EXACT) * 1000003 - 5, false), 0);
    CHECK(!s.paged);
    CHECK_INT(sample_count(&s), SKETCH_EXACT);
    for (uint64_t r = 1; r <= SKETCH_EXACT; r++)
        CHECK_INT(sample_rank(&s, r, -1e18, 1e18), (int64_t)(r - 1) * 1000003 - 5);
    sample_memory_done(&m);
    CHECK_INT(b.memory_used, 0);
}

enum { MANY = 20000 };

/* Values over many octaves, with zeros and negative ones. */
static void fill_values(int64_t *v, uint64_t seed)
{
    for (int i = 0; i < MANY; i++) {
        unsigned bits = (unsigned)(next_random(&seed) % 45);
        v[i] = (int64_t)(next_random(&seed) & ((1ull << bits) - 1));
        if (i % 97 == 0)
            v[i] = -v[i];
    }
}

/* A sample tells what a sketch of the same values tells, however the values came in. */
static void check_against_sketch(struct sample *s, const int64_t *v, size_t n)
{
    struct sketch *sketch = sketch_new();
    int64_t *sorted = malloc(n * sizeof(*sorted));

    memcpy(sorted, v, n * sizeof(*sorted));
    qsort(sorted, n, sizeof(*sorted), compare_i64);
    for (size_t i = 0; i < n; i++)
        sketch_add(sketch, (double)v[i]);
    CHECK_INT(sample_count(s), n);
    for (unsigned percent = 1; percent <= 100; percent++) {
        uint64_t rank = stats_rank(percent, n);
        double exact = (double)sorted[rank - 1];
        double got = (double)sample_rank(s, rank, (double)sorted[0], (double)sorted[n - 1]);
        CHECK_NEAR(got, exact, 0.005);
        if (exact >=
            0) /* negative values have a sketch of their own: as near, but not always equal */
            CHECK(got == sketch_quantile(sketch, ((double)rank - 0.5) / (double)n, true));
    }
    sketch_free(sketch);
    free(sorted);
}

static void many_values_are_near(void)
{
    static int64_t v[MANY];
    struct budget b = {0};
    struct sample_memory m;
    struct sample s = {0}, parts[3] = {{0}}, all = {0};

    sample_memory_init(&m, &b, false);
    fill_values(v, 7);
    for (int i = 0; i < MANY; i++) {
        CHECK_INT(sample_add_i64(&m, &s, v[i], false), 0);
        CHECK_INT(sample_add_i64(&m, &parts[i < 10 ? 0 : 1 + i % 2], v[i], false), 0);
        if (i == MANY / 2)
            CHECK_INT(sample_fold(&m), 0);
    }
    check_against_sketch(&s, v, MANY);
    for (int i = 0; i < 3; i++)
        CHECK_INT(sample_merge(&m, &all, &parts[i]), 0);
    check_against_sketch(&all, v, MANY);
    sample_memory_done(&m);
    CHECK_INT(b.memory_used, 0);
}

static void exact_keeps_all(void)
{
    static int64_t v[MANY];
    struct budget b = {0};
    struct sample_memory m;
    struct sample s = {0}, other = {0};

    sample_memory_init(&m, &b, true);
    fill_values(v, 11);
    for (int i = 0; i < MANY; i++)
        CHECK_INT(sample_add_i64(&m, i % 3 ? &s : &other, v[i], false), 0);
    CHECK_INT(sample_merge(&m, &s, &other), 0);
    qsort(v, MANY, sizeof(v[0]), compare_i64);
    for (uint64_t rank = 1; rank <= MANY; rank += 501)
        CHECK_INT(sample_rank(&s, rank, 0, 0), v[rank - 1]);
    sample_memory_done(&m);
    struct budget small = {.memory_limit = 32 << 10};
    sample_memory_init(&m, &small, true);
    int rc = 0;
    s = (struct sample){0};
    for (int i = 0; i < MANY && rc == 0; i++)
        rc = sample_add_i64(&m, &s, v[i], false);
    CHECK_INT(rc, ERR_MEMORY_LIMIT);
    sample_memory_done(&m);
    CHECK_INT(small.memory_used, 0);
}

/* A worker with one set of `width` keys, and a number with percentiles of each group. */
static struct group_worker *number_worker(const struct grouping *g)
{
    struct group_worker *w = calloc(1, sizeof(*w));

    CHECK(w != NULL);
    w->grouping = g;
    CHECK_INT(groups_new(g, &w->found), 0);
    return w;
}

static void number_worker_free(struct group_worker *w)
{
    groups_free(w->found);
    CHECK_INT(w->grouping->budget->memory_used, 0);
    free(w);
}

static void number_told(const struct group_worker *w, uint32_t group, bool time,
                        struct measured *ret)
{
    struct quantity q;

    group_quantity(w->found, 0, group, 0, &q);
    CHECK_INT(quantity_measure(&q, time, ret), 0);
}

/* 1 us, 1.5 us and 2000 ns: three values, two units. */
static void units_mix(void)
{
    static const struct acc_spec number = {.kind = &acc_number, .sample = true};
    static const struct group_set set = {.accs = &number, .acc_count = 1};
    struct budget b = {0};
    const struct grouping g = {.budget = &b, .set_count = 1, .sets = &set};
    struct group_worker *w = number_worker(&g);
    struct measured told;
    int64_t us[] = {1}, ns[] = {1500, 2000};

    CHECK_INT(groups_single_group(w, 0), 0);
    CHECK_INT(number_add_all(w, 0, 0, 0, us, 1, false), 0);
    CHECK_INT(number_add_all(w, 0, 0, 0, ns, 2, true), 0);
    number_told(w, 0, true, &told);
    CHECK_INT(told.count, 3);
    CHECK_INT(told.sum.wide, 4500);
    CHECK_INT(told.min.wide, 1000);
    CHECK_INT(told.max.wide, 2000);
    CHECK_NEAR(told.mean.d, 1.5, 1e-15);
    CHECK_NEAR(told.std.d, 0.5, 1e-15);
    CHECK_INT(told.quantiles[2].wide, 1500); /* p50: rank 2 */
    CHECK_INT(told.quantiles[6].wide, 2000);
    number_worker_free(w);
}

static void huge_values_do_not_overflow(void)
{
    static const struct acc_spec number = {.kind = &acc_number, .sample = true};
    static const struct source *key;
    static const struct group_set set = {.keys = &key, .width = 1, .accs = &number, .acc_count = 1};
    struct budget b = {0};
    const struct grouping g = {.budget = &b, .set_count = 1, .sets = &set};
    struct group_worker *w = number_worker(&g);
    struct measured told;
    uint32_t group[4] = {1, 0, 1, 1};
    int64_t v[4] = {INT64_MAX, 3, INT64_MAX, INT64_MAX - 1};

    for (uint64_t k = 0; k < 2; k++)
        CHECK_INT(group_table_add(&w->found->set[0].map.table, &k), (int64_t)k);
    CHECK_INT(groups_grow(w->found, 0), 0);
    for (unsigned i = 0; i < 4; i++)
        CHECK_INT(number_add(w, 0, 0, group[i], v[i], false), 0);
    number_told(w, 1, false, &told);
    CHECK(told.sum.wide == (__int128)INT64_MAX * 3 - 1);
    CHECK(told.max.wide == INT64_MAX);
    CHECK_NEAR(told.std.d, 0.57735026918962584, 1e-12);
    CHECK_INT(told.quantiles[0].i, INT64_MAX - 1);
    number_told(w, 0, false, &told);
    CHECK_INT((int64_t)told.sum.wide, 3);
    CHECK_INT(told.std.type, VALUE_NULL);
    number_worker_free(w);
}

static void histograms_are_by_octave(void)
{
    struct budget b = {0};
    struct sample_memory m;

    sample_memory_init(&m, &b, false);
    for (int times = 1; times <= 100; times += 99) { /* as a list, then as pages */
        struct sample s = {0};
        struct histogram h = {{0}};
        static const int64_t ns[] = {0, 1, 999, 1000, 1999, 2000, 4000, 7999, 8000, -5};
        for (int i = 0; i < 10 * times; i++)
            CHECK_INT(sample_add_i64(&m, &s, ns[i % 10], true), 0);
        CHECK_INT(s.paged, times > 1);
        sample_histogram(&s, &h);
        CHECK_INT(h.count[0], times);      /* 0 */
        CHECK_INT(h.count[65], 2 * times); /* below 1 us */
        CHECK_INT(h.count[1], 2 * times);  /* [1, 2) */
        CHECK_INT(h.count[2], times);      /* [2, 4) */
        CHECK_INT(h.count[3], 2 * times);  /* [4, 8) */
        CHECK_INT(h.count[4], times);
    }
    sample_memory_done(&m);
}

static void ranks_round_up(void)
{
    CHECK_INT(stats_rank(10, 1), 1);
    CHECK_INT(stats_rank(10, 10), 1);
    CHECK_INT(stats_rank(10, 11), 2);
    CHECK_INT(stats_rank(50, 4), 2);
    CHECK_INT(stats_rank(50, 5), 3);
    CHECK_INT(stats_rank(95, 20), 19);
    CHECK_INT(stats_rank(99, 100), 99);
    CHECK_INT(stats_rank(99, 101), 100);
    CHECK(stats_rank(99, UINT64_MAX) == 18262276632972456099ull);
}

/* Moments around the first value of a chunk: 1000000 + {0, 1, 2, 3}. */
static void doubles_of_a_chunk(void)
{
    struct doubles_entry e = {0};

    for (unsigned i = 0; i < 4; i++)
        shifted_sums_add(&e.shifted, 1e6 + i);
    const struct moments_f64 *m = &entry_float_moments(&e)->m;
    CHECK_INT(m->count, 4);
    CHECK_NEAR(m->mean, 1000001.5, 0);
    CHECK_NEAR(m->m2, 5, 0);
    CHECK_NEAR(m->sum, 4000006, 0);
}

/* What is millions at a time is not gone through to the end; nothing is lost by it. */
static void growing_stops_when_cancelled(void)
{
    struct budget b = {0};
    struct group_table t;

    group_table_init(&t, 1, 0, &b);
    for (uint64_t i = 0; i < 8192; i++)
        CHECK_INT(group_table_add(&t, &i), i);
    CHECK_INT(t.cap, 8192);
    CHECK_INT(group_table_append(&t, 1), 0);
    t.keys[8192] = 77777;
    budget_cancel(&b, ERR_DEADLINE);
    CHECK_INT(group_table_place(&t), ERR_DEADLINE);
    CHECK_INT(group_table_add(&t, (uint64_t[]){88888}), ERR_DEADLINE);
    CHECK_INT(t.count, 8193);
    atomic_store(&b.cancelled, 0);
    CHECK_INT(group_table_place(&t), 0);
    CHECK_INT(group_table_append(&t, 1), 0); /* there is room */
    t.keys[8193] = 99999;
    budget_cancel(&b, ERR_DEADLINE);
    CHECK_INT(group_table_place(&t), ERR_DEADLINE);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
    b = (struct budget){0};
    group_table_init(&t, 1, 0, &b);
    for (uint64_t i = 0; i < 64; i++)
        CHECK_INT(group_table_add(&t, &i), i);
    budget_cancel(&b, ERR_CANCELLED);
    CHECK_INT(group_table_add(&t, (uint64_t[]){64}), ERR_CANCELLED);
    group_table_done(&t);
    CHECK_INT(b.memory_used, 0);
}

static void sorting_stops_when_cancelled(void)
{
    struct row_id from[300], to[300];
    struct budget b = {0};

    for (unsigned i = 0; i < 300; i++)
        from[i] = (struct row_id){.word = i * 7 % 256, .group = i};
    CHECK_INT(rows_radix(from, to, 300, 8, 8, &b), 0);
    CHECK_INT(rows_radix(from, to, 300, 0, 8, &b), 1);
    for (unsigned i = 1; i < 300; i++)
        CHECK(to[i - 1].word < to[i].word ||
              (to[i - 1].word == to[i].word && to[i - 1].group < to[i].group));
    budget_cancel(&b, ERR_DEADLINE);
    CHECK_INT(rows_radix(from, to, 300, 0, 8, &b), ERR_DEADLINE);
    CHECK_INT(rows_radix(from, to, 300, 0, 8, NULL), 1);
}

static const struct check_test tests[] = {
    {"groups_are_appended", groups_are_appended},
    {"keys_are_borrowed", keys_are_borrowed},
    {"groups_are_expected", groups_are_expected},
    {"groups_are_numbered_in_order", groups_are_numbered_in_order},
    {"packed_groups_are_the_same", packed_groups_are_the_same},
    {"packed_maps_are_joined", packed_maps_are_joined},
    {"no_keys_are_one_group", no_keys_are_one_group},
    {"growing_stops_when_cancelled", growing_stops_when_cancelled},
    {"sorting_stops_when_cancelled", sorting_stops_when_cancelled},
    {"limits_are_told", limits_are_told},
    {"few_values_are_exact", few_values_are_exact},
    {"many_values_are_near", many_values_are_near},
    {"exact_keeps_all", exact_keeps_all},
    {"units_mix", units_mix},
    {"huge_values_do_not_overflow", huge_values_do_not_overflow},
    {"histograms_are_by_octave", histograms_are_by_octave},
    {"ranks_round_up", ranks_round_up},
    {"doubles_of_a_chunk", doubles_of_a_chunk},
    {NULL, NULL},
};
CHECK_MAIN(tests)
