/* module: base */
#include "check.h"
#include "dftracerd/base.h"
#include "failing_malloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static struct text in(const struct buf *b)
{
    return (struct text){b->data, b->len};
}

static void buf_appends(void)
{
    struct buf b = {0};

    buf_puts(&b, "one");
    buf_putc(&b, ' ');
    buf_text(&b, TEXT("two"));
    buf_text(&b, text_of(NULL));
    buf_append(&b, " three", 6);
    buf_printf(&b, " %d%s", 4, "th");
    CHECK_TEXT(in(&b), "one two three 4th");
    buf_clear(&b);
    CHECK_INT(b.len, 0);
    CHECK(b.cap > 0);
    buf_printf(&b, "%0500d", 7);
    CHECK_INT(b.len, 500);
    CHECK_INT(b.error, 0);
    buf_done(&b);
    CHECK(!b.data && b.cap == 0);
    buf_done(&b);
    buf_done(NULL);
}

static void buf_grows(void)
{
    struct buf b = {0};

    for (int i = 0; i < 100000; i++)
        buf_putc(&b, (char)('a' + i % 26));
    CHECK_INT(b.len, 100000);
    for (int i = 0; i < 100000; i++) {
        if (b.data[i] != 'a' + i % 26)
            CHECK_INT(i, -1);
    }
    char *room = buf_reserve(&b, 4096);
    CHECK(room == b.data + b.len && b.cap - b.len >= 4096);
    CHECK(buf_reserve(&b, 0) == b.data + b.len);
    buf_done(&b);
}

static void buf_gives_away(void)
{
    struct buf b = {0};
    size_t len = 99;

    char *nothing = buf_steal(&b, &len);
    CHECK_STR(nothing, "");
    CHECK_INT(len, 0);
    free(nothing);
    buf_puts(&b, "mine");
    char *text = buf_steal(&b, &len);
    CHECK_STR(text, "mine");
    CHECK_INT(len, 4);
    CHECK(!b.data && b.len == 0);
    free(text);
    buf_puts(&b, "again");
    text = buf_steal(&b, NULL);
    CHECK_STR(text, "again");
    free(text);
}

static void buf_error_sticks(void)
{
    struct buf b = {0};

    buf_puts(&b, "kept");
    CHECK(buf_reserve(&b, SIZE_MAX - 1) == NULL);
    CHECK_INT(b.error, -ENOMEM);
    buf_puts(&b, "ignored");
    buf_printf(&b, "%d", 1);
    CHECK_TEXT(in(&b), "kept");
    CHECK(buf_reserve(&b, 1) == NULL);
    buf_clear(&b);
    CHECK_INT(b.error, -ENOMEM);
    CHECK(buf_steal(&b, NULL) == NULL);
    CHECK(!b.data && b.error == 0);
}

static void arena_aligns_and_zeroes(void)
{
    struct arena a = {0};

    for (size_t size = 0; size < 5000; size += 7) {
        unsigned char *p = arena_alloc(&a, size);
        CHECK_STOP(p != NULL);
        if ((uintptr_t)p % 16 != 0)
            CHECK_INT((uintptr_t)p % 16, 0);
        for (size_t i = 0; i < size; i++) {
            if (p[i] != 0)
                CHECK_INT(p[i], 0);
            p[i] = 0xAA; /* overlap with a later one would be seen */
        }
    }
    char *copy = arena_strdup(&a, TEXT("text\0more"));
    CHECK_MEM(copy, 10, "text\0more", 10);
    CHECK_STR(arena_strdup(&a, text_of(NULL)), "");
    CHECK(a.used > 0);
    arena_done(&a);
    CHECK(!a.head && a.used == 0);
    arena_done(&a);
    arena_done(NULL);
}

static void arena_keeps_its_limit(void)
{
    struct arena a = {.limit = 1000};

    CHECK(arena_alloc(&a, 990) != NULL); /* 992 with alignment */
    CHECK(arena_alloc(&a, 9) == NULL);
    CHECK_INT(a.used, 992);
    arena_done(&a);
    CHECK_INT(a.limit, 1000);
    CHECK(arena_alloc(&a, 1001) == NULL);
    CHECK(arena_alloc(&a, SIZE_MAX) == NULL);
    arena_done(&a);
}

static void arena_large_blocks_do_not_waste_small_ones(void)
{
    struct arena a = {0};

    char *small = arena_alloc(&a, 16);
    CHECK(arena_alloc(&a, 1000000) != NULL);
    char *next = arena_alloc(&a, 16);
    CHECK_INT(next - small, 16);
    arena_done(&a);
}

static void intern_numbers_texts(void)
{
    struct intern *t = intern_new();
    CHECK_STOP(t != NULL);

    CHECK_INT(intern_find(t, TEXT("read")), -ENOENT);
    CHECK_INT(intern_add(t, TEXT("read")), 0);
    CHECK_INT(intern_add(t, TEXT("write")), 1);
    CHECK_INT(intern_add(t, TEXT("")), 2);
    CHECK_INT(intern_add(t, text_of(NULL)), 2);
    CHECK_INT(intern_add(t, TEXT("read")), 0);
    CHECK_INT(intern_add(t, TEXT("a\0b")), 3);
    CHECK_INT(intern_add(t, TEXT("a\0c")), 4);
    CHECK_INT(intern_find(t, TEXT("write")), 1);
    CHECK_INT(intern_count(t), 5);
    CHECK_TEXT(intern_text(t, 1), "write");
    CHECK_TEXT(intern_text(t, 2), "");
    CHECK_INT(intern_text(t, 5).len, 0);
    intern_free(t);
    intern_free(NULL);
}

static void intern_addresses_stay(void)
{
    enum { COUNT = 50000 };
    struct intern *t = intern_new();
    const char **address = calloc(COUNT, sizeof(*address));
    char name[32];

    CHECK_STOP(t && address);
    size_t before = intern_bytes(t);
    for (int i = 0; i < COUNT; i++) {
        int len = snprintf(name, sizeof(name), "file-%d", i);
        CHECK_INT(intern_add(t, (struct text){name, (size_t)len}), i);
        address[i] = intern_text(t, (uint32_t)i).ptr;
    }
    for (int i = 0; i < COUNT; i++) {
        int len = snprintf(name, sizeof(name), "file-%d", i);
        if (intern_text(t, (uint32_t)i).ptr != address[i])
            CHECK_INT(i, -1);
        CHECK_INT(intern_find(t, (struct text){name, (size_t)len}), i);
        CHECK_TEXT(intern_text(t, (uint32_t)i), name);
    }
    CHECK(intern_bytes(t) > before + COUNT * 8);
    CHECK(intern_bytes(t) < COUNT * 100);
    intern_free(t);
    free(address);
}

static void intern_takes_large_texts(void)
{
    struct intern *t = intern_new();
    size_t len = 3 << 20;
    char *large = malloc(len);

    CHECK_STOP(t && large);
    memset(large, 'x', len);
    CHECK_INT(intern_add(t, (struct text){large, len}), 0);
    CHECK_INT(intern_add(t, (struct text){large, len - 1}), 1);
    CHECK_INT(intern_add(t, TEXT("x")), 2);
    CHECK_INT(intern_find(t, (struct text){large, len}), 0);
    CHECK(text_eq(intern_text(t, 0), (struct text){large, len}));
    intern_free(t);
    free(large);
}

/* ---- lack of memory -------------------------------------------------------------------------- */

/* From a few bytes to several pages of 2 MiB and back: what was there stays, and new arrays are
 * zero where they were asked to be. */
static void large_arrays_keep_what_they_have(void)
{
    static const size_t bytes[] = {0,        100,      3 << 20, 5 << 20, 9 << 20,
                                   40 << 20, 41 << 20, 6 << 20, 1 << 20, 8};
    unsigned char *a = NULL, *other = large_zeroed(30 << 20), *small = large_zeroed(1000);
    size_t filled = 0;

    for (size_t i = 0; i < sizeof(bytes) / sizeof(*bytes); i++) {
        a = large_realloc(a, bytes[i]);
        CHECK(a && (uintptr_t)a % 16 == 0);
        filled = filled < bytes[i] ? filled : bytes[i];
        for (size_t at = 0; at < filled; at += 997)
            CHECK(a[at] == at % 251);
        for (; filled < bytes[i]; filled++)
            a[filled] = filled % 251;
    }
    for (size_t at = 0; at < 30 << 20; at += 997)
        CHECK(other[at] == 0 && small[at % 1000] == 0);
    CHECK(!large_realloc(a, SIZE_MAX) && !large_realloc(a, (size_t)1 << 60) && a[7] == 7);
    large_free(a);
    large_free(other);
    large_free(small);
    large_free(NULL);
}

static void buf_survives_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct buf b = {0};
        for (int i = 0; i < 50; i++)
            buf_puts(&b, "0123456789");
        char *text = buf_steal(&b, NULL);
        failing_malloc_stop();
        CHECK(failing_malloc_happened() ? !text : text && strlen(text) == 500);
        free(text);
    }
}

static void arena_survives_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct arena a = {0};
        unsigned failed = 0;
        for (int i = 0; i < 100; i++)
            failed += !arena_alloc(&a, 300);
        failing_malloc_stop();
        CHECK_INT(failed, failing_malloc_happened());
        arena_done(&a);
    }
}

static void intern_survives_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        char name[16];
        unsigned failed = 0;
        struct intern *t = intern_new();
        for (int i = 0; t && i < 2000; i++) {
            int len = snprintf(name, sizeof(name), "%d", i);
            /* the second try works: a failed one leaves the table whole */
            if (intern_add(t, (struct text){name, (size_t)len}) != i) {
                failed++;
                CHECK_INT(intern_add(t, (struct text){name, (size_t)len}), i);
            }
        }
        failing_malloc_stop();
        CHECK_INT(t ? failed : 1, failing_malloc_happened());
        CHECK(!t || intern_find(t, TEXT("1999")) == 1999);
        intern_free(t);
    }
}

static void threads_survive_lack_of_memory(void)
{
    for (unsigned n = 0; failing_malloc_next(n); n++) {
        struct pool *p = NULL;
        int rc = pool_new(2, "test", &p);
        failing_malloc_stop();
        CHECK(rc == 0 || failing_malloc_happened());
        CHECK((rc == 0) == (p != NULL));
        pool_free(p);
    }
}

struct sorted {
    unsigned key, number; /* number: as they were */
    char more[24];
};
struct sorting {
    struct budget budget;
    size_t compared, until; /* until: it is no longer wanted, 0 = never */
};

static int compare_sorted(const void *a, const void *b, void *arg)
{
    struct sorting *s = arg;
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;

    if (++s->compared == s->until)
        budget_cancel(&s->budget, ERR_CANCELLED);
    return (x > y) - (x < y);
}

static void sort_keeps_equal_ones(void)
{
    static const size_t counts[] = {0, 1, 2, 3, 1024, 1025, 5000, 100001};

    for (size_t c = 0; c < sizeof(counts) / sizeof(counts[0]); c++) {
        const size_t n = counts[c];
        struct sorted *all = calloc(n + 1, sizeof(*all));
        unsigned *keys = calloc(n + 1, sizeof(*keys)), state = 1;
        struct sorting s = {0};
        CHECK_STOP(all && keys);
        for (unsigned i = 0; i < n; i++) {
            state = state * 1664525 + 1013904223;
            keys[i] = state >> 8;
            all[i] = (struct sorted){state >> 20, i, ""};
            snprintf(all[i].more, sizeof(all[i].more), "%u", i);
        }
        CHECK_INT(sort_items(all, n, sizeof(*all), compare_sorted, &s, &s.budget), 0);
        CHECK_INT(sort_items(keys, n, sizeof(*keys), compare_sorted, &s, &s.budget), 0);
        size_t bad = 0;
        for (size_t i = 0; i < n; i++) {
            bad += (unsigned)atoi(all[i].more) != all[i].number;
            if (i > 0)
                bad += keys[i - 1] > keys[i] || all[i - 1].key > all[i].key ||
                       (all[i - 1].key == all[i].key && all[i - 1].number > all[i].number);
        }
        CHECK_INT(bad, 0);
        free(all);
        free(keys);
    }
}

static void sort_can_be_stopped(void)
{
    enum { COUNT = 1 << 20 };
    unsigned *keys = calloc(COUNT, sizeof(*keys));
    CHECK_STOP(keys != NULL);

    for (size_t until = 100; until < 20 * COUNT; until *= 7) {
        struct sorting s = {.until = until};
        for (unsigned i = 0; i < COUNT; i++)
            keys[i] = i * 2654435761u;
        int rc = sort_items(keys, COUNT, sizeof(*keys), compare_sorted, &s, &s.budget);
        CHECK_INT(rc, s.compared < until ? 0 : ERR_CANCELLED);
        CHECK(s.compared < until + 20000);
    }
    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        struct sorting s = {.until = 0};
        int rc = sort_items(keys, 5000, sizeof(*keys), compare_sorted, &s, &s.budget);
        CHECK(rc == (failing_malloc_happened() ? -ENOMEM : 0) || (rc == 0 && n > 0));
    }
    free(keys);
}

static const struct check_test tests[] = {
    {"sort_keeps_equal_ones", sort_keeps_equal_ones},
    {"sort_can_be_stopped", sort_can_be_stopped},
    {"buf_appends", buf_appends},
    {"buf_grows", buf_grows},
    {"buf_gives_away", buf_gives_away},
    {"buf_error_sticks", buf_error_sticks},
    {"arena_aligns_and_zeroes", arena_aligns_and_zeroes},
    {"arena_keeps_its_limit", arena_keeps_its_limit},
    {"arena_large_blocks_do_not_waste_small_ones", arena_large_blocks_do_not_waste_small_ones},
    {"intern_numbers_texts", intern_numbers_texts},
    {"intern_addresses_stay", intern_addresses_stay},
    {"intern_takes_large_texts", intern_takes_large_texts},
    {"large_arrays_keep_what_they_have", large_arrays_keep_what_they_have},
    {"buf_survives_lack_of_memory", buf_survives_lack_of_memory},
    {"arena_survives_lack_of_memory", arena_survives_lack_of_memory},
    {"intern_survives_lack_of_memory", intern_survives_lack_of_memory},
    {"threads_survive_lack_of_memory", threads_survive_lack_of_memory},
    {NULL, NULL},
};
CHECK_MAIN(tests)
