/* module: index */
/* Records from tables of fields: bytes by hand, what is refused, what is printed. */
#include "index/store/record.h"
#include "check.h"
#include "failing_malloc.h"

#include <errno.h>

struct point {
    bool is_far, has_depth;
    uint8_t color;
    int64_t x;
    uint32_t name, note_count;
    uint64_t depth;
    const struct point_note *notes;
};
struct point_note {
    int64_t error;
    const char *why;
    __int128 ns;
};

#define OBJECT struct point_note
static const struct record_field note_fields[] = {FIELD(error), FIELD(why), FIELD(ns), {0}};
#undef OBJECT

#define OBJECT struct point
static const struct record_field fields[] = {FIELD_BITS(3),
                                             FIELD(is_far, .bits = 1),
                                             FIELD(has_depth, .bits = 1),
                                             FIELD(color, .max = 5),
                                             FIELD(x),
                                             FIELD_TEXT_ID(name),
                                             FIELD_IF(has_depth, 1),
                                             FIELD(depth),
                                             FIELD_LIST(notes, note_count, note_fields),
                                             {0}};
#undef OBJECT

/* Bits 1 + 2 + 4 * 5; zigzag of -1; text 0; 300 as 0x2c + 128, 2; one note: zigzag of -2, "no", low
 * and high half of -1. */
static const uint8_t bytes[] = {23,   1,    1,    0xac, 2,    1,    3,    2,    'n', 'o', 0xff,
                                0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1,   1};

static struct texts *texts_of_test(void)
{
    struct texts *texts = texts_new();

    CHECK(texts && texts_add(texts, TEXT("a \"")) == 0);
    return texts;
}

static void encodes(void)
{
    struct texts *texts = texts_of_test();
    const struct point_note note = {.error = -2, .why = "no", .ns = -1};
    const struct point point = {.is_far = true,
                                .has_depth = true,
                                .color = 5,
                                .x = -1,
                                .name = 0,
                                .depth = 300,
                                .notes = &note,
                                .note_count = 1};
    struct buf out = {0};

    record_encode(fields, &point, texts, &out);
    CHECK(out.len == sizeof bytes && memcmp(out.data, bytes, sizeof bytes) == 0);
    buf_clear(&out);
    record_print(fields, &point, texts, "{name} {color} at {x}[, depth {depth}]", &out);
    CHECK_TEXT(((struct text){out.data, out.len}), "\"a \\x22\" 5 at -1, depth 300");
    buf_clear(&out);
    record_print(fields, &(struct point){.name = INDEX_NO_TEXT, .x = INT64_MIN}, texts,
                 "{name} {is_far} at {x}[, depth {depth}]", &out);
    CHECK_TEXT(((struct text){out.data, out.len}), "null 0 at null");
    buf_done(&out);
    texts_free(texts);
}

/* Of the first `len` bytes, byte `at` another one. */
static bool reads(struct texts *texts, size_t len, size_t at, uint8_t byte)
{
    uint8_t copy[sizeof bytes];
    struct rec r = rec_of((struct text){(const char *)copy, len});
    struct arena arena = {0};
    struct point p = {0};

    memcpy(copy, bytes, sizeof copy);
    copy[at] = byte;
    record_decode(fields, &r, texts, &arena, &p);
    CHECK(p.color <= 5 && p.note_count <= 1);
    if (!r.bad)
        CHECK(p.is_far && p.color == 5 && p.x == -1 && p.name == 0 && p.notes[0].error == -2 &&
              p.notes[0].ns == -1 && strcmp(p.notes[0].why, "no") == 0);
    arena_done(&arena);
    return !r.bad;
}

static void decodes(void)
{
    struct texts *texts = texts_of_test();

    CHECK(reads(texts, sizeof bytes, 0, 23));
    for (size_t len = 0; len < sizeof bytes; len++)
        CHECK(!reads(texts, len, 0, 23));
    CHECK(!reads(texts, sizeof bytes, 0, 3 + 4 * 6)); /* a color above 5 */
    CHECK(!reads(texts, sizeof bytes, 2, 3));         /* a text that the store does not have */
    CHECK(!reads(texts, sizeof bytes, 5, 100));       /* more notes than there are bytes */
    CHECK(!reads(texts, sizeof bytes, 7, 100));       /* a longer string */
    texts_free(texts);
}

/* A text that the store does not have needs memory. */
static void decodes_without_memory(void)
{
    static const char text[] = {0, 0, 2 * (1 + 1), 'x', 0};
    unsigned failed = 0;

    for (unsigned n = 0; failing_malloc_next(n); n = failing_malloc_more(n, 48)) {
        struct rec r = rec_of((struct text){text, sizeof text});
        struct arena arena = {0};
        struct point p = {0};
        struct texts *texts = texts_new();
        if (texts) {
            record_decode(fields, &r, texts, &arena, &p);
            failing_malloc_stop();
            failed += r.bad;
            CHECK_INT(rec_error(&r), r.bad ? -ENOMEM : 0);
            CHECK(r.bad || texts_get(texts, p.name).len == 1);
        }
        arena_done(&arena);
        texts_free(texts);
    }
    CHECK(!FAILING_MALLOC || failed > 0);
}

static const struct check_test tests[] = {{"encodes", encodes},
                                          {"decodes", decodes},
                                          {"decodes_without_memory", decodes_without_memory},
                                          {NULL, NULL}};
CHECK_MAIN(tests)
