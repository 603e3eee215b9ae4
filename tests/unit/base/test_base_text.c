/* module: base */
#include "check.h"
#include "dftracerd/base.h"

#include <errno.h>

static void compares(void)
{
    struct text none = {NULL, 0};

    CHECK(text_eq(none, TEXT("")));
    CHECK(text_eq(text_of(NULL), none));
    CHECK(text_eq(text_of("abc"), TEXT("abc")));
    CHECK(!text_eq(TEXT("abc"), TEXT("abd")));
    CHECK(!text_eq(TEXT("abc"), TEXT("ab")));
    CHECK(text_eq(TEXT("a\0b"), TEXT("a\0b")));
    CHECK(!text_eq(TEXT("a\0b"), TEXT("a\0c")));
    CHECK(text_eq_nocase(TEXT("AbZ@[`{"), TEXT("aBz@[`{")));
    CHECK(!text_eq_nocase(TEXT("@"), TEXT("`")));
    CHECK(!text_eq_nocase(TEXT("\xC3\x84"), TEXT("\xC3\xA4")));
    CHECK(text_cmp(none, none) == 0);
    CHECK(text_cmp(none, TEXT("a")) < 0);
    CHECK(text_cmp(TEXT("b"), TEXT("abc")) > 0);
    CHECK(text_cmp(TEXT("ab"), TEXT("abc")) < 0);
    CHECK(text_cmp(TEXT("\xFF"), TEXT("a")) > 0);
}

static void cuts(void)
{
    CHECK(text_starts(TEXT("trace.pfw"), TEXT("trace")));
    CHECK(text_starts(TEXT("a"), TEXT("")));
    CHECK(!text_starts(TEXT("tr"), TEXT("trace")));
    CHECK(text_ends(TEXT("trace.pfw"), TEXT(".pfw")));
    CHECK(!text_ends(TEXT("pfw"), TEXT(".pfw")));
    CHECK_TEXT(text_trim(TEXT(" \t\n a b\0 ")), "a b");
    CHECK_TEXT(text_trim(TEXT("  ")), "");
    CHECK_TEXT(text_trim(text_of(NULL)), "");
}

static void splits(void)
{
    struct text rest = TEXT("a,,bc,"), part;

    CHECK(text_split(&rest, ',', &part));
    CHECK_TEXT(part, "a");
    CHECK(text_split(&rest, ',', &part));
    CHECK_TEXT(part, "");
    CHECK(text_split(&rest, ',', &part));
    CHECK_TEXT(part, "bc");
    CHECK(text_split(&rest, ',', &part));
    CHECK_TEXT(part, "");
    CHECK(!text_split(&rest, ',', &part));
    rest = TEXT("");
    CHECK(text_split(&rest, ',', &part));
    CHECK_TEXT(part, "");
    CHECK(!text_split(&rest, ',', &part));
}

static void hashes(void)
{
    CHECK(text_hash(TEXT("")) == text_hash(text_of(NULL)));
    CHECK(text_hash(TEXT("a")) != text_hash(TEXT("b")));
    /* XXH3 of nothing: the index stores these, so they must never change */
    CHECK(text_hash(TEXT("")) == UINT64_C(0x2d06800538d394c2));
    struct hash128 h = text_hash128(TEXT(""));
    CHECK(h.high == UINT64_C(0x99aa06d3014798d8) && h.low == UINT64_C(0x6001c324468d497f));
}

static void knows_utf8(void)
{
    static const char *const good[] = {
        "",
        "plain",
        "a long plain text of more than eight bytes",
        "gr\xC3\xBC\xC3\x9F",
        "12345678\xC3\xBC",
        "\xE2\x82\xAC",
        "\xF0\x9F\x98\x80",
        "\xF4\x8F\xBF\xBF",
        "\xEF\xBF\xBF",
        "\xED\x9F\xBF",
        "\xEE\x80\x80",
        "\x7F",
    };
    static const char *const bad[] = {
        "\x80",
        "\xBF",
        "\xC0\x80",
        "\xC1\xBF",
        "\xC3",
        "abcdefghi\xC3",
        "\xC3(",
        "\xE0\x9F\xBF",
        "\xE2\x82",
        "\xED\xA0\x80",
        "\xED\xBF\xBF",
        "\xF0\x8F\xBF\xBF",
        "\xF4\x90\x80\x80",
        "\xF5\x80\x80\x80",
        "\xFF",
        "\xFE",
        "\xF0\x9F\x98",
        "\xE2\x28\xA1",
    };

    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        CHECK(text_is_utf8(text_of(good[i])));
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        CHECK(!text_is_utf8(text_of(bad[i])));
    CHECK(text_is_utf8(TEXT("a\0b")));
}

static void finds_ill_formed_parts(void)
{
    static const struct {
        struct text text;
        size_t len;
        int32_t code;
    } cases[] = {
        {TEXT("a"), 1, 'a'},
        {TEXT("\0"), 1, 0},
        {TEXT("\xE2\x82\xAC!"), 3, 0x20AC},
        {TEXT("\xF0\x9F\x98\x80"), 4, 0x1F600},
        {TEXT("\xC3\xBC"), 2, 0xFC},
        {TEXT("\xE2\x82"), 2, -1},
        {TEXT("\xE2\x82!"), 2, -1},
        {TEXT("\xF0\x9F\x98!"), 3, -1},
        {TEXT("\xF0\x80\x80\x80"), 1, -1},
        {TEXT("\xED\xA0\x80"), 1, -1},
        {TEXT("\xC0\xAF"), 1, -1},
        {TEXT("\x80"), 1, -1},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int32_t code;
        CHECK_INT(text_utf8_next(cases[i].text, &code), cases[i].len);
        CHECK_INT(code, cases[i].code);
    }
}

static void writes_json(void)
{
    struct buf b = {0};

    buf_json_text(
        &b, TEXT("a\"b\\c\n\t\b\f\r\v\0\x1F\x7F/\xC3\xBC\xF0\x9F\x98\x80 \xE2\x82! \xFF\xFE"));
    CHECK_TEXT(((struct text){b.data, b.len}),
               "\"a\\\"b\\\\c\\n\\t\\b\\f\\r\\u000b\\u0000\\u001f\x7F/\xC3\xBC\xF0\x9F\x98\x80 "
               "\xEF\xBF\xBD! \xEF\xBF\xBD\xEF\xBF\xBD\"");
    buf_clear(&b);
    buf_json_text(&b, text_of(NULL));
    CHECK_TEXT(((struct text){b.data, b.len}), "\"\"");
    buf_done(&b);
}

static void first_error_wins(void)
{
    struct err err = {0};

    CHECK_INT(err_set(NULL, ERR_DEADLINE, "nobody listens"), ERR_DEADLINE);
    CHECK_INT(err_set_param(&err, ERR_PARAM, "limit", "%d is too many", 7), ERR_PARAM);
    CHECK_INT(err_set(&err, -ENOMEM, "later"), -ENOMEM);
    CHECK_INT(err.code, ERR_PARAM);
    CHECK_INT(err.position, -1);
    CHECK_STR(err.param, "limit");
    CHECK_STR(err.text, "7 is too many");
    err.source = strdup("name ==");
    err_done(&err);
    CHECK(err.code == 0 && !err.source && err.text[0] == '\0');
    err_done(&err);
    err_done(NULL);
}

static void long_messages_are_cut(void)
{
    struct err err = {0};
    char param[100];

    memset(param, 'p', sizeof(param) - 1);
    param[sizeof(param) - 1] = '\0';
    err_set_param(&err, ERR_PARAM, param, "%01000d", 1);
    CHECK_INT(strlen(err.param), sizeof(err.param) - 1);
    CHECK_INT(strlen(err.text), sizeof(err.text) - 1);
    err_done(&err);
}

static void every_code_has_words(void)
{
    for (int code = ERR_LAST; code <= ERR_BASE; code++) {
        CHECK(strcmp(err_name(code), "unknown") != 0);
        CHECK(strcmp(err_text(code), "unknown error") != 0);
        for (int other = ERR_LAST; other < code; other++)
            CHECK(strcmp(err_name(code), err_name(other)) != 0);
    }
    CHECK_STR(err_name(ERR_DEADLINE), "deadline");
    CHECK_STR(err_text(ERR_DEADLINE), "deadline exceeded");
    CHECK_STR(err_name(ERR_QUERY_SYNTAX), "bad_query");
    CHECK_STR(err_name(-ENOENT), "ENOENT");
    CHECK_STR(err_text(-ENOENT), "No such file or directory");
    CHECK_STR(err_name(0), "ok");
    CHECK_STR(err_name(-999), "unknown");
    CHECK_STR(err_name(-5000), "unknown");
    CHECK_STR(err_text(12), "unknown error");
}

static struct hash128 hash_pieces(const char *text, size_t len, size_t piece)
{
    struct hasher h;

    hasher_begin(&h, 0);
    for (size_t at = 0; at < len; at += piece)
        hasher_add(&h, text + at, len - at < piece ? len - at : piece);
    hasher_add(&h, NULL, 0);
    return hasher_end(&h);
}

/* However it is cut it is the library's hash of the whole; the seed counts. */
static void hashes_pieces(void)
{
    static const size_t pieces[] = {1, 7, 256, 1000, 65536}, lens[] = {0, 1, 240, 241, 1024, 5000};
    char text[5000];
    struct hasher h;

    for (size_t i = 0; i < sizeof(text); i++)
        text[i] = (char)(i * 31 + i / 256);
    for (size_t k = 0; k < sizeof(lens) / sizeof(lens[0]); k++) {
        struct hash128 want = text_hash128((struct text){text, lens[k]});
        for (size_t i = 0; i < sizeof(pieces) / sizeof(pieces[0]); i++) {
            struct hash128 got = hash_pieces(text, lens[k], pieces[i]);
            CHECK(got.high == want.high && got.low == want.low);
        }
    }
    hasher_begin(&h, 1);
    hasher_add(&h, text, sizeof(text));
    CHECK(hasher_end(&h).low != text_hash128((struct text){text, sizeof(text)}).low);
}

static const struct check_test tests[] = {
    {"compares", compares},
    {"cuts", cuts},
    {"splits", splits},
    {"hashes", hashes},
    {"hashes_pieces", hashes_pieces},
    {"knows_utf8", knows_utf8},
    {"finds_ill_formed_parts", finds_ill_formed_parts},
    {"writes_json", writes_json},
    {"first_error_wins", first_error_wins},
    {"long_messages_are_cut", long_messages_are_cut},
    {"every_code_has_words", every_code_has_words},
    {NULL, NULL},
};
CHECK_MAIN(tests)
