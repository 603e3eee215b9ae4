/* module: base */
#include "check.h"
#include "dftracerd/hash_index.h"
#include "dftracerd/vec.h"
#include "failing_malloc.h"

#include <errno.h>

struct row {
    uint64_t id;
    char text[24];
};

/* ---- arrays ---------------------------------------------------------------------------------- */

static void vec_keeps_its_elements(void)
{
    VEC(struct row) v = {0};

    CHECK_INT(vec_reserve(&v, 0), 0);
    CHECK(!v.at && v.cap == 0);
    for (uint64_t i = 0; i < 1000; i++)
        CHECK_INT(vec_push(&v, {.id = i, .text = "row"}), 0);
    CHECK_INT(v.count, 1000);
    for (uint64_t i = 0; i < 1000; i++)
        if (v.at[i].id != i || strcmp(v.at[i].text, "row") != 0)
            CHECK_INT(v.at[i].id, i);
    struct row last = v.at[999];
    CHECK_INT(vec_push(&v, last), 0);
    CHECK_INT(v.at[1000].id, 999);
    vec_done(&v);
    CHECK(!v.at && v.count == 0 && v.cap == 0);
    vec_done(&v);
}

static void vec_doubles(void)
{
    VEC(int) v = {0};
    size_t grown = 0, cap = 0;

    for (int i = 0; i < 100000; i++) {
        CHECK_INT(vec_push(&v, i), 0);
        grown += v.cap != cap;
        cap = v.cap;
    }
    CHECK(grown < 20 && v.cap < 200000);
    CHECK_INT(vec_reserve(&v, 1000000), 0); /* more than double: no more than is needed */
    CHECK_INT(v.cap, 1100000);
    vec_done(&v);
}

static void vec_extends_with_zeroes(void)
{
    VEC(uint32_t) v = {0};

    CHECK_INT(vec_push(&v, 7), 0);
    CHECK_INT(vec_extend(&v, 100), 0);
    CHECK_INT(vec_extend(&v, 50), 0); /* has them */
    CHECK_INT(v.count, 100);
    CHECK(v.at[0] == 7 && v.at[1] == 0 && v.at[99] == 0);
    vec_done(&v);
}

static void vec_sizes_do_not_overflow(void)
{
    VEC(struct row) v = {0};

    CHECK_INT(vec_push(&v, {.id = 5}), 0);
    CHECK_INT(vec_reserve(&v, SIZE_MAX), -ENOMEM);
    CHECK_INT(vec_reserve(&v, SIZE_MAX / sizeof(struct row)), -ENOMEM);
    CHECK_INT(vec_reserve(&v, PTRDIFF_MAX / sizeof(struct row)), -ENOMEM);
    CHECK_INT(vec_extend(&v, SIZE_MAX), -ENOMEM);
    CHECK(v.count == 1 && v.at[0].id == 5);
    vec_done(&v);
}

static void vec_is_charged(void)
{
    struct budget b = {.memory_limit = 100 * sizeof(uint64_t)};
    VEC(uint64_t) v = {.budget = &b};
    int rc = 0;

    while (rc == 0 && v.count < 1000) {
        rc = vec_push(&v, v.count);
        CHECK_INT(b.memory_used, v.cap * sizeof(uint64_t));
    }
    CHECK_INT(rc, ERR_MEMORY_LIMIT);
    CHECK_INT(v.count, 64);
    CHECK_INT(vec_extend(&v, 101), ERR_MEMORY_LIMIT);
    CHECK(v.count == 64 && v.at[63] == 63);
    CHECK_INT(vec_reserve(&v, SIZE_MAX / 32), ERR_MEMORY_LIMIT);
    vec_done(&v);
    CHECK_INT(b.memory_used, 0);
    CHECK_INT(vec_push(&v, 1), 0); /* the budget stays */
    CHECK(b.memory_used > 0);
    vec_done(&v);
    CHECK_INT(b.memory_used, 0);
}

static void vec_survives_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct budget b = {0};
        VEC(unsigned) v = {.budget = &b};
        unsigned failed = 0;
        for (unsigned i = 0; i < 1000; i++) {
            if (vec_push(&v, i) != 0) {
                failed++;
                CHECK_INT(b.memory_used, v.cap * sizeof(unsigned));
                CHECK_INT(vec_push(&v, i), 0); /* the second try works */
            }
        }
        failing_malloc_stop();
        CHECK_INT(failed, failing_malloc_happened());
        CHECK(v.count == 1000 && v.at[0] == 0 && v.at[999] == 999);
        vec_done(&v);
        CHECK_INT(b.memory_used, 0);
    }
}

/* ---- positions by hash ----------------------------------------------------------------------- */

static int64_t position_of(const struct hash_index *x, uint64_t hash, const uint64_t *ids,
                           uint64_t id)
{
    for (struct hash_match m = hash_index_find(x, hash); hash_index_next(x, &m);)
        if (ids[m.position] == id)
            return m.position;
    return -ENOENT;
}

static void index_finds_what_was_added(void)
{
    enum { COUNT = 20000 };
    struct hash_index x = {0};
    static uint64_t ids[COUNT];

    CHECK_INT(position_of(&x, 1, ids, 1), -ENOENT); /* of none */
    for (uint32_t i = 0; i < COUNT; i++) {
        ids[i] = i * 3ull;
        CHECK_INT(hash_index_add(&x, ids[i] << 16, i), 0); /* poor hashes */
    }
    for (uint32_t i = 0; i < COUNT; i++)
        if (position_of(&x, ids[i] << 16, ids, ids[i]) != i ||
            position_of(&x, (ids[i] + 1) << 16, ids, ids[i] + 1) != -ENOENT)
            CHECK_INT(i, -1);
    CHECK_INT(x.count, COUNT);
    CHECK(x.count <= (x.mask + 1) / 2);
    hash_index_done(&x);
    CHECK(!x.slots && x.count == 0);
    hash_index_done(&x);
}

/* Elements of one hash, and hashes that differ above 32 bits only. */
static void index_visits_all_of_one_hash(void)
{
    struct hash_index x = {0};
    unsigned seen = 0;

    for (uint32_t i = 0; i < 100; i++)
        CHECK_INT(hash_index_add(&x, i % 2 ? 5 : 5 | 1ull << 40, i), 0);
    CHECK_INT(hash_index_add(&x, 6, UINT32_MAX - 1), 0);
    for (struct hash_match m = hash_index_find(&x, 5); hash_index_next(&x, &m); seen++)
        CHECK(m.position < 100);
    CHECK_INT(seen, 100);
    struct hash_match m = hash_index_find(&x, 6);
    CHECK(hash_index_next(&x, &m) && m.position == UINT32_MAX - 1);
    CHECK(!hash_index_next(&x, &m));
    hash_index_done(&x);
}

static void index_is_charged(void)
{
    struct budget b = {.memory_limit = 100 * sizeof(struct hash_slot)};
    struct hash_index x = {.budget = &b};
    uint32_t i = 0;
    int rc = 0;

    for (; (rc = hash_index_add(&x, i, i)) == 0; i++)
        CHECK_INT(b.memory_used, (x.mask + 1) * sizeof(struct hash_slot));
    CHECK_INT(rc, ERR_MEMORY_LIMIT);
    CHECK_INT(i, 32); /* 64 and 128 slots do not fit beside each other */
    CHECK_INT(x.count, 32);
    struct hash_match m = hash_index_find(&x, 31);
    CHECK(hash_index_next(&x, &m) && m.position == 31);
    hash_index_done(&x);
    CHECK_INT(b.memory_used, 0);
}

static void index_survives_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct budget b = {0};
        struct hash_index x = {.budget = &b};
        unsigned failed = 0, found = 0;
        for (uint32_t i = 0; i < 1000; i++) {
            if (hash_index_add(&x, i, i) != 0) {
                failed++;
                CHECK_INT(hash_index_add(&x, i, i), 0); /* the second try works */
            }
        }
        failing_malloc_stop();
        CHECK_INT(failed, failing_malloc_happened());
        for (uint32_t i = 0; i < 1000; i++) {
            struct hash_match m = hash_index_find(&x, i);
            found += hash_index_next(&x, &m) && m.position == i;
        }
        CHECK_INT(found, 1000);
        CHECK_INT(b.memory_used, (x.mask + 1) * sizeof(struct hash_slot));
        hash_index_done(&x);
        CHECK_INT(b.memory_used, 0);
    }
}

/* ---- arenas under a budget ------------------------------------------------------------------- */

static void arena_error_is_sticky(void)
{
    struct budget b = {.memory_limit = 4096};
    struct arena a = {.budget = &b, .limit = 1 << 20};

    CHECK(arena_alloc(&a, 100) && a.error == 0);
    CHECK(!arena_alloc(&a, 5000));
    CHECK_INT(a.error, ERR_MEMORY_LIMIT);
    CHECK(!arena_alloc(&a, 2 << 20)); /* the first reason stays */
    CHECK(arena_alloc(&a, 100) != NULL);
    CHECK_INT(a.error, ERR_MEMORY_LIMIT);
    arena_done(&a);
    CHECK_INT(a.error, 0);
    CHECK_INT(b.memory_used, 0);
    CHECK(!arena_alloc(&a, SIZE_MAX));
    CHECK_INT(a.error, -ENOMEM);
    arena_done(&a);
}

static void charge_is_released(void)
{
    struct budget b = {.memory_limit = 100};
    struct charge c = {.budget = &b}, none = {0};

    CHECK(charge_add(&c, 40) == 0 && charge_up_to(&c, 30) == 0);
    CHECK(charge_up_to(&c, 90) == 0 && c.bytes == 90 && b.memory_used == 90);
    CHECK_INT(charge_add(&c, 11), ERR_MEMORY_LIMIT);
    CHECK_INT(charge_up_to(&c, 101), ERR_MEMORY_LIMIT);
    CHECK(c.bytes == 90 && b.memory_used == 90);
    charge_done(&c);
    charge_done(&c);
    CHECK(c.bytes == 0 && b.memory_used == 0);
    CHECK(charge_add(&none, 1000) == 0 && none.bytes == 1000);
    charge_done(&none);
    CHECK_INT(none.bytes, 0);
}

static const struct check_test tests[] = {
    {"vec_keeps_its_elements", vec_keeps_its_elements},
    {"vec_doubles", vec_doubles},
    {"vec_extends_with_zeroes", vec_extends_with_zeroes},
    {"vec_sizes_do_not_overflow", vec_sizes_do_not_overflow},
    {"vec_is_charged", vec_is_charged},
    {"vec_survives_lack_of_memory", vec_survives_lack_of_memory},
    {"index_finds_what_was_added", index_finds_what_was_added},
    {"index_visits_all_of_one_hash", index_visits_all_of_one_hash},
    {"index_is_charged", index_is_charged},
    {"index_survives_lack_of_memory", index_survives_lack_of_memory},
    {"arena_error_is_sticky", arena_error_is_sticky},
    {"charge_is_released", charge_is_released},
    {NULL, NULL},
};
CHECK_MAIN(tests)
